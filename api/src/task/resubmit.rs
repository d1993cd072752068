//! Sending tasks again: requests and answers as JSON.

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId},
};
use serde::{Deserialize, Serialize};

use super::{
    list::FilterRequest,
    selection::{TaskAct, TaskSelection},
};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{Asked, NameDoc, StatusDoc, TaskIdDoc, Word},
    wire::json,
};

/// How a task is to be sent again; in the query or in the body.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = ResubmitTask)]
pub struct ResubmitParams {
    /// Whether attempts and crashes are counted from the start (the default). If not, they go on: a task that had used up
    /// its retries fails for good at its next failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_retry_count: Option<bool>,
    /// Into this queue instead of the one it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<NameDoc>)]
    #[schema(value_type = Option<NameDoc>)]
    pub to_queue: Option<QueueName>,
}

impl ResubmitParams {
    /// What the query or the body says.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] when both say something.
    pub fn or(self, body: Self) -> Result<Self> {
        match (self == Self::default(), body == Self::default()) {
            (true, _) => Ok(body),
            (_, true) => Ok(self),
            _ => Err(Problem::new(Code::InvalidRequest, "say how in the query or in the body, not in both")),
        }
    }

    /// Whether attempts and crashes are counted from the start.
    pub fn resets(&self) -> bool {
        self.reset_retry_count.unwrap_or(true)
    }
}

/// A task that was sent again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResubmittedOne)]
pub struct ResubmittedView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
}

impl ResubmittedView {
    /// A task that was sent again just now.
    pub const fn new(id: TaskId) -> Self {
        Self { id, status: Status::Submitted }
    }
}

/// Which tasks to send again: `ids` or `filter`, one of both; and how.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResubmitTasks)]
pub struct ResubmitRequest {
    /// These, at most 1,000. One that can't be an id is answered as unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<TaskIdDoc>>, max_items = 1000)]
    pub ids: Option<Vec<Asked<TaskId>>>,
    /// Those that match, are over and did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub filter: Option<FilterRequest>,
    /// With a filter, at most this many in this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000, default = 1000)]
    pub limit: Option<usize>,
    /// With a filter, the `next_cursor` of the call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whether attempts and crashes are counted from the start (the default). If not, they go on: a task that had used up
    /// its retries fails for good at its next failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_retry_count: Option<bool>,
    /// Into this queue instead of the one each was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub to_queue: Option<QueueName>,
}

impl ResubmitRequest {
    /// The tasks that are meant, and how they are to be sent.
    ///
    /// # Errors
    /// Those of [`FilterRequest::for_act`]; [`Code::InvalidRequest`], [`Code::BatchTooLarge`].
    pub fn selection(self) -> Result<(TaskSelection, ResubmitParams)> {
        let filter = self.filter.as_ref().map(|filter| filter.for_act(TaskAct::Resubmit)).transpose()?;
        let params = ResubmitParams { reset_retry_count: self.reset_retry_count, to_queue: self.to_queue };
        Ok((TaskSelection::of(self.ids, filter, self.limit, self.cursor)?, params))
    }

    /// To send these tasks again in this way.
    #[must_use]
    pub fn of(ids: Vec<Asked<TaskId>>, params: ResubmitParams) -> Self {
        let ResubmitParams { reset_retry_count, to_queue } = params;
        Self { ids: Some(ids), reset_retry_count, to_queue, ..Self::default() }
    }
}

/// What a resubmission did to one task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResentTask)]
pub struct ResentView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// Whether it was sent again.
    pub resubmitted: bool,
    /// Why it was not: the code with which `POST /tasks/{id}/resubmit` refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Code>)]
    pub code: Option<Word>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The total result.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResubmitTasksAnswer)]
pub struct ResubmitReport {
    /// How many were sent again.
    pub resubmitted: u64,
    /// How many were not.
    pub refused: u64,
    /// With a filter: where the next call goes on, with this as its `cursor`; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// One by one, in the order given.
    pub tasks: Vec<ResentView>,
}

impl ResubmitReport {
    /// The outcome for each task; `next_cursor` as in [`ResubmitReport::next_cursor`].
    pub fn new(outcomes: Vec<(Asked<TaskId>, Result<()>)>, next_cursor: Option<String>) -> Self {
        let view = |(id, outcome): (_, Result<()>)| match outcome {
            Ok(()) => ResentView { id, resubmitted: true, code: None, detail: None },
            Err(problem) => {
                let (code, detail) = (Some(problem.code().as_str().into()), Some(problem.detail().to_owned()));
                ResentView { id, resubmitted: false, code, detail }
            }
        };
        let tasks: Vec<ResentView> = outcomes.into_iter().map(view).collect();
        let resubmitted = tasks.iter().filter(|task| task.resubmitted).count();
        Self { resubmitted: resubmitted as u64, refused: (tasks.len() - resubmitted) as u64, next_cursor, tasks }
    }
}
