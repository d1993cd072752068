//! Parameters and results that can't be written or read.

use jobbers_worker::prelude::*;

#[derive(Serialize)]
struct Unreadable;

#[derive(Deserialize)]
struct Unwritable;

#[task]
async fn takes(job: Unreadable) -> Result<(), TaskError> {
    let _ = job;
    Ok(())
}

#[task]
async fn answers() -> Result<Unwritable, TaskError> {
    Ok(Unwritable)
}

fn main() {}
