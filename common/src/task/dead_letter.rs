//! Where dead letters, and the operations that send them again, are.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LetterState {
    /// It waits until an operator handles it.
    Dead,
    /// An operation is about to send it again.
    Resubmitting,
    /// It was sent again.
    Resubmitted,
    /// Its task went on without it: it was sent again by another way, or ended a second time.
    Superseded,
}

impl LetterState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Dead, Self::Resubmitting, Self::Resubmitted, Self::Superseded];

    /// The name in the file and on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Resubmitting => "resubmitting",
            Self::Resubmitted => "resubmitted",
            Self::Superseded => "superseded",
        }
    }
}

impl fmt::Display for LetterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of an operation that sends dead letters again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationState {
    /// It sends letters, or is about to.
    Running,
    /// It is stopping: letters on their way have not arrived yet.
    Cancelling,
    /// It was stopped.
    Cancelled,
    /// It has nothing left to send.
    Done,
}

impl OperationState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Running, Self::Cancelling, Self::Cancelled, Self::Done];

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for OperationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
