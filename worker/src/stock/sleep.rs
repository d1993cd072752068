//! `sleep`: for trying out cancellation, shutdown and time limits.

use std::time::Duration;

use jobbers_common::values::duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};

use crate::{Context, TaskError, task};

/// The parameters of `sleep`. Durations are a number of seconds, or written `500ms`, `10s`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// How long.
    #[serde(with = "duration::text")]
    #[schemars(with = "Length")]
    pub seconds: Duration,
    /// How often to send a heartbeat with the progress.
    #[serde(default, with = "duration::text::option")]
    #[schemars(with = "Option<Length>")]
    pub heartbeat_every: Option<Duration>,
    /// Whether to continue after a stop request.
    #[serde(default)]
    pub ignore_cancel: bool,
}

/// A duration as it may be written.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is wanted")]
enum Length {
    /// a number and its unit, such as 500ms, 10s or 5m
    Text(#[schemars(regex(pattern = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(us|ms|s|m|h|d)?\s*$"))] String),
    /// A number of seconds.
    Seconds(#[schemars(range(min = 0.0))] f64),
}

/// The result of `sleep`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slept {
    /// How long it slept.
    pub seconds: f64,
}

/// Sleeps. Stops at a stop request, unless `ignore_cancel` is set.
#[task(name = "sleep", unlisted)]
pub async fn sleep(ctx: Context, job: Sleep) -> Result<Slept, TaskError> {
    let start = Instant::now();
    let end = start.checked_add(job.seconds).ok_or_else(|| TaskError::fatal("the duration is too long"))?;
    let every = job.heartbeat_every.map(|every| every.max(Duration::from_millis(1)));
    loop {
        let next = every.map_or(end, |every| (Instant::now() + every).min(end));
        tokio::select! {
            () = sleep_until(next) => {}
            () = ctx.cancelled(), if !job.ignore_cancel => return Err(TaskError::Cancelled),
        }
        if next == end {
            return Ok(Slept { seconds: start.elapsed().as_secs_f64() });
        }
        let fraction = start.elapsed().as_secs_f64() / job.seconds.as_secs_f64();
        let told = ctx.progress(fraction, "asleep").await;
        if !job.ignore_cancel {
            told?;
        }
    }
}
