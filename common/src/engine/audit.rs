//! Looking over a store for what does not agree with itself, and mending what is certain.
//!
//! What moves a task moves all that belongs to it in one step, so a sound store has nothing to find. What an audit finds
//! was brought about from outside: a server that deleted keys, a file that was damaged, a hand in the data.

use serde::Serialize;

use crate::engine::{Result, look::validate_limit};

/// A bounded piece of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRequest {
    /// About how many tasks or entries to look at, 1 to 1,000.
    pub limit: usize,
    /// Mend what can be mended for certain. Else nothing is changed.
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

/// What does not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// A task whose place is missing: nobody will claim, promote or reclaim it, or it is missing among the finished ones.
    /// Mended: it is put in its place.
    Unplaced,
    /// A task that stands in a place that is not the one its record tells of. Mended: the record is right.
    Misplaced,
    /// A place of a task that is not there. Mended: it is taken out.
    PlaceWithoutTask,
    /// What belonged to a task that is not there: its state, its errors, its parameters. Mended: it is deleted.
    Orphan,
    /// A task whose record can't be read. Not mended.
    Unreadable,
    /// A task that has lost its parameters. Not mended.
    ParametersLost,
    /// A task of a queue that does not exist. Not mended: create the queue, or the task stays where it is.
    QueueUnknown,
    /// Counts that don't agree with what is there. Mended by counting anew.
    Miscounted,
    /// The store's file is damaged. An index is mended by building it anew; nothing else is.
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

/// One thing that does not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub flaw: Flaw,
    /// Of what: a task's id, a queue's name, a table.
    pub subject: String,
    /// In words.
    pub detail: String,
    /// Whether this call has mended it.
    pub repaired: bool,
}

/// What a piece of an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audited {
    /// Tasks and entries looked at.
    pub looked_at: u64,
    /// What does not agree.
    pub findings: Vec<Finding>,
    /// Where to go on; `None` when everything has been looked at.
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
