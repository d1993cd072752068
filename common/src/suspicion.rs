//! Which task crashes its workers. A pure decision, so that every engine finds the same culprit.
//!
//! When a worker dies, each task it held is a suspect, and almost all of them are innocent. Suspects run again at once,
//! but few of them together on one worker ([`Suspicion::capacity`]); fresh tasks run beside them. Each further loss
//! narrows the circle: 16, then 4, then 1 on a worker. Only a worker's only suspect is blamed, and only blame
//! ([`crate::task::Task::blames`]) makes a task count as poison. Of 64 tasks lost together the culprit fails after six
//! crashes, where `max_crashes` is 3; no other task fails.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How suspect a task is: 0 for a fresh one, up to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub struct Suspicion(u8);

impl Suspicion {
    /// Not suspect.
    pub const NONE: Self = Self(0);
    /// Runs as its worker's only suspect.
    pub const HIGHEST: Self = Self(3);
    /// By level, how many suspects one worker may hold at a time; level 0 has no such bound.
    pub const CAPACITIES: [usize; 4] = [usize::MAX, 16, 4, 1];

    /// The level of a stored number; a higher one counts as the highest.
    #[must_use]
    pub const fn new(level: u8) -> Self {
        if level > Self::HIGHEST.0 { Self::HIGHEST } else { Self(level) }
    }

    /// 0 to 3.
    #[must_use]
    pub const fn level(self) -> u8 {
        self.0
    }

    /// Whether the task is suspect at all.
    #[must_use]
    pub const fn is_suspect(self) -> bool {
        self.0 > 0
    }

    /// The next level; the highest stays.
    #[must_use]
    pub const fn raised(self) -> Self {
        Self::new(self.0 + 1)
    }

    /// How many suspects a worker may hold while one of them is of this level.
    #[must_use]
    pub fn capacity(self) -> usize {
        Self::CAPACITIES[usize::from(self.0)]
    }
}

impl From<u8> for Suspicion {
    fn from(level: u8) -> Self {
        Self::new(level)
    }
}

impl From<Suspicion> for u8 {
    fn from(suspicion: Suspicion) -> Self {
        suspicion.0
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The suspects that a worker holds now, and what they leave for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldSuspects {
    held: usize,
    highest: Suspicion,
}

impl HeldSuspects {
    /// Counts one that the worker holds.
    pub fn add(&mut self, suspicion: Suspicion) {
        if suspicion.is_suspect() {
            self.held += 1;
            self.highest = self.highest.max(suspicion);
        }
    }

    /// Whether the worker may take a task of this suspicion as well.
    #[must_use]
    pub fn may_add(&self, suspicion: Suspicion) -> bool {
        !suspicion.is_suspect() || self.held < self.highest.max(suspicion).capacity()
    }
}

/// A worker that lost its leases, as of the first of them that was taken back.
///
/// All leases that it had then belong to this loss; one that it took later belongs to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerLoss {
    /// When the first lease was taken back.
    pub at: Timestamp,
    /// Suspects among the tasks it held.
    pub suspects: u64,
    /// Tasks it held.
    pub leases: u64,
}

/// What a loss means for one of the tasks that the worker held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// Its new level.
    pub suspicion: Suspicion,
    /// Whether it is blamed: its blames grow by one.
    pub is_blamed: bool,
}

impl WorkerLoss {
    /// Whether a lease taken at this time belongs to this loss.
    #[must_use]
    pub fn includes(&self, started_at: Timestamp) -> bool {
        started_at < self.at
    }

    /// Judges a task that the worker held.
    ///
    /// The suspects of a loss are those the worker held as suspects; where it held none, all its tasks. The only suspect
    /// of a loss is blamed, several move one level up. A fresh task that ran beside suspects starts at the first level.
    #[must_use]
    pub fn judge(&self, suspicion: Suspicion) -> Judgement {
        let (count, is_one_of_them) = match self.suspects {
            0 => (self.leases, true),
            suspects => (suspects, suspicion.is_suspect()),
        };
        let is_blamed = is_one_of_them && count == 1;
        let suspicion = if is_blamed { Suspicion::HIGHEST } else { suspicion.raised() };
        Judgement { suspicion, is_blamed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(suspects: u64, leases: u64) -> WorkerLoss {
        WorkerLoss { at: Timestamp::from_micros(10), suspects, leases }
    }

    fn judged(loss: WorkerLoss, level: u8) -> (u8, bool) {
        let Judgement { suspicion, is_blamed } = loss.judge(Suspicion::new(level));
        (suspicion.level(), is_blamed)
    }

    #[test]
    fn only_the_only_suspect_is_blamed() {
        assert_eq!(judged(loss(0, 1), 0), (3, true), "the worker held nothing else");
        assert_eq!(judged(loss(0, 2), 0), (1, false));
        assert_eq!(judged(loss(1, 64), 1), (3, true), "fresh tasks ran beside it");
        assert_eq!(judged(loss(1, 64), 0), (1, false), "and are suspects from now on");
        assert_eq!(judged(loss(4, 64), 2), (3, false));
        assert_eq!(judged(loss(2, 2), 3), (3, false));
    }

    #[test]
    fn a_worker_holds_fewer_suspects_the_more_suspect_they_are() {
        for (level, most) in [(1, 16), (2, 4), (3, 1)] {
            let mut held = HeldSuspects::default();
            let taken = (0..100).take_while(|_| {
                let may = held.may_add(Suspicion::new(level));
                held.add(Suspicion::new(level));
                may
            });
            assert_eq!(taken.count(), most);
        }
    }

    #[test]
    fn the_most_suspect_one_sets_the_bound_and_fresh_tasks_have_none() {
        let mut held = HeldSuspects::default();
        (0..4).for_each(|_| held.add(Suspicion::new(1)));
        assert!(held.may_add(Suspicion::new(1)));
        assert!(!held.may_add(Suspicion::new(2)) && !held.may_add(Suspicion::HIGHEST));
        assert!(held.may_add(Suspicion::NONE));
    }

    #[test]
    fn a_lease_taken_after_the_loss_belongs_to_the_next() {
        assert!(loss(0, 1).includes(Timestamp::from_micros(9)));
        assert!(!loss(0, 1).includes(Timestamp::from_micros(10)));
    }
}
