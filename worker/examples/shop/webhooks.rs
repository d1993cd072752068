//! Webhooks: calls of customers' servers, which are often away. Their retries follow a promise to these customers.

use jobbers_worker::{AttemptFailure, prelude::*};

use crate::services::Services;

/// A call of a customer's server.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Webhook {
    pub(crate) url: String,
    pub(crate) event: String,
}

/// The pauses that the shop's handbook promises, in seconds.
const PAUSES: [u64; 5] = [1, 5, 25, 120, 600];

/// How long to wait after a failed call. `attempt` is 1 for the first.
fn pause(attempt: u32, _failure: &AttemptFailure) -> Duration {
    Duration::from_secs(PAUSES[PAUSES.len().min(attempt as usize) - 1])
}

/// What a server answers: a status, and how long to wait (`Retry-After`). Its name decides here.
fn answer(url: &str, attempt: u32) -> (u16, Option<Duration>) {
    match (url.trim_start_matches("https://").split('.').next(), attempt) {
        (Some("gone"), _) => (410, None),
        (Some("flaky"), 1) => (503, None),
        (Some("busy"), 1) => (429, Some(Duration::from_secs(2))),
        _ => (200, None),
    }
}

/// A call that fails for good is a dead letter, where a person finds it.
#[task(max_retries = 5, backoff = pause, timeout = "10s")]
pub(crate) async fn call_webhook(ctx: Context, services: State<Services>, job: Webhook) -> Result<(), TaskError> {
    services.call().await;
    match answer(&job.url, ctx.attempt()) {
        (200, _) => Ok(services.note(&ctx, "called")?),
        (410, _) => Err(TaskError::fatal(format!("{} is gone", job.url)).kind("gone")),
        (status, Some(wait)) => Err(TaskError::retry_after(wait, format!("{} answers {status}", job.url))),
        (status, None) => Err(TaskError::retry(format!("{} answers {status}", job.url))),
    }
}
