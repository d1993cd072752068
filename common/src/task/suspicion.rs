//! Which task crashes its workers. A pure decision, so that every engine finds the same culprit.
//!
//! When a worker dies, almost all of the tasks it held are innocent. So a first loss isolates no task: all of them are taken
//! again at once, however many. A task that was lost twice or more in a row is a *suspect*: a worker starts few suspects at
//! a time ([`Suspicion::capacity`]), beside other tasks. Each suspect holds the next ones back only for its *probation*
//! ([`Suspicion::probation`]): about as long as it had run when it was lost, and four times as long with each further loss. Then the next
//! ones join. So long tasks are soon running again, and each loss narrows the circle: 16, then 4, then 1, for longer and
//! longer. Only a worker's only suspect is blamed, and only blame ([`crate::task::Task::blames`]) makes a task count as
//! poison. Of 64 tasks lost together the culprit fails after seven crashes, where `max_crashes` is 3; no other task fails.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{limits::DEFAULT_LEASE, time::Timestamp};

/// How suspect a task is: with how many workers in a row it was lost, and how long it had run the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(from = "StoredSuspicion", into = "StoredSuspicion")]
pub struct Suspicion {
    losses: u8,
    ran_s: u8,
}

/// Its JSON form.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredSuspicion {
    Lost {
        losses: u8,
        ran_s: u8,
    },
    /// Losses alone, as earlier versions wrote it.
    Losses(u8),
}

impl Suspicion {
    /// Not lost since it last ended by itself.
    pub const NONE: Self = Self { losses: 0, ran_s: 0 };
    /// More losses in a row count as this many.
    pub const MAX_LOSSES: u8 = 6;
    /// A task that had run longer counts as having run so long.
    pub const LONGEST_RUN: Duration = Duration::from_secs(15);
    /// A worker renews its leases four times within their length. So a task had run at least for a moment and at most until
    /// the renewal that did not come.
    pub const SHORTEST_RUN: Duration = Duration::from_secs(DEFAULT_LEASE.as_secs() / 4);
    /// What is left of a lease when the renewal is due that a dead worker fails to send. A lease of another length counts like
    /// one of the default length.
    pub const UNRENEWED: Duration = DEFAULT_LEASE.saturating_sub(Self::SHORTEST_RUN);
    /// By losses in a row: how many suspects that are on probation one worker may hold. Up to one loss it is unbounded.
    pub const CAPACITIES: [usize; 7] = [usize::MAX, usize::MAX, 16, 4, 1, 1, 1];
    /// By losses in a row: how many times the run its probation is.
    pub const PROBATION_FACTORS: [u32; 7] = [0, 0, 1, 4, 16, 64, 256];

    /// From stored numbers: losses in a row, and the seconds it had run at the last of them.
    #[must_use]
    pub const fn new(losses: u8, ran_s: u8) -> Self {
        let losses = if losses > Self::MAX_LOSSES { Self::MAX_LOSSES } else { losses };
        if losses == 0 {
            return Self::NONE;
        }
        let most = Self::LONGEST_RUN.as_secs();
        #[expect(clippy::cast_possible_truncation, reason = "15")]
        let ran_s = if ran_s as u64 > most { most as u8 } else { ran_s };
        Self { losses, ran_s }
    }

    /// With how many workers in a row it was lost, 0 to 6.
    #[must_use]
    pub const fn losses(self) -> u8 {
        self.losses
    }

    /// How many seconds it had run when it was lost last, 0 to 15.
    #[must_use]
    pub const fn ran_s(self) -> u8 {
        self.ran_s
    }

    /// Whether the task is suspect at all.
    #[must_use]
    pub const fn is_suspect(self) -> bool {
        self.losses > 1
    }

    /// After one more loss, of a lease with this beginning and end.
    #[must_use]
    pub fn lost_again(self, started_at: Timestamp, expires_at: Timestamp) -> Self {
        let ran = expires_at.since(started_at).saturating_sub(Self::UNRENEWED);
        let ran = ran.clamp(Self::SHORTEST_RUN, Self::LONGEST_RUN);
        let seconds = ran.as_secs() + u64::from(ran.subsec_nanos() > 0);
        Self::new(self.losses + 1, u8::try_from(seconds).unwrap_or(u8::MAX))
    }

    /// How many suspects on probation a worker may hold while this one is one of them.
    #[must_use]
    pub fn capacity(self) -> usize {
        Self::CAPACITIES[usize::from(self.losses)]
    }

    /// How long it holds other suspects back once it has started. It ends early when the task ends.
    #[must_use]
    pub fn probation(self) -> Duration {
        Duration::from_secs(u64::from(self.ran_s)) * Self::PROBATION_FACTORS[usize::from(self.losses)]
    }
}

impl From<StoredSuspicion> for Suspicion {
    fn from(stored: StoredSuspicion) -> Self {
        match stored {
            StoredSuspicion::Lost { losses, ran_s } => Self::new(losses, ran_s),
            StoredSuspicion::Losses(losses) => Self::new(losses, u8::MAX),
        }
    }
}

impl From<Suspicion> for StoredSuspicion {
    fn from(Suspicion { losses, ran_s }: Suspicion) -> Self {
        Self::Lost { losses, ran_s }
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.losses.fmt(f)
    }
}

/// The suspects on probation that a worker holds now, and what they leave for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldSuspects {
    now: Timestamp,
    held: usize,
    most_suspect: Suspicion,
    first_end: Option<Timestamp>,
}

impl HeldSuspects {
    /// None yet.
    #[must_use]
    pub const fn none(now: Timestamp) -> Self {
        Self { now, held: 0, most_suspect: Suspicion::NONE, first_end: None }
    }

    /// Counts a task that the worker has held since it started, if it is on probation.
    pub fn add(&mut self, suspicion: Suspicion, started_at: Timestamp) {
        let end = started_at.after(suspicion.probation());
        if suspicion.is_suspect() && end > self.now {
            self.held += 1;
            self.most_suspect = self.most_suspect.max(suspicion);
            self.first_end = self.first_end.into_iter().chain([end]).min();
        }
    }

    /// Whether the worker may take a task of this suspicion as well.
    #[must_use]
    pub fn may_add(&self, suspicion: Suspicion) -> bool {
        !suspicion.is_suspect() || self.held < self.most_suspect.capacity().min(suspicion.capacity())
    }

    /// When the first of these probations ends.
    #[must_use]
    pub const fn first_end(&self) -> Option<Timestamp> {
        self.first_end
    }
}

/// A worker that lost its leases, as of the first of them that was taken back.
///
/// All leases that it had then belong to this loss; one that it took later belongs to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerLoss {
    /// When the first lease was taken back.
    pub at: Timestamp,
    /// Suspects among the tasks it held, on probation or not.
    pub suspects: u64,
    /// Tasks it held.
    pub leases: u64,
}

impl WorkerLoss {
    /// Whether a lease taken at this time belongs to this loss.
    #[must_use]
    pub fn includes(&self, started_at: Timestamp) -> bool {
        started_at < self.at
    }

    /// Whether a task that the worker held is blamed for its loss: its blames grow by one.
    ///
    /// Only the only suspect is. Where the worker held none, its only task is.
    #[must_use]
    pub const fn blames(&self, suspicion: Suspicion) -> bool {
        match self.suspects {
            0 => self.leases == 1,
            suspects => suspects == 1 && suspicion.is_suspect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(suspects: u64, leases: u64) -> WorkerLoss {
        WorkerLoss { at: Timestamp::from_micros(10), suspects, leases }
    }

    fn lost(losses: u8) -> Suspicion {
        Suspicion::new(losses, 2)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn only_the_only_suspect_is_blamed() {
        assert!(loss(0, 1).blames(lost(0)), "the worker held nothing else");
        assert!(loss(0, 1).blames(lost(1)));
        assert!(!loss(0, 2).blames(lost(1)), "what was lost once is as innocent as the others");
        assert!(loss(1, 64).blames(lost(2)), "other tasks ran beside it");
        assert!(!loss(1, 64).blames(lost(1)) && !loss(1, 64).blames(lost(0)));
        assert!(!loss(2, 2).blames(lost(6)));
    }

    #[test]
    fn a_worker_holds_fewer_suspects_the_more_often_they_were_lost() {
        for (losses, most) in [(0, 100), (1, 100), (2, 16), (3, 4), (4, 1), (5, 1), (6, 1), (7, 1)] {
            let mut held = HeldSuspects::none(at(0));
            let taken = (0..100).take_while(|_| {
                let may = held.may_add(lost(losses));
                held.add(lost(losses), at(0));
                may
            });
            assert_eq!(taken.count(), most, "{losses}");
        }
    }

    #[test]
    fn the_most_suspect_one_sets_the_bound_and_other_tasks_have_none() {
        let mut held = HeldSuspects::none(at(0));
        (0..4).for_each(|_| held.add(lost(2), at(0)));
        assert!(held.may_add(lost(2)));
        assert!(!held.may_add(lost(3)) && !held.may_add(lost(6)));
        assert!(held.may_add(Suspicion::NONE) && held.may_add(lost(1)));
    }

    #[test]
    fn a_suspect_holds_others_back_only_for_its_probation() {
        let mut held = HeldSuspects::none(at(10));
        held.add(Suspicion::new(4, 2), at(-22));
        assert_eq!((held.may_add(lost(4)), held.first_end()), (true, None));
        held.add(Suspicion::new(4, 2), at(-21));
        assert_eq!((held.may_add(lost(2)), held.first_end()), (false, Some(at(11))));
    }

    #[test]
    fn a_probation_lasts_as_long_as_the_run_and_four_times_as_long_with_each_further_loss() {
        for (losses, ran_s, probation_s) in
            [(0, 9, 0), (1, 9, 0), (2, 9, 9), (3, 9, 36), (4, 9, 144), (2, 99, 15), (5, 15, 960), (9, 15, 3_840)]
        {
            assert_eq!(Suspicion::new(losses, ran_s).probation(), Duration::from_secs(probation_s), "{losses} {ran_s}");
        }
    }

    #[test]
    fn how_long_it_had_run_ends_with_the_renewal_that_did_not_come() {
        for (length_ms, ran_s) in [(200, 2), (8_000, 2), (8_001, 3), (10_000, 4), (21_000, 15), (3_600_000, 15)] {
            let expires_at = Timestamp::from_micros(length_ms * 1_000);
            assert_eq!(Suspicion::NONE.lost_again(at(0), expires_at), Suspicion::new(1, ran_s), "{length_ms}");
        }
        assert_eq!(lost(6).lost_again(at(0), at(9)), Suspicion::new(6, 3));
    }

    #[test]
    fn what_earlier_versions_stored_counts_as_the_longest_run() {
        let read: Suspicion = serde_json::from_str("2").unwrap();
        assert_eq!(read, Suspicion::new(2, 15));
        let written = serde_json::to_string(&Suspicion::new(3, 4)).unwrap();
        assert_eq!(written, r#"{"losses":3,"ran_s":4}"#);
        assert_eq!(serde_json::from_str::<Suspicion>(&written).unwrap(), Suspicion::new(3, 4));
    }

    #[test]
    fn a_lease_taken_after_the_loss_belongs_to_the_next() {
        assert!(loss(0, 1).includes(Timestamp::from_micros(9)));
        assert!(!loss(0, 1).includes(Timestamp::from_micros(10)));
    }
}
