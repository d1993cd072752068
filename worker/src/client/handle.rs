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

use super::{
    answers::{Standing, Taken},
    connection::{Client, Way},
    error::ResultError,
};
use crate::codec::Decode;

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

impl Client {
    /// A task that was submitted earlier, to await its result.
    #[must_use]
    pub fn task<R>(&self, id: TaskId) -> PendingResult<R> {
        PendingResult::new(self.clone(), id)
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
            let standing = match self.client.way() {
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
