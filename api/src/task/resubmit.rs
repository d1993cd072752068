//! Sending one task again: requests and answers as JSON.

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId},
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{NameDoc, StatusDoc, TaskIdDoc},
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
