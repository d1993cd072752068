//! Dependencies: which tasks a task waits for, and what the end of each of them does to it.
//!
//! A submission names the predecessors of its task, each with a policy. The task is `waiting` until every one of its
//! edges is signalled; then it becomes `submitted` or `scheduled`, once. An edge is signalled by the end of its
//! predecessor, and [`consequence`] decides what follows for the successor: the model and both engines go by it.
//!
//! - Signals are a set and no count: an edge that was signalled is gone, so nothing can signal it twice.
//! - A predecessor that is over when its successor is submitted signals at once, by its end. So does one that was pruned
//!   and is remembered ([`crate::task::tombstone`]).
//! - A predecessor that is purged counts as cancelled, and one that another submission replaces counts as aborted. The edges
//!   of one that is deleted are removed ([`End::Deleted`]).
//! - Edges between stored tasks may be added ([`crate::engine::dependencies`]).
//! - A spontaneous task ends as completed in the step in which it would be released, so no worker runs it.
//! - A task that is over stays over: sending a predecessor again revives no successor that was aborted.

use serde::{Deserialize, Serialize};

use crate::{
    dependency::signal::{ExternalSignal, SignalState},
    lifecycle::{Move, Status},
    name::TaskId,
};

pub(crate) mod policy;
pub(crate) mod refused;
pub mod signal;

pub use self::policy::DependencyPolicy;

/// What the successors of a task see when it ends or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It is over with this status, or counts as such.
    Over(Status),
    /// It was deleted before its end: its edges are removed, and do not count among the dependencies of its successors.
    Deleted {
        /// Whether a successor that then waits for no other task is deleted too, and so on; else it is released.
        cascade: bool,
    },
}

impl End {
    const DELETED: u8 = 10;
    const DELETED_CASCADE: u8 = 11;

    /// The stored number; that of the status for an end.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Over(status) => status.code(),
            Self::Deleted { cascade: false } => Self::DELETED,
            Self::Deleted { cascade: true } => Self::DELETED_CASCADE,
        }
    }

    /// The end of a stored number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            Self::DELETED => Some(Self::Deleted { cascade: false }),
            Self::DELETED_CASCADE => Some(Self::Deleted { cascade: true }),
            code => Status::from_code(code).map(Self::Over),
        }
    }
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self::Over(status)
    }
}

/// An edge: the task whose end is waited for, and what that end means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dependency {
    /// The predecessor.
    pub on: TaskId,
    /// What its end means.
    #[serde(default)]
    pub policy: DependencyPolicy,
}

/// A predecessor that has ended, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EndedPredecessor {
    /// Its id.
    pub id: TaskId,
    /// How it ended.
    pub status: Status,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dependencies {
    /// How many edges it was submitted with, or received later.
    pub total: u32,
    /// How many of them are signalled. Edges that were not when the task ended no longer count.
    pub signals: u32,
    /// The edges to tasks that are not: the first 100 by the ids of their predecessors. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Dependency>,
    /// Whether the task ends by itself, as completed, once all are signalled.
    #[serde(default, rename = "spontaneous", skip_serializing_if = "std::ops::Not::not")]
    pub is_spontaneous: bool,
    /// The signals from outside that it was submitted with, by their names; `total` counts them too. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalSignal>,
    /// The predecessor whose end aborted the task, if one did; the first of several that ended in the same step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_by: Option<EndedPredecessor>,
}

impl Dependencies {
    /// How many signals from outside are still waited for.
    #[must_use]
    pub fn open_signals(&self) -> usize {
        self.external.iter().filter(|signal| signal.state == SignalState::Waiting).count()
    }
}

/// What the end of a predecessor, `end`, does to a waiting successor that has `left` other edges without a signal. `None`:
/// it waits on.
#[must_use]
pub const fn consequence(policy: DependencyPolicy, end: Status, left: u32) -> Option<Move> {
    if policy.aborts(end) {
        return Some(Move::Abort);
    }
    if left == 0 { Some(Move::Signal) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::is_legal;

    #[test]
    fn ends_read_back_from_their_numbers() {
        let deleted = [false, true].map(|cascade| End::Deleted { cascade });
        for end in Status::ALL.map(End::from).into_iter().chain(deleted) {
            assert_eq!(End::from_code(end.code()), Some(end));
        }
        assert_eq!(End::from_code(12), None);
    }

    #[test]
    fn what_follows_is_a_move_of_a_waiting_task() {
        for policy in DependencyPolicy::ALL {
            assert_eq!(DependencyPolicy::from_code(policy.code()), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.as_str());
            for end in Status::ALL.into_iter().filter(|status| status.is_finished()) {
                let (last, other) = (consequence(policy, end, 0), consequence(policy, end, 1));
                if policy.aborts(end) {
                    assert_eq!((last, other), (Some(Move::Abort), Some(Move::Abort)));
                    assert!(is_legal(Status::Waiting, Move::Abort, Status::Aborted));
                } else {
                    assert_eq!((last, other), (Some(Move::Signal), None));
                    assert!(is_legal(Status::Waiting, Move::Signal, Status::Submitted));
                }
            }
        }
        assert_eq!(DependencyPolicy::from_code(3), None);
    }
}
