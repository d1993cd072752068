//! The bench: a store in memory, a clock, and tasks that run when the test drains them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Engine, Extension, Outcome, QueueClaim, Settlement, reads::first_queues},
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM},
    name::{QueueName, TaskId},
    task::{ClaimedTask, Task},
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::config_cache::ConfigCache;

use super::{
    error::{MOST_ATTEMPTS, TestError},
    faults::{Crash, Faults, LEASE},
};
use crate::{
    attempts::{
        attempt::{Attempt, Ended, SharedState, TakenAt},
        state::NeededState,
    },
    client::{Client, ResultError},
    execution::executor::{Handover, Tools, execute},
    payload::encoding::Decode,
    tasks::{
        registry::{Registry, name_of},
        task_fn::AnyTask,
    },
};

/// A store in memory, a clock, and the program's tasks.
///
/// ```standalone_crate
/// use jobbers_worker::{prelude::*, testing::TestBench};
///
/// #[task(max_retries = 1, retry_delay = "1h", backoff = "constant")]
/// async fn flaky(ctx: Context) -> Result<u32, TaskError> {
///     if ctx.attempt() == 1 { Err(TaskError::retry("not yet")) } else { Ok(ctx.attempt()) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// let handle = flaky.delay(bench.client(), NoParameters).await?;
/// assert_eq!(bench.drain().await?.retried, 1);
/// bench.advance(Duration::from_secs(3_600)).await?;
/// assert_eq!(bench.drain().await?.completed, 1);
/// assert_eq!(handle.result(Duration::ZERO).await?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestBench {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) client: Client,
    pub(super) registry: Registry,
    pub(super) shared: Arc<SharedState>,
    pub(super) tools: Arc<Tools>,
    pub(super) config: Arc<ConfigCache>,
    pub(super) faults: Faults,
    pub(super) has_schedules: bool,
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
    /// Attempts whose worker died. Their tasks run again once their leases end: [`TestBench::advance`] by [`LEASE`].
    pub crashed: u64,
    /// All others: cancelled, given back, stalled, or without a lease at the end.
    pub other: u64,
}

impl Drained {
    /// The number of attempts.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.completed + self.retried + self.failed + self.crashed + self.other
    }

    pub(super) const fn add(&mut self, more: Self) {
        let Self { completed, retried, failed, crashed, other } = more;
        self.completed += completed;
        self.retried += retried;
        self.failed += failed;
        self.crashed += crashed;
        self.other += other;
    }

    fn count(&mut self, run: &TestedEnd) {
        let counter = match run {
            TestedEnd::Crashed => &mut self.crashed,
            TestedEnd::LeaseLost => &mut self.other,
            TestedEnd::Ended(settlement) => match settlement.outcome {
                Outcome::Completed { .. } => &mut self.completed,
                Outcome::Retry { .. } => &mut self.retried,
                Outcome::Failed { .. } => &mut self.failed,
                _ => &mut self.other,
            },
        };
        *counter += 1;
    }
}

/// The end of an attempt.
enum TestedEnd {
    /// Its worker died.
    Crashed,
    /// Its lease is lost, so that nothing is to be settled.
    LeaseLost,
    /// It is to be settled so.
    Ended(Box<Settlement>),
}

impl TestBench {
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

    /// The bench's time, which moves only by [`TestBench::advance`] and [`Faults`].
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Runs every due task, and due tasks that these submit, one after another, until none is due. Before that, signals
    /// from outside time out that have not come in time, and due schedules are fired, as a manager sees to.
    ///
    /// # Errors
    /// [`TestError::NoSuchTask`] for a task this program does not have; [`TestError::Endless`]; errors of the store.
    pub async fn drain(&self) -> Result<Drained, TestError> {
        self.engine.promote_due(MAX_BATCH).await?;
        self.fire_due().await?;
        let mut drained = Drained::default();
        let mut settlements = Vec::new();
        loop {
            let Some(task) = self.claim_one(&mut settlements).await? else {
                // The end of a run may have been what a slot waited for.
                match self.fire_due().await? {
                    0 => return Ok(drained),
                    _ => continue,
                }
            };
            if drained.attempts() == MOST_ATTEMPTS {
                return Err(TestError::Endless);
            }
            let run = self.run(task).await?;
            drained.count(&run);
            if let TestedEnd::Ended(settlement) = run {
                settlements.push(*settlement);
            }
        }
    }

    /// Settles, and claims a task of the first queue that has one.
    async fn claim_one(&self, settlements: &mut Vec<Settlement>) -> Result<Option<ClaimedTask>, TestError> {
        let queues = first_queues(&*self.engine, usize::MAX).await?;
        let queues: Vec<QueueName> = queues.into_iter().map(|stats| stats.queue).collect();
        for some in queues.chunks(MAX_QUEUES_PER_CLAIM) {
            let queues = some.iter().map(|queue| QueueClaim { queue: queue.clone(), limit: 1 }).collect();
            let claim = ClaimRequest { queues, limit: 1, refused: Vec::new(), lease: LEASE };
            let worker = self.shared.worker.clone();
            let cycle = Cycle { worker, settlements: std::mem::take(settlements), claim: Some(claim) };
            let mut claimed = self.engine.cycle(cycle).await?.claimed;
            if let Some(task) = claimed.pop() {
                return Ok(Some(task));
            }
        }
        Ok(None)
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

    /// Runs one attempt.
    async fn run(&self, task: ClaimedTask) -> Result<TestedEnd, TestError> {
        let Some(function) = self.registry.find(task.name.as_str(), task.version) else {
            return Err(TestError::NoSuchTask { name: task.name, version: task.version });
        };
        let needs = function.needs();
        let missing = needs.iter().filter(|needed| !self.shared.states.has(needed));
        refuse_without_state(function, missing.map(NeededState::type_name).collect())?;
        let policy = function.policy().with(&task.overrides);
        let now = Instant::now();
        let taken = TakenAt { asked: now, answered: now };
        let attempt = Attempt::new(task, policy, None, Arc::clone(&self.shared), 0, taken);
        let (killed, planned) = self.faults.begin(&attempt);
        let mut is_crashed = planned == Some(Crash::Before);
        if !is_crashed {
            let running = execute(Handover::new(Arc::clone(&attempt)), function, Arc::clone(&self.tools));
            tokio::select! {
                biased;
                () = running => is_crashed = planned == Some(Crash::After),
                () = killed.notified() => is_crashed = true,
            }
        }
        self.faults.end();
        let mut ended = Vec::new();
        self.shared.finished.swap(&mut ended);
        refuse_without_state(function, self.shared.missing.take_states().into_iter().collect())?;
        if is_crashed {
            self.store_reports(&attempt).await?;
            return Ok(TestedEnd::Crashed);
        }
        let settlement = ended.pop().and_then(Ended::settlement);
        Ok(settlement.map_or(TestedEnd::LeaseLost, |settlement| TestedEnd::Ended(Box::new(settlement))))
    }

    /// Stores what an attempt reported, as a renewal of its lease does.
    async fn store_reports(&self, attempt: &Attempt) -> Result<(), TestError> {
        let Some(heartbeat) = attempt.take_news(Instant::now()) else { return Ok(()) };
        let ClaimedTask { id, fence, .. } = &attempt.task;
        let extension = Extension { id: id.clone(), fence: *fence, heartbeat: Some(heartbeat) };
        self.engine.extend(&self.shared.worker, LEASE, vec![extension]).await?;
        Ok(())
    }
}

fn refuse_without_state(task: &dyn AnyTask, types: Vec<&'static str>) -> Result<(), TestError> {
    if types.is_empty() { Ok(()) } else { Err(TestError::MissingState { task: name_of(task), types }) }
}
