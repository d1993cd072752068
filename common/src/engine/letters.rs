//! Dead letters as the store knows them: an outbox of copies, and tasks sent again.
//!
//! The store keeps a copy only until an archive has confirmed that it holds it. The store does not know what an archive
//! is, where it is, or how it is searched.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{
    engine::halves,
    error::{Error, Result},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId},
    payload::Payload,
    task::Task,
};

/// A task as it was when it failed for good, complete enough to create it again.
///
/// Archives keep it, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadTask {
    /// The task, with parameters and errors.
    pub task: Task,
    /// Its submission's [`crate::task::NewTask::fingerprint`].
    #[serde(with = "halves")]
    pub fingerprint: u128,
}

impl DeadTask {
    /// Its identity.
    #[must_use]
    pub fn key(&self) -> DeadKey {
        DeadKey { id: self.task.id.clone(), revision: self.task.revision }
    }
}

/// One end of one task: it may fail for good several times, each time with another revision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeadKey {
    /// The task.
    pub id: TaskId,
    /// Its revision when it ended.
    pub revision: u64,
}

/// A part of the outbox.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outbox {
    /// Copies, the oldest first.
    pub copies: Vec<DeadTask>,
    /// Entries between them that can't be read.
    pub unreadable: Vec<Unreadable>,
    /// The revision to continue after; `None` if the outbox was empty.
    pub last: Option<u64>,
}

/// A copy that is damaged, or of a version that this program does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The task's id, if it can be read.
    pub id: String,
    /// Its revision when it ended.
    pub revision: u64,
    /// What is wrong with it.
    pub why: String,
}

/// The source of a task that is sent again.
#[derive(Debug, Clone, PartialEq)]
pub enum ResubmitFrom {
    /// The store's own task.
    Store {
        /// Only if it still has this revision; `None` allows any.
        revision: Option<u64>,
    },
    /// A copy that came from the outbox. If the store still has the task with the copy's revision, that task is sent
    /// again; if the store has no such task, it is created again from the copy. Leaves a receipt, so that the same copy
    /// is sent again only once, until [`crate::engine::Letters::forget_receipts`] deletes the receipt.
    Archive(Box<DeadTask>),
}

/// A request to send one task again.
#[derive(Debug, Clone, PartialEq)]
pub struct Resubmit {
    /// The task.
    pub id: TaskId,
    /// Its source.
    pub from: ResubmitFrom,
    /// Into this queue; `None`: the one it was in.
    pub queue: Option<QueueName>,
    /// With these parameters; `None`: those it had.
    pub parameters: Option<Payload>,
    /// Whether attempts and crashes are counted from the start, and the task counts as submitted now, so that the time
    /// span for its retries starts again too. Otherwise they continue.
    pub reset_attempts: bool,
}

impl Resubmit {
    /// Sends a task of the store again, however it ended, from the start.
    #[must_use]
    pub const fn of_store(id: TaskId) -> Self {
        let from = ResubmitFrom::Store { revision: None };
        Self { id, from, queue: None, parameters: None, reset_attempts: true }
    }

    /// Sends an archived copy again, from the start.
    #[must_use]
    pub fn of_archive(dead: DeadTask) -> Self {
        let id = dead.task.id.clone();
        let from = ResubmitFrom::Archive(Box::new(dead));
        Self { id, from, queue: None, parameters: None, reset_attempts: true }
    }

    /// The revision the task must have ended with; `None`: any.
    #[must_use]
    pub fn expected_revision(&self) -> Option<u64> {
        match &self.from {
            ResubmitFrom::Store { revision } => *revision,
            ResubmitFrom::Archive(dead) => Some(dead.task.revision),
        }
    }

    /// The copy it is sent again from, if it is from one.
    #[must_use]
    pub fn archived(&self) -> Option<&DeadTask> {
        match &self.from {
            ResubmitFrom::Store { .. } => None,
            ResubmitFrom::Archive(dead) => Some(dead),
        }
    }
}

/// The result of a request to send a task again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resubmitted {
    /// It is `submitted`, at the end of its priority.
    Done,
    /// This very copy was sent again before. Nothing changed.
    Already,
    /// It is not over: it waits for its turn or runs. Nothing changed.
    Live(Status),
    /// It is over and can't be sent again: it completed, has ended again since, or is spontaneous. Nothing changed.
    Moved(Status),
    /// The task does not exist, and no copy of it was given.
    Unknown,
    /// The queue it would go to does not exist. Nothing changed.
    UnknownQueue(QueueName),
    /// Another task, this one, holds its unique key now. Nothing changed.
    Held(TaskId),
}

/// Checks the bounds of a resubmission.
///
/// # Errors
/// [`Error::Invalid`] for more than 1,000 tasks, one named twice, or a copy of another task.
pub fn validate_resubmit(batch: &[Resubmit]) -> Result<()> {
    if batch.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call sends at most {MAX_BATCH} tasks again")));
    }
    let mut seen = HashSet::with_capacity(batch.len());
    for wish in batch {
        if !seen.insert(&wish.id) {
            return Err(Error::Invalid(format!("task {} is sent again twice in one call", wish.id)));
        }
        if wish.archived().is_some_and(|dead| dead.task.id != wish.id || dead.task.parameters.is_none()) {
            return Err(Error::Invalid(format!("what task {} is sent again from is no whole copy of it", wish.id)));
        }
    }
    Ok(())
}

/// Checks the bounds of a call that forgets.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_forget(keys: &[DeadKey]) -> Result<()> {
    if keys.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call forgets at most {MAX_BATCH} dead letters")));
    }
    Ok(())
}
