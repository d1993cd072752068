//! Deleting tasks: requests and answers as JSON.

use std::fmt;

use jobbers_common::{engine::TaskDeletion, name::TaskId};
use serde::{Deserialize, Serialize};

use super::{
    list::FilterRequest,
    selection::{TaskAct, TaskSelection},
};
use crate::{
    openapi::ToSchema,
    problem::Result,
    value::{Asked, TaskIdDoc},
    wire::json,
};

/// Which tasks to delete: `ids` or `filter`, one of both.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    /// These, at most 1,000. One that can't be an id is answered as unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<TaskIdDoc>>, max_items = 1000)]
    pub ids: Option<Vec<Asked<TaskId>>>,
    /// Those that match and do not run.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub filter: Option<FilterRequest>,
    /// With a filter, at most this many in this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000, default = 1000)]
    pub limit: Option<usize>,
    /// With a filter, the `next_cursor` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whether a task that depended only on deleted ones is deleted too. Else it runs.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub cascade: bool,
}

const fn yes() -> bool {
    true
}

impl DeleteRequest {
    /// The tasks that are meant.
    ///
    /// # Errors
    /// Those of [`FilterRequest::for_act`]; [`Code::InvalidRequest`], [`Code::BatchTooLarge`].
    ///
    /// [`Code::InvalidRequest`]: crate::problem::Code::InvalidRequest
    /// [`Code::BatchTooLarge`]: crate::problem::Code::BatchTooLarge
    pub fn selection(self) -> Result<TaskSelection> {
        let filter = self.filter.as_ref().map(|filter| filter.for_act(TaskAct::Delete)).transpose()?;
        TaskSelection::of(self.ids, filter, self.limit, self.cursor)
    }

    /// To delete these tasks.
    #[must_use]
    pub fn of(ids: impl IntoIterator<Item = TaskId>, cascade: bool) -> Self {
        let ids = Some(ids.into_iter().map(Asked::from).collect());
        Self { ids, filter: None, limit: None, cursor: None, cascade }
    }
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
    /// With a filter: where the next call goes on, with this as its `cursor`; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// One by one, in the order given.
    pub tasks: Vec<DeletedView>,
}

impl DeleteReport {
    /// What a deletion did to those of these tasks whose ids are legal; `next_cursor` as in [`DeleteReport::next_cursor`].
    pub fn new(ids: &[Asked<TaskId>], answers: &[TaskDeletion], next_cursor: Option<String>) -> Self {
        let answered = Asked::with_answers(ids, answers, &TaskDeletion::Unknown);
        let tasks: Vec<_> = answered.map(|(id, answer)| DeletedView { id, outcome: answer.into() }).collect();
        let count = |outcome| tasks.iter().filter(|task| task.outcome == outcome).count() as u64;
        Self {
            deleted: count(DeleteOutcome::Deleted),
            running: count(DeleteOutcome::Running),
            unknown: count(DeleteOutcome::Unknown),
            next_cursor,
            tasks,
        }
    }
}
