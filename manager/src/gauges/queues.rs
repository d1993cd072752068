//! Gauges of queues: what is in them, and since when.

use std::{collections::BTreeMap, sync::Weak, time::Duration};

use jobbers_common::{
    engine::{Engine, ListRequest, QueueStats, Result, TaskFilter, look::first_queues},
    lifecycle::Status,
    metrics::catalogue::{
        QUEUE_ACCEPTED, QUEUE_DEPTH, QUEUE_OLDEST_AGE, QUEUE_OLDEST_WAITING_AGE, QUEUE_REMOVED, QUEUE_WAITING,
        SCHEDULE_LAG,
    },
    name::QueueName,
    task::Task,
    time::Timestamp,
};
use opentelemetry::{KeyValue, metrics::Meter};

use super::{queue_of, with_reading};
use crate::app::App;

/// Queues whose numbers are read at most, the first by name: each is a series of every metric by queue.
const MOST_QUEUES: usize = 10_000;
/// Most queues whose first task at a status is looked up in one round.
const MOST_FIRSTS: usize = 200;

/// One reading of the queues.
#[derive(Debug)]
pub(super) struct QueueReading {
    stats: Vec<QueueStats>,
    /// By how much the next scheduled task is overdue.
    lags: BTreeMap<QueueName, Duration>,
    /// How long ago the first waiting task was submitted.
    waits: BTreeMap<QueueName, Duration>,
}

impl QueueReading {
    /// Reads the queues.
    pub(super) async fn read(engine: &dyn Engine, now: Timestamp) -> Result<Self> {
        let stats = first_queues(engine, MOST_QUEUES).await?;
        let lags = ages(engine, &stats, Status::Scheduled, |task| now.since(task.ready_at)).await?;
        let waits = ages(engine, &stats, Status::Waiting, |task| now.since(task.submitted_at)).await?;
        Ok(Self { stats, lags, waits })
    }
}

/// The age of the first task at a status, of each queue that has any.
async fn ages(
    engine: &dyn Engine,
    stats: &[QueueStats],
    status: Status,
    age: impl Fn(&Task) -> Duration,
) -> Result<BTreeMap<QueueName, Duration>> {
    let mut ages = BTreeMap::new();
    let has_any = |stats: &&QueueStats| stats.tasks.get(&status).is_some_and(|tasks| *tasks > 0);
    for QueueStats { queue, .. } in stats.iter().filter(has_any).take(MOST_FIRSTS) {
        let filter = TaskFilter { statuses: vec![status], queue: Some(queue.clone()), ..TaskFilter::default() };
        let page = engine.list(ListRequest { filter, limit: 1, cursor: None }).await?;
        ages.extend(page.tasks.first().map(|task| (queue.clone(), age(task))));
    }
    Ok(ages)
}

/// Registers the gauges.
pub(super) fn observe(app: &Weak<App>, meter: &Meter) {
    QUEUE_DEPTH.gauge(
        meter,
        with_reading(app, |reading, gauge| {
            for stats in &reading.queues.stats {
                for status in Status::ALL.into_iter().filter(|status| !status.is_finished()) {
                    let tasks = stats.tasks.get(&status).copied().unwrap_or(0);
                    gauge.observe(tasks as f64, &[queue_of(&stats.queue), KeyValue::new("status", status.as_str())]);
                }
            }
        }),
    );
    QUEUE_WAITING.gauge(
        meter,
        with_reading(app, |reading, gauge| {
            for stats in &reading.queues.stats {
                if let Some(bytes) = stats.waiting_bytes {
                    gauge.observe(bytes as f64, &[queue_of(&stats.queue)]);
                }
            }
        }),
    );
    QUEUE_OLDEST_AGE.gauge(
        meter,
        with_reading(app, |reading, gauge| {
            for stats in &reading.queues.stats {
                let age = stats.oldest_ready_at.map_or(Duration::ZERO, |at| reading.now.since(at));
                gauge.observe(age.as_secs_f64(), &[queue_of(&stats.queue)]);
            }
        }),
    );
    SCHEDULE_LAG.gauge(
        meter,
        with_reading(app, |reading, gauge| {
            for stats in &reading.queues.stats {
                let lag = reading.queues.lags.get(&stats.queue).copied().unwrap_or_default();
                gauge.observe(lag.as_secs_f64(), &[queue_of(&stats.queue)]);
            }
        }),
    );
    QUEUE_OLDEST_WAITING_AGE.gauge(
        meter,
        with_reading(app, |reading, gauge| {
            for stats in &reading.queues.stats {
                let wait = reading.queues.waits.get(&stats.queue).copied().unwrap_or_default();
                gauge.observe(wait.as_secs_f64(), &[queue_of(&stats.queue)]);
            }
        }),
    );
    QUEUE_ACCEPTED.observed_counter(
        meter,
        with_reading(app, |reading, counter| {
            for stats in &reading.queues.stats {
                counter.observe(stats.accepted as f64, &[queue_of(&stats.queue)]);
            }
        }),
    );
    QUEUE_REMOVED.observed_counter(
        meter,
        with_reading(app, |reading, counter| {
            for stats in &reading.queues.stats {
                counter.observe(stats.removed as f64, &[queue_of(&stats.queue)]);
            }
        }),
    );
}
