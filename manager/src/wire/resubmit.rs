//! Sending one task again, in and out.

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::value::{NameDoc, StatusDoc};

/// How a task is to be sent again.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ResubmitParams {
    /// Whether attempts and crashes are counted from the start. If not, the next failure is the last.
    #[serde(default = "yes")]
    #[param(default = true)]
    pub reset_retry_count: bool,
    /// Into this queue instead of the one it was in.
    #[param(value_type = Option<NameDoc>)]
    pub to_queue: Option<QueueName>,
}

const fn yes() -> bool {
    true
}

/// A task that was sent again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResubmittedOne)]
pub struct ResubmittedView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Where it stands.
    #[schema(value_type = StatusDoc)]
    status: Status,
}

impl<'a> ResubmittedView<'a> {
    pub(crate) const fn new(id: &'a TaskId) -> Self {
        Self { id, status: Status::Submitted }
    }
}
