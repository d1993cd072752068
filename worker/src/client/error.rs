//! The errors of submissions and of awaited results.

use jobbers_common::{engine::Error, lifecycle::Status, name::NameError, policy::PolicyError, routing::QueueForbidden};

/// Why a task was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// An invalid id or queue name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A policy value outside its bounds.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An invalid value.
    #[error("{0}")]
    Invalid(String),
    /// A routing rule forbids naming this queue.
    #[error(transparent)]
    QueueForbidden(#[from] QueueForbidden),
    /// The store did not accept it.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The manager did not accept it.
    #[error("{detail} ({code})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The problem's stable code, such as `unknown_queue`.
        code: String,
        /// The problem's description.
        detail: String,
    },
    /// The manager can't be reached, or its answer was lost. The task may have been submitted; submitting it again
    /// under the same id is safe.
    #[error("{0}")]
    Unreachable(String),
}

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The task was not over in time.
    #[error("the task was not over in time: it is {0}")]
    NotYet(Status),
    /// It is over without a result.
    #[error("the task is {status}{}", error.as_ref().map_or_else(String::new, |error| format!(": {error}")))]
    NotCompleted {
        /// How it ended.
        status: Status,
        /// The error of its last failed attempt.
        error: Option<String>,
    },
    /// The task does not exist: it was never submitted, or has been pruned.
    #[error("the task does not exist")]
    Unknown,
    /// The result is not of the requested type.
    #[error("the result does not fit: {0}")]
    Unreadable(String),
    /// The request failed.
    #[error(transparent)]
    Client(#[from] SubmitError),
}
