//! How long an idle worker takes to start what the typed client submits: from just before the call to the task's first
//! line.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use jobbers_worker::{Client, TaskFn};

use super::{
    figures::percentile,
    load::{BENCH, PAUSE, PAYLOAD},
    store::BenchStore,
};

/// Samples that warm caches and connections.
const WARMING: usize = 20;

/// One round, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    /// Half of the submissions without a queue start sooner.
    pub(super) p50: f64,
    /// All but a hundredth of them start sooner.
    pub(super) p99: f64,
    /// Half of the submissions that name their queue start sooner.
    pub(super) named_p50: f64,
    /// A bare exchange with the store, as idle before.
    pub(super) round_trip: f64,
}

/// Microseconds since the epoch, by the machine's clock: both processes read the same one.
pub(super) fn clock_micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Of the started worker; submissions with and without a queue take turns.
pub(super) async fn measure(store: &BenchStore, task: &TaskFn<u64, u64>, samples: usize) -> Result<Idle> {
    let round_trip = store.idle_round_trip_ms(PAYLOAD).await?;
    let client = Client::new(store.scratch.engine.clone());
    let (mut routed, mut named) = (Vec::with_capacity(samples), Vec::with_capacity(samples));
    for sample in 0..samples + WARMING {
        for (is_named, millis) in [(false, &mut routed), (true, &mut named)] {
            tokio::time::sleep(PAUSE).await;
            let submission = task.with(clock_micros());
            let submission = if is_named { submission.queue(BENCH) } else { submission };
            let handle = submission.submit(&client).await?;
            let micros = handle.result(Duration::from_secs(30)).await.context("the latency task has a result")?;
            if sample >= WARMING {
                millis.push(Duration::from_micros(micros).as_secs_f64() * 1e3);
            }
        }
    }
    routed.sort_by(f64::total_cmp);
    named.sort_by(f64::total_cmp);
    Ok(Idle {
        p50: percentile(&routed, 0.5),
        p99: percentile(&routed, 0.99),
        named_p50: percentile(&named, 0.5),
        round_trip,
    })
}
