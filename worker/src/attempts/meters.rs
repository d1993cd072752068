//! The worker's metrics, on OpenTelemetry's global meter: a program with its own meter provider finds them there;
//! without a provider, all of this does nothing.
//!
//! Events are counted once the store has accepted them, so that the numbers match the store: a task counts as processed
//! when its settlement is accepted, not when its function returned. Counting happens on the control thread, in batches,
//! through instruments bound once per pair of queue and task. A task costs some ten nanoseconds for each of its three
//! histograms, no allocation, and no lookup while it has the same pair as the one before.
//!
//! Start reading at [`Meters`]; [`pair`] has the bound instruments.

mod gauges;
pub(crate) mod pair;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{LostTask, Outcome, Reclaimed},
    lifecycle::Status,
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{CLAIM_BATCH_SIZE, CLAIMS, RENEWALS, TASKS_RELEASED, WORKER_DRAIN_DURATION},
        ends::EndCounters,
    },
    name::{QueueName, RoleName, TaskName},
    task::{AttemptFailure, FailureKind},
    worker::task_kind::TaskKind,
};
use opentelemetry::{
    KeyValue,
    metrics::{BoundCounter, BoundHistogram, Counter, Histogram, Meter},
};

pub(crate) use self::gauges::{Figures, observe, observe_hung_threads, observe_threads};
use self::pair::{Instruments, Key, Pair};
use crate::attempts::attempt::{Attempt, Stop};

/// The fetcher's instruments.
#[derive(Debug)]
pub(crate) struct Meters {
    role: RoleName,
    instruments: Arc<Instruments>,
    pairs: HashMap<Key, Arc<Pair>>,
    /// The pair of the last lookup, which most often is the next one too.
    last: Option<(Key, Arc<Pair>)>,
    claims: ClaimMeters,
    unknown_released: Counter<u64>,
    ends: EndCounters,
    drain: Histogram<f64>,
}

#[derive(Debug)]
struct ClaimMeters {
    hit: BoundCounter<u64>,
    empty: BoundCounter<u64>,
    error: BoundCounter<u64>,
    size: BoundHistogram<f64>,
}

impl Meters {
    pub(crate) fn new(role: &RoleName, meter: &Meter) -> Self {
        let claims = CLAIMS.counter(meter);
        let of = |outcome| claims.bind(&[role_of(role), KeyValue::new("outcome", outcome)]);
        Self {
            role: role.clone(),
            instruments: Arc::new(Instruments::new(meter)),
            pairs: HashMap::new(),
            last: None,
            claims: ClaimMeters {
                hit: of("hit"),
                empty: of("empty"),
                error: of("error"),
                size: CLAIM_BATCH_SIZE.histogram(meter).bind(&[role_of(role)]),
            },
            unknown_released: TASKS_RELEASED.counter(meter),
            ends: EndCounters::new(meter),
            drain: WORKER_DRAIN_DURATION.histogram(meter),
        }
    }

    /// The instruments for a queue's tasks of this name. `name` is the registry's.
    pub(crate) fn pair(&mut self, queue: &QueueName, name: &'static str, version: u32) -> Arc<Pair> {
        if let Some(((last, task, of), pair)) = &self.last
            && (*of, *task) == (version, name)
            && last == queue
        {
            return Arc::clone(pair);
        }
        let mut key = (queue.clone(), name, version);
        if self.pairs.len() >= MOST_NAMES
            && !self.pairs.contains_key(&key)
            && let Ok(other) = QueueName::new(OTHER)
        {
            key = (other, OTHER, 0);
        }
        let new = || Arc::new(Pair::new(Arc::clone(&self.instruments), &self.role, &key));
        let pair = Arc::clone(self.pairs.entry(key.clone()).or_insert_with(new));
        self.last = Some((key, Arc::clone(&pair)));
        pair
    }

    /// Counts a claim that returned this number of tasks.
    pub(crate) fn claimed(&self, tasks: usize) {
        if tasks == 0 {
            self.claims.empty.add(1);
        } else {
            self.claims.hit.add(1);
            self.claims.size.record(tasks as f64);
        }
    }

    /// Counts a failed claim.
    pub(crate) fn claim_failed(&self) {
        self.claims.error.add(1);
    }

    /// Starts the counters of tasks that end badly at 0 for all known tasks of these queues: this worker may take back
    /// leases of tasks that it never claimed.
    pub(crate) fn serve(&self, queues: &[QueueName], kinds: &[TaskKind]) {
        for queue in queues {
            kinds.iter().for_each(|kind| self.begin(queue, &kind.name, kind.version));
        }
    }

    /// The same for one task.
    pub(crate) fn begin(&self, queue: &QueueName, name: &TaskName, version: u32) {
        if self.ends.begin(queue, name, version) {
            self.instruments.begin(self.ends.names_of(queue, name), version);
        }
    }

    /// Counts an unknown task that was given back, or ended for that reason.
    pub(crate) fn unknown(&self, task: LostTask) {
        if task.status.is_finished() {
            self.ends.lost(&[task]);
        } else {
            let [queue, name] = self.ends.names_of(&task.queue, &task.name);
            self.unknown_released.add(1, &[queue, name, KeyValue::new("reason", "unknown_task")]);
        }
    }

    /// Counts expired leases that a claim took back.
    pub(crate) fn reclaimed(&self, reclaimed: &Reclaimed) {
        self.ends.reclaimed(reclaimed);
    }

    /// Counts tasks that a claim found expired and dropped.
    pub(crate) fn expired(&self, expired: &[LostTask]) {
        self.ends.expired(expired);
    }

    /// Records the end of the worker, this long after the stop request.
    pub(crate) fn drained(&self, took: Duration, late: bool) {
        let outcome = KeyValue::new("outcome", if late { "late" } else { "done" });
        self.drain.record(took.as_secs_f64(), &[role_of(&self.role), outcome]);
    }
}

fn role_of(role: &RoleName) -> KeyValue {
    KeyValue::new("role", role.as_str().to_owned())
}

/// Counts the end of an attempt that the store accepted; its task now has `status`.
pub(crate) fn settled(attempt: &Attempt, outcome: &Outcome, status: Status) {
    let Some(pair) = &attempt.pair else { return };
    match outcome {
        Outcome::Released { .. } | Outcome::Unstarted { .. } if !status.is_finished() => {
            pair.released(match attempt.stopped() {
                Some(Stop::LeaseEnding) => "lease_ending",
                Some(_) => "shutdown",
                None if !attempt.has_begun() => "unstarted",
                None => "abandoned",
            });
            return;
        }
        Outcome::Retry { delay, failure } => {
            if !status.is_finished() {
                pair.retried(*delay);
            }
            failed(attempt, pair, failure, status);
        }
        Outcome::Failed { failure, dead_letter } | Outcome::Stalled { failure, dead_letter } => {
            failed(attempt, pair, failure, status);
            if *dead_letter && matches!(status, Status::Failed | Status::Stalled) {
                pair.dead_lettered();
            }
        }
        Outcome::Aborted { failure } => failed(attempt, pair, failure, status),
        _ => {}
    }
    pair.ended(status, attempt.ran(), status.is_finished().then(|| attempt.lived()));
}

fn failed(attempt: &Attempt, pair: &Pair, failure: &AttemptFailure, status: Status) {
    pair.failed(failure.kind.as_str(), if status.is_finished() { "over" } else { "retry" });
    if failure.kind == FailureKind::Stall {
        pair.stalled(attempt.policy.on_stall);
    }
}

/// The renewal's instruments.
#[derive(Debug, Clone)]
pub(crate) struct Renewals {
    pub(crate) renewed: BoundCounter<u64>,
    pub(crate) lost: BoundCounter<u64>,
    pub(crate) error: BoundCounter<u64>,
}

impl Renewals {
    pub(crate) fn new(meter: &Meter) -> Self {
        let counter = RENEWALS.counter(meter);
        let of = |outcome| counter.bind(&[KeyValue::new("outcome", outcome)]);
        Self { renewed: of("renewed"), lost: of("lost"), error: of("error") }
    }
}
