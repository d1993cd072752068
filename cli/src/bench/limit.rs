//! The bare store of the same run, against which every rate is set.

use std::{future::Future, time::Instant};

use anyhow::Result;

/// What the store does without any of our features, per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) submit_one: f64,
    pub(super) submit_batch: f64,
    pub(super) drain: f64,
    pub(super) both: f64,
    /// One bare exchange, one right after the other.
    pub(super) round_trip_ms: f64,
}

/// `count` by the time since `start`.
pub(super) fn per_second(count: usize, start: Instant) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    let count = count as f64;
    count / start.elapsed().as_secs_f64()
}

/// Runs `work`, which does `count` things, and says how many a second.
pub(super) async fn rate_of(count: usize, work: impl Future<Output = Result<()>>) -> Result<f64> {
    let start = Instant::now();
    work.await?;
    Ok(per_second(count, start))
}
