//! The task: what is submitted, and what can be known about it later.

pub mod dead_letter;
pub mod failure;
mod field_digest;
pub mod metadata;
pub mod progress;
pub mod suspicion;
pub mod tombstone;
pub mod trace;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    dependency::{Dependencies, Dependency, signal::AwaitedSignal},
    lifecycle::Status,
    limits::MAX_CRASHES,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    policy::{CrashPolicy, PolicyOverrides},
    queue::gate::ConcurrencyKey,
    task::{field_digest::FieldDigest, metadata::Metadata, suspicion::Suspicion, unique::Unique},
    time::{Timestamp, micros},
};

pub use jobbers_terms::task::{Priority, label, unique};

pub use crate::task::{
    failure::{AttemptError, AttemptFailure, FailureKind},
    progress::Progress,
};

/// A number that only grows, given with each claim. Settle and extend are compare-and-set on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// When a new task may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// At once.
    #[default]
    Now,
    /// This long after the store takes it.
    After(Duration),
    /// Not before this point.
    At(Timestamp),
}

impl Start {
    /// When that is, for a store that takes it now.
    #[must_use]
    pub fn due(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::After(delay) => now.after(delay),
            Self::At(at) => at.max(now),
        }
    }
}

/// A task on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Its identity.
    pub id: TaskId,
    /// Whether the client chose the id, or an idempotency key gave it. Such an id is remembered for a time after the task
    /// was pruned ([`crate::task::tombstone`]).
    pub id_is_chosen: bool,
    /// What to run.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Where it goes; routing has been done.
    pub queue: QueueName,
    /// Whether the submitter named the queue (then it is part of the [`NewTask::fingerprint`]) or routing chose it.
    pub queue_is_explicit: bool,
    /// Where its program sends it if no routing rule applies; `None` is the queue `default`. Not part of the
    /// [`NewTask::fingerprint`]: another build of the program may say another.
    pub default_queue: Option<QueueName>,
    /// Its rank in the queue.
    pub priority: Priority,
    /// Its parameters.
    pub parameters: Payload,
    /// When it may start.
    pub start: Start,
    /// What this submission changes of the task's policy.
    pub overrides: PolicyOverrides,
    /// The submitter's own overrides, if `overrides` has further ones ([`NewTask::fill`]).
    pub said: Option<Box<PolicyOverrides>>,
    /// Its uniqueness constraint.
    pub unique: Option<Box<Unique>>,
    /// Its concurrency key.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Whether the submitter named that key (then it is part of the [`NewTask::fingerprint`]) or a parameter gave it.
    pub key_is_explicit: bool,
    /// Whose ends it waits for. The queues of these tasks do not matter.
    pub depends_on: Vec<Dependency>,
    /// The signals from outside that it waits for.
    pub signals: Vec<AwaitedSignal>,
    /// Whether it ends by itself, as completed, once it waits for nothing: no worker runs it.
    pub is_spontaneous: bool,
    /// Its metadata.
    pub metadata: Metadata,
    /// W3C `traceparent`, carried along.
    pub trace: Option<Box<str>>,
    /// A digest of the whole request it came in, for requests that carry an idempotency key: so that the same key with
    /// another batch is distinguished.
    pub request_digest: Option<u64>,
}

impl NewTask {
    /// Whether it waits for other tasks, or for signals from outside, or ends without a worker once it waits for none.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        !self.depends_on.is_empty() || !self.signals.is_empty() || self.is_spontaneous
    }

    /// A task with defaults for all but the essentials.
    #[must_use]
    pub fn new(id: TaskId, name: TaskName, queue: QueueName, parameters: Payload) -> Self {
        Self {
            id,
            id_is_chosen: false,
            name,
            version: 1,
            queue,
            queue_is_explicit: false,
            default_queue: None,
            priority: Priority::DEFAULT,
            parameters,
            start: Start::Now,
            overrides: PolicyOverrides::default(),
            said: None,
            unique: None,
            concurrency_key: None,
            key_is_explicit: false,
            depends_on: Vec::new(),
            signals: Vec::new(),
            is_spontaneous: false,
            metadata: Metadata::default(),
            trace: None,
            request_digest: None,
        }
    }

    /// Sets the author's policy for workers that vanish, unless the submitter set one. It stays the same
    /// submission: a worker of another build that registers meanwhile makes no other [`NewTask::fingerprint`].
    pub fn fill(&mut self, author: CrashPolicy) {
        let legal = author.max_crashes.filter(|crashes| (1..=MAX_CRASHES).contains(crashes));
        let max_crashes = self.overrides.max_crashes.or(legal);
        let dead_letter = self.overrides.dead_letter.or(author.dead_letter);
        if (max_crashes, dead_letter) != (self.overrides.max_crashes, self.overrides.dead_letter) {
            self.said.get_or_insert_with(|| Box::new(self.overrides.clone()));
            (self.overrides.max_crashes, self.overrides.dead_letter) = (max_crashes, dead_letter);
        }
    }

    /// Counts its expiry from `since`, if that is earlier than the time it comes into the store, `now`: for a slot of a
    /// schedule that is fired late. A task that waits for signals counts it from the last of them. It stays the same
    /// submission.
    pub fn count_expiry_from(&mut self, since: Timestamp, now: Timestamp) {
        let by = now.since(since);
        if let Some(late) = self.overrides.expires_in.filter(|_| !by.is_zero() && !self.is_linked()) {
            self.said.get_or_insert_with(|| Box::new(self.overrides.clone()));
            self.overrides.expires_in = Some(late.saturating_sub(by));
        }
    }

    /// 128 bits over everything the submitter said, except the id: two submissions with one id are the same submission
    /// if and only if these agree. Not over what may differ between two sendings of one request: the trace, and the
    /// queue that routing chose.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        let mut digest = FieldDigest::new();
        let mut field = |bytes: &[u8]| digest.field(bytes);
        field(self.name.as_str().as_bytes());
        field(&self.version.to_le_bytes());
        field(if self.queue_is_explicit { self.queue.as_str().as_bytes() } else { b"" });
        field(&[self.priority.get()]);
        field(self.parameters.content_type().as_bytes());
        field(&self.parameters.bytes);
        let (kind, at) = match self.start {
            Start::Now => (0_u8, 0),
            Start::After(delay) => (1, micros(delay)),
            Start::At(at) => (2, at.as_micros()),
        };
        field(&[kind]);
        field(&at.to_le_bytes());
        field(&self.request_digest.map(u64::to_le_bytes).unwrap_or_default());
        let said = self.said.as_deref().unwrap_or(&self.overrides);
        if !said.is_empty() {
            // As they are stored: a field that is added later, and not used, changes nothing.
            field(&serde_json::to_vec(said).unwrap_or_default());
        }
        if let Some(unique) = &self.unique {
            field(b"unique");
            field(&serde_json::to_vec(unique).unwrap_or_default());
        }
        if let Some(key) = self.concurrency_key.as_ref().filter(|_| self.key_is_explicit) {
            field(b"concurrency_key");
            field(key.as_str().as_bytes());
        }
        if !self.depends_on.is_empty() {
            field(b"depends_on");
            field(&serde_json::to_vec(&self.depends_on).unwrap_or_default());
        }
        if !self.signals.is_empty() {
            field(b"signals");
            field(&serde_json::to_vec(&self.signals).unwrap_or_default());
        }
        if self.is_spontaneous {
            field(b"spontaneous");
        }
        if !self.metadata.is_empty() {
            // By its fields, as with the overrides: one that is added later, and not used, changes nothing.
            for (name, value) in self.metadata.fields() {
                field(name.as_bytes());
                field(value.to_string().as_bytes());
            }
        }
        digest.end()
    }
}

/// Who runs a task, until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The holder.
    pub worker: WorkerId,
    /// The number to settle with.
    pub fence: Fence,
    /// When it ends unless renewed.
    pub expires_at: Timestamp,
}

/// All that is known of a task. Archived as a part of a [`crate::engine::DeadTask`], so fields are only ever added, with
/// a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its identity.
    pub id: TaskId,
    /// Whether the client chose the id, or an idempotency key gave it.
    #[serde(default)]
    pub id_is_chosen: bool,
    /// Its name.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    pub queue: QueueName,
    /// Its rank in the queue.
    pub priority: Priority,
    /// Its status.
    pub status: Status,
    /// From one counter of the store; new at each change except heartbeat, progress and signals.
    pub revision: u64,
    /// Its parameters. `None` in lists, and for a completed task whose queue keeps none of their length
    /// ([`crate::queue::QueueConfig::keep_parameters`]).
    pub parameters: Option<Payload>,
    /// What the submission changed of the task's policy.
    pub overrides: PolicyOverrides,
    /// Attempts that count: the running one, or those that ended by themselves. Lost leases and give-backs do not.
    pub attempt: u32,
    /// Lost leases. For information: only [`Task::blames`] make a task fail.
    pub crashes: u32,
    /// Lost leases at which it was its worker's only suspect. At `max_crashes` the task is failed as poison.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blames: u32,
    /// How far it is suspected of crashing its workers.
    #[serde(default, skip_serializing_if = "is_fresh")]
    pub suspicion: Suspicion,
    /// When the store accepted it: for the last time, if it was sent again from the start.
    pub submitted_at: Timestamp,
    /// When it became, or becomes, due.
    pub ready_at: Timestamp,
    /// When it was claimed for its latest attempt.
    pub started_at: Option<Timestamp>,
    /// Its latest progress heartbeat in the current attempt.
    pub heartbeat_at: Option<Timestamp>,
    /// When it was over.
    pub completed_at: Option<Timestamp>,
    /// Who runs it now. Only while `started`.
    pub lease: Option<Lease>,
    /// Who ran it last, or runs it.
    pub worker: Option<WorkerId>,
    /// Whether its cancel is requested and its worker has not yet answered.
    pub cancel_requested: bool,
    /// Its latest word on how far it is, in the current attempt.
    pub progress: Option<Progress>,
    /// What it wants to find again at its next attempt.
    pub checkpoint: Option<Payload>,
    /// Its result. `None` in lists.
    pub result: Option<Payload>,
    /// Its failed attempts, oldest first, the latest 100. Empty in lists.
    pub errors: Vec<AttemptError>,
    /// Whether it is to be kept in the dead-letter store.
    pub dead_letter: bool,
    /// Of what its submission said it is to be the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<Box<Unique>>,
    /// Its concurrency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Its metadata.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// What it waits for, or waited for. `None` for a task that was submitted without dependencies, and in a copy on the
    /// outbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Box<Dependencies>>,
    /// W3C `traceparent`.
    pub trace: Option<Box<str>>,
    /// The span of its latest attempt that was settled without completing it and is kept in a trace, as a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_span: Option<Box<str>>,
}

impl Task {
    /// Until when its first attempt must begin. `None` if it does not expire, while it waits for other tasks or signals,
    /// once a worker has leased it, and when it is over.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        let is_timed = self.started_at.is_none() && matches!(self.status, Status::Scheduled | Status::Submitted);
        self.overrides.expires_in.filter(|_| is_timed).map(|late| self.ready_at.after(late))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_fresh(suspicion: &Suspicion) -> bool {
    suspicion.losses() == 0
}

/// What a worker is handed with a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedTask {
    /// Its identity.
    pub id: TaskId,
    /// What to run.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    pub queue: QueueName,
    /// Its rank in the queue.
    pub priority: Priority,
    /// The key it is limited by, if it has one.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Its parameters.
    pub parameters: Payload,
    /// What the submission changed of the task's policy.
    pub overrides: PolicyOverrides,
    /// Its metadata.
    pub metadata: Metadata,
    /// This attempt's number, 1 for the first.
    pub attempt: u32,
    /// Leases lost so far.
    pub crashes: u32,
    /// The number to settle with.
    pub fence: Fence,
    /// When the store accepted it: for the last time, if it was sent again from the start.
    pub submitted_at: Timestamp,
    /// When it became due.
    pub ready_at: Timestamp,
    /// When this attempt started: the claim.
    pub started_at: Timestamp,
    /// What an earlier attempt left for this one.
    pub checkpoint: Option<Payload>,
    /// W3C `traceparent`.
    pub trace: Option<Box<str>>,
    /// The span of its latest attempt that was settled and is kept in a trace ([`Task::last_span`]).
    pub last_span: Option<Box<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dependency::DependencyPolicy, policy::DeadLetter};

    fn task() -> NewTask {
        let name = |text: &str| TaskName::new(text).unwrap();
        NewTask::new(
            TaskId::new("a").unwrap(),
            name("echo"),
            QueueName::new("default").unwrap(),
            Payload::json(&b"{\"n\":1}"[..]),
        )
    }

    #[test]
    fn labels_keep_the_fingerprint_that_stored_tasks_have() {
        let metadata = serde_json::from_str(r#"{"labels": {"team": "core", "a": "é\"b"}}"#).unwrap();
        let fingerprint = NewTask { metadata, ..task() }.fingerprint();
        assert_eq!(format!("{fingerprint:032x}"), "35a37cb3382fb16eb763aa76776ade18");
    }

    #[test]
    fn one_request_sent_twice_has_one_fingerprint() {
        let routed_elsewhere =
            NewTask { queue: QueueName::new("other").unwrap(), trace: Some("00-1-1-01".into()), ..task() };
        assert_eq!(task().fingerprint(), routed_elsewhere.fingerprint());
        let keyed = NewTask { concurrency_key: Some(ConcurrencyKey::new("k").unwrap()), ..task() };
        assert_eq!(task().fingerprint(), keyed.fingerprint(), "its parameters gave the key");
    }

    #[test]
    fn every_word_of_the_submitter_counts() {
        let other = [
            NewTask { version: 2, ..task() },
            NewTask { queue_is_explicit: true, ..task() },
            NewTask { priority: Priority::new(6).unwrap(), ..task() },
            NewTask { parameters: Payload::json(&b"{\"n\":2}"[..]), ..task() },
            NewTask { start: Start::After(Duration::from_secs(1)), ..task() },
            NewTask { overrides: PolicyOverrides { max_retries: Some(1), ..Default::default() }, ..task() },
            NewTask { request_digest: Some(1), ..task() },
            NewTask {
                depends_on: vec![Dependency { on: TaskId::new("b").unwrap(), policy: DependencyPolicy::default() }],
                ..task()
            },
            NewTask { unique: Some(Box::new(Unique::new(unique::UniqueKey::new("k").unwrap()))), ..task() },
            NewTask { concurrency_key: Some(ConcurrencyKey::new("k").unwrap()), key_is_explicit: true, ..task() },
            NewTask { is_spontaneous: true, ..task() },
            NewTask { metadata: serde_json::from_str(r#"{"labels": {"a": "b"}}"#).unwrap(), ..task() },
        ];
        for changed in other {
            assert_ne!(task().fingerprint(), changed.fingerprint(), "{changed:?}");
        }
    }

    #[test]
    fn a_late_slot_shortens_the_expiry_and_stays_the_same_submission() {
        let (slot, late) = (Timestamp::from_micros(1_000_000), Some(Duration::from_secs(10)));
        let said = NewTask { overrides: PolicyOverrides { expires_in: late, ..Default::default() }, ..task() };
        for (fired_after, left) in [(0, 10_000_000), (4, 6_000_000), (10, 0), (99, 0)] {
            let mut fired = said.clone();
            fired.count_expiry_from(slot, slot.after(Duration::from_secs(fired_after)));
            assert_eq!(fired.overrides.expires_in, Some(Duration::from_micros(left)));
            assert_eq!(fired.fingerprint(), said.fingerprint());
        }
        let mut without = task();
        without.count_expiry_from(slot, slot.after(Duration::from_secs(5)));
        assert_eq!(without, task());
    }

    #[test]
    fn what_the_author_says_is_carried_and_is_not_the_submitter_s_word() {
        let author = CrashPolicy { max_crashes: Some(7), dead_letter: Some(DeadLetter::Save) };
        let mut filled = task();
        filled.fill(author);
        let carried = (filled.overrides.max_crashes, filled.overrides.dead_letter);
        assert_eq!(carried, (Some(7), Some(DeadLetter::Save)));
        assert_eq!(filled.fingerprint(), task().fingerprint());
        let overrides = PolicyOverrides { max_crashes: Some(2), ..PolicyOverrides::default() };
        let said = NewTask { overrides, ..task() };
        let mut filled = said.clone();
        filled.fill(author);
        filled.fill(author);
        let carried = (filled.overrides.max_crashes, filled.overrides.dead_letter);
        assert_eq!(carried, (Some(2), Some(DeadLetter::Save)), "the submitter's word stands");
        assert_eq!(filled.fingerprint(), said.fingerprint());
        let mut bounded = task();
        bounded.fill(CrashPolicy { max_crashes: Some(0), dead_letter: None });
        assert_eq!(bounded, task(), "what is out of bounds is nobody's word");
    }
}
