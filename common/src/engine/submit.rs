//! Submitting tasks.

use std::collections::HashSet;

use crate::{
    error::{ConflictReason, Error, Result},
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_QUEUES_PER_BATCH},
    name::{QueueName, TaskId},
    submission::batch,
    task::NewTask,
};

/// What to do about an id that is taken by a submission with another body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Refuse the whole batch.
    #[default]
    Fail,
    /// Leave the stored task as it is and continue.
    Skip,
    /// Replace the stored task, with a clean state; refuse the batch if it is running.
    Replace,
}

impl OnConflict {
    /// Whether the stored task keeps the id that `new` names, or is replaced. `status` and `fingerprint` are the stored
    /// task's.
    ///
    /// # Errors
    /// [`Error::Conflict`].
    pub fn keeps_stored(self, status: Status, fingerprint: u128, new: &NewTask) -> Result<bool> {
        let conflict = |reason| Error::Conflict { id: new.id.clone(), status, reason };
        match self {
            _ if fingerprint == new.fingerprint() => Ok(true),
            Self::Skip => Ok(true),
            Self::Fail => Err(conflict(ConflictReason::BodyDiffers)),
            Self::Replace if status == Status::Started => Err(conflict(ConflictReason::Started)),
            Self::Replace => Ok(false),
        }
    }
}

/// A batch of submitted tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Submit {
    /// 1 to 1,000 tasks with distinct ids.
    pub tasks: Vec<NewTask>,
    /// What to do about ids that are taken.
    pub on_conflict: OnConflict,
}

impl Submit {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty batch, one over 1,000, an id named twice, or by
    /// [`crate::task::unique::Unique::validate`] and [`batch::validate`].
    pub fn validate(&self) -> Result<()> {
        if self.tasks.is_empty() || self.tasks.len() > MAX_BATCH {
            return Err(Error::Invalid(format!("a batch holds 1 to {MAX_BATCH} tasks, not {}", self.tasks.len())));
        }
        for unique in self.tasks.iter().filter_map(|task| task.unique.as_ref()) {
            unique.validate().map_err(|error| Error::Invalid(error.to_string()))?;
        }
        batch::validate(&self.tasks).map_err(Error::Invalid)?;
        if let [_] = self.tasks.as_slice() {
            return Ok(());
        }
        let queues = self.count_queues();
        if queues > MAX_QUEUES_PER_BATCH {
            let text = format!("a batch goes to at most {MAX_QUEUES_PER_BATCH} different queues, not {queues}");
            return Err(Error::Invalid(text));
        }
        let mut seen = HashSet::with_capacity(self.tasks.len());
        match self.tasks.iter().find(|task| !seen.insert(&task.id)) {
            Some(twice) => Err(Error::Invalid(format!("task id {} occurs twice in one batch", twice.id))),
            None => Ok(()),
        }
    }

    /// How many different queues its tasks go to.
    #[must_use]
    pub fn count_queues(&self) -> usize {
        let runs = self.tasks.chunk_by(|a, b| a.queue == b.queue);
        runs.filter_map(|run| run.first()).map(|task| &task.queue).collect::<HashSet<_>>().len()
    }
}

/// What a submission did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmittedHow {
    /// A new task was stored.
    Created,
    /// The same submission was stored already, or another one was left as it is, or the holder of its unique key is
    /// returned instead; nothing changed.
    Existing,
    /// It replaced another task.
    Replaced,
    /// The holder of its unique key, which is returned, has become this submission.
    Updated,
}

/// The result for a submitted task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its id, or that of the task that holds its unique key.
    pub id: TaskId,
    /// Its queue; for an existing task, the stored one's.
    pub queue: QueueName,
    /// Its status after the whole batch.
    pub status: Status,
    /// What the submission did.
    pub how: SubmittedHow,
}
