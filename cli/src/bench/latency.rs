//! How long an idle worker takes to start what is submitted: from just before the call to the task's first line.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::{
    phases::{PAYLOAD, run_one},
    report::{IdleLatency, percentile, rounded},
    store::Store,
    worker::LATENCY,
};

/// Long enough for the worker to be idle again.
pub(super) const PAUSE: Duration = Duration::from_millis(12);

/// Bare exchanges measured with the same pause.
pub(super) const IDLE_SAMPLES: usize = 200;

/// Microseconds since the epoch, by the machine's clock: both processes read the same one.
pub(super) fn clock_micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Of the started worker, beside one exchange with the bare store.
pub(super) async fn measure(store: &Store, busy_round_trip_ms: f64, samples: usize) -> Result<IdleLatency> {
    let idle_round_trip_ms = store.idle_round_trip_ms(PAYLOAD).await?;
    let engine = &*store.scratch.engine;
    let mut millis = Vec::with_capacity(samples);
    for sample in 0..samples + 20 {
        tokio::time::sleep(PAUSE).await;
        let result = run_one(engine, LATENCY, clock_micros().to_string()).await?;
        let micros: f64 = result.context("the latency task has a result")?.decode()?;
        // The first ones warm caches and connections.
        if sample >= 20 {
            millis.push(micros / 1e3);
        }
    }
    millis.sort_by(f64::total_cmp);
    Ok(IdleLatency {
        p50_ms: rounded(percentile(&millis, 0.5), 3),
        p99_ms: rounded(percentile(&millis, 0.99), 3),
        round_trip_ms: rounded(idle_round_trip_ms, 3),
        busy_round_trip_ms: rounded(busy_round_trip_ms, 3),
    })
}
