//! What an import did, entry by entry: counts by kind, and the first conflicts in words.

use std::collections::BTreeMap;

/// How many conflicts a report names.
const NAMED: usize = 100;

/// The outcomes of the entries of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryTally {
    /// Stored.
    pub stored: u64,
    /// There already.
    pub already: u64,
    /// In conflict with what is there.
    pub conflicts: u64,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// By kind.
    pub tallies: BTreeMap<&'static str, EntryTally>,
    /// The first conflicts, a sentence each.
    pub conflicts: Vec<String>,
}

impl ImportReport {
    /// How many entries are in conflict.
    #[must_use]
    pub fn count_conflicts(&self) -> u64 {
        self.tallies.values().map(|tally| tally.conflicts).sum()
    }

    pub(super) fn note(&mut self, kind: &'static str, outcome: EntryOutcome) {
        let tally = self.tallies.entry(kind).or_default();
        match outcome {
            EntryOutcome::Stored => tally.stored += 1,
            EntryOutcome::Already => tally.already += 1,
            EntryOutcome::Conflict(why) => {
                tally.conflicts += 1;
                if self.conflicts.len() < NAMED {
                    self.conflicts.push(why);
                }
            }
        }
    }
}

/// The outcome of an entry.
pub(super) enum EntryOutcome {
    Stored,
    Already,
    Conflict(String),
}
