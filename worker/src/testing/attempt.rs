//! One attempt of a task's function, without a store and a worker.

use std::{fmt, time::Instant};

use jobbers_common::{
    limits::DEFAULT_LEASE,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    queue::gate::ConcurrencyKey,
    task::{ClaimedTask, Fence, Priority, label::Label},
    time::Timestamp,
};
use serde::Serialize;

use crate::{
    attempts::{
        attempt::{Attempt, SharedState, TakenAt},
        state::States,
    },
    client::{Client, ParentClient},
    payload::encoding::Encode,
    tasks::{context::Context, error::TaskError, task_fn::TaskFn},
};

/// One attempt of a task's function, for tests of the function alone: its parameters go straight to it, and what its
/// [`Context`] answers is set here.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestAttempt};
///
/// #[task(max_retries = 2)]
/// async fn import(ctx: Context, rows: Vec<u32>) -> Result<String, TaskError> {
///     let done: usize = ctx.last_checkpoint()?.unwrap_or_default();
///     let tenant = ctx.label("tenant").unwrap_or("no tenant");
///     Ok(format!("{tenant}: {} rows at attempt {}", rows.len() - done, ctx.attempt()))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), TaskError> {
/// let second = TestAttempt::of(&import).attempt(2).label("tenant", "acme").checkpoint(&1);
/// assert_eq!(second.run(vec![7, 8, 9]).await?, "acme: 2 rows at attempt 2");
/// # Ok(())
/// # }
/// ```
///
/// Retries, limits and settlements are those of the [bench](super::TestBench); here the function's answer is returned as
/// it is.
#[must_use = "`.run(parameters)` runs the function"]
pub struct TestAttempt<P: 'static, R: 'static> {
    function: &'static TaskFn<P, R>,
    task: ClaimedTask,
    states: States,
    client: Option<Client>,
    carried: Vec<String>,
}

impl<P, R> fmt::Debug for TestAttempt<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestAttempt({:?}, attempt {})", self.function, self.task.attempt)
    }
}

impl<P: Encode, R: Send> TestAttempt<P, R> {
    /// The first attempt, of a task without labels, in the queue `default`.
    pub fn of(function: &'static TaskFn<P, R>) -> Self {
        let task = ClaimedTask {
            version: function.version(),
            ..Context::detached(Payload::json(&b"null"[..])).claimed().clone()
        };
        Self { function, task, states: States::default(), client: None, carried: Vec::new() }
    }

    /// The number of the attempt, 1 for the first.
    pub const fn attempt(mut self, number: u32) -> Self {
        self.task.attempt = number;
        self
    }

    /// How many workers vanished while they ran the task.
    pub const fn crashes(mut self, crashes: u32) -> Self {
        self.task.crashes = crashes;
        self
    }

    /// The number of its claim.
    pub const fn fence(mut self, fence: Fence) -> Self {
        self.task.fence = fence;
        self
    }

    /// The task's rank in its queue.
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.task.priority = priority;
        self
    }

    /// The key that the task is limited by.
    ///
    /// # Panics
    /// If it is not one.
    pub fn concurrency_key(mut self, key: &str) -> Self {
        self.task.concurrency_key = Some(ConcurrencyKey::new(key).unwrap_or_else(|error| panic!("{error}")));
        self
    }

    /// When the task was submitted.
    pub fn submitted_at(mut self, at: impl Into<Timestamp>) -> Self {
        self.task.submitted_at = at.into();
        self
    }

    /// The task's id.
    ///
    /// # Panics
    /// If it is not one.
    pub fn id(mut self, id: &str) -> Self {
        self.task.id = TaskId::new(id).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// The queue it came through.
    ///
    /// # Panics
    /// If it is not the name of one.
    pub fn queue(mut self, queue: &str) -> Self {
        self.task.queue = QueueName::new(queue).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// A label of the submission.
    ///
    /// # Panics
    /// If it is not one, or one too many.
    pub fn label(mut self, name: &str, value: &str) -> Self {
        let added = Label::new(name, value.to_owned()).and_then(|label| self.task.metadata.labels.add(label));
        added.unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// The checkpoint that an earlier attempt saved.
    ///
    /// # Panics
    /// If it can't be written as JSON.
    pub fn checkpoint<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.task.checkpoint = Some(Payload::encode(value).unwrap_or_else(|error| panic!("the checkpoint: {error}")));
        self
    }

    /// A value for the task to find by type, as [`crate::Worker::state`] gives it.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// What [`Context::client`] returns, such as [`TestBench::client`](super::TestBench::client).
    pub fn client(mut self, client: &Client) -> Self {
        self.client = Some(client.clone());
        self
    }

    /// Hands labels on, as [`crate::Worker::carry_labels`] does.
    pub fn carry_labels<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.carried.extend(names.into_iter().map(Into::into));
        self
    }

    /// Runs the function. A blocking one runs on the calling thread.
    ///
    /// # Errors
    /// The function's.
    ///
    /// # Panics
    /// If the parameters can't be written as a payload.
    pub async fn run(self, job: P) -> Result<R, TaskError> {
        let function = self.function;
        function.call(self.context(&job), job).await
    }

    /// The context of the attempt, to keep beside [`TaskFn::call`].
    ///
    /// # Panics
    /// If the parameters can't be written as a payload.
    pub fn context(self, job: &P) -> Context {
        let Self { function, mut task, states, client, carried } = self;
        let parameters = job.encode().unwrap_or_else(|problem| panic!("the parameters: {problem}"));
        task.parameters = parameters.unwrap_or_else(|| Payload::json(&b"null"[..]));
        task.name = TaskName::new(function.name()).unwrap_or_else(|error| panic!("{error}"));
        let worker = WorkerId::new("test-attempt").unwrap_or_else(|error| panic!("{error}"));
        let client = client.map(|client| ParentClient::new(client, carried));
        let shared = SharedState::new(worker, DEFAULT_LEASE, std::time::Duration::ZERO, states, client);
        let now = Instant::now();
        let taken = TakenAt { asked: now, answered: now };
        let attempt = Attempt::new(task, function.policy().clone(), None, shared, 0, taken);
        attempt.begin();
        Context::new(attempt)
    }
}
