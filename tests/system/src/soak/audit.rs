//! Holds the ledger against the store and the effects: everything in them that breaks a promise.
//!
//! A pure function of [`Books`], so that each complaint has a test with books that earn it; [`super::controls`] breaks the
//! promises in earnest.

mod boards;
mod chords;
mod endings;
mod holds;
mod letters;
mod limits;
mod slots;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jobbers_test_support::effects::Effect;
use serde_json::Value;

use super::ledger::{Action, Deed};
use crate::executions::{Executions, Record};

/// What a complaint is about. All of them must be without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// Acknowledged, and not there; or never over.
    Lost,
    /// There, and asked for by no client; or run more often than its record explains.
    Doubled,
    SettledTwice,
    InnocentFailed,
    /// Over, and otherwise than its kind is.
    EndedOtherwise,
    /// Not accepted though nothing spoke against it.
    Refused,
    SlotMissed,
    SlotDoubled,
    /// A task that waited for others ran twice without a cause.
    ReleasedTwice,
    /// Or before they were over.
    ReleasedEarly,
    LimitExceeded,
    HeldByTwo,
}

impl Broken {
    pub(crate) const ALL: [Self; 12] = [
        Self::Lost,
        Self::Doubled,
        Self::SettledTwice,
        Self::InnocentFailed,
        Self::EndedOtherwise,
        Self::Refused,
        Self::SlotMissed,
        Self::SlotDoubled,
        Self::ReleasedTwice,
        Self::ReleasedEarly,
        Self::LimitExceeded,
        Self::HeldByTwo,
    ];
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) broken: Broken,
    pub(crate) text: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.broken, self.text)
    }
}

/// Complaints of one kind.
fn all(broken: Broken, texts: impl IntoIterator<Item = String>) -> Vec<Complaint> {
    texts.into_iter().map(|text| Complaint { broken, text }).collect()
}

/// A task as the store has it.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) record: Record,
    pub(crate) result: Value,
}

/// A schedule's own counts, and how many tasks its queue has accepted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fired {
    pub(crate) fired: u64,
    pub(crate) missed: u64,
    pub(crate) accepted: u64,
}

/// Everything that is left.
#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) deeds: Vec<Deed>,
    pub(crate) tasks: BTreeMap<String, Task>,
    pub(crate) executions: Executions,
    pub(crate) effects: Vec<Effect>,
    /// The state of each workflow.
    pub(crate) workflows: BTreeMap<String, String>,
    pub(crate) schedules: BTreeMap<String, Fired>,
    /// How many letters each task has that are dead.
    pub(crate) letters: BTreeMap<String, usize>,
    /// The data of the tasks of the clients' group on the board.
    pub(crate) board: Vec<Value>,
    /// The data of the bridge's replies.
    pub(crate) replies: Vec<Value>,
}

impl Books {
    /// The requests for this.
    fn asked(&self, action: Action) -> impl Iterator<Item = &Deed> {
        self.deeds.iter().filter(move |deed| deed.action == action)
    }

    /// Those of them that were answered with success.
    fn accepted(&self, action: Action) -> impl Iterator<Item = &Deed> {
        self.asked(action).filter(|deed| deed.answer()["status"].as_u64().is_some_and(|status| status < 300))
    }

    pub(crate) fn records(&self) -> BTreeMap<String, Record> {
        self.tasks.iter().map(|(id, task)| (id.clone(), task.record.clone())).collect()
    }

    /// Leaves out the executions of lives that ended as a dead letter which was sent again: each wrote that it refused.
    pub(crate) fn forget_earlier_lives(&mut self) {
        let sent: BTreeSet<String> = self.asked(Action::Resubmit).map(|deed| deed.key.clone()).collect();
        for effect in self.effects.iter().filter(|effect| effect.event == "refused" && sent.contains(&effect.task)) {
            if self.tasks.get(&effect.task).is_some_and(|task| task.record.status == "completed") {
                self.executions.leave_out(&effect.task, effect.fence);
            }
        }
    }

    /// Everything that breaks a promise.
    pub(crate) fn complaints(&self) -> Vec<Complaint> {
        [
            endings::refused(self),
            endings::lost_or_unasked(self),
            endings::otherwise(self),
            endings::twice(self),
            chords::complaints(self),
            slots::complaints(self),
            holds::complaints(self),
            limits::complaints(self),
            letters::complaints(self),
            boards::complaints(self),
        ]
        .concat()
    }
}
