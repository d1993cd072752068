//! The history of a queue: what happened in it, by minute for two hours and by hour for eight days.
//!
//! The store counts; one call adds to one slot of a queue, whatever the number of its tasks. A slot of which nothing is
//! stored has counts of 0. Distributions of times are kept by hour.
//!
//! Start reading at [`Slot`].

use crate::{
    error::{Error, Result},
    lifecycle::{Move, Status},
    limits::MAX_QUEUES_PER_READ,
    time::Timestamp,
};

const MINUTE_MICROS: i64 = 60_000_000;

/// The length of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grain {
    /// One minute; kept for [`Grain::kept`] minutes.
    Minute,
    /// One hour; likewise.
    Hour,
}

impl Grain {
    /// How many slots are kept, the one under way included.
    #[must_use]
    pub const fn kept(self) -> usize {
        match self {
            Self::Minute => 120,
            Self::Hour => 192,
        }
    }

    /// The length of a slot, in microseconds.
    #[must_use]
    pub const fn micros(self) -> i64 {
        match self {
            Self::Minute => MINUTE_MICROS,
            Self::Hour => 60 * MINUTE_MICROS,
        }
    }

    /// The number of the slot at a time: slots since 1970.
    #[must_use]
    pub const fn number_at(self, at: Timestamp) -> i64 {
        at.as_micros().div_euclid(self.micros())
    }

    /// When the slot of a number begins.
    #[must_use]
    pub const fn begin_of(self, number: i64) -> Timestamp {
        Timestamp::from_micros(number * self.micros())
    }

    /// The number of the earliest slot that is kept now.
    #[must_use]
    pub const fn first_kept(self, now: Timestamp) -> i64 {
        self.number_at(now) - (self.kept() as i64 - 1)
    }
}

/// What happened, in numbers of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Tasks accepted, as [`QueueStats::accepted`](crate::engine::QueueStats::accepted) counts them.
    pub accepted: u64,
    /// Attempts begun: leases given to workers.
    pub started: u64,
    /// Tasks that ended as `completed`.
    pub completed: u64,
    /// Tasks that failed for good: `failed` or `stalled`.
    pub failed: u64,
    /// Tasks that ended otherwise: `cancelled`, `aborted` or `dropped`.
    pub other: u64,
    /// Attempts that failed, or whose worker vanished, after which the task is tried again.
    pub retried: u64,
}

impl Counts {
    /// How many counts there are.
    pub const LEN: usize = 6;

    /// The counts in their stored order.
    #[must_use]
    pub const fn to_array(self) -> [u64; Self::LEN] {
        [self.accepted, self.started, self.completed, self.failed, self.other, self.retried]
    }

    /// The counts from their stored order.
    #[must_use]
    pub const fn from_array([accepted, started, completed, failed, other, retried]: [u64; Self::LEN]) -> Self {
        Self { accepted, started, completed, failed, other, retried }
    }

    /// Counts a move within a queue. Not all moves have a count; submissions have their own.
    pub const fn count_move(&mut self, event: Move, to: Status) {
        match (event, to) {
            (Move::Claim, _) => self.started += 1,
            (_, Status::Completed) => self.completed += 1,
            (_, Status::Failed | Status::Stalled) => self.failed += 1,
            (_, Status::Cancelled | Status::Aborted | Status::Dropped) => self.other += 1,
            (Move::Retry | Move::Expire, _) => self.retried += 1,
            _ => {}
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, more: Self) {
        let (mut sums, more) = (self.to_array(), more.to_array());
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        *self = Self::from_array(sums);
    }
}

/// How tasks are distributed by a time: tasks per bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times(pub [u64; Times::BUCKETS]);

impl Times {
    /// How many buckets there are.
    pub const BUCKETS: usize = 16;

    /// The upper bound of each bucket but the last, in milliseconds. A time on a bound is in the bucket above it.
    pub const BOUNDS_MS: [u64; Self::BUCKETS - 1] =
        [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 28_800_000];

    /// The bucket of the time between two moments.
    #[must_use]
    pub fn bucket_between(from: Timestamp, to: Timestamp) -> usize {
        let ms = u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX);
        Self::BOUNDS_MS.partition_point(|bound| *bound <= ms)
    }

    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    /// How many tasks there are in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, tasks| sum.saturating_add(*tasks))
    }

    /// The bound, in milliseconds, below which this share of the tasks stayed: `None` without tasks.
    /// `Some(u64::MAX)` if some took longer than the last bound.
    #[must_use]
    pub fn quantile_ms(&self, percent: u64) -> Option<u64> {
        let total = self.total();
        let wanted = (u128::from(total) * u128::from(percent)).div_ceil(100).max(1);
        let mut sum: u128 = 0;
        let bucket = self.0.iter().position(|tasks| {
            sum += u128::from(*tasks);
            sum >= wanted
        })?;
        (total > 0).then(|| Self::BOUNDS_MS.get(bucket).copied().unwrap_or(u64::MAX))
    }
}

/// What happened in a queue within a minute or an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// When it begins.
    pub at: Timestamp,
    /// The counts.
    pub counts: Counts,
    /// How long the tasks that started had been ready. By hour only.
    pub waited: Times,
    /// How long the attempts that were settled had run. By hour only.
    pub ran: Times,
}

impl Slot {
    /// A slot in which nothing has happened yet.
    #[must_use]
    pub fn empty(at: Timestamp) -> Self {
        Self { at, ..Self::default() }
    }

    /// Adds what happened elsewhere in the same time.
    pub fn add(&mut self, more: &Self) {
        self.counts.add(more.counts);
        self.waited.add(&more.waited);
        self.ran.add(&more.ran);
    }
}

/// The answer to [`Engine::history`](crate::engine::Queues::history).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The store's time.
    pub now: Timestamp,
    /// For each queue, in the order given: the slots in which something happened, the earliest first.
    pub queues: Vec<Vec<Slot>>,
}

/// Checks how many queues one call asks for.
///
/// # Errors
/// [`Error::Invalid`] for more than [`MAX_QUEUES_PER_READ`].
pub fn validate_history(queues: usize) -> Result<()> {
    if queues <= MAX_QUEUES_PER_READ {
        return Ok(());
    }
    Err(Error::Invalid(format!("a call reads the history of at most {MAX_QUEUES_PER_READ} queues, not {queues}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_below_its_bound() {
        let from = Timestamp::from_micros(1_000_000);
        let bucket = |micros: i64| Times::bucket_between(from, Timestamp::from_micros(1_000_000 + micros));
        assert_eq!([0, 999, 1_000, 2_999, 3_000].map(bucket), [0, 0, 1, 1, 2]);
        assert_eq!([999_999, 1_000_000, 28_799_999_999, 28_800_000_000].map(bucket), [6, 7, 14, 15]);
        assert_eq!(bucket(-5), 0, "a clock that went back");
    }

    #[test]
    fn a_quantile_is_the_bound_that_the_share_stays_below() {
        let mut times = Times::default();
        assert_eq!(times.quantile_ms(95), None);
        (times.0[0], times.0[6], times.0[15]) = (94, 5, 1);
        assert_eq!(
            [50, 94, 95, 99, 100].map(|share| times.quantile_ms(share)),
            [Some(1), Some(1), Some(1_000), Some(1_000), Some(u64::MAX)]
        );
    }
}
