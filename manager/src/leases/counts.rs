//! Counts what workers that speak HTTP do, under the names and attributes by which native workers count themselves.
//!
//! A task counts when the store has taken its settlement, once, however often the request is sent. The manager that
//! leased a task remembers it until its lease ends. The end of one that another manager leased is read from the store,
//! whose clock then gives its times.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Engine, Outcome, SettleAnswer, Settlement},
    lifecycle::Status,
    metrics::{
        catalogue::{
            ATTEMPTS_FAILED, END_TO_END_LATENCY, EXECUTION_TIME, RETRY_DELAY, TASKS_DEAD_LETTERED, TASKS_PROCESSED,
            TASKS_RECOVERED, TASKS_RELEASED, TASKS_RETRIED, TASKS_SELECTED, TIME_IN_QUEUE,
        },
        ends::EndCounters,
    },
    name::TaskId,
    task::{ClaimedTask, Fence, Task},
};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};
use parking_lot::Mutex;

use super::http_workers::ROLE;

/// Leases are swept for ended ones whenever there are twice as many as after the last sweep, from here on.
const FEW_LEASES: usize = 1_024;
/// So many ends are remembered, so that a request that is sent again is not counted again.
const MOST_ENDS: usize = 65_536;

/// The instruments, and the leases they count.
#[derive(Debug)]
pub(crate) struct LeaseCounts {
    /// For the bound on names.
    ends: EndCounters,
    selected: Counter<u64>,
    recovered: Counter<u64>,
    time_in_queue: Histogram<f64>,
    processed: Counter<u64>,
    execution_time: Histogram<f64>,
    end_to_end: Histogram<f64>,
    retried: Counter<u64>,
    retry_delay: Histogram<f64>,
    dead_lettered: Counter<u64>,
    failed: Counter<u64>,
    released: Counter<u64>,
    held: Mutex<CountedLeases>,
}

#[derive(Debug, Default)]
struct CountedLeases {
    leases: HashMap<TaskId, CountedLease>,
    swept: usize,
    ended: HashSet<(TaskId, Fence)>,
    order: VecDeque<(TaskId, Fence)>,
}

/// A lease of this manager.
#[derive(Debug, Clone)]
struct CountedLease {
    fence: Fence,
    names: [KeyValue; 2],
    version: KeyValue,
    leased: Instant,
    /// The task's age when it was leased, by the store's clock.
    age: Duration,
    /// When the lease ends.
    until: Instant,
}

/// What an end is counted with.
struct CountedEnd {
    names: [KeyValue; 2],
    version: KeyValue,
    ran: Option<Duration>,
    lived: Option<Duration>,
}

impl LeaseCounts {
    pub(crate) fn new(meter: &Meter) -> Self {
        Self {
            ends: EndCounters::new(meter),
            selected: TASKS_SELECTED.counter(meter),
            recovered: TASKS_RECOVERED.counter(meter),
            time_in_queue: TIME_IN_QUEUE.histogram(meter),
            processed: TASKS_PROCESSED.counter(meter),
            execution_time: EXECUTION_TIME.histogram(meter),
            end_to_end: END_TO_END_LATENCY.histogram(meter),
            retried: TASKS_RETRIED.counter(meter),
            retry_delay: RETRY_DELAY.histogram(meter),
            dead_lettered: TASKS_DEAD_LETTERED.counter(meter),
            failed: ATTEMPTS_FAILED.counter(meter),
            released: TASKS_RELEASED.counter(meter),
            held: Mutex::default(),
        }
    }

    /// Tasks were leased to a worker.
    pub(crate) fn leased(&self, tasks: &[ClaimedTask], lease: Duration) {
        let now = Instant::now();
        for task in tasks {
            self.ends.begin(&task.queue, &task.name, task.version);
            let names = self.ends.names_of(&task.queue, &task.name);
            let by_role = [names[0].clone(), names[1].clone(), KeyValue::new("role", ROLE)];
            self.selected.add(1, &by_role);
            let waited = task.started_at.since(task.ready_at.max(task.submitted_at));
            self.time_in_queue.record(millis(waited), &by_role);
            if task.crashes > 0 {
                self.recovered.add(1, &names);
            }
            let version = KeyValue::new("version", i64::from(task.version));
            let (age, until) = (task.started_at.since(task.submitted_at), ends_at(now, lease));
            let leased = CountedLease { fence: task.fence, names, version, leased: now, age, until };
            self.held.lock().leases.insert(task.id.clone(), leased);
        }
        self.held.lock().sweep(now);
    }

    /// Leases were extended.
    pub(crate) fn extended<'a>(&self, ids: impl IntoIterator<Item = &'a TaskId>, lease: Duration) {
        let (until, mut held) = (ends_at(Instant::now(), lease), self.held.lock());
        for id in ids {
            if let Some(lease) = held.leases.get_mut(id) {
                lease.until = until;
            }
        }
    }

    /// The store has answered settlements.
    pub(crate) async fn settled(&self, engine: &dyn Engine, settlements: &[Settlement], answers: &[SettleAnswer]) {
        for (settlement, answer) in settlements.iter().zip(answers) {
            let SettleAnswer::Accepted(status) = answer else { continue };
            let (is_first, lease) = self.held.lock().end(&settlement.id, settlement.fence);
            if !is_first {
                continue;
            }
            let end = match lease {
                Some(lease) => Some(CountedEnd::of_lease(lease)),
                // A store that can't answer now costs a count and no task.
                None => engine.get(&settlement.id).await.ok().flatten().map(|task| self.end_of_task(&task)),
            };
            if let Some(end) = end {
                self.count(&settlement.outcome, *status, &end);
            }
        }
    }

    fn end_of_task(&self, task: &Task) -> CountedEnd {
        let between =
            |from, to: Option<_>| to.zip(from).map(|(to, from)| jobbers_common::time::Timestamp::since(to, from));
        CountedEnd {
            names: self.ends.names_of(&task.queue, &task.name),
            version: KeyValue::new("version", i64::from(task.version)),
            ran: between(task.started_at, task.completed_at),
            lived: between(Some(task.submitted_at), task.completed_at),
        }
    }

    fn count(&self, outcome: &Outcome, status: Status, end: &CountedEnd) {
        let [queue, task] = &end.names;
        let and = |other: KeyValue| [queue.clone(), task.clone(), other];
        if matches!(outcome, Outcome::Released { .. } | Outcome::Unstarted { .. }) && !status.is_finished() {
            return self.released.add(1, &and(KeyValue::new("reason", "shutdown")));
        }
        if let (Outcome::Retry { delay, .. }, false) = (outcome, status.is_finished()) {
            self.retried.add(1, &and(end.version.clone()));
            self.retry_delay.record(delay.as_secs_f64(), &end.names);
        }
        if let Some(failure) = outcome.failure() {
            let next = if status.is_finished() { "over" } else { "retry" };
            let [queue, task, reason] = and(KeyValue::new("reason", failure.kind.as_str()));
            self.failed.add(1, &[queue, task, reason, KeyValue::new("next", next)]);
        }
        if matches!(outcome, Outcome::Failed { dead_letter: true, .. }) && status == Status::Failed {
            self.dead_lettered.add(1, &and(end.version.clone()));
        }
        let by_status = and(KeyValue::new("status", status.as_str()));
        if let Some(ran) = end.ran {
            self.execution_time.record(millis(ran), &by_status);
        }
        if status.is_finished() {
            self.processed.add(1, &by_status);
            if let Some(lived) = end.lived {
                self.end_to_end.record(millis(lived), &by_status);
            }
        }
    }
}

impl CountedEnd {
    fn of_lease(lease: CountedLease) -> Self {
        let ran = lease.leased.elapsed();
        Self { names: lease.names, version: lease.version, ran: Some(ran), lived: Some(lease.age + ran) }
    }
}

impl CountedLeases {
    /// Takes a lease that ended. Also returns whether this end is the first of it.
    fn end(&mut self, id: &TaskId, fence: Fence) -> (bool, Option<CountedLease>) {
        let key = (id.clone(), fence);
        if !self.ended.insert(key.clone()) {
            return (false, None);
        }
        self.order.push_back(key);
        if self.order.len() > MOST_ENDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ended.remove(&oldest);
        }
        let is_ours = self.leases.get(id).is_some_and(|lease| lease.fence == fence);
        (true, if is_ours { self.leases.remove(id) } else { None })
    }

    /// Forgets leases that ended without a settlement, now and then.
    fn sweep(&mut self, now: Instant) {
        if self.leases.len() >= FEW_LEASES.max(self.swept.saturating_mul(2)) {
            self.leases.retain(|_, lease| lease.until > now);
            self.swept = self.leases.len();
        }
    }
}

/// When a lease ends; one that no clock can name is kept for a day.
fn ends_at(now: Instant, lease: Duration) -> Instant {
    now.checked_add(lease).unwrap_or(now + Duration::from_secs(86_400))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
