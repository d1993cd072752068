//! A submitted task, and its result.

use std::{
    fmt,
    marker::PhantomData,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Submitted, SubmittedHow},
    lifecycle::Status,
    limits::MAX_WAIT,
    name::{QueueName, TaskId},
    payload::Payload,
};

use super::{Client, SubmitError, Way};
use crate::codec::Decode;

/// The answer to a submission, whichever way it took.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) submitted: Submitted,
    pub(super) warnings: Vec<String>,
}

/// The state of a task, for callers that await its result.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) status: Status,
    pub(super) result: Option<Payload>,
    pub(super) error: Option<String>,
}

/// An accepted task with a result of type `R`.
pub struct Handle<R> {
    /// Its id.
    pub id: TaskId,
    /// Its queue; for a task that already existed, the stored one's.
    pub queue: QueueName,
    /// Its status at the submission.
    pub status: Status,
    /// What the submission did.
    pub how: SubmittedHow,
    /// Warnings of the manager, for example that no live worker can run the task. A direct connection to a store gives
    /// none.
    pub warnings: Vec<String>,
    result: PendingResult<R>,
}

/// The result of a task that may not be over yet.
pub struct PendingResult<R> {
    client: Client,
    id: TaskId,
    output: PhantomData<fn() -> R>,
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

impl From<Submitted> for Taken {
    fn from(submitted: Submitted) -> Self {
        Self { submitted, warnings: Vec::new() }
    }
}

impl<R> Handle<R> {
    pub(super) fn new(client: Client, taken: Taken) -> Self {
        let Taken { submitted: Submitted { id, queue, status, how }, warnings } = taken;
        let result = PendingResult::new(client, id.clone());
        Self { id, queue, status, how, warnings, result }
    }
}

impl<R: Decode> Handle<R> {
    /// Waits for the task's end, no longer than `timeout`, and returns its result.
    ///
    /// # Errors
    /// [`ResultError`].
    pub async fn result(&self, timeout: Duration) -> Result<R, ResultError> {
        self.result.wait(timeout).await
    }
}

impl<R> PendingResult<R> {
    pub(super) const fn new(client: Client, id: TaskId) -> Self {
        Self { client, id, output: PhantomData }
    }

    /// The task's id.
    #[must_use]
    pub const fn id(&self) -> &TaskId {
        &self.id
    }
}

impl<R: Decode> PendingResult<R> {
    /// Waits for the task's end, no longer than `timeout`, and returns its result.
    ///
    /// # Errors
    /// [`ResultError`].
    pub async fn wait(&self, timeout: Duration) -> Result<R, ResultError> {
        // A deadline beyond the clock is no limit.
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map_or(MAX_WAIT, |until| until.saturating_duration_since(Instant::now()));
            let wait = left.min(MAX_WAIT);
            let standing = match &self.client.0.way {
                Way::Store(store) => store.await_finished(&self.id, wait).await?,
                Way::Http(http) => http.await_finished(&self.id, wait).await?,
            };
            let Some(Standing { status, result, error }) = standing else { return Err(ResultError::Unknown) };
            if status == Status::Completed {
                let result = result.unwrap_or_else(|| Payload::json(&b"null"[..]));
                return R::decode(&result).map_err(ResultError::Unreadable);
            }
            if status.is_finished() {
                return Err(ResultError::NotCompleted { status, error });
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(ResultError::NotYet(status));
            }
        }
    }
}

impl<R> fmt::Debug for Handle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, queue, status, how, warnings, .. } = self;
        f.debug_struct("Handle")
            .field("id", id)
            .field("queue", queue)
            .field("status", status)
            .field("how", how)
            .field("warnings", warnings)
            .finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for PendingResult<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PendingResult({})", self.id)
    }
}
