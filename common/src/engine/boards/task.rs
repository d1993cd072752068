//! Boards: tasks that clients of MassTasker and TaskStore address by revision.
//!
//! A board is a namespace with a revision counter of its own, dense from 1. A board's task has no lifecycle: it exists
//! until it is deleted, and a lease only moves its time into the future. Every change gives it a new revision, and the
//! revision is its address, so a client whose view is old is refused. The verbs are in [`crate::engine::boards`].

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// A moment in nanoseconds since 1970-01-01 UTC: from 1677-09-21 to 2262-04-11, exactly.
///
/// Boards need nanoseconds because their clients compare times exactly. Jobbers' own tasks count in microseconds
/// ([`crate::time::Timestamp`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BoardTime(pub i64);

impl BoardTime {
    /// This moment and a span of nanoseconds, at most the last moment that can be said.
    #[must_use]
    pub const fn saturating_add(self, nanoseconds: i64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// The store's clock counts in microseconds.
impl From<Timestamp> for BoardTime {
    fn from(time: Timestamp) -> Self {
        Self(time.as_micros().saturating_mul(1_000))
    }
}

/// When a task becomes visible, as a caller says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this moment.
    At(BoardTime),
    /// A span of nanoseconds after the present of the step. Negative spans are in the past.
    In(i64),
}

impl When {
    /// The present of the step.
    pub const NOW: Self = Self::In(0);

    /// The moment, with `now` as the present.
    #[must_use]
    pub const fn resolve(self, now: BoardTime) -> BoardTime {
        match self {
            Self::At(at) => at,
            Self::In(nanoseconds) => now.saturating_add(nanoseconds),
        }
    }
}

/// What a task says, without its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Opaque bytes.
    pub data: Bytes,
    /// What the bytes are: a content type, or the `type_url` of a protobuf `Any`. At most [`crate::limits::MAX_BOARD_TEXT_BYTES`].
    pub data_type: String,
    /// What a selector may find it by.
    pub labels: BTreeMap<String, String>,
    /// The error of an earlier attempt, or empty.
    pub error: String,
}

/// A task of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardTask {
    /// Its address until the next change, from the board's counter.
    pub revision: u64,
    /// The group it is taken from. Any text of up to [`crate::limits::MAX_BOARD_GROUP_BYTES`] bytes, also an empty one.
    pub group: String,
    /// When it becomes visible. A lease is a time in the future.
    pub at: BoardTime,
    /// Who changed it last: the client id that the front passed.
    pub owner: i64,
    /// What it says.
    pub content: Content,
}
