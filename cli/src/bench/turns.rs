//! The same drain by different workers, in turns.
//!
//! A machine is never as fast twice, so nothing is compared across minutes: in each round every worker drains as many
//! tasks, one after the other, in another order each time; ratios are taken within a round. The workers are started once
//! and stay, each with a queue and a role of its own; those whose turn it is not are idle.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use jobbers_common::{
    engine::{PutMode, Submit},
    lifecycle::Status,
    name::QueueName,
    queue::{Retention, RoleConfig},
};

use super::{
    cpu::CpuTime,
    figures::{as_f64, per_second},
    load::{BATCH, queue},
    store::BenchStore,
    worker::{Child, Post},
};

/// One that takes turns.
pub(super) struct Contender {
    /// Its worker; the role's name is the queue's too.
    pub(super) post: Post,
    pub(super) retention: Retention,
}

/// A worker that waits for its turn.
struct TurnWorker {
    child: Child,
    queue: QueueName,
    retention: Retention,
    watched: bool,
}

/// The workers, idle.
pub(super) struct BenchTurns<'a> {
    store: &'a BenchStore,
    runners: Vec<TurnWorker>,
}

/// One turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turn {
    /// Tasks per second.
    pub(super) rate: f64,
    /// The worker's processor time per task, without the store's threads.
    pub(super) worker_us: f64,
    /// The store's, for filling the queue and draining it.
    pub(super) store_us: f64,
    /// How many tasks a claim brought.
    pub(super) tasks_per_call: f64,
}

impl<'a> BenchTurns<'a> {
    pub(super) async fn start(store: &'a BenchStore, ways: Vec<Contender>) -> Result<Self> {
        let mut runners = Vec::with_capacity(ways.len());
        let engine = &store.scratch.engine;
        for Contender { post, retention } in ways {
            let config = queue(post.role.as_str(), true, retention.clone())?;
            let name = config.name.clone();
            engine.put_queue(config, PutMode::Upsert).await?;
            engine.put_role(RoleConfig::new(post.role.clone(), vec![name.clone()]), PutMode::Upsert).await?;
            let child = Child::start(store, &post).await?;
            runners.push(TurnWorker { child, queue: name, retention, watched: post.watched });
        }
        Ok(Self { store, runners })
    }

    /// Fills the queue of one and lets its worker loose, until nothing is left. `inside` is processor time of processes
    /// that the store may live in, beside this one and the worker's.
    pub(super) async fn drain(
        &mut self,
        way: usize,
        tasks: usize,
        batch: impl Fn(&QueueName, usize) -> Result<Submit>,
        inside: impl Fn() -> Result<CpuTime>,
    ) -> Result<Turn> {
        let (store, runner) = (self.store, &mut self.runners[way]);
        let engine = &store.scratch.engine;
        let inside = |child: &Child| Ok::<_, anyhow::Error>([CpuTime::own()?, child.cpu()?, inside()?]);
        let before = inside(&runner.child)?;
        let store_before = store.cpu(&before).await?;
        let claimed_before = if runner.watched { runner.child.claims().await? } else { Default::default() };
        runner.set_paused(store, true).await?;
        let calls = tasks.div_ceil(BATCH);
        for call in 0..calls {
            engine.submit(batch(&runner.queue, call)?).await?;
        }
        let start = Instant::now();
        runner.set_paused(store, false).await?;
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !is_drained(store, &runner.queue).await? {
            ticks.tick().await;
            ensure!(start.elapsed() < Duration::from_secs(300), "a worker does not empty its queue");
        }
        let (count, rate) = (as_f64(calls * BATCH), per_second(calls * BATCH, start));
        let after = inside(&runner.child)?;
        let claimed = if runner.watched { runner.child.claims().await? } else { claimed_before };
        Ok(Turn {
            rate,
            worker_us: after[1].since(before[1]).program / count,
            store_us: (store.cpu(&after).await? - store_before) / count,
            tasks_per_call: (claimed.tasks - claimed_before.tasks) / (claimed.calls - claimed_before.calls).max(1.0),
        })
    }

    /// How many finished tasks the queue of one keeps.
    pub(super) async fn kept(&self, way: usize) -> Result<u64> {
        let stats = self.store.scratch.engine.queue_stats(&self.runners[way].queue).await?;
        let finished = stats.tasks.iter().filter(|(status, _)| status.is_finished());
        Ok(finished.map(|(_, tasks)| tasks).sum())
    }

    /// Stops the workers, and leaves their queues paused.
    pub(super) async fn stop(self) -> Result<()> {
        for runner in self.runners {
            runner.set_paused(self.store, true).await?;
            runner.child.stop().await?;
        }
        Ok(())
    }
}

impl TurnWorker {
    async fn set_paused(&self, store: &BenchStore, paused: bool) -> Result<()> {
        let config = queue(self.queue.as_str(), paused, self.retention.clone())?;
        store.scratch.engine.put_queue(config, PutMode::Upsert).await?;
        Ok(())
    }
}

/// Whether nothing of a queue waits or runs any more.
pub(super) async fn is_drained(store: &BenchStore, queue: &QueueName) -> Result<bool> {
    let stats = Arc::clone(&store.scratch.engine).queue_stats(queue).await?;
    let is_live = |(status, tasks): (&Status, &u64)| !status.is_finished() && *tasks > 0;
    Ok(!stats.tasks.iter().any(is_live))
}
