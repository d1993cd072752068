//! Sending one task again, in and out.

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::value::{NameDoc, StatusDoc};
use crate::problem::{Code, Problem, Result};

/// How a task is to be sent again; in the query or in the body.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = ResubmitTask)]
pub struct ResubmitParams {
    /// Whether attempts and crashes are counted from the start (the default). If not, they go on: a task that had used up
    /// its retries fails for good at its next failure.
    #[serde(default)]
    pub reset_retry_count: Option<bool>,
    /// Into this queue instead of the one it was in.
    #[serde(default)]
    #[param(value_type = Option<NameDoc>)]
    #[schema(value_type = Option<NameDoc>)]
    pub to_queue: Option<QueueName>,
}

impl ResubmitParams {
    /// What the query or the body says.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] when both say something.
    pub(crate) fn or(self, body: Self) -> Result<Self> {
        match (self == Self::default(), body == Self::default()) {
            (true, _) => Ok(body),
            (_, true) => Ok(self),
            _ => Err(Problem::new(Code::InvalidRequest, "say how in the query or in the body, not in both")),
        }
    }

    pub(crate) fn resets(&self) -> bool {
        self.reset_retry_count.unwrap_or(true)
    }
}

/// A task that was sent again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResubmittedOne)]
pub struct ResubmittedView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    status: Status,
}

impl<'a> ResubmittedView<'a> {
    pub(crate) const fn new(id: &'a TaskId) -> Self {
        Self { id, status: Status::Submitted }
    }
}
