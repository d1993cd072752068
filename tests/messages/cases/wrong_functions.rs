//! Functions that the attribute names, and whose type is another one.

use jobbers_worker::{AttemptFailure, prelude::*};

fn pause(attempt: u32) -> Duration {
    Duration::from_secs(attempt.into())
}

fn seconds(attempt: u32, _failure: &AttemptFailure) -> u64 {
    attempt.into()
}

#[task(backoff = pause)]
async fn without_the_failure() -> Result<(), TaskError> {
    Ok(())
}

#[task(backoff = seconds)]
async fn not_a_duration() -> Result<(), TaskError> {
    Ok(())
}

#[task(backoff = seconds, retry_delay = "1s")]
async fn function_and_delay() -> Result<(), TaskError> {
    Ok(())
}

fn main() {}
