//! Fields of the parameters that do not exist.

use jobbers_worker::prelude::*;

#[derive(Serialize, Deserialize)]
struct Job {
    customer: String,
}

#[task(unique_by = "custmer")]
async fn unique_by_no_field(job: Job) -> Result<String, TaskError> {
    Ok(job.customer)
}

#[task(concurrency_key = "client")]
async fn limited_by_no_field(job: Job) -> Result<String, TaskError> {
    Ok(job.customer)
}

fn main() {}
