//! What a worker counts and times. On OpenTelemetry's global meter: a program with a meter provider of its own finds them
//! there; without one, all of this does nothing.
//!
//! Counted where the store has taken it, so that the numbers are the store's: a task is processed when its settlement is
//! accepted, not when its function returned. All of it happens on the control thread, batch by batch, through instruments
//! bound once per pair of queue and task: a task costs some ten nanoseconds for each of its three histograms, no
//! allocation and no look-up while it is of the same pair as the one before.
//!
//! Start reading at [`Meters`]; [`pair`] has what is bound.

mod gauges;
pub(crate) mod pair;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Outcome, Reclaimed},
    lifecycle::Status,
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{CLAIM_BATCH_SIZE, CLAIMS, RENEWALS, TASKS_RELEASED, WORKER_DRAIN_DURATION},
        ends::Ends,
    },
    name::{QueueName, RoleName, TaskName},
    task::{AttemptFailure, FailureKind},
};
use opentelemetry::{
    KeyValue,
    metrics::{BoundCounter, BoundHistogram, Counter, Histogram, Meter},
};

pub(crate) use self::gauges::{Figures, observe, observe_hung_threads};
use self::pair::{Instruments, Key, Pair};
use crate::attempt::{Attempt, Stop};

/// What the fetcher counts with.
#[derive(Debug)]
pub(crate) struct Meters {
    role: RoleName,
    instruments: Arc<Instruments>,
    pairs: HashMap<Key, Arc<Pair>>,
    /// The pair that was asked for last: most often it is asked for again.
    last: Option<(Key, Arc<Pair>)>,
    claims: Claims,
    unknown_released: Counter<u64>,
    ends: Ends,
    drain: Histogram<f64>,
}

#[derive(Debug)]
struct Claims {
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
            claims: Claims {
                hit: of("hit"),
                empty: of("empty"),
                error: of("error"),
                size: CLAIM_BATCH_SIZE.histogram(meter).bind(&[role_of(role)]),
            },
            unknown_released: TASKS_RELEASED.counter(meter),
            ends: Ends::new(meter),
            drain: WORKER_DRAIN_DURATION.histogram(meter),
        }
    }

    /// What a queue's tasks of this name are counted with. `name` is the registry's.
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

    /// A call that asked for work was answered with so many tasks.
    pub(crate) fn claimed(&self, tasks: usize) {
        if tasks == 0 {
            self.claims.empty.add(1);
        } else {
            self.claims.hit.add(1);
            self.claims.size.record(tasks as f64);
        }
    }

    /// A call that asked for work failed.
    pub(crate) fn claim_failed(&self) {
        self.claims.error.add(1);
    }

    /// A task that the worker does not know was given back, or is over for that.
    pub(crate) fn unknown(&self, queue: &QueueName, name: &TaskName, status: Status) {
        if status.is_finished() {
            self.ends.ended(queue, name, status);
        } else {
            let [queue, name] = self.ends.names_of(queue, name);
            self.unknown_released.add(1, &[queue, name, KeyValue::new("reason", "unknown_task")]);
        }
    }

    /// A claim took expired leases back.
    pub(crate) fn reclaimed(&self, reclaimed: &Reclaimed) {
        self.ends.reclaimed(reclaimed);
    }

    /// The worker ends, so long after it was told to.
    pub(crate) fn drained(&self, took: Duration, late: bool) {
        let outcome = KeyValue::new("outcome", if late { "late" } else { "done" });
        self.drain.record(took.as_secs_f64(), &[role_of(&self.role), outcome]);
    }
}

fn role_of(role: &RoleName) -> KeyValue {
    KeyValue::new("role", role.as_str().to_owned())
}

/// Counts the end of an attempt that the store took; its task now stands at `status`.
pub(crate) fn settled(attempt: &Attempt, outcome: &Outcome, status: Status) {
    let Some(pair) = &attempt.pair else { return };
    match outcome {
        Outcome::Released { .. } if !status.is_finished() => {
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

/// What the renewal counts with.
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
