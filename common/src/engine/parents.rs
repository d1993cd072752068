//! What a task reads of the tasks it waited for: how they ended, and their results.
//!
//! A store keeps the ids of a task's predecessors, in the order its submission named them, and reads their results when
//! it is asked. While the task is not over it *holds* them: whatever deletes a predecessor that is over (a retention, a
//! rule of the cleaner, a purge) leaves its status and its result behind, until the last task that holds it is over.

use crate::{
    engine::limit::validate_limit,
    error::{Error, Result},
    lifecycle::Status,
    name::TaskId,
    payload::Payload,
};

/// Which predecessors of a task to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentsRequest {
    /// The task that waited for them.
    pub of: TaskId,
    /// Only this one, if it is among them; otherwise a page of all.
    pub only: Option<TaskId>,
    /// At which of them, counted from 0, the page begins.
    pub from: usize,
    /// At most how many, 1 to 1,000.
    pub limit: usize,
    /// The page ends before its results are more bytes than this. It has at least one predecessor, if any is left.
    pub max_bytes: usize,
}

/// A predecessor, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its id.
    pub id: TaskId,
    /// Its status. `None` for one that is neither stored, held nor remembered.
    pub status: Option<Status>,
    /// Its result, if it completed with one that is stored or held.
    pub result: Option<Payload>,
}

/// Some predecessors of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parents {
    /// How many there are; 0 for a task that waited for none, and for an unknown one.
    pub total: usize,
    /// Those that were asked for, in the order in which the submission named them.
    pub parents: Vec<Parent>,
}

impl ParentsRequest {
    /// The first page of all predecessors of a task.
    #[must_use]
    pub const fn all(of: TaskId, limit: usize, max_bytes: usize) -> Self {
        Self { of, only: None, from: 0, limit, max_bytes }
    }

    /// One predecessor of a task.
    #[must_use]
    pub const fn one(of: TaskId, parent: TaskId) -> Self {
        Self { of, only: Some(parent), from: 0, limit: 1, max_bytes: 0 }
    }

    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        validate_limit(self.limit).map_err(|_| Error::Invalid("a page has 1 to 1000 predecessors".to_owned()))
    }

    /// The places of the predecessors to read, before their bytes are counted.
    #[must_use]
    pub fn places(&self, all: &[TaskId]) -> std::ops::Range<usize> {
        let first = match &self.only {
            Some(only) => all.iter().position(|parent| parent == only).unwrap_or(all.len()),
            None => self.from.min(all.len()),
        };
        first..(first + self.limit).min(all.len())
    }

    /// Whether another predecessor with a result of so many bytes goes onto a page that holds `count` with `bytes`.
    #[must_use]
    pub const fn has_room(&self, count: usize, bytes: usize, more: usize) -> bool {
        count == 0 || bytes.saturating_add(more) <= self.max_bytes
    }
}

/// How many bytes a result is.
#[must_use]
pub fn result_bytes(result: Option<&Payload>) -> usize {
    result.map_or(0, Payload::len)
}
