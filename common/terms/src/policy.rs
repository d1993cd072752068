//! What a task's author, and within limits its submitter, say about retries, time limits and endings.

pub mod backoff;
pub mod error_kind;

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    limits::{MAX_CRASHES, MAX_DELAY, MAX_ERROR_KINDS, MAX_RETRIES, MAX_TRIES},
    policy::{backoff::Backoff, error_kind::ErrorKind},
    values::duration,
};

/// What a stopping worker does with a running task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnShutdown {
    /// Wait for it, up to the drain deadline; then requeue.
    #[default]
    Finish,
    /// Cancel it and give it back; no attempt is lost.
    Requeue,
    /// Cancel it; it is failed.
    Fail,
}

/// Whether a task that failed for good is kept in the dead-letter store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeadLetter {
    /// Only its `failed` status and errors are kept, for the queue's retention.
    None,
    /// The whole task and its history go to the dead-letter store.
    #[default]
    Save,
}

impl fmt::Display for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What happens to a task whose progress heartbeat is overdue while its worker lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnStall {
    /// It ends as `stalled`.
    #[default]
    Stall,
    /// A failed attempt: retried while retries are left.
    Retry,
    /// It ends as `failed`.
    Fail,
}

/// How a task ends whose tries are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exhausted {
    /// It is `failed`, and a dead letter unless its policy says otherwise.
    #[default]
    Failed,
    /// It is `aborted`, so the tasks that wait for it go by the policies of their dependencies.
    Aborted,
}

/// What the lease that ends means for a task's tries ([`PolicyOverrides::max_tries`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    /// They are not limited: leases that were lost or given back do not count as attempts.
    Unlimited,
    /// Each lease counts as an attempt, and there are more.
    Left,
    /// This was the last: the task does not go back to its queue.
    Last {
        /// How it ends instead.
        exhausted: Exhausted,
        /// Whether it is then kept as a dead letter; never if it is aborted.
        dead_letter: bool,
    },
}

/// A task's policy with every question answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPolicy {
    /// Retries after the first attempt; 3 means at most four runs.
    pub max_retries: u32,
    /// Base delay; zero retries at once.
    pub retry_delay: Duration,
    /// How the delay grows.
    pub backoff: Backoff,
    /// Upper bound of a computed delay.
    pub max_retry_delay: Duration,
    /// No attempt begins later than this after the submission; `None` sets no such end.
    pub retry_for: Option<Duration>,
    /// The only kinds of errors that are retried; empty retries all.
    pub retry_on: Cow<'static, [ErrorKind]>,
    /// Kinds of errors that are never retried.
    pub fatal_on: Cow<'static, [ErrorKind]>,
    /// Longest one attempt may run; `None` is unlimited.
    pub timeout: Option<Duration>,
    /// Longest silence between two progress heartbeats; `None` asks for none.
    pub max_heartbeat_interval: Option<Duration>,
    /// What an overdue progress heartbeat means.
    pub on_stall: OnStall,
    /// What a stopping worker does with it.
    pub on_shutdown: OnShutdown,
    /// Whether it is kept when it fails for good.
    pub dead_letter: DeadLetter,
    /// Crashes of a worker whose only suspect it was, until it counts as poison and is failed.
    pub max_crashes: u32,
}

impl TaskPolicy {
    /// What holds for a task that sets nothing: three retries with growing, jittered pauses, and a dead letter if it
    /// fails for good.
    pub const DEFAULT: Self = Self {
        max_retries: 3,
        retry_delay: Duration::from_secs(1),
        backoff: Backoff::ExponentialJitter,
        max_retry_delay: Duration::from_secs(3_600),
        retry_for: None,
        retry_on: Cow::Borrowed(&[]),
        fatal_on: Cow::Borrowed(&[]),
        timeout: None,
        max_heartbeat_interval: None,
        on_stall: OnStall::Stall,
        on_shutdown: OnShutdown::Finish,
        dead_letter: DeadLetter::Save,
        max_crashes: 3,
    };

    /// This policy with a submission's overrides. A `retry_for` or a `max_tries` without a `max_retries` is used in its
    /// place: then retries end with that time or with the tries, which the store counts.
    #[must_use]
    pub fn with(&self, overrides: &PolicyOverrides) -> Self {
        let is_bounded_otherwise = overrides.retry_for.is_some() || overrides.max_tries.is_some();
        let count = if is_bounded_otherwise { MAX_RETRIES } else { self.max_retries };
        let kinds = |said: &Option<Vec<ErrorKind>>, ours: &Cow<'static, [ErrorKind]>| {
            said.as_ref().map_or_else(|| ours.clone(), |kinds| Cow::Owned(kinds.clone()))
        };
        Self {
            max_retries: overrides.max_retries.unwrap_or(count),
            retry_delay: overrides.retry_delay.unwrap_or(self.retry_delay),
            backoff: overrides.backoff.unwrap_or(self.backoff),
            max_retry_delay: overrides.max_retry_delay.unwrap_or(self.max_retry_delay),
            retry_for: overrides.retry_for.or(self.retry_for),
            retry_on: kinds(&overrides.retry_on, &self.retry_on),
            fatal_on: kinds(&overrides.fatal_on, &self.fatal_on),
            timeout: overrides.timeout.or(self.timeout),
            max_heartbeat_interval: overrides.max_heartbeat_interval.or(self.max_heartbeat_interval),
            on_stall: overrides.on_stall.unwrap_or(self.on_stall),
            on_shutdown: overrides.on_shutdown.unwrap_or(self.on_shutdown),
            dead_letter: overrides.dead_letter.unwrap_or(self.dead_letter),
            max_crashes: overrides.max_crashes.unwrap_or(self.max_crashes),
        }
    }
}

impl From<&TaskPolicy> for PolicyOverrides {
    /// Where a policy is not the default.
    fn from(policy: &TaskPolicy) -> Self {
        fn changed<T: PartialEq>(value: T, default: &T) -> Option<T> {
            (value != *default).then_some(value)
        }
        let default = TaskPolicy::DEFAULT;
        let kinds = |kinds: &Cow<'static, [ErrorKind]>| (!kinds.is_empty()).then(|| kinds.to_vec());
        Self {
            max_retries: changed(policy.max_retries, &default.max_retries),
            retry_delay: changed(policy.retry_delay, &default.retry_delay),
            backoff: changed(policy.backoff, &default.backoff),
            max_retry_delay: changed(policy.max_retry_delay, &default.max_retry_delay),
            retry_for: policy.retry_for,
            retry_on: kinds(&policy.retry_on),
            fatal_on: kinds(&policy.fatal_on),
            timeout: policy.timeout,
            max_heartbeat_interval: policy.max_heartbeat_interval,
            on_stall: changed(policy.on_stall, &default.on_stall),
            on_shutdown: changed(policy.on_shutdown, &default.on_shutdown),
            dead_letter: changed(policy.dead_letter, &default.dead_letter),
            max_crashes: changed(policy.max_crashes, &default.max_crashes),
            ..Self::default()
        }
    }
}

/// The part of a policy the store applies alone, when a task's workers have vanished and its code can't be asked. `None` is the default.
///
/// A task's author says it with the rest of the policy; workers register it, and submissions carry it into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CrashPolicy {
    /// See [`TaskPolicy::max_crashes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_crashes: Option<u32>,
    /// See [`TaskPolicy::dead_letter`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<DeadLetter>,
}

impl CrashPolicy {
    /// Whether all of it is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&TaskPolicy> for CrashPolicy {
    fn from(policy: &TaskPolicy) -> Self {
        let max_crashes = policy.max_crashes;
        Self {
            max_crashes: (max_crashes != TaskPolicy::DEFAULT.max_crashes).then_some(max_crashes),
            dead_letter: (policy.dead_letter != TaskPolicy::DEFAULT.dead_letter).then_some(policy.dead_letter),
        }
    }
}

impl Default for TaskPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a submission says about its task's policy; `None` leaves it to the task.
///
/// Stored with the task, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyOverrides {
    /// How long the first attempt may be late: if no worker has leased the task by then, counted from when it is due, it
    /// never runs and ends as `dropped`. Above 0 in a submission; 0 for a slot of a schedule that is fired too late.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub expires_in: Option<Duration>,
    /// See [`TaskPolicy::max_retries`]; at most 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// See [`TaskPolicy::retry_delay`].
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub retry_delay: Option<Duration>,
    /// See [`TaskPolicy::backoff`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// See [`TaskPolicy::max_retry_delay`].
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub max_retry_delay: Option<Duration>,
    /// See [`TaskPolicy::retry_for`].
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub retry_for: Option<Duration>,
    /// See [`TaskPolicy::retry_on`]; at most 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_on: Option<Vec<ErrorKind>>,
    /// See [`TaskPolicy::fatal_on`]; at most 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fatal_on: Option<Vec<ErrorKind>>,
    /// See [`TaskPolicy::timeout`].
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub timeout: Option<Duration>,
    /// See [`TaskPolicy::max_heartbeat_interval`].
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub max_heartbeat_interval: Option<Duration>,
    /// See [`TaskPolicy::on_stall`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_stall: Option<OnStall>,
    /// See [`TaskPolicy::on_shutdown`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_shutdown: Option<OnShutdown>,
    /// See [`TaskPolicy::dead_letter`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<DeadLetter>,
    /// See [`TaskPolicy::max_crashes`]; 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_crashes: Option<u32>,
    /// How many leases may be taken on the task, 1 to 100. Each counts as an attempt, also one that is lost or given back
    /// after the task began. Without `max_crashes` and `max_retries`, this alone ends the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tries: Option<u32>,
    /// How it ends when its tries are used up. Only beside `max_tries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Exhausted>,
}

/// A policy value outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct PolicyError {
    /// The field's name on the wire.
    pub field: &'static str,
    /// What it must be.
    pub rule: &'static str,
}

impl PolicyOverrides {
    /// Whether a task that is failed as poison becomes a dead letter.
    #[must_use]
    pub fn keeps_poison(&self) -> bool {
        self.dead_letter.unwrap_or_default() == DeadLetter::Save
    }

    /// Blames after which the task is failed as poison; `None` if only its tries are limited.
    #[must_use]
    pub fn blames_allowed(&self) -> Option<u32> {
        self.max_crashes.or_else(|| self.max_tries.is_none().then_some(TaskPolicy::DEFAULT.max_crashes))
    }

    /// What the end of a lease means for the tries of a task at this attempt.
    #[must_use]
    pub fn tries(&self, attempt: u32) -> Tries {
        match self.max_tries {
            None => Tries::Unlimited,
            Some(most) if attempt < most => Tries::Left,
            Some(_) => {
                let exhausted = self.exhausted.unwrap_or_default();
                Tries::Last { exhausted, dead_letter: exhausted == Exhausted::Failed && self.keeps_poison() }
            }
        }
    }

    /// Whether nothing is overridden.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks every value against its bounds.
    ///
    /// # Errors
    /// [`PolicyError`] for the first value out of bounds.
    pub fn validate(&self) -> Result<(), PolicyError> {
        let check = |ok: bool, field, rule| if ok { Ok(()) } else { Err(PolicyError { field, rule }) };
        let within = |value: Option<Duration>| value.is_none_or(|value| value <= MAX_DELAY);
        let positive = |value: Option<Duration>| value.is_none_or(|value| !value.is_zero());
        check(self.max_retries.is_none_or(|n| n <= MAX_RETRIES), "max_retries", "must be 0 to 1000")?;
        check(self.max_crashes.is_none_or(|n| (1..=MAX_CRASHES).contains(&n)), "max_crashes", "must be 1 to 100")?;
        check(self.max_tries.is_none_or(|n| (1..=MAX_TRIES).contains(&n)), "max_tries", "must be 1 to 100")?;
        check(self.exhausted.is_none() || self.max_tries.is_some(), "exhausted", "needs max_tries")?;
        check(within(self.expires_in) && positive(self.expires_in), "expires_in", "must be above 0 and at most 366d")?;
        check(within(self.retry_delay), "retry_delay", "must be at most 366d")?;
        check(within(self.max_retry_delay), "max_retry_delay", "must be at most 366d")?;
        check(within(self.retry_for) && positive(self.retry_for), "retry_for", "must be above 0 and at most 366d")?;
        let few = |kinds: &Option<Vec<ErrorKind>>| kinds.as_ref().is_none_or(|kinds| kinds.len() <= MAX_ERROR_KINDS);
        check(few(&self.retry_on), "retry_on", "must name at most 64 kinds of errors")?;
        check(few(&self.fatal_on), "fatal_on", "must name at most 64 kinds of errors")?;
        check(within(self.timeout) && positive(self.timeout), "timeout", "must be above 0 and at most 366d")?;
        check(
            within(self.max_heartbeat_interval) && positive(self.max_heartbeat_interval),
            "max_heartbeat_interval",
            "must be above 0 and at most 366d",
        )
    }
}
