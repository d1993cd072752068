//! What watching costs: the same drain by workers that are watched in different ways, in turns.
//!
//! All tasks carry a `traceparent`, a hundredth of them a kept one, watched or not. A rate says as much of the machine's
//! neighbours as of the worker; the processor time a task takes says less of them.

use anyhow::Result;
use jobbers_common::{
    engine::{OnConflict, Submit},
    name::{QueueName, RoleName, TaskId, TaskName},
    payload::Payload,
    task::NewTask,
};
use serde::Serialize;

use super::{
    cpu::CpuTime,
    figures::{Spread, rounded},
    load::{BATCH, NOOP, PAYLOAD, unlimited},
    sink::Sink,
    store::BenchStore,
    turns::{BenchTurns, Contender},
    worker::Post,
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

/// The ways, in the order of the figures: each is its role.
const UNWATCHED: &str = "bench.unwatched";
const METRICS: &str = "bench.metrics";
const TRACED: &str = "bench.traced";
const FROZEN: &str = "bench.frozen";
const WAYS: usize = 4;

/// Measures; `tasks` in each turn of each of so many rounds.
pub(super) async fn measure(store: &BenchStore, concurrency: u32, tasks: usize, rounds: usize) -> Result<Watching> {
    let (sink, frozen) = (Sink::answering().await?, Sink::frozen().await?);
    let way = |role: &str, watched, collector: Option<&Sink>| {
        let post = Post { role: RoleName::new(role)?, concurrency, watched, collector: collector.map(Sink::url) };
        anyhow::Ok(Contender { post, retention: unlimited() })
    };
    let ways = vec![
        way(UNWATCHED, false, None)?,
        way(METRICS, true, None)?,
        way(TRACED, true, Some(&sink))?,
        way(FROZEN, true, Some(&frozen))?,
    ];
    let mut turns = BenchTurns::start(store, ways).await?;
    // What is done for the first time is slower than it will be.
    for way in 0..WAYS {
        turns.drain(way, tasks / 10, batch, CpuTime::none).await?;
    }
    let mut rates = Vec::with_capacity(rounds);
    let mut cpu = [0.0; WAYS];
    for round in 0..rounds {
        let mut of_round = [0.0; WAYS];
        for turn in 0..WAYS {
            let way = (round + turn) % WAYS;
            let turn = turns.drain(way, tasks, batch, CpuTime::none).await?;
            of_round[way] = turn.rate;
            cpu[way] += turn.worker_us;
        }
        rates.push(of_round);
    }
    turns.stop().await?;
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    let [unwatched, metrics, traced, frozen_collector] = cpu.map(|micros| rounded(micros / rounds.max(1) as f64, 2));
    let middle = |value: fn(&[f64; WAYS]) -> f64, digits| Spread::of(rates.iter().map(value).collect(), digits).median;
    Ok(Watching {
        unwatched_tasks_per_s: middle(|[unwatched, ..]| *unwatched, 0),
        metrics_ratio: middle(|[unwatched, metrics, ..]| metrics / unwatched, 3),
        traced_ratio: middle(|[unwatched, _, traced, _]| traced / unwatched, 3),
        frozen_collector_ratio: middle(|[_, _, traced, frozen]| frozen / traced, 3),
        worker_cpu_us_per_task: WatchedCpu { unwatched, metrics, traced, frozen_collector },
    })
}

/// A batch whose first task is of a kept trace: one in [`BATCH`].
fn batch(queue: &QueueName, call: usize) -> Result<Submit> {
    let name = TaskName::new(NOOP)?;
    let task = |place: usize| {
        let id = TaskId::new(ulid::Ulid::generate().to_string())?;
        let kept = u8::from(place == 0);
        let trace = format!("00-{:032x}-{:016x}-{kept:02x}", call * BATCH + place + 1, place + 1);
        let task = NewTask::new(id, name.clone(), queue.clone(), Payload::json(PAYLOAD));
        Ok(NewTask { trace: Some(trace.into()), ..task })
    };
    Ok(Submit { tasks: (0..BATCH).map(task).collect::<Result<_>>()?, on_conflict: OnConflict::Fail })
}
