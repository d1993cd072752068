//! Checking a store for inconsistencies, and repairing what is certain.
//!
//! A move of a task changes everything that belongs to it in one step, so a sound store gives no finding. An audit
//! finds damage from outside: a server that deleted keys, a damaged file, a manual change of the data.

use serde::Serialize;

use crate::{engine::limit::validate_limit, error::Result};

/// A bounded piece of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRequest {
    /// About how many tasks or entries to check, 1 to 1,000.
    pub limit: usize,
    /// Repair what is certain. Otherwise nothing is changed.
    pub repair: bool,
    /// Where the call before ended.
    pub cursor: Option<String>,
}

impl AuditRequest {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        validate_limit(self.limit)
    }
}

/// The kind of inconsistency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// A task whose place is missing: no process will claim, promote or reclaim it, or it is missing among the finished
    /// ones. Repaired: it is put in its place.
    Unplaced,
    /// A task in a place other than its record says. Repaired: the record is right.
    Misplaced,
    /// A place of a task that does not exist. Repaired: it is removed.
    PlaceWithoutTask,
    /// Side records of a task that does not exist, or does not need them any more: its state, its errors, its parameters,
    /// its hold on the results of its predecessors. Repaired: they are deleted.
    Orphan,
    /// A task whose record can't be read. Not repaired.
    Unreadable,
    /// A task that has lost its parameters. Not repaired.
    ParametersLost,
    /// A task of a queue that does not exist. Not repaired: create the queue, or the task stays where it is.
    QueueUnknown,
    /// Wrong counts. Repaired by counting again.
    Miscounted,
    /// The store's file is damaged. Only an index is repaired, by rebuilding it.
    FileDamaged,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Unplaced,
        Self::Misplaced,
        Self::PlaceWithoutTask,
        Self::Orphan,
        Self::Unreadable,
        Self::ParametersLost,
        Self::QueueUnknown,
        Self::Miscounted,
        Self::FileDamaged,
    ];

    /// Its name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unplaced => "unplaced",
            Self::Misplaced => "misplaced",
            Self::PlaceWithoutTask => "place_without_task",
            Self::Orphan => "orphan",
            Self::Unreadable => "unreadable",
            Self::ParametersLost => "parameters_lost",
            Self::QueueUnknown => "queue_unknown",
            Self::Miscounted => "miscounted",
            Self::FileDamaged => "file_damaged",
        }
    }

    /// The flaw of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flaw| flaw.as_str() == name)
    }
}

/// One inconsistency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub flaw: Flaw,
    /// Its subject: a task's id, a queue's name, a table.
    pub subject: String,
    /// Its description.
    pub detail: String,
    /// Whether this call has repaired it.
    pub repaired: bool,
}

/// The result of a piece of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audited {
    /// The number of tasks and entries checked.
    pub looked_at: u64,
    /// The inconsistencies.
    pub findings: Vec<Finding>,
    /// Where to continue; `None` when everything has been checked.
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flaw_has_one_name_everywhere() {
        for flaw in Flaw::ALL {
            assert_eq!(Flaw::named(flaw.as_str()), Some(flaw));
            assert_eq!(serde_json::to_value(flaw).unwrap(), flaw.as_str());
        }
    }
}
