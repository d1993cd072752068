//! Chores: what is past its time is moved, taken back or deleted.

use std::ops::AddAssign;

use crate::{
    engine::{limit::validate_limit, reads::TaskFilter},
    error::{Error, Result},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId, TaskName},
    task::Task,
    time::Timestamp,
};

/// Which finished tasks to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a pass makes one at a time")]
pub enum PruneScope {
    /// Those past their queue's retention, by age or by count.
    Retention,
    /// Those that match.
    Matching {
        /// Which tasks; its statuses must be finished ones, empty means all of these.
        filter: TaskFilter,
        /// Only those that were over before this.
        finished_before: Option<Timestamp>,
        /// Only those whose stored parameters and result take more than about this many bytes.
        larger_than: Option<u64>,
    },
}

/// A bounded piece of pruning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneRequest {
    /// Which.
    pub scope: PruneScope,
    /// How many tasks to look at, 1 to 1,000.
    pub limit: usize,
    /// Count, and delete nothing.
    pub dry_run: bool,
    /// Where the call before ended.
    pub cursor: Option<String>,
}

impl PruneRequest {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        validate_limit(self.limit)?;
        if let PruneScope::Matching { filter, .. } = &self.scope
            && let Some(live) = filter.statuses.iter().find(|status| !status.is_finished())
        {
            return Err(Error::Invalid(format!("only finished tasks are pruned; {live} is not a finished status")));
        }
        Ok(())
    }
}

/// What a piece of pruning did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Tasks deleted, or in a dry run those that would be.
    pub removed: u64,
    /// Where to continue; `None` if nothing is left to check.
    pub next: Option<String>,
}

/// Checks the bounds of a move from one queue to another.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_move(from: &QueueName, to: &QueueName, limit: usize) -> Result<()> {
    if from == to {
        return Err(Error::Invalid(format!("the tasks of queue {from} are in that queue already")));
    }
    validate_limit(limit)
}

/// A task that the store ended without a settlement: when its lease was taken back, or when it expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostTask {
    /// Its queue.
    pub queue: QueueName,
    /// Its name.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// `failed` as poison, `cancelled` because a cancel had been requested, or `dropped` because it expired.
    pub status: Status,
    /// Whether a dead letter was made of it.
    pub dead_letter: bool,
}

impl From<&Task> for LostTask {
    fn from(task: &Task) -> Self {
        Self {
            queue: task.queue.clone(),
            name: task.name.clone(),
            version: task.version,
            status: task.status,
            dead_letter: task.dead_letter,
        }
    }
}

/// What taking expired leases back did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// How many tasks went back to their queues.
    pub requeued: u64,
    /// The tasks that ended.
    pub ended: Vec<LostTask>,
}

impl AddAssign for Reclaimed {
    fn add_assign(&mut self, more: Self) {
        self.requeued += more.requeued;
        self.ended.extend(more.ended);
    }
}

impl Reclaimed {
    /// How many leases were taken back.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requeued + self.ended.len() as u64
    }

    /// How many tasks ended with a status.
    #[must_use]
    pub fn count(&self, status: Status) -> u64 {
        self.ended.iter().filter(|task| task.status == status).count() as u64
    }
}

/// The result of the deletion of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskDeletion {
    /// It is gone.
    Deleted,
    /// It runs, so it stays: cancel it first.
    Running,
    /// The task does not exist.
    Unknown,
}

/// Checks the bounds of a deletion of tasks.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_task_deletion(ids: &[TaskId]) -> Result<()> {
    if ids.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call deletes at most {MAX_BATCH} tasks")));
    }
    Ok(())
}
