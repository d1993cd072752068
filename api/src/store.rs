//! The examination of a store, and its repair, as they are answered.

use jobbers_common::engine::{Finding, Flaw};
use serde::{Deserialize, Serialize};

use super::value::Word;
use crate::openapi::{IntoParams, ToSchema};

/// How many findings an answer names.
pub const NAMED: usize = 100;

/// Which part of a store is examined.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExamineParams {
    /// About how many tasks and entries to look at; without it, as many as can be within five seconds.
    #[param(minimum = 1)]
    pub limit: Option<u64>,
    /// The `next_cursor` of the part before.
    pub cursor: Option<String>,
}

/// What an examination of a store, or a part of one, found.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreExamination)]
pub struct ExaminationView {
    /// How many tasks and entries were looked at.
    pub looked_at: u64,
    /// How many of them do not agree, by the kind of flaw; empty in a sound store.
    pub found: Vec<FlawView>,
    /// How many of these were mended.
    pub repaired: u64,
    /// The first 100 of them.
    pub findings: Vec<FindingView>,
    /// Where the next part begins; absent when everything was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl ExaminationView {
    /// Counts a finding, and names it if there is room.
    pub fn add(&mut self, finding: &Finding) {
        match self.found.iter_mut().find(|kind| kind.flaw == finding.flaw.as_str()) {
            Some(kind) => kind.count += 1,
            None => self.found.push(FlawView::new(finding.flaw)),
        }
        self.repaired += u64::from(finding.repaired);
        if self.findings.len() < NAMED {
            self.findings.push(finding.into());
        }
    }

    /// How many things do not agree, those that were mended among them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.found.iter().map(|kind| kind.count).sum()
    }
}

/// A kind of flaw that was found.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreFlaw)]
pub struct FlawView {
    /// The kind, such as `miscounted`.
    #[schema(value_type = String)]
    pub flaw: Word,
    /// How many of it there are.
    pub count: u64,
    /// What it is.
    #[schema(value_type = String)]
    pub about: Word,
    /// What a repair does; absent if it leaves it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub repair: Option<Word>,
}

impl FlawView {
    fn new(flaw: Flaw) -> Self {
        let (about, repair) = match flaw {
            Flaw::Unplaced => ("a task to which nothing leads: it would wait for ever", Some("puts it in its place")),
            Flaw::Misplaced => ("a task in another place than its record says", Some("goes by the record")),
            Flaw::PlaceWithoutTask => ("a place of a task that does not exist", Some("takes it out")),
            Flaw::Orphan => ("what belonged to a task that does not exist, or is over", Some("deletes it")),
            Flaw::Unreadable => ("a record that can't be read", None),
            Flaw::ParametersLost => ("a task that has lost its parameters: cancel it, or submit it again", None),
            Flaw::QueueUnknown => ("a task of a queue that does not exist: create the queue", None),
            Flaw::Miscounted => ("counts that are not what there is", Some("counts again")),
            Flaw::FileDamaged => ("damage to the file: restore a backup", Some("rebuilds an index, and nothing else")),
        };
        Self { flaw: flaw.as_str().into(), count: 1, about: about.into(), repair: repair.map(Word::from) }
    }
}

/// One thing that does not agree.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = StoreFinding)]
pub struct FindingView {
    /// The kind of flaw, such as `miscounted`.
    #[schema(value_type = String)]
    pub flaw: Word,
    /// What it is about: a task's id, a queue's name, a table.
    pub subject: String,
    /// What does not agree.
    pub detail: String,
    /// Whether this request has mended it.
    pub repaired: bool,
}

impl From<&Finding> for FindingView {
    fn from(Finding { flaw, subject, detail, repaired }: &Finding) -> Self {
        Self { flaw: flaw.as_str().into(), subject: subject.clone(), detail: detail.clone(), repaired: *repaired }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_counted_and_the_first_are_named() {
        let finding = |flaw, repaired| Finding { flaw, subject: "s".to_owned(), detail: "d".to_owned(), repaired };
        let mut view = ExaminationView::default();
        (0..2 * NAMED).for_each(|_| view.add(&finding(Flaw::Orphan, true)));
        view.add(&finding(Flaw::Unreadable, false));
        let counts: Vec<_> = view.found.iter().map(|kind| (&*kind.flaw, kind.count, kind.repair.is_some())).collect();
        assert_eq!(counts, [("orphan", 200, true), ("unreadable", 1, false)]);
        assert_eq!((view.total(), view.repaired, view.findings.len()), (201, 200, NAMED));
    }
}
