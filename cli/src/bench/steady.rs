//! The steady state: what a user gets with the settings as they ship, with a manager and a cleaner running and as many
//! finished tasks kept as a queue keeps; and what keeping and pruning them costs the store.

use std::time::Duration;

use anyhow::{Context, Result};
use jobbers_common::{
    engine::{ClaimRequest, Cycle, Engine, Outcome, PruneRequest, PruneScope, PutMode, QueueClaim, Settlement, Submit},
    name::{QueueName, WorkerId},
    queue::Retention,
};
use serde::Serialize;

use super::{
    cpu::CpuTime,
    figures::{Rate, Spread, as_f64, rounded},
    load::{self, Ids, queue, unlimited},
    services::Services,
    store::BenchStore,
    turns::{BenchTurns, Contender, Turn},
    worker::Post,
};

/// Slots with which the default is compared.
const WIDE: u32 = 256;
/// The ways, in the order of [`BenchTurns::start`]: each is its queue and role.
const RETAINED: usize = 0;
const UNPRUNED: usize = 1;
const WIDER: usize = 2;
const QUEUES: [&str; 3] = ["bench.retained", "bench.unpruned", "bench.wide"];
/// One by one, where single calls are measured.
const SINGLES: usize = 3_000;

/// What the steady state came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Steady {
    /// A drain with the default retention full, beside the same with retention off; manager and cleaner run beside both.
    pub retained_drain: Rate,
    /// How many finished tasks the full retention keeps.
    pub retention_count: u64,
    /// Most finished tasks beyond that at the end of a drain: pruning lags behind by so many.
    pub unpruned_backlog: u64,
    /// A drain with the default number of slots, beside the same with 256.
    pub slots_drain: Rate,
    /// How many tasks a claim brought in these drains, with the default number of slots.
    pub tasks_per_call: Spread,
    /// Finished tasks that were kept while the next two were measured.
    pub finished_kept: u64,
    /// The store's processor time for one task's whole life in batches, in microseconds.
    pub store_us_per_task: f64,
    /// What a finished task weighs in the store.
    pub bytes_per_finished_task: f64,
    /// The store's processor time for pruning one finished task, in microseconds.
    pub store_us_per_pruned_task: f64,
    /// The store's processor time for one submission, and a call that claims this task and settles the one before.
    pub store_us_unbatched: f64,
    /// The same for a bare `PING`; `None` where the store is no server.
    pub ping_us: Option<f64>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct SteadyPlan {
    pub(super) concurrency: u32,
    /// Tasks of each turn.
    pub(super) tasks: usize,
    pub(super) rounds: usize,
    /// What the retention keeps.
    pub(super) retention: u64,
    /// Finished tasks to be kept while a task's life is measured.
    pub(super) kept: u64,
}

/// Measures.
pub(super) async fn measure(store: &BenchStore, plan: SteadyPlan) -> Result<Steady> {
    let ids = Ids::default();
    let batch = |queue: &QueueName, _| load::batch(&ids, queue, load::BATCH);
    let services = Services::start(store).await?;
    let retention = Retention { count: plan.retention, ..unlimited() };
    let way =
        |way: usize, slots, retention| anyhow::Ok(Contender { post: Post::shipped(QUEUES[way], slots)?, retention });
    let ways = vec![
        way(RETAINED, plan.concurrency, retention)?,
        way(UNPRUNED, plan.concurrency, unlimited())?,
        way(WIDER, WIDE, unlimited())?,
    ];
    let mut turns = BenchTurns::start(store, ways).await?;
    // Fills the retention; and what is done for the first time is slower than it will be.
    turns.drain(RETAINED, usize::try_from(plan.retention)?, batch, || services.cpu()).await?;
    for way in [UNPRUNED, WIDER] {
        turns.drain(way, plan.tasks / 10, batch, || services.cpu()).await?;
    }
    let (mut rounds, mut backlog) = (Vec::with_capacity(plan.rounds), 0);
    for round in 0..plan.rounds {
        let mut of_round = [Turn::default(); QUEUES.len()];
        for turn in 0..QUEUES.len() {
            let way = (round + turn) % QUEUES.len();
            of_round[way] = turns.drain(way, plan.tasks, batch, || services.cpu()).await?;
            if way == RETAINED {
                backlog = backlog.max(turns.kept(RETAINED).await?.saturating_sub(plan.retention));
                await_pruned(&turns, plan.retention).await?;
            }
        }
        rounds.push(of_round);
    }
    services.stop().await?;

    while turns.kept(UNPRUNED).await? < plan.kept {
        turns.drain(UNPRUNED, plan.tasks, batch, CpuTime::none).await?;
    }
    let (finished_kept, size) = (turns.kept(UNPRUNED).await?, store.size().await?);
    let life = turns.drain(UNPRUNED, plan.tasks, batch, CpuTime::none).await?;
    let bytes_per_finished_task = (store.size().await? - size) / as_f64(plan.tasks);
    turns.stop().await?;
    let store_us_unbatched = unbatched(store, &ids).await?;
    let ping_us = store.ping_cpu_us(SINGLES).await?;
    let rate = |of: usize, by: usize| Rate::of(rounds.iter().map(|round| (round[of].rate, round[by].rate)));
    Ok(Steady {
        retained_drain: rate(RETAINED, UNPRUNED),
        retention_count: plan.retention,
        unpruned_backlog: backlog,
        slots_drain: rate(UNPRUNED, WIDER),
        tasks_per_call: Spread::of(rounds.iter().map(|round| round[UNPRUNED].tasks_per_call).collect(), 0),
        finished_kept,
        store_us_per_task: rounded(life.store_us, 2),
        bytes_per_finished_task: rounded(bytes_per_finished_task, 0),
        store_us_per_pruned_task: rounded(prune(store, plan.tasks).await?, 2),
        store_us_unbatched: rounded(store_us_unbatched, 1),
        ping_us: ping_us.map(|micros| rounded(micros, 1)),
    })
}

/// Waits until the manager and the cleaner have pruned what is over the retention.
async fn await_pruned(turns: &BenchTurns<'_>, retention: u64) -> Result<()> {
    let pruned = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while turns.kept(RETAINED).await? > retention {
            ticks.tick().await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(300), pruned).await.context("nothing prunes what is over the retention")?
}

/// The store's processor time for one task submitted, claimed and settled by calls of its own, in microseconds. As an idle
/// worker does it, a call settles the task before and claims the next.
async fn unbatched(store: &BenchStore, ids: &Ids) -> Result<f64> {
    let (engine, worker) = (&store.scratch.engine, WorkerId::new("bench-unbatched")?);
    let config = queue("bench.unbatched", false, unlimited())?;
    let name = config.name.clone();
    engine.put_queue(config, PutMode::Upsert).await?;
    let claim = ClaimRequest {
        queues: vec![QueueClaim { queue: name.clone(), limit: 1 }],
        limit: 1,
        refused: Vec::new(),
        lease: Duration::from_secs(60),
    };
    let (mut settlements, before) = (Vec::new(), store.cpu(&[CpuTime::own()?]).await?);
    for _ in 0..SINGLES {
        let submission: Submit = load::batch(ids, &name, 1)?;
        engine.submit(submission).await?;
        let cycle = Cycle { worker: worker.clone(), settlements, claim: Some(claim.clone()) };
        let claimed = engine.cycle(cycle).await?.claimed;
        let settle = |task| {
            let jobbers_common::task::ClaimedTask { id, fence, .. } = task;
            Settlement::new(id, fence, Outcome::Completed { result: None })
        };
        settlements = claimed.into_iter().map(settle).collect();
    }
    let used = store.cpu(&[CpuTime::own()?]).await? - before;
    engine.cycle(Cycle { worker, settlements, claim: None }).await?;
    Ok(used / as_f64(SINGLES))
}

/// The store's processor time for pruning a finished task, in microseconds: so many, by the retention of their queue.
async fn prune(store: &BenchStore, tasks: usize) -> Result<f64> {
    let engine = &store.scratch.engine;
    let name = QueueName::new(QUEUES[UNPRUNED])?;
    let stats = engine.queue_stats(&name).await?;
    let finished = stats.tasks.iter().filter(|(status, _)| status.is_finished());
    let kept: u64 = finished.map(|(_, tasks)| tasks).sum();
    let retention = Retention { count: kept.saturating_sub(u64::try_from(tasks)?), ..unlimited() };
    engine.put_queue(queue(name.as_str(), true, retention)?, PutMode::Upsert).await?;
    let before = store.cpu(&[CpuTime::own()?]).await?;
    let removed = prune_all(engine.as_ref()).await?;
    let used = store.cpu(&[CpuTime::own()?]).await? - before;
    Ok(used / as_f64(usize::try_from(removed)?.max(1)))
}

async fn prune_all(engine: &dyn Engine) -> Result<u64> {
    let (mut removed, mut cursor) = (0, None);
    loop {
        let request = PruneRequest { scope: PruneScope::Retention, limit: 1_000, dry_run: false, cursor };
        let pruned = engine.prune(request).await?;
        removed += pruned.removed;
        cursor = pruned.next;
        if cursor.is_none() {
            return Ok(removed);
        }
    }
}
