//! The tasks a worker holds ahead of its slots, with a store in memory and tasks that wait for the test.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jobbers_common::{
    engine::{PutMode, Queues, Tasks, reads::first_queues},
    lifecycle::Status,
    name::{QueueName, RoleName, TaskId, WorkerId},
    queue::{DEFAULT, QueueConfig},
};
use jobbers_law::model::ModelEngine;
use jobbers_process::shutdown::Shutdown;
use tokio::{
    runtime::Handle,
    sync::Semaphore,
    task::{JoinHandle, yield_now},
    time::timeout,
};

use super::{Fetcher, FetcherParts};
use crate::{
    attempts::{
        attempt::{SharedState, Stop},
        leases::HeldLeases,
        meters::Meters,
        state::States,
    },
    execution::{executor::Tools, hooks::AllHooks, layer::Layers},
    fetcher::claim_planner::ClaimPlanner,
    prelude::*,
    report::Report,
    tasks::registry::Registry,
    threads::pool::BlockingPool,
};

const SLOTS: usize = 2;
const TASKS: usize = 20;
/// After this time a test has failed: the awaited event does not happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where tasks and test meet.
#[derive(Debug, Clone)]
struct Gate(Arc<Doors>);

#[derive(Debug)]
struct Doors {
    pass: Semaphore,
    begun: AtomicUsize,
    inside: AtomicUsize,
    most_inside: AtomicUsize,
}

/// Waits until the test opens the gate.
#[task(name = "test.gated", unlisted)]
async fn gated(ctx: Context) -> Result<(), TaskError> {
    let Gate(doors) = ctx.state::<Gate>()?.clone();
    doors.begun.fetch_add(1, Ordering::SeqCst);
    doors.most_inside.fetch_max(doors.inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    doors.pass.acquire().await.map_err(|error| TaskError::fatal(error.to_string()))?.forget();
    doors.inside.fetch_sub(1, Ordering::SeqCst);
    Ok(())
}

/// A fetcher that has not started, and its parts.
struct Rig {
    engine: Arc<ModelEngine>,
    leases: Arc<HeldLeases>,
    doors: Arc<Doors>,
    shutdown: Shutdown,
    ids: Vec<TaskId>,
    fetcher: Option<Fetcher>,
}

impl Rig {
    /// A worker whose tasks have been short so far, and a queue of gated ones.
    async fn new(lease: Duration) -> Self {
        let engine = Arc::new(ModelEngine::with_system_clock());
        let client = Client::new(engine.clone());
        let tasks = client.submit_all((0..TASKS).map(|_| gated.with(NoParameters))).await.unwrap();
        let doors = Arc::new(Doors {
            pass: Semaphore::new(0),
            begun: AtomicUsize::new(0),
            inside: AtomicUsize::new(0),
            most_inside: AtomicUsize::new(0),
        });
        let mut states = States::default();
        states.insert(Gate(Arc::clone(&doors)));
        let role = RoleName::new(DEFAULT).unwrap();
        let (leases, meter) = (Arc::new(HeldLeases::default()), opentelemetry::global::meter("test"));
        let tools = Tools {
            pool: BlockingPool::new(1, Handle::current()),
            tracing: None,
            layers: Layers::default(),
            hooks: AllHooks::default(),
        };
        let mut fetcher = Fetcher::new(FetcherParts {
            engine: engine.clone(),
            shared: SharedState::new(WorkerId::new("w").unwrap(), lease, Duration::from_millis(50), states, None),
            leases: Arc::clone(&leases),
            registry: Registry::collect(&[&gated]).unwrap(),
            planner: ClaimPlanner::new(role.clone(), BTreeMap::new()),
            tools: Arc::new(tools),
            runtime: Handle::current(),
            status: Arc::default(),
            meters: Meters::new(&role, &meter),
            figures: Arc::default(),
            slots: SLOTS,
            ttl: None,
            drain_deadline: PATIENCE,
            max_hung_threads: 64,
        });
        (0..1_000).for_each(|_| fetcher.slots.pace.ran(Duration::ZERO));
        let ids = tasks.into_iter().map(|task| task.id).collect();
        Self { engine, leases, doors, shutdown: Shutdown::new(), ids, fetcher: Some(fetcher) }
    }

    fn run(&mut self) -> JoinHandle<Report> {
        let (fetcher, shutdown) = (self.fetcher.take().unwrap(), self.shutdown.clone());
        tokio::spawn(async move { fetcher.run(&shutdown).await })
    }

    async fn count(&self, status: Status) -> usize {
        let stats = first_queues(&*self.engine, 1).await.unwrap();
        usize::try_from(stats[0].tasks.get(&status).copied().unwrap_or(0)).unwrap()
    }

    /// Waits until this number of tasks has the status, and as many as there are slots run.
    async fn until(&self, status: Status, tasks: usize) {
        let look = async {
            while self.count(status).await != tasks || self.doors.begun.load(Ordering::SeqCst) < SLOTS {
                yield_now().await;
            }
        };
        timeout(PATIENCE, look).await.expect("the tasks get there");
    }

    fn begun(&self) -> usize {
        self.doors.begun.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn short_tasks_are_claimed_ahead_and_no_more_run_than_there_are_slots() {
    let mut rig = Rig::new(Duration::from_secs(3_600)).await;
    let worker = rig.run();
    rig.until(Status::Started, TASKS).await;
    assert_eq!(rig.begun(), SLOTS);
    rig.doors.pass.add_permits(TASKS);
    rig.until(Status::Completed, TASKS).await;
    assert_eq!(rig.doors.most_inside.load(Ordering::SeqCst), SLOTS);
    rig.shutdown.drain.cancel();
    assert_eq!(worker.await.unwrap().settled, TASKS as u64);
}

#[tokio::test]
async fn a_worker_whose_tasks_are_not_short_claims_what_it_can_start() {
    let mut rig = Rig::new(Duration::from_secs(3_600)).await;
    rig.fetcher.as_mut().unwrap().slots.pace.forget();
    let worker = rig.run();
    for done in 0..TASKS {
        rig.until(Status::Completed, done).await;
        assert!(rig.count(Status::Started).await <= SLOTS);
        rig.doors.pass.add_permits(1);
    }
    rig.until(Status::Completed, TASKS).await;
    rig.shutdown.drain.cancel();
    worker.await.unwrap();
}

#[tokio::test]
async fn what_was_claimed_ahead_is_given_back_as_soon_as_the_worker_is_to_stop() {
    for is_now in [false, true] {
        let mut rig = Rig::new(Duration::from_secs(3_600)).await;
        let worker = rig.run();
        rig.until(Status::Started, TASKS).await;
        let shutdown = &rig.shutdown;
        if is_now { &shutdown.now } else { &shutdown.drain }.cancel();
        let left = if is_now { TASKS } else { TASKS - SLOTS };
        rig.until(Status::Submitted, left).await;
        rig.doors.pass.add_permits(TASKS);
        let report = worker.await.unwrap();
        assert_eq!((report.settled, report.late), (TASKS as u64, is_now));
        assert_eq!(rig.begun(), SLOTS, "what was given back did not begin");
        let last = rig.engine.get(rig.ids.last().unwrap()).await.unwrap().unwrap();
        assert_eq!((last.attempt, last.crashes, last.errors.len()), (0, 0, 0));
    }
}

#[tokio::test]
async fn what_waits_too_long_for_a_slot_is_given_back_and_not_claimed_again() {
    let mut rig = Rig::new(Duration::from_millis(500)).await;
    let worker = rig.run();
    rig.until(Status::Submitted, TASKS - SLOTS).await;
    rig.doors.pass.add_permits(1);
    rig.until(Status::Completed, 1).await;
    rig.until(Status::Started, SLOTS).await;
    assert_eq!(rig.count(Status::Submitted).await, TASKS - SLOTS - 1);
    rig.doors.pass.add_permits(TASKS);
    rig.until(Status::Completed, TASKS).await;
    rig.shutdown.drain.cancel();
    worker.await.unwrap();
}

#[tokio::test]
async fn a_task_that_is_cancelled_while_it_waits_never_begins() {
    let mut rig = Rig::new(Duration::from_secs(3_600)).await;
    let worker = rig.run();
    rig.until(Status::Started, TASKS).await;
    let cancelled = rig.ids.last().unwrap().clone();
    rig.engine.cancel(std::slice::from_ref(&cancelled)).await.unwrap();
    let told = async {
        while rig.leases.of(std::slice::from_ref(&cancelled))[0].stopped() != Some(Stop::Cancel) {
            yield_now().await;
        }
    };
    timeout(PATIENCE, told).await.expect("the worker hears of it");
    rig.doors.pass.add_permits(TASKS);
    rig.until(Status::Completed, TASKS - 1).await;
    rig.until(Status::Cancelled, 1).await;
    assert_eq!(rig.begun(), TASKS - 1);
    rig.shutdown.drain.cancel();
    worker.await.unwrap();
}

#[tokio::test]
async fn a_queue_with_a_limit_on_starts_is_not_claimed_ahead() {
    let mut rig = Rig::new(Duration::from_secs(3_600)).await;
    let limited = QueueConfig { max_concurrent: Some(100), ..QueueConfig::new(QueueName::new(DEFAULT).unwrap()) };
    rig.engine.put_queue(limited, PutMode::Upsert).await.unwrap();
    let worker = rig.run();
    for done in 0..TASKS {
        rig.until(Status::Completed, done).await;
        assert!(rig.count(Status::Started).await <= SLOTS);
        rig.doors.pass.add_permits(1);
    }
    rig.until(Status::Completed, TASKS).await;
    rig.shutdown.drain.cancel();
    worker.await.unwrap();
}
