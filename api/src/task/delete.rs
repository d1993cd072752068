//! Deleting tasks: requests and answers as JSON.

use std::fmt;

use jobbers_common::{engine::TaskDeletion, name::TaskId};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    value::{Asked, TaskIdDoc},
};

/// Which tasks to delete.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    /// Their ids, at most 1,000. One that can't be an id is answered as unknown.
    #[schema(value_type = Vec<TaskIdDoc>, max_items = 1000)]
    pub ids: Vec<Asked<TaskId>>,
    /// Whether a task that depended only on deleted ones is deleted too. Else it runs.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub cascade: bool,
}

const fn yes() -> bool {
    true
}

/// What a deletion did to one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

impl fmt::Display for DeleteOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The result for one task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeletedTask)]
pub struct DeletedView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// What the deletion did.
    pub outcome: DeleteOutcome,
}

/// The total result.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeleteAnswer)]
pub struct DeleteReport {
    /// How many of these tasks are gone.
    pub deleted: u64,
    /// How many run, and stay.
    pub running: u64,
    /// How many do not exist.
    pub unknown: u64,
    /// One by one, in the order given.
    pub tasks: Vec<DeletedView>,
}

impl DeleteReport {
    /// What a deletion did to those of these tasks whose ids are legal.
    pub fn new(ids: &[Asked<TaskId>], answers: &[TaskDeletion]) -> Self {
        let answered = Asked::with_answers(ids, answers, &TaskDeletion::Unknown);
        let tasks: Vec<_> = answered.map(|(id, answer)| DeletedView { id, outcome: answer.into() }).collect();
        let count = |outcome| tasks.iter().filter(|task| task.outcome == outcome).count() as u64;
        Self {
            deleted: count(DeleteOutcome::Deleted),
            running: count(DeleteOutcome::Running),
            unknown: count(DeleteOutcome::Unknown),
            tasks,
        }
    }
}
