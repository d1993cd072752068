//! What both kinds of connection answer, in one form.

use jobbers_common::{
    engine::Submitted, lifecycle::Status, payload::Payload, policy::error_kind::ErrorKind, task::Progress,
};

/// The answer to a submission, whichever way it took.
#[derive(Debug)]
pub(crate) struct SubmitResult {
    pub(super) submitted: Submitted,
    pub(super) warnings: Vec<String>,
}

/// The state of a task, for callers that await its result.
#[derive(Debug)]
pub(super) struct TaskStanding {
    pub(super) status: Status,
    pub(super) result: Option<Payload>,
    pub(super) progress: Option<Progress>,
    /// The message and the kind of the last failed attempt's error.
    pub(super) error: Option<(String, Option<ErrorKind>)>,
}

impl From<Submitted> for SubmitResult {
    fn from(submitted: Submitted) -> Self {
        Self { submitted, warnings: Vec::new() }
    }
}
