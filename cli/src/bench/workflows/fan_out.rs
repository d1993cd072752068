//! A wide fan-out: how long its release holds the store at a time.
//!
//! The calls come from this process and nothing else uses the store, so the time of a call is at least that of the script
//! or the transaction in it.

use std::time::Instant;

use anyhow::{Context as _, Result};
use jobbers_common::{
    engine::{ClaimRequest, Cycle, Outcome, PutMode, QueueClaim, Settlement},
    lifecycle::Status,
    limits::{DEFAULT_LEASE, MAX_BATCH},
    name::{QueueName, WorkerId},
};

use super::{
    graph::{self, BenchGraph},
    stage::{IDLE, millis, release_all},
};
use crate::bench::{
    load::{BENCH, queue, unlimited},
    store::BenchStore,
};

/// The longest call of the release of so many successors, in milliseconds.
pub(super) async fn longest_call_ms(store: &BenchStore, successors: usize, tag: &str) -> Result<f64> {
    let engine = &store.scratch.engine;
    let (bench, idle) = (QueueName::new(BENCH)?, QueueName::new(IDLE)?);
    for name in [BENCH, IDLE] {
        engine.put_queue(queue(name, false, unlimited())?, PutMode::Upsert).await?;
    }
    for batch in BenchGraph::fan_out(successors).batches(tag, &bench, &idle)? {
        engine.submit(batch).await?;
    }
    let worker = WorkerId::new("bench.fan-out")?;
    let claim = ClaimRequest {
        queues: vec![QueueClaim { queue: bench, limit: 1 }],
        refused: Vec::new(),
        limit: 1,
        lease: DEFAULT_LEASE,
    };
    let claimed = engine.cycle(Cycle { worker: worker.clone(), settlements: Vec::new(), claim: Some(claim) }).await?;
    let root = claimed.claimed.first().context("the root can be claimed")?;
    let done = Settlement::new(graph::id(tag, 0)?, root.fence, Outcome::Completed { result: None });
    let start = Instant::now();
    engine.cycle(Cycle { worker, settlements: vec![done], claim: None }).await?;
    let mut longest = start.elapsed();
    // Each call releases up to a bound; none releases nothing before the last is released.
    while engine.queue_stats(&idle).await?.tasks.get(&Status::Waiting).is_some_and(|left| *left > 0) {
        let start = Instant::now();
        engine.promote_due(MAX_BATCH).await?;
        longest = longest.max(start.elapsed());
    }
    release_all(store, &idle, successors).await?;
    Ok(millis(longest))
}
