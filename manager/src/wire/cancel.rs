//! Cancelling, in and out.

use jobbers_common::{engine::Cancelled, lifecycle::Status, name::TaskId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    task_list::FilterRequest,
    value::{NameDoc, StatusDoc},
};
use crate::json;

/// Which tasks to cancel: `ids` or `filter`, one of both.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// These, at most 1,000.
    #[serde(default)]
    #[schema(value_type = Option<Vec<NameDoc>>, max_items = 1000)]
    pub ids: Option<Vec<TaskId>>,
    /// Those that match and are not over.
    #[serde(default, deserialize_with = "json::object_if_any")]
    pub filter: Option<FilterRequest>,
    /// With a filter, at most this many in this call.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000, default = 1000)]
    pub limit: Option<usize>,
}

/// What a cancel did to one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
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

/// The result for one task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CancelledTask)]
pub struct CancelledView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    pub(crate) id: &'a TaskId,
    /// What the cancel did.
    pub(crate) outcome: CancelOutcome,
    /// Its status now, if it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    pub(crate) status: Option<Status>,
}

impl<'a> CancelledView<'a> {
    pub(crate) fn new(id: &'a TaskId, answer: Cancelled) -> Self {
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
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CancelAnswer)]
pub struct CancelReport<'a> {
    /// How many are cancelled now.
    cancelled: usize,
    /// How many run; their workers have been notified.
    requested: usize,
    /// How many were over before.
    already_over: usize,
    /// How many do not exist.
    unknown: usize,
    /// Whether more tasks may match the filter: call again.
    more: bool,
    /// One by one, in the order given.
    tasks: Vec<CancelledView<'a>>,
}

impl<'a> CancelReport<'a> {
    pub(crate) fn new(ids: &'a [TaskId], answers: &[Cancelled], more: bool) -> Self {
        let tasks: Vec<_> = ids.iter().zip(answers).map(|(id, answer)| CancelledView::new(id, *answer)).collect();
        let count = |outcome| tasks.iter().filter(|task| task.outcome == outcome).count();
        Self {
            cancelled: count(CancelOutcome::Cancelled),
            requested: count(CancelOutcome::Requested),
            already_over: count(CancelOutcome::AlreadyOver),
            unknown: count(CancelOutcome::Unknown),
            more,
            tasks,
        }
    }
}
