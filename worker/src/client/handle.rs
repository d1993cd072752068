//! A submitted task, and its result.

use std::{
    fmt,
    marker::PhantomData,
    time::{Duration, Instant},
};

use futures_util::{Stream, stream};
use jobbers_common::{
    engine::{Cancelled, Submitted, SubmittedHow},
    lifecycle::Status,
    limits::MAX_WAIT,
    name::{QueueName, TaskId},
    payload::Payload,
    task::Progress,
};

use super::{
    answers::{SubmitResult, TaskStanding},
    connection::{Client, ClientTransport},
    error::{ResultError, SubmitError},
};
use crate::payload::{codec::ContentKind, encoding::Decode};

/// An accepted task with a result of type `R`. Clones refer to the same task.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestBench};
///
/// #[task]
/// async fn double(n: u64) -> Result<u64, TaskError> { Ok(2 * n) }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// let handle = double.delay(bench.client(), 21).await?;
/// assert!(!handle.status().await?.is_finished());
/// bench.drain().await?;
/// assert_eq!(handle.result(Duration::from_secs(5)).await?, 42);
/// # Ok(())
/// # }
/// ```
pub struct Handle<R> {
    /// Its id.
    pub id: TaskId,
    /// Its queue; for a task that already existed, the stored one's.
    pub queue: QueueName,
    /// Its status at the submission. [`Handle::status`] asks for the present one.
    pub status: Status,
    /// What the submission did.
    pub how: SubmittedHow,
    /// Warnings of the manager, for example that no live worker can run the task. A direct connection to a store gives
    /// none.
    pub warnings: Vec<String>,
    result: PendingResult<R>,
}

/// The result of a task that may not be over yet.
///
/// ```no_run
/// use jobbers_worker::{TaskId, prelude::*};
///
/// # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
/// let id: TaskId = "report-2026-11".parse()?;      // of a task that was submitted elsewhere
/// let pages: u64 = client.task(id).wait(Duration::from_secs(30)).await?;
/// # let _ = pages;
/// # Ok(())
/// # }
/// ```
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
    pub(super) fn new(client: Client, result: SubmitResult) -> Self {
        let SubmitResult { submitted: Submitted { id, queue, status, how }, warnings } = result;
        let result = PendingResult::new(client, id.clone());
        Self { id, queue, status, how, warnings, result }
    }

    /// Its present status.
    ///
    /// # Errors
    /// As [`PendingResult::status`].
    pub async fn status(&self) -> Result<Status, ResultError> {
        self.result.status().await
    }

    /// Cancels it.
    ///
    /// # Errors
    /// As [`PendingResult::cancel`].
    pub async fn cancel(&self) -> Result<Cancelled, SubmitError> {
        self.result.cancel().await
    }

    /// What it reports of its progress.
    pub fn progress(&self, every: Duration) -> impl Stream<Item = Result<Progress, ResultError>> + Send + use<R> {
        self.result.progress(every)
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

    /// The task's present status.
    ///
    /// # Errors
    /// [`ResultError::Unknown`] if it does not exist, and if the request failed.
    pub async fn status(&self) -> Result<Status, ResultError> {
        let found = self.client.statuses(std::slice::from_ref(&self.id)).await?;
        found.into_iter().next().flatten().ok_or(ResultError::Unknown)
    }

    /// Cancels the task: at once if it does not run, or else by asking its attempt to stop.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat.
    pub async fn cancel(&self) -> Result<Cancelled, SubmitError> {
        let cancelled = self.client.cancel(std::slice::from_ref(&self.id)).await?;
        Ok(cancelled.into_iter().next().unwrap_or(Cancelled::Unknown))
    }

    /// What the task reports of its progress ([`Context::progress`](crate::Context::progress)), each report once: what there
    /// is now, then a look each time that `every` (at least 50 ms) has passed, until the task is over. Its last report, if it
    /// was not seen before, comes last.
    pub fn progress(&self, every: Duration) -> impl Stream<Item = Result<Progress, ResultError>> + Send + use<R> {
        let every = every.clamp(SHORTEST_LOOK, MAX_WAIT);
        let look = ProgressLook { client: self.client.clone(), id: self.id.clone(), wait: Duration::ZERO, seen: None };
        stream::try_unfold(Some(look), move |look| async move {
            let Some(mut look) = look else { return Ok(None) };
            loop {
                let TaskStanding { status, progress, .. } = standing(&look.client, &look.id, look.wait).await?;
                look.wait = every;
                let next = progress.filter(|progress| look.seen.as_ref() != Some(progress));
                match (next, status.is_finished()) {
                    (Some(progress), true) => return Ok(Some((progress, None))),
                    (Some(progress), false) => {
                        look.seen = Some(progress.clone());
                        return Ok(Some((progress, Some(look))));
                    }
                    (None, true) => return Ok(None),
                    (None, false) => {}
                }
            }
        })
    }
}

/// The shortest pause between two looks at a task's progress.
const SHORTEST_LOOK: Duration = Duration::from_millis(50);

/// A look at a task that reports its progress.
struct ProgressLook {
    client: Client,
    id: TaskId,
    /// How long it waits for the task's end.
    wait: Duration,
    seen: Option<Progress>,
}

/// The task, once it is over or `wait` has passed, with its messages decoded.
async fn standing(client: &Client, id: &TaskId, wait: Duration) -> Result<TaskStanding, ResultError> {
    let standing = match client.transport() {
        ClientTransport::Store(store) => store.await_finished(id, wait).await?,
        ClientTransport::Http(http) => http.await_finished(id, wait).await?,
    };
    let mut standing = standing.ok_or(ResultError::Unknown)?;
    if let Some(progress) = &mut standing.progress {
        let message = std::mem::take(&mut progress.message);
        progress.message = client.codecs().show_text(message, ContentKind::Progress);
    }
    let shown = |(message, kind)| (client.codecs().show_text(message, ContentKind::Error), kind);
    standing.error = standing.error.map(shown);
    Ok(standing)
}

impl<R> Clone for PendingResult<R> {
    fn clone(&self) -> Self {
        Self::new(self.client.clone(), self.id.clone())
    }
}

impl<R> Clone for Handle<R> {
    fn clone(&self) -> Self {
        Self {
            id: self.id.clone(),
            queue: self.queue.clone(),
            status: self.status,
            how: self.how,
            warnings: self.warnings.clone(),
            result: self.result.clone(),
        }
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
            let TaskStanding { status, result, error, .. } = standing(&self.client, &self.id, wait).await?;
            if status == Status::Completed {
                let result = result.unwrap_or_else(|| Payload::json(&b"null"[..]));
                let result = self.client.codecs().decode(result, ContentKind::Result)?;
                return R::decode(&result).map_err(ResultError::Unreadable);
            }
            if status.is_finished() {
                let (error, kind) = error.unzip();
                return Err(ResultError::NotCompleted { status, error, kind: kind.flatten() });
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
