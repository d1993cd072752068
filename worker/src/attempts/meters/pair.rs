//! The instruments of one pair of queue and task, bound once.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use jobbers_common::{
    lifecycle::Status,
    metrics::catalogue::{
        ATTEMPTS_FAILED, END_TO_END_LATENCY, EXECUTION_TIME, LEASES_LOST, RETRY_DELAY, TASKS_DEAD_LETTERED,
        TASKS_PROCESSED, TASKS_RECOVERED, TASKS_RELEASED, TASKS_RETRIED, TASKS_SELECTED, TASKS_STALLED, TIME_IN_QUEUE,
    },
    name::{QueueName, RoleName},
    policy::OnStall,
};
use opentelemetry::{
    KeyValue,
    metrics::{BoundCounter, BoundHistogram, Counter, Histogram, Meter},
};

/// The instruments of all pairs.
#[derive(Debug)]
pub(crate) struct Instruments {
    selected: Counter<u64>,
    time_in_queue: Histogram<f64>,
    processed: Counter<u64>,
    execution_time: Histogram<f64>,
    end_to_end: Histogram<f64>,
    retried: Counter<u64>,
    dead_lettered: Counter<u64>,
    retry_delay: Histogram<f64>,
    failed: Counter<u64>,
    released: Counter<u64>,
    recovered: Counter<u64>,
    stalled: Counter<u64>,
    leases_lost: Counter<u64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        Self {
            selected: TASKS_SELECTED.counter(meter),
            time_in_queue: TIME_IN_QUEUE.histogram(meter),
            processed: TASKS_PROCESSED.counter(meter),
            execution_time: EXECUTION_TIME.histogram(meter),
            end_to_end: END_TO_END_LATENCY.histogram(meter),
            retried: TASKS_RETRIED.counter(meter),
            dead_lettered: TASKS_DEAD_LETTERED.counter(meter),
            retry_delay: RETRY_DELAY.histogram(meter),
            failed: ATTEMPTS_FAILED.counter(meter),
            released: TASKS_RELEASED.counter(meter),
            recovered: TASKS_RECOVERED.counter(meter),
            stalled: TASKS_STALLED.counter(meter),
            leases_lost: LEASES_LOST.counter(meter),
        }
    }

    /// Starts the retries of a task at 0.
    pub(super) fn begin(&self, [queue, task]: [KeyValue; 2], version: u32) {
        self.retried.add(0, &[queue, task, KeyValue::new("version", i64::from(version))]);
    }
}

/// Why attempts of any task may fail, and what comes next. Stalls start at 0 for tasks that can stall, in
/// [`TASKS_STALLED`]; failures at a shutdown are few.
const FAILURES: [(&str, &str); 7] = [
    ("error", "retry"),
    ("error", "over"),
    ("fatal", "over"),
    ("timeout", "retry"),
    ("timeout", "over"),
    ("panic", "retry"),
    ("panic", "over"),
];

/// A pair: queue, task and, for retries, the task's version.
pub(super) type Key = (QueueName, &'static str, u32);

/// One pair of queue and task.
#[derive(Debug)]
pub(crate) struct Pair {
    instruments: Arc<Instruments>,
    /// The attributes `queue` and `task`.
    names: [KeyValue; 2],
    selected: BoundCounter<u64>,
    time_in_queue: BoundHistogram<f64>,
    retried: BoundCounter<u64>,
    dead_lettered: BoundCounter<u64>,
    /// By the action for a silent task; bound when the first task that may be silent is claimed.
    stalled: [OnceLock<BoundCounter<u64>>; 3],
    /// By the place of the status in [`Status::ALL`]; bound when the first task gets there.
    by_status: [OnceLock<ByStatus>; Status::ALL.len()],
}

#[derive(Debug)]
struct ByStatus {
    processed: BoundCounter<u64>,
    execution_time: BoundHistogram<f64>,
    end_to_end: BoundHistogram<f64>,
}

impl Pair {
    pub(super) fn new(instruments: Arc<Instruments>, role: &RoleName, (queue, task, version): &Key) -> Self {
        let names = [KeyValue::new("queue", queue.as_str().to_owned()), KeyValue::new("task", *task)];
        let and = |other: KeyValue| [names[0].clone(), names[1].clone(), other];
        let by_role = and(KeyValue::new("role", role.as_str().to_owned()));
        let by_version = and(KeyValue::new("version", i64::from(*version)));
        let pair = Self {
            selected: instruments.selected.bind(&by_role),
            time_in_queue: instruments.time_in_queue.bind(&by_role),
            retried: instruments.retried.bind(&by_version),
            dead_lettered: instruments.dead_lettered.bind(&by_version),
            stalled: Default::default(),
            by_status: Default::default(),
            names: names.clone(),
            instruments,
        };
        pair.begin_at_zero();
        pair
    }

    /// Starts counters at 0, so that the first event of each kind appears as a step and not as a series that begins at
    /// 1, in which no alert can see a rise. Only for kinds whose first event matters, because an unused series costs
    /// its reader as much.
    fn begin_at_zero(&self) {
        self.retried.add(0);
        self.dead_lettered.add(0);
        for status in [Status::Completed, Status::Failed] {
            self.instruments.processed.add(0, &self.with("status", status.as_str()));
        }
        for (reason, next) in FAILURES {
            self.fail(reason, next, 0);
        }
        self.instruments.recovered.add(0, &self.names);
        self.instruments.leases_lost.add(0, &self.names);
    }

    fn with(&self, key: &'static str, value: &'static str) -> [KeyValue; 3] {
        [self.names[0].clone(), self.names[1].clone(), KeyValue::new(key, value)]
    }

    /// Records a claimed task.
    pub(crate) fn selected(&self, waited: Duration, crashes: u32) {
        self.selected.add(1);
        self.time_in_queue.record(millis(waited));
        if crashes > 0 {
            self.instruments.recovered.add(1, &self.names);
        }
    }

    /// Records the end of an attempt; if its task is over, `lived` is the whole time of the task.
    pub(super) fn ended(&self, status: Status, ran: Duration, lived: Option<Duration>) {
        let bind = || {
            let by_status = self.with("status", status.as_str());
            ByStatus {
                processed: self.instruments.processed.bind(&by_status),
                execution_time: self.instruments.execution_time.bind(&by_status),
                end_to_end: self.instruments.end_to_end.bind(&by_status),
            }
        };
        let Some(slot) = Status::ALL.iter().position(|one| *one == status) else { return };
        let by_status = self.by_status[slot].get_or_init(bind);
        by_status.execution_time.record(millis(ran));
        if let Some(lived) = lived {
            by_status.processed.add(1);
            by_status.end_to_end.record(millis(lived));
        }
    }

    /// Records a retry.
    pub(super) fn retried(&self, delay: Duration) {
        self.retried.add(1);
        self.instruments.retry_delay.record(delay.as_secs_f64(), &self.names);
    }

    /// Records a dead letter.
    pub(super) fn dead_lettered(&self) {
        self.dead_lettered.add(1);
    }

    /// Records a failed attempt.
    pub(super) fn failed(&self, reason: &'static str, next: &'static str) {
        self.fail(reason, next, 1);
    }

    fn fail(&self, reason: &'static str, next: &'static str, attempts: u64) {
        let [queue, task, reason] = self.with("reason", reason);
        self.instruments.failed.add(attempts, &[queue, task, reason, KeyValue::new("next", next)]);
    }

    /// Records a task that was given back.
    pub(super) fn released(&self, reason: &'static str) {
        self.instruments.released.add(1, &self.with("reason", reason));
    }

    /// Records that an attempt is watched for heartbeats, so that its first stall appears as a step too.
    pub(crate) fn watched(&self, action: OnStall) {
        self.stalls(action).add(0);
    }

    /// Records an attempt that was ended because it was silent.
    pub(super) fn stalled(&self, action: OnStall) {
        self.stalls(action).add(1);
    }

    fn stalls(&self, action: OnStall) -> &BoundCounter<u64> {
        let (slot, word) = match action {
            OnStall::Stall => (&self.stalled[0], "stall"),
            OnStall::Retry => (&self.stalled[1], "retry"),
            OnStall::Fail => (&self.stalled[2], "fail"),
        };
        slot.get_or_init(|| self.instruments.stalled.bind(&self.with("action", word)))
    }

    /// Records a lost lease.
    pub(crate) fn lease_lost(&self) {
        self.instruments.leases_lost.add(1, &self.names);
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
