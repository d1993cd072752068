//! For the tests of programs with tasks: a store in memory, a clock that is moved by hand, tasks that run when the test
//! drains them, and assertions on submissions.
//!
//! ```standalone_crate
//! use jobbers_worker::{prelude::*, testing::TestBench};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Welcome {
//!     user: String,
//! }
//!
//! #[task(max_retries = 1, retry_delay = "1h")]
//! async fn welcome(ctx: Context, job: Welcome) -> Result<String, TaskError> {
//!     match ctx.attempt() {
//!         1 => Err(TaskError::retry("the post office is closed")),
//!         _ => Ok(format!("hello, {}", job.user)),
//!     }
//! }
//!
//! /// What the program does; it is given a client.
//! async fn sign_up(client: &Client, user: &str) -> Result<(), SubmitError> {
//!     welcome.delay(client, Welcome { user: user.to_owned() }).await.map(drop)
//! }
//! # use jobbers_worker::SubmitError;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let bench = TestBench::new().await?;
//!     sign_up(bench.client(), "ada").await?;
//!     let welcomes = bench.enqueued(&welcome).await?;
//!     assert_eq!(welcomes[0].parameters, Welcome { user: "ada".to_owned() });
//!
//!     assert_eq!(bench.drain().await?.retried, 1);
//!     assert_eq!(bench.drain().await?.attempts(), 0, "its hour has not come");
//!     bench.advance(Duration::from_secs(3_600));
//!     assert_eq!(bench.drain().await?.completed, 1);
//!     let greeting: String = bench.result(&welcomes[0].id).await?;
//!     assert_eq!(greeting, "hello, ada");
//!     Ok(())
//! }
//! ```
//!
//! Tasks run one after another, by the policy they would have in a worker: retries, backoff, errors, checkpoints and dead
//! letters are those of the real thing. Time limits are not moved with the clock: a task that waits, waits.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{
        ClaimRequest, Cycle, Engine, Error, ListRequest, Outcome, QueueClaim, Settlement, TaskFilter,
        look::first_queues,
    },
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM},
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    task::{ClaimedTask, Priority, Task},
    time::{Clock, ManualClock, Timestamp},
};
use tokio::runtime::Handle as Runtime;

use crate::{
    attempt::{Attempt, Ended, SharedState, Taken},
    blocking::BlockingPool,
    client::{Client, ParentClient, ResultError},
    codec::Decode,
    executor::{Handover, Tools, execute},
    layer::{Layer, Layers},
    registry::{DuplicateTask, Registry, name_of},
    state::{NeededState, States},
    task_fn::{AnyTask, TaskFn},
};

/// A lease that does not end while a test runs.
const LEASE: Duration = Duration::from_secs(86_400);
/// More attempts than this in one drain mean that tasks submit each other without end.
const MOST_ATTEMPTS: u64 = 100_000;
/// The time at which the clock starts: 2026-01-01.
const BEGINNING: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// A store in memory, a clock, and the program's tasks.
#[derive(Debug)]
pub struct TestBench {
    engine: Arc<dyn Engine>,
    clock: Arc<ManualClock>,
    client: Client,
    registry: Registry,
    shared: Arc<SharedState>,
    tools: Arc<Tools>,
}

/// The settings of a bench: the program's state, and unlisted tasks.
#[derive(Debug, Default)]
#[must_use = "`.build()` makes the bench"]
pub struct Builder {
    states: States,
    layers: Layers,
    carried: Vec<String>,
    tasks: Vec<&'static dyn AnyTask>,
}

/// Why a bench could not do what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// Two tasks have the same name and version.
    #[error(transparent)]
    DuplicateTask(#[from] DuplicateTask),
    /// The store refused.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A submitted task is not in this program.
    #[error("no task {name}@{version} in this program; one that is unlisted is given to `Builder::task`")]
    NoSuchTask {
        /// Its name.
        name: TaskName,
        /// Its version.
        version: u32,
    },
    /// A task asks for state that the bench was not given.
    #[error("task {task} needs state that this bench does not have: {}; give it to `Builder::state`", types.join(", "))]
    MissingState {
        /// `name@version`.
        task: String,
        /// The paths of the types.
        types: Vec<&'static str>,
    },
    /// A submission does not hold the parameters its task takes.
    #[error("task {id}: {problem}")]
    Parameters {
        /// Its id.
        id: TaskId,
        /// What is wrong.
        problem: String,
    },
    /// Tasks submit each other without end.
    #[error("tasks are still due after {MOST_ATTEMPTS} attempts")]
    Endless,
}

/// The attempts of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Drained {
    /// Attempts that completed their task.
    pub completed: u64,
    /// Attempts that failed and will be retried.
    pub retried: u64,
    /// Attempts that ended their task as failed.
    pub failed: u64,
    /// All others: cancelled, given back, stalled.
    pub other: u64,
}

/// A task that waits to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Enqueued<P> {
    /// Its id.
    pub id: TaskId,
    /// Its queue.
    pub queue: QueueName,
    /// Its rank there.
    pub priority: Priority,
    /// When it is due.
    pub ready_at: Timestamp,
    /// Its parameters.
    pub parameters: P,
}

impl Drained {
    /// The number of attempts.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.completed + self.retried + self.failed + self.other
    }

    fn count(&mut self, outcome: Option<&Outcome>) {
        let counter = match outcome {
            Some(Outcome::Completed { .. }) => &mut self.completed,
            Some(Outcome::Retry { .. }) => &mut self.retried,
            Some(Outcome::Failed { .. }) => &mut self.failed,
            _ => &mut self.other,
        };
        *counter += 1;
    }
}

impl Builder {
    /// Gives every task a value to find by type, as [`crate::Worker::state`] does.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Runs a layer around every attempt, as [`crate::Worker::layer`] does.
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.add(layer);
        self
    }

    /// Hands labels on, as [`crate::Worker::carry_labels`] does.
    pub fn carry_labels<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.carried.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a task that is `unlisted`.
    pub fn task(mut self, task: &'static dyn AnyTask) -> Self {
        self.tasks.push(task);
        self
    }

    /// Builds the bench. Tasks run on the runtime this is called on.
    ///
    /// # Errors
    /// [`TestError::DuplicateTask`], and errors of the store.
    pub async fn build(self) -> Result<TestBench, TestError> {
        let clock = Arc::new(ManualClock::new(BEGINNING));
        let given: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let options = jobbers_engines::OpenOptions { clock: Some(given), ..Default::default() };
        let engine = jobbers_engines::open("sqlite::memory:", options).await?;
        let client = Client::new(Arc::clone(&engine));
        let worker = WorkerId::new("test-bench").map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(TestBench {
            registry: Registry::collect(&self.tasks)?,
            shared: SharedState::new(
                worker,
                LEASE,
                Duration::from_secs(1),
                self.states,
                Some(ParentClient::new(client.clone(), self.carried)),
            ),
            tools: Arc::new(Tools {
                pool: BlockingPool::new(1, Runtime::current()),
                tracing: None,
                layers: self.layers,
            }),
            engine,
            clock,
            client,
        })
    }
}

impl TestBench {
    /// A bench with the program's listed tasks and no state; [`TestBench::builder`] accepts more.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub async fn new() -> Result<Self, TestError> {
        Self::builder().build().await
    }

    /// A builder for a bench.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The client for the program under test.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The store, for queues, routes and anything else to inspect.
    #[must_use]
    pub const fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// The bench's time, which moves only by [`TestBench::advance`].
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the clock forward. Nothing runs by itself.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Runs every due task, and due tasks that these submit, one after another, until none is due. Before that, signals
    /// from outside time out that have not come in time, as a manager sees to.
    ///
    /// # Errors
    /// [`TestError::NoSuchTask`] for a task this program does not have; [`TestError::Endless`]; errors of the store.
    pub async fn drain(&self) -> Result<Drained, TestError> {
        self.engine.promote_due(MAX_BATCH).await?;
        let mut drained = Drained::default();
        let mut settlements = Vec::new();
        loop {
            let queues = first_queues(&*self.engine, usize::MAX).await?;
            let queues: Vec<QueueName> = queues.into_iter().map(|stats| stats.queue).collect();
            let mut claimed = Vec::new();
            for some in queues.chunks(MAX_QUEUES_PER_CLAIM) {
                let queues = some.iter().map(|queue| QueueClaim { queue: queue.clone(), limit: 1 }).collect();
                let claim = ClaimRequest { queues, limit: 1, refused: Vec::new(), lease: LEASE };
                let worker = self.shared.worker.clone();
                let cycle = Cycle { worker, settlements: std::mem::take(&mut settlements), claim: Some(claim) };
                claimed = self.engine.cycle(cycle).await?.claimed;
                if !claimed.is_empty() {
                    break;
                }
            }
            let Some(task) = claimed.pop() else { return Ok(drained) };
            if drained.attempts() == MOST_ATTEMPTS {
                return Err(TestError::Endless);
            }
            let settlement = self.run(task).await?;
            drained.count(settlement.as_ref().map(|settlement| &settlement.outcome));
            settlements.extend(settlement);
        }
    }

    /// Drains, moving the clock each time to when the next task is due, until nothing is scheduled.
    ///
    /// # Errors
    /// As [`TestBench::drain`].
    pub async fn drain_scheduled(&self) -> Result<Drained, TestError> {
        let mut all = Drained::default();
        loop {
            let Drained { completed, retried, failed, other } = self.drain().await?;
            all.completed += completed;
            all.retried += retried;
            all.failed += failed;
            all.other += other;
            if all.attempts() > MOST_ATTEMPTS {
                return Err(TestError::Endless);
            }
            let scheduled =
                self.list(TaskFilter { statuses: vec![Status::Scheduled], ..TaskFilter::default() }).await?;
            match scheduled.iter().map(|task| task.ready_at).min() {
                Some(next) => self.clock.advance(next.since(self.now())),
                None => return Ok(all),
            }
        }
    }

    /// The waiting submissions of a task, present and scheduled: in the order they are claimed, then by due time.
    ///
    /// # Errors
    /// [`TestError::Parameters`] if one holds parameters its task does not take; errors of the store.
    pub async fn enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) -> Result<Vec<Enqueued<P>>, TestError> {
        let filter = TaskFilter {
            statuses: vec![Status::Submitted, Status::Scheduled, Status::Waiting],
            name: TaskName::new(task.name()).ok(),
            version: Some(task.version()),
            ..TaskFilter::default()
        };
        let mut enqueued = Vec::new();
        for listed in self.list(filter).await? {
            let Some(Task { id, queue, priority, ready_at, parameters, .. }) = self.engine.get(&listed.id).await?
            else {
                continue;
            };
            let parameters = P::decode(&parameters.unwrap_or_else(|| Payload::json(&b"null"[..])))
                .map_err(|problem| TestError::Parameters { id: id.clone(), problem })?;
            enqueued.push(Enqueued { id, queue, priority, ready_at, parameters });
        }
        Ok(enqueued)
    }

    /// Asserts that exactly one submission of a task waits, and returns its parameters.
    ///
    /// # Panics
    /// If none or several wait.
    pub async fn assert_enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) -> P {
        let mut enqueued = self.enqueued(task).await.unwrap_or_else(|error| panic!("{task:?}: {error}"));
        assert_eq!(enqueued.len(), 1, "submissions of {task:?}");
        enqueued.remove(0).parameters
    }

    /// Asserts that no submission of a task waits.
    ///
    /// # Panics
    /// If one does.
    pub async fn refute_enqueued<P: Decode, R>(&self, task: &TaskFn<P, R>) {
        let enqueued = self.enqueued(task).await.unwrap_or_else(|error| panic!("{task:?}: {error}"));
        assert_eq!(enqueued.len(), 0, "submissions of {task:?}");
    }

    /// The whole task.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn get(&self, id: &TaskId) -> Result<Option<Task>, TestError> {
        Ok(self.engine.get(id).await?)
    }

    /// The result of a completed task.
    ///
    /// # Errors
    /// [`ResultError`] if it has not completed, or if its result is not of this type.
    pub async fn result<T: Decode>(&self, id: &TaskId) -> Result<T, ResultError> {
        self.client.task(id.clone()).wait(Duration::ZERO).await
    }

    async fn list(&self, filter: TaskFilter) -> Result<Vec<Task>, TestError> {
        let (mut tasks, mut cursor) = (Vec::new(), None);
        loop {
            let request = ListRequest { filter: filter.clone(), limit: MAX_BATCH, cursor };
            let page = self.engine.list(request).await?;
            tasks.extend(page.tasks);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(tasks);
            }
        }
    }

    /// Runs one attempt and returns what to settle.
    async fn run(&self, task: ClaimedTask) -> Result<Option<Settlement>, TestError> {
        let Some(function) = self.registry.find(task.name.as_str(), task.version) else {
            return Err(TestError::NoSuchTask { name: task.name, version: task.version });
        };
        let needs = function.needs();
        let missing = needs.iter().filter(|needed| !self.shared.states.has(needed));
        refuse_without_state(function, missing.map(NeededState::type_name).collect())?;
        let policy = function.policy().with(&task.overrides);
        let now = Instant::now();
        let taken = Taken { asked: now, answered: now };
        let attempt = Attempt::new(task, policy, None, Arc::clone(&self.shared), 0, taken);
        execute(Handover::new(attempt), function, Arc::clone(&self.tools)).await;
        refuse_without_state(function, self.shared.take_missing_states().into_iter().collect())?;
        let mut ended = Vec::new();
        self.shared.finished.swap(&mut ended);
        Ok(ended.pop().and_then(Ended::settlement))
    }
}

fn refuse_without_state(task: &dyn AnyTask, types: Vec<&'static str>) -> Result<(), TestError> {
    if types.is_empty() { Ok(()) } else { Err(TestError::MissingState { task: name_of(task), types }) }
}
