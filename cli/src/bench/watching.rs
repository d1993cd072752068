//! What watching costs: the same drain by workers that are watched in different ways, in turns.
//!
//! A machine is never as fast twice, so nothing is compared across minutes: in each round every worker drains as many
//! tasks, one after the other, in another order each time; a ratio is taken within its round, and the middle one of all
//! rounds is told. The workers are started once and stay, each on a queue of its own; those whose turn it is not are
//! idle. All tasks carry a `traceparent`, a hundredth of them a kept one, watched or not.
//!
//! A rate says as much of the machine's neighbours as of the worker; the processor time a task takes says less of them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jobbers_common::{
    engine::{OnConflict, PutMode, Submit},
    name::{QueueName, RoleName, TaskId, TaskName},
    payload::Payload,
    queue::{QueueConfig, Retention, RoleConfig},
    task::NewTask,
};
use serde::Serialize;

use super::{
    BATCH,
    limit::per_second,
    phases::PAYLOAD,
    report::{percentile, rounded},
    sink::Sink,
    store::Store,
    worker::{Child, NOOP, Post},
};

/// Drains as they would be without, set beside those with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Watching {
    /// A worker without a meter provider: tasks per second.
    pub unwatched_tasks_per_s: f64,
    /// With metrics kept for `/metrics`, as every shipped program has them; its rate by the unwatched one.
    pub metrics_ratio: f64,
    /// With metrics, and one trace in a hundred kept, both sent to a collector that takes them; by the unwatched one.
    pub traced_ratio: f64,
    /// The same to a collector that accepts and never answers; by the one with a collector that works.
    pub frozen_collector_ratio: f64,
    /// What each of these workers takes of a processor for a task, without the store.
    pub worker_cpu_us_per_task: WatchedCpu,
}

/// Processor time of a worker and its telemetry, in microseconds per task, over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WatchedCpu {
    /// Without a meter provider.
    pub unwatched: f64,
    /// With metrics.
    pub metrics: f64,
    /// With metrics, and one trace in a hundred, both sent.
    pub traced: f64,
    /// The same to a collector that never answers.
    pub frozen_collector: f64,
}

/// In which way a worker is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unwatched,
    Metrics,
    Traced,
    Frozen,
}

impl Way {
    const ALL: [Self; 4] = [Self::Unwatched, Self::Metrics, Self::Traced, Self::Frozen];

    /// Its queue and role.
    const fn name(self) -> &'static str {
        match self {
            Self::Unwatched => "bench.unwatched",
            Self::Metrics => "bench.metrics",
            Self::Traced => "bench.traced",
            Self::Frozen => "bench.frozen",
        }
    }
}

/// The workers, idle.
struct Workers<'a> {
    store: &'a Store,
    children: Vec<Child>,
    /// Where telemetry goes; they serve until they are dropped.
    _sinks: [Sink; 2],
}

/// Measures; `tasks` in each turn of each of so many rounds.
pub(super) async fn measure(store: &Store, concurrency: u32, tasks: usize, rounds: usize) -> Result<Watching> {
    let workers = Workers::start(store, concurrency).await?;
    // What is done for the first time is slower than it will be.
    for way in Way::ALL {
        workers.drain(way, tasks / 10).await?;
    }
    let mut rates = Vec::new();
    let mut cpu = [0.0; Way::ALL.len()];
    for round in 0..rounds {
        let mut of_round = [0.0; Way::ALL.len()];
        for turn in 0..Way::ALL.len() {
            let place = (round + turn) % Way::ALL.len();
            let before = workers.children[place].cpu()?;
            of_round[place] = workers.drain(Way::ALL[place], tasks).await?;
            cpu[place] += workers.children[place].cpu()?.since(before).program;
        }
        rates.push(of_round);
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of tasks, far below 2^52")]
    let drained = (rounds * tasks.div_ceil(BATCH) * BATCH).max(1) as f64;
    let [unwatched, metrics, traced, frozen_collector] = cpu.map(|micros| rounded(micros / drained, 2));
    workers.stop().await?;
    let middle = |value: fn(&[f64; 4]) -> f64| {
        let mut values: Vec<f64> = rates.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        percentile(&values, 0.5)
    };
    Ok(Watching {
        unwatched_tasks_per_s: middle(|[unwatched, ..]| *unwatched).round(),
        metrics_ratio: rounded(middle(|[unwatched, metrics, ..]| metrics / unwatched), 3),
        traced_ratio: rounded(middle(|[unwatched, _, traced, _]| traced / unwatched), 3),
        frozen_collector_ratio: rounded(middle(|[_, _, traced, frozen]| frozen / traced), 3),
        worker_cpu_us_per_task: WatchedCpu { unwatched, metrics, traced, frozen_collector },
    })
}

impl<'a> Workers<'a> {
    async fn start(store: &'a Store, concurrency: u32) -> Result<Self> {
        let sinks = [Sink::answering().await?, Sink::frozen().await?];
        let mut children = Vec::new();
        for way in Way::ALL {
            let (queue, role) = (QueueName::new(way.name())?, RoleName::new(way.name())?);
            set_paused(store, &queue, true).await?;
            let engine = &store.scratch.engine;
            engine.put_role(RoleConfig::new(role.clone(), vec![queue]), PutMode::Upsert).await?;
            let collector = match way {
                Way::Unwatched | Way::Metrics => None,
                Way::Traced => Some(sinks[0].url()),
                Way::Frozen => Some(sinks[1].url()),
            };
            let post = Post { role, watched: way != Way::Unwatched, collector };
            children.push(Child::start(store, concurrency, &post).await?);
        }
        Ok(Self { store, children, _sinks: sinks })
    }

    /// Fills the queue of one and lets it loose; tasks per second.
    async fn drain(&self, way: Way, tasks: usize) -> Result<f64> {
        let queue = QueueName::new(way.name())?;
        set_paused(self.store, &queue, true).await?;
        let engine = &self.store.scratch.engine;
        let calls = tasks.div_ceil(BATCH);
        for call in 0..calls {
            engine.submit(Submit { tasks: batch(&queue, call)?, on_conflict: OnConflict::Fail }).await?;
        }
        let start = Instant::now();
        set_paused(self.store, &queue, false).await?;
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        loop {
            ticks.tick().await;
            let stats = engine.queue_stats(Some(&queue)).await?;
            if !stats.iter().flat_map(|stats| &stats.tasks).any(|(status, tasks)| !status.is_finished() && *tasks > 0) {
                return Ok(per_second(calls * BATCH, start));
            }
            ensure!(start.elapsed() < Duration::from_secs(300), "a watched worker does not empty its queue");
        }
    }

    async fn stop(self) -> Result<()> {
        for child in self.children {
            child.stop().await?;
        }
        for way in Way::ALL {
            let queue = QueueName::new(way.name())?;
            while self.store.scratch.engine.purge_queue(&queue, 1_000).await? > 0 {}
        }
        Ok(())
    }
}

async fn set_paused(store: &Store, queue: &QueueName, paused: bool) -> Result<()> {
    let retention = Retention { age: Duration::from_secs(86_400), count: u64::from(u32::MAX) };
    let config = QueueConfig { paused, retention, ..QueueConfig::new(queue.clone()) };
    store.scratch.engine.put_queue(config, PutMode::Upsert).await?;
    Ok(())
}

/// A batch whose first task is of a kept trace: one in [`BATCH`].
fn batch(queue: &QueueName, call: usize) -> Result<Vec<NewTask>> {
    let name = TaskName::new(NOOP)?;
    let task = |place: usize| {
        let id = TaskId::new(ulid::Ulid::generate().to_string())?;
        let kept = u8::from(place == 0);
        let trace = format!("00-{:032x}-{:016x}-{kept:02x}", call * BATCH + place + 1, place + 1);
        let task = NewTask::new(id, name.clone(), queue.clone(), Payload::json(PAYLOAD));
        Ok(NewTask { trace: Some(trace.into()), ..task })
    };
    (0..BATCH).map(task).collect()
}
