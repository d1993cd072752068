//! Gauges of queues: what is in them, and since when.

use std::{collections::BTreeMap, time::Duration};

use jobbers_common::{
    engine::{Engine, ListRequest, QueueStats, Result, TaskFilter, reads::first_queues},
    lifecycle::Status,
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{
            QUEUE_ACCEPTED, QUEUE_DEPTH, QUEUE_OLDEST_AGE, QUEUE_OLDEST_WAITING_AGE, QUEUE_REMOVED, QUEUE_SUSPECTS,
            QUEUE_WAITING, SCHEDULE_LAG,
        },
    },
    name::QueueName,
    task::Task,
    time::Timestamp,
};
use opentelemetry::{KeyValue, metrics::Meter};

use super::latest::LatestLook;

/// Queues whose numbers are read at most, the first by name.
const MOST_QUEUES: usize = 10_000;
/// Most queues whose first task at a status is looked up in one round.
const MOST_FIRSTS: usize = 200;

/// How many queues have series of their own; the rest share one.
const MOST_NAMED: usize = MOST_NAMES - 1;

/// One reading of the queues.
#[derive(Debug)]
pub(super) struct QueueReading {
    shown: Vec<Shown>,
}

/// What the series of a queue show, or of all queues past [`MOST_NAMED`] together: sums, and the longest times.
#[derive(Debug, PartialEq)]
struct Shown {
    queue: KeyValue,
    tasks: BTreeMap<Status, u64>,
    accepted: u64,
    removed: u64,
    /// Suspects among the ready tasks.
    suspects: u64,
    waiting_bytes: Option<u64>,
    /// For how long the longest waiting ready task has been ready.
    oldest: Duration,
    /// By how much the next scheduled task is overdue.
    lag: Duration,
    /// How long ago the first waiting task was submitted.
    wait: Duration,
}

impl Shown {
    fn of(stats: QueueStats, lags: &Ages, waits: &Ages, now: Timestamp) -> Self {
        let age = |ages: &Ages| ages.get(&stats.queue).copied().unwrap_or_default();
        Self {
            queue: queue_of(&stats.queue),
            lag: age(lags),
            wait: age(waits),
            oldest: stats.oldest_ready_at.map_or(Duration::ZERO, |at| now.since(at)),
            tasks: stats.tasks,
            accepted: stats.accepted,
            removed: stats.removed,
            suspects: stats.suspects,
            waiting_bytes: stats.waiting_bytes,
        }
    }

    fn add(&mut self, other: Self) {
        for (status, tasks) in other.tasks {
            *self.tasks.entry(status).or_default() += tasks;
        }
        self.accepted += other.accepted;
        self.removed += other.removed;
        self.suspects += other.suspects;
        self.waiting_bytes = match (self.waiting_bytes, other.waiting_bytes) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.oldest = self.oldest.max(other.oldest);
        self.lag = self.lag.max(other.lag);
        self.wait = self.wait.max(other.wait);
    }
}

impl QueueReading {
    /// Reads the queues.
    pub(super) async fn read(engine: &dyn Engine, now: Timestamp) -> Result<Self> {
        let stats = first_queues(engine, MOST_QUEUES).await?;
        let lags = ages(engine, &stats, Status::Scheduled, |task| now.since(task.ready_at)).await?;
        let waits = ages(engine, &stats, Status::Waiting, |task| now.since(task.submitted_at)).await?;
        Ok(Self::fold(stats.into_iter().map(|stats| Shown::of(stats, &lags, &waits, now))))
    }

    /// Each queue for itself, and those for which no series is left together.
    fn fold(mut all: impl Iterator<Item = Shown>) -> Self {
        let mut shown: Vec<Shown> = all.by_ref().take(MOST_NAMED).collect();
        if let Some(first) = all.next() {
            let mut rest = Shown { queue: KeyValue::new("queue", OTHER), ..first };
            all.for_each(|other| rest.add(other));
            shown.push(rest);
        }
        Self { shown }
    }
}

/// Ages by queue.
type Ages = BTreeMap<QueueName, Duration>;

/// The age of the first task at a status, of each queue that has any.
async fn ages(
    engine: &dyn Engine,
    stats: &[QueueStats],
    status: Status,
    age: impl Fn(&Task) -> Duration,
) -> Result<Ages> {
    let mut ages = Ages::new();
    let has_any = |stats: &&QueueStats| stats.tasks.get(&status).is_some_and(|tasks| *tasks > 0);
    for QueueStats { queue, .. } in stats.iter().filter(has_any).take(MOST_FIRSTS) {
        let filter = TaskFilter { statuses: vec![status], queue: Some(queue.clone()), ..TaskFilter::default() };
        let page = engine.list(ListRequest { filter, limit: 1, cursor: None }).await?;
        ages.extend(page.tasks.first().map(|task| (queue.clone(), age(task))));
    }
    Ok(ages)
}

/// The attribute that names a queue.
pub(super) fn queue_of(queue: &QueueName) -> KeyValue {
    KeyValue::new("queue", queue.as_str().to_owned())
}

/// Registers the gauges.
pub(super) fn observe(queues: &LatestLook<QueueReading>, meter: &Meter) {
    QUEUE_DEPTH.gauge(
        meter,
        queues.observer(|queues, gauge| {
            for stats in &queues.shown {
                for status in Status::ALL.into_iter().filter(|status| !status.is_finished()) {
                    let tasks = stats.tasks.get(&status).copied().unwrap_or(0);
                    gauge.observe(tasks as f64, &[stats.queue.clone(), KeyValue::new("status", status.as_str())]);
                }
            }
        }),
    );
    QUEUE_SUSPECTS.gauge(
        meter,
        queues.observer(|queues, gauge| {
            for stats in &queues.shown {
                gauge.observe(stats.suspects as f64, std::slice::from_ref(&stats.queue));
            }
        }),
    );
    QUEUE_WAITING.gauge(
        meter,
        queues.observer(|queues, gauge| {
            for stats in &queues.shown {
                if let Some(bytes) = stats.waiting_bytes {
                    gauge.observe(bytes as f64, std::slice::from_ref(&stats.queue));
                }
            }
        }),
    );
    QUEUE_OLDEST_AGE.gauge(
        meter,
        queues.observer(|queues, gauge| {
            for stats in &queues.shown {
                gauge.observe(stats.oldest.as_secs_f64(), std::slice::from_ref(&stats.queue));
            }
        }),
    );
    SCHEDULE_LAG.gauge(
        meter,
        queues.observer(|queues, gauge| {
            for stats in &queues.shown {
                gauge.observe(stats.lag.as_secs_f64(), std::slice::from_ref(&stats.queue));
            }
        }),
    );
    QUEUE_OLDEST_WAITING_AGE.gauge(
        meter,
        queues.observer(|queues, gauge| {
            for stats in &queues.shown {
                gauge.observe(stats.wait.as_secs_f64(), std::slice::from_ref(&stats.queue));
            }
        }),
    );
    QUEUE_ACCEPTED.observed_counter(
        meter,
        queues.observer(|queues, counter| {
            for stats in &queues.shown {
                counter.observe(stats.accepted as f64, std::slice::from_ref(&stats.queue));
            }
        }),
    );
    QUEUE_REMOVED.observed_counter(
        meter,
        queues.observer(|queues, counter| {
            for stats in &queues.shown {
                counter.observe(stats.removed as f64, std::slice::from_ref(&stats.queue));
            }
        }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(n: u64) -> Shown {
        let tasks = BTreeMap::from([(Status::Submitted, n), (Status::Started, 1)]);
        let queue = KeyValue::new("queue", format!("q{n:05}"));
        let times = (Duration::from_secs(n), Duration::from_secs(2 * n), Duration::from_secs(3 * n));
        let (oldest, lag, wait) = times;
        let waiting_bytes = n.is_multiple_of(2).then_some(n);
        Shown { queue, tasks, accepted: n + 1, removed: n, suspects: n, waiting_bytes, oldest, lag, wait }
    }

    #[test]
    fn the_series_of_all_queues_add_up_however_many_there_are() {
        for queues in [1, 750, 751, 999, 1_000, 1_001, 10_000] {
            let reading = QueueReading::fold((0..queues).map(shown));
            let sum = |of: fn(&Shown) -> u64| reading.shown.iter().map(of).sum::<u64>();
            assert_eq!(sum(|it| it.tasks[&Status::Submitted]), queues * (queues - 1) / 2);
            assert_eq!(sum(|it| it.tasks[&Status::Started]), queues);
            assert_eq!(
                (sum(|it| it.accepted), sum(|it| it.removed)),
                (queues * (queues + 1) / 2, queues * (queues - 1) / 2)
            );
            let bytes = (0..queues).filter(|n| n.is_multiple_of(2)).sum::<u64>();
            assert_eq!(sum(|it| it.waiting_bytes.unwrap_or(0)), bytes);
            let last = reading.shown.last().unwrap();
            let longest = |factor: u64| Duration::from_secs(factor * (queues - 1));
            assert_eq!((last.oldest, last.lag, last.wait), (longest(1), longest(2), longest(3)));
            assert!(reading.shown.len() <= MOST_NAMES);
            assert_eq!(last.queue.value.as_str() == OTHER, queues > MOST_NAMED as u64);
        }
    }

    #[test]
    fn no_series_of_a_gauge_of_queues_is_past_its_bound() {
        let live = Status::ALL.into_iter().filter(|status| !status.is_finished()).count();
        assert!(MOST_NAMES * live <= QUEUE_DEPTH.most_series);
        for metric in [&QUEUE_WAITING, &QUEUE_OLDEST_AGE, &SCHEDULE_LAG, &QUEUE_OLDEST_WAITING_AGE] {
            assert!(MOST_NAMES <= metric.most_series);
        }
    }
}
