//! The context that a task function receives besides its parameters.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::Heartbeat,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    policy::TaskPolicy,
    queue::gate::ConcurrencyKey,
    task::{ClaimedTask, Fence, Priority, Progress, label::Labels, metadata::Metadata},
    time::Timestamp,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use crate::{
    attempts::{
        attempt::{Attempt, SharedState, TakenAt},
        state::States,
    },
    client::Client,
    payload::codec::ContentKind,
    tasks::error::TaskError,
};

/// One attempt, as its task function sees it. Clones refer to the same attempt.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestAttempt};
///
/// /// Goes on at the row after the last one that an earlier attempt noted.
/// #[task(max_heartbeat_interval = "30s")]
/// async fn import(ctx: Context, rows: Vec<String>) -> Result<usize, TaskError> {
///     let done: usize = ctx.last_checkpoint()?.unwrap_or_default();
///     for (place, row) in rows.iter().enumerate().skip(done) {
///         println!("{}: {row}", ctx.id());
///         ctx.progress((place + 1) as f64 / rows.len() as f64, row).await?;     // ends here when the task is cancelled
///         ctx.checkpoint(&(place + 1)).await?;
///     }
///     Ok(rows.len() - done)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), TaskError> {
/// let second = TestAttempt::of(&import).attempt(2).checkpoint(&2);
/// assert_eq!(second.run(vec!["a".into(), "b".into(), "c".into()]).await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Context(Arc<Attempt>);

impl Context {
    pub(crate) const fn new(attempt: Arc<Attempt>) -> Self {
        Self(attempt)
    }

    /// A context without a worker and a store, for tests of the plain function: attempt 1 of a task with these
    /// parameters. Heartbeats and the like are discarded; only [`Context::state`] and the task's own fields work.
    /// [`TestAttempt`](crate::testing::TestAttempt) sets the attempt, labels, a checkpoint, a client and more.
    #[must_use]
    pub fn detached(parameters: Payload) -> Self {
        Self::detached_with(parameters, States::default())
    }

    /// [`Context::detached`] with one shared value.
    #[must_use]
    pub fn detached_with_state<T: Send + Sync + 'static>(parameters: Payload, state: T) -> Self {
        let mut states = States::default();
        states.insert(state);
        Self::detached_with(parameters, states)
    }

    #[expect(clippy::expect_used, reason = "a constant that is legal")]
    fn detached_with(parameters: Payload, states: States) -> Self {
        const LEGAL: &str = "detached is a legal name";
        let task = ClaimedTask {
            id: TaskId::new("detached").expect(LEGAL),
            name: TaskName::new("detached").expect(LEGAL),
            version: 1,
            queue: QueueName::new("detached").expect(LEGAL),
            priority: Priority::DEFAULT,
            concurrency_key: None,
            parameters,
            overrides: jobbers_common::policy::PolicyOverrides::default(),
            metadata: Metadata::default(),
            attempt: 1,
            crashes: 0,
            fence: Fence(1),
            submitted_at: Timestamp::default(),
            ready_at: Timestamp::default(),
            started_at: Timestamp::default(),
            checkpoint: None,
            trace: None,
            last_span: None,
        };
        let worker = WorkerId::new("detached").expect(LEGAL);
        let (lease, grace) = (jobbers_common::limits::DEFAULT_LEASE, Duration::ZERO);
        let shared = SharedState::new(worker, lease, grace, states, None);
        let now = Instant::now();
        let taken = TakenAt { asked: now, answered: now };
        Self(Attempt::new(task, TaskPolicy::DEFAULT, None, shared, 0, taken))
    }

    /// The task's id.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.0.task.id
    }

    /// The task's name.
    #[must_use]
    pub fn name(&self) -> &TaskName {
        &self.0.task.name
    }

    /// The requested version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.0.task.version
    }

    /// The queue it came through.
    #[must_use]
    pub fn queue(&self) -> &QueueName {
        &self.0.task.queue
    }

    /// The labels of its submission.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.0.task.metadata.labels
    }

    /// The value of one label of its submission.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels().iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
    }

    /// Those labels that the program carries along ([`Worker::carry_labels`](crate::Worker::carry_labels)): what this task got from
    /// its submission or from its parent, and what the tasks that it submits get, such as a tenant or a locale.
    pub fn carried(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.carried()
    }

    /// Its rank in its queue.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.0.task.priority
    }

    /// The key that limits how many tasks run at once, if it has one.
    #[must_use]
    pub fn concurrency_key(&self) -> Option<&str> {
        self.0.task.concurrency_key.as_ref().map(ConcurrencyKey::as_str)
    }

    /// When it was submitted, by the store's clock.
    #[must_use]
    pub fn submitted_at(&self) -> Timestamp {
        self.0.task.submitted_at
    }

    /// This attempt's number, 1 for the first.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.task.attempt
    }

    /// How many workers vanished while they ran this task.
    #[must_use]
    pub fn crashes(&self) -> u32 {
        self.0.task.crashes
    }

    /// A number that grows with each claim. A side effect that remembers the highest fence and refuses lower ones is
    /// safe from an abandoned attempt that continues.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.0.task.fence
    }

    /// How many retries there are after the first attempt.
    #[must_use]
    pub fn max_retries(&self) -> u32 {
        self.0.policy.max_retries
    }

    /// The parameters as they came.
    #[must_use]
    pub fn parameters(&self) -> &Payload {
        self.0.parameters()
    }

    /// The value of this type that the program gave to [`crate::Worker::state`]. A task that names it in its signature, as
    /// [`State<T>`](crate::State), needs no such call, and a worker without it does not start.
    ///
    /// # Errors
    /// If the program gave none. The function returns this error by `?`; then the task is given back without having used up
    /// an attempt, for a worker that has the state.
    pub fn state<T: 'static>(&self) -> Result<&T, TaskError> {
        let missing = || TaskError::missing_state(std::any::type_name::<T>());
        self.0.shared.states.get().ok_or_else(missing)
    }

    pub(crate) fn shared_state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, TaskError> {
        let missing = || TaskError::missing_state(std::any::type_name::<T>());
        self.0.shared.states.share().ok_or_else(missing)
    }

    /// A client that submits more tasks to the same store, with the labels that
    /// [`Worker::carry_labels`](crate::Worker::carry_labels) hands on.
    ///
    /// # Errors
    /// Fatal, in a detached context.
    pub fn client(&self) -> Result<&Client, TaskError> {
        self.0.client().ok_or_else(|| TaskError::fatal("a detached context has no client"))
    }

    /// When this attempt's `timeout` ends, to pass on to a call that takes a limit of its own. `None` without a timeout, and
    /// before the function begins, as in a [`Layer`](crate::Layer).
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    /// Whether this attempt must end: cancelled, timed out, its worker shutting down, or its lease lost.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.token.is_cancelled()
    }

    /// Waits until this attempt must end.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.0.token.cancelled()
    }

    /// A token that is cancelled when this attempt must end, to pass on to called code.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.0.token.child_token()
    }

    /// Reports that the task makes progress. Cheap: many heartbeats become one write.
    ///
    /// # Errors
    /// [`TaskError::Cancelled`] if the attempt must end, so that `?` stops the function here.
    pub async fn heartbeat(&self) -> Result<(), TaskError> {
        // A loop that only sends heartbeats would otherwise never yield its thread.
        tokio::task::consume_budget().await;
        self.blocking_heartbeat()
    }

    /// Reports progress from 0 to 1, with a message (cut to 1 KiB). Also counts as a heartbeat.
    ///
    /// # Errors
    /// As [`Context::heartbeat`].
    pub async fn progress(&self, fraction: f64, message: impl Into<String>) -> Result<(), TaskError> {
        tokio::task::consume_budget().await;
        self.blocking_progress(fraction, message)
    }

    /// Saves a value for the next attempt, if there will be one. Also counts as a heartbeat. It reaches the store
    /// within a quarter of the lease or of a shorter heartbeat interval, and before the task is retried, given back or
    /// over. A task that is sent again after it failed begins with it too.
    ///
    /// # Errors
    /// As [`Context::heartbeat`]; fatal if the value can't be written as JSON or is larger than a payload may be; to be retried
    /// if the worker's codec can't encode it.
    pub async fn checkpoint<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), TaskError> {
        // Encoded before the await, so that the value need not be shared between threads.
        let noted = self.blocking_checkpoint(value);
        tokio::task::consume_budget().await;
        noted
    }

    /// [`Context::heartbeat`] for blocking tasks.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_heartbeat(&self) -> Result<(), TaskError> {
        self.beat(Heartbeat::default())
    }

    /// [`Context::progress`] for blocking tasks.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_progress(&self, fraction: f64, message: impl Into<String>) -> Result<(), TaskError> {
        let mut progress = Progress::new(fraction, message);
        let message = std::mem::take(&mut progress.message);
        let (most, kind) = (jobbers_common::limits::MAX_PROGRESS_BYTES, ContentKind::Progress);
        // A message that can't be encoded is left out: the task goes on.
        let encoded = self.0.shared.codecs().encode_text(message, most, kind, self.id().as_str());
        progress.message = encoded.unwrap_or_default();
        self.beat(Heartbeat { progress: Some(progress), checkpoint: None })
    }

    /// [`Context::checkpoint`] for blocking tasks.
    ///
    /// # Errors
    /// As there.
    pub fn blocking_checkpoint<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), TaskError> {
        let checkpoint = Payload::encode(value).map_err(|error| TaskError::fatal(format!("checkpoint: {error}")))?;
        let encoded = self.0.shared.codecs().encode(checkpoint, ContentKind::Checkpoint, self.id().as_str());
        let checkpoint = encoded.map_err(|error| TaskError::retry(format!("the checkpoint: {error}")))?;
        let most = jobbers_common::limits::DEFAULT_MAX_PAYLOAD_BYTES;
        if checkpoint.len() > most {
            return Err(TaskError::fatal(format!("checkpoint is {} bytes; at most {most}", checkpoint.len())));
        }
        self.beat(Heartbeat { progress: None, checkpoint: Some(checkpoint) })
    }

    /// The checkpoint that an earlier attempt saved with [`Context::checkpoint`].
    ///
    /// # Errors
    /// Fatal, if it can't be read as a `T`.
    pub fn last_checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>, TaskError> {
        let read = |payload: &Payload| payload.decode();
        let last = self.0.checkpoint().map(read).transpose();
        last.map_err(|error| TaskError::fatal(format!("the last checkpoint does not fit: {error}")))
    }

    pub(crate) fn claimed(&self) -> &ClaimedTask {
        &self.0.task
    }

    /// Stored in any case, because values reported while a task ends may still serve its next attempt.
    fn beat(&self, heartbeat: Heartbeat) -> Result<(), TaskError> {
        self.0.beat(heartbeat);
        if self.is_cancelled() { Err(TaskError::Cancelled) } else { Ok(()) }
    }
}
