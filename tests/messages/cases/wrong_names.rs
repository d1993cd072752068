//! Names that do not exist.

use jobbers_worker::prelude::*;

#[derive(Serialize, Deserialize)]
struct Job {
    customer: String,
}

#[task]
async fn no_context(job: Job) -> Result<String, TaskError> {
    ctx.heartbeat().await?;
    Ok(job.customer)
}

#[task(fatal_on = [std::io::Eror])]
async fn no_such_error() -> Result<(), TaskError> {
    Ok(())
}

#[task(backoff = paws)]
async fn no_such_function() -> Result<(), TaskError> {
    Ok(())
}

fn main() {}
