//! Cancelling tasks: requests and answers as JSON.

use std::fmt;

use jobbers_common::{engine::Cancelled, lifecycle::Status, name::TaskId};
use serde::{Deserialize, Serialize};

use super::{
    list::FilterRequest,
    selection::{TaskAct, TaskSelection},
};
use crate::{
    openapi::ToSchema,
    problem::Result,
    value::{Asked, StatusDoc, TaskIdDoc},
    wire::json,
};

/// Which tasks to cancel: `ids` or `filter`, one of both.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// These, at most 1,000. One that can't be an id is answered as unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<TaskIdDoc>>, max_items = 1000)]
    pub ids: Option<Vec<Asked<TaskId>>>,
    /// Those that match and are not over.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub filter: Option<FilterRequest>,
    /// With a filter, at most this many in this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000, default = 1000)]
    pub limit: Option<usize>,
    /// With a filter, the `next_cursor` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl CancelRequest {
    /// The tasks that are meant.
    ///
    /// # Errors
    /// Those of [`FilterRequest::for_act`]; [`Code::InvalidRequest`], [`Code::BatchTooLarge`].
    ///
    /// [`Code::InvalidRequest`]: crate::problem::Code::InvalidRequest
    /// [`Code::BatchTooLarge`]: crate::problem::Code::BatchTooLarge
    pub fn selection(self) -> Result<TaskSelection> {
        let filter = self.filter.as_ref().map(|filter| filter.for_act(TaskAct::Cancel)).transpose()?;
        TaskSelection::of(self.ids, filter, self.limit, self.cursor)
    }

    /// To cancel these tasks.
    #[must_use]
    pub fn of(ids: Vec<TaskId>) -> Self {
        Self { ids: Some(ids.into_iter().map(Asked::from).collect()), filter: None, limit: None, cursor: None }
    }
}

/// What a cancel did to one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelOutcome {
    /// It did not run, and is cancelled now.
    Cancelled,
    /// It runs; its worker has been notified.
    Requested,
    /// It was over before.
    AlreadyOver,
    /// The task does not exist.
    Unknown,
}

impl fmt::Display for CancelOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The result for one task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = CancelledTask)]
pub struct CancelledView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// What the cancel did.
    pub outcome: CancelOutcome,
    /// Its status now, if it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    pub status: Option<Status>,
}

impl CancelledView {
    /// What a cancel did to this task.
    pub fn new(id: Asked<TaskId>, answer: Cancelled) -> Self {
        let (outcome, status) = match answer {
            Cancelled::Done => (CancelOutcome::Cancelled, Some(Status::Cancelled)),
            Cancelled::Requested => (CancelOutcome::Requested, Some(Status::Started)),
            Cancelled::AlreadyOver(status) => (CancelOutcome::AlreadyOver, Some(status)),
            Cancelled::Unknown => (CancelOutcome::Unknown, None),
        };
        Self { id, outcome, status }
    }
}

/// The total result.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = CancelAnswer)]
pub struct CancelReport {
    /// How many are cancelled now.
    pub cancelled: u64,
    /// How many run; their workers have been notified.
    pub requested: u64,
    /// How many were over before.
    pub already_over: u64,
    /// How many do not exist.
    pub unknown: u64,
    /// Whether more tasks may match the filter: call again.
    pub more: bool,
    /// Then the next call goes on here, with this as its `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// One by one, in the order given.
    pub tasks: Vec<CancelledView>,
}

impl CancelReport {
    /// What a cancel did to those of these tasks whose ids are legal; `next_cursor` as in
    /// [`CancelReport::next_cursor`].
    pub fn new(ids: &[Asked<TaskId>], answers: &[Cancelled], next_cursor: Option<String>) -> Self {
        let answered = Asked::with_answers(ids, answers, &Cancelled::Unknown);
        let tasks: Vec<_> = answered.map(|(id, answer)| CancelledView::new(id, answer)).collect();
        let count = |outcome| tasks.iter().filter(|task| task.outcome == outcome).count() as u64;
        Self {
            cancelled: count(CancelOutcome::Cancelled),
            requested: count(CancelOutcome::Requested),
            already_over: count(CancelOutcome::AlreadyOver),
            unknown: count(CancelOutcome::Unknown),
            more: next_cursor.is_some(),
            next_cursor,
            tasks,
        }
    }
}
