//! Deleting tasks, in and out.

use jobbers_common::{engine::TaskDeletion, name::TaskId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::value::NameDoc;

/// Which tasks to delete.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    /// Their ids, at most 1,000.
    #[schema(value_type = Vec<NameDoc>, max_items = 1000)]
    pub ids: Vec<TaskId>,
    /// Whether a task that depended only on deleted ones is deleted too. Else it runs.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub cascade: bool,
}

const fn yes() -> bool {
    true
}

/// What a deletion did to one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeleteOutcome {
    /// It is gone.
    Deleted,
    /// It runs, so it stays.
    Running,
    /// The task does not exist.
    Unknown,
}

impl From<TaskDeletion> for DeleteOutcome {
    fn from(answer: TaskDeletion) -> Self {
        match answer {
            TaskDeletion::Deleted => Self::Deleted,
            TaskDeletion::Running => Self::Running,
            TaskDeletion::Unknown => Self::Unknown,
        }
    }
}

/// The result for one task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedTask)]
pub struct DeletedView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// What the deletion did.
    outcome: DeleteOutcome,
}

/// The total result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeleteAnswer)]
pub struct DeleteReport<'a> {
    /// How many of these tasks are gone.
    deleted: usize,
    /// How many run, and stay.
    running: usize,
    /// How many do not exist.
    unknown: usize,
    /// One by one, in the order given.
    tasks: Vec<DeletedView<'a>>,
}

impl<'a> DeleteReport<'a> {
    pub(crate) fn new(ids: &'a [TaskId], answers: &[TaskDeletion]) -> Self {
        let outcomes = answers.iter().map(|answer| DeleteOutcome::from(*answer));
        let tasks: Vec<_> = ids.iter().zip(outcomes).map(|(id, outcome)| DeletedView { id, outcome }).collect();
        let count = |outcome| tasks.iter().filter(|task| task.outcome == outcome).count();
        Self {
            deleted: count(DeleteOutcome::Deleted),
            running: count(DeleteOutcome::Running),
            unknown: count(DeleteOutcome::Unknown),
            tasks,
        }
    }
}
