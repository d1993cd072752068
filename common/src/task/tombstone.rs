//! What is remembered of a pruned task whose id its client chose.
//!
//! A client that repeats a submission under its own id, or under an idempotency key, is answered alike for a time
//! ([`TombstonePolicy::age`]), even when the task itself was pruned by count. Ids that Jobbers made are sent by no client
//! a second time, so their tasks leave nothing.

use std::time::Duration;

use crate::{
    lifecycle::Status,
    name::{QueueName, TaskId},
    time::Timestamp,
};

/// How long, and how many, tombstones are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TombstonePolicy {
    /// A task is remembered this long after it was over.
    pub age: Duration,
    /// At most this many are kept; past it the oldest is forgotten early.
    pub count: u64,
}

impl TombstonePolicy {
    /// A day, and a million: about 150 MB in Redis, 100 MB in SQLite.
    pub const DEFAULT: Self = Self { age: Duration::from_secs(24 * 3_600), count: 1_000_000 };

    /// Until when a task that was over at `finished_at` is remembered.
    #[must_use]
    pub fn forget_at(&self, finished_at: Timestamp) -> Timestamp {
        finished_at.after(self.age)
    }
}

impl Default for TombstonePolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A pruned task, as far as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Its identity.
    pub id: TaskId,
    /// The queue it was in.
    pub queue: QueueName,
    /// How it ended.
    pub status: Status,
    /// When it was over.
    pub finished_at: Timestamp,
    /// Until when it is remembered.
    pub forget_at: Timestamp,
    /// Of its submission ([`crate::task::NewTask::fingerprint`]).
    pub fingerprint: u128,
}

/// The tombstones of a store in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TombstoneHealth {
    /// How many there are.
    pub count: u64,
    /// When one was last forgotten before its time, because [`TombstonePolicy::count`] was reached.
    pub cut_at: Option<Timestamp>,
}

impl TombstoneHealth {
    /// The warning of a store that forgot a task before its time, within the last day.
    #[must_use]
    pub fn warning(&self, now: Timestamp) -> Option<String> {
        let cut_at = self.cut_at.filter(|at| at.after(TombstonePolicy::DEFAULT.age) > now)?;
        Some(format!(
            "{} pruned tasks are remembered, and at {cut_at} one was forgotten early: its id could run again; raise \
             tombstone_count, or lower tombstone_age",
            self.count
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_forgot_early_warns_for_a_day() {
        let cut_at = Timestamp::from_micros(1_750_000_000_000_000);
        let health = TombstoneHealth { count: 7, cut_at: Some(cut_at) };
        assert!(health.warning(cut_at).is_some_and(|warning| warning.starts_with("7 pruned tasks")));
        assert_eq!(health.warning(cut_at.after(TombstonePolicy::DEFAULT.age)), None);
        assert_eq!(TombstoneHealth { cut_at: None, ..health }.warning(cut_at), None);
    }
}
