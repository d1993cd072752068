//! A task of an operation, and its result.

use jobbers_common::{name::TaskId, task::dead_letter::LetterState};
use serde::{Deserialize, Serialize};

/// The most letters of one operation.
pub const MAX_ITEMS: usize = 1_000_000;

/// The result for one task of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOutcome {
    /// It was sent again.
    Resubmitted,
    /// It had been sent again before, or another operation is about to do so.
    AlreadyResubmitted,
    /// This task has no dead letter.
    Unknown,
    /// The task is not over: it was sent or submitted again by another way.
    Live,
    /// The task has ended a second time since, or completed.
    Moved,
    /// The target queue does not exist.
    UnknownQueue,
    /// Another task holds its unique key.
    Duplicate,
    /// Its parameters can't be patched, or are too large after the patch.
    BadParameters,
    /// The operation was cancelled before this task's turn.
    Cancelled,
}

impl ItemOutcome {
    /// The name in the file and on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resubmitted => "resubmitted",
            Self::AlreadyResubmitted => "already_resubmitted",
            Self::Unknown => "unknown",
            Self::Live => "live",
            Self::Moved => "moved",
            Self::UnknownQueue => "unknown_queue",
            Self::Duplicate => "duplicate",
            Self::BadParameters => "bad_parameters",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of the letter after this result.
    pub(super) const fn state(self) -> LetterState {
        match self {
            Self::Resubmitted | Self::AlreadyResubmitted => LetterState::Resubmitted,
            Self::Live | Self::Moved => LetterState::Superseded,
            Self::Unknown | Self::UnknownQueue | Self::Duplicate | Self::BadParameters | Self::Cancelled => {
                LetterState::Dead
            }
        }
    }
}

/// A task of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The task.
    pub task: TaskId,
    /// Its result; `None` if it is not sent yet.
    pub outcome: Option<ItemOutcome>,
    /// Details of the result.
    pub detail: Option<String>,
}
