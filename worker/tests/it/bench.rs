//! The shared test bench: a store in memory, a worker on it, and a probe through which tasks and tests meet.
//!
//! Tests wait for events, through [`Bench::event`], [`Bench::over`] and [`Bench::until`]; none sleeps.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jobbers_common::{
    engine::{Tasks, Waiting, Workers, reads::first_queues},
    lifecycle::Status,
    name::TaskId,
    payload::Payload,
    policy::PolicyOverrides,
    task::Task,
    time::{ManualClock, Timestamp},
    worker::WorkerReport,
};
use jobbers_law::{double::Double, model::ModelEngine};
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{Client, Config, Context, Encode, Report, TaskFn, Worker, WorkerError};
use tokio::{
    sync::{Mutex, Semaphore, mpsc},
    task::JoinHandle,
    time::timeout,
};

use crate::stores::faulty::Faulty;

/// After this time a test has failed: the awaited event does not happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The probe through which tasks report events to the test and wait for it.
#[derive(Clone)]
pub(crate) struct Probe {
    told: mpsc::UnboundedSender<String>,
    gate: Arc<Semaphore>,
}

impl Probe {
    pub(crate) fn tell(&self, event: impl Into<String>) {
        self.told.send(event.into()).unwrap();
    }

    /// Waits for the test to let one task pass.
    pub(crate) async fn pass(&self) {
        self.gate.acquire().await.unwrap().forget();
    }
}

pub(crate) fn probe(ctx: &Context) -> Probe {
    ctx.state::<Probe>().unwrap().clone()
}

pub(crate) struct Bench {
    pub(crate) engine: Arc<Double<Faulty>>,
    pub(crate) clock: Arc<ManualClock>,
    /// Reaches the store whether or not the worker does.
    pub(crate) client: Client,
    pub(crate) config: Config,
    probe: Probe,
    events: Mutex<mpsc::UnboundedReceiver<String>>,
}

pub(crate) struct Running {
    pub(crate) shutdown: Shutdown,
    done: JoinHandle<Result<Report, WorkerError>>,
}

impl Bench {
    /// A store whose clock moves only by hand, and a worker's configuration with short times.
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000_000)));
        Self::on(ModelEngine::new(clock.clone()), clock)
    }

    /// A store in real time.
    pub(crate) fn in_real_time() -> Self {
        Self::on(ModelEngine::with_system_clock(), Arc::new(ManualClock::new(Timestamp::from_micros(0))))
    }

    fn on(store: ModelEngine, clock: Arc<ManualClock>) -> Self {
        let store = Arc::new(store);
        let engine = Arc::new(Double(Faulty::new(store.clone())));
        let (told, events) = mpsc::unbounded_channel();
        Self {
            client: Client::new(store),
            engine,
            clock,
            config: Config {
                concurrency: 4,
                lease: Duration::from_millis(800),
                cancel_grace: Duration::from_millis(50),
                ..Config::default()
            },
            probe: Probe { told, gate: Arc::new(Semaphore::new(0)) },
            events: Mutex::new(events),
        }
    }

    pub(crate) fn worker(&self) -> Running {
        self.worker_with(self.config.clone())
    }

    pub(crate) fn worker_with(&self, config: Config) -> Running {
        let shutdown = Shutdown::new();
        let worker = Worker::new(config, self.engine.clone()).state(self.probe.clone());
        let done = tokio::spawn(worker.run_until(shutdown.clone()));
        Running { shutdown, done }
    }

    pub(crate) async fn submit<P: Encode, R>(&self, task: &TaskFn<P, R>, job: P) -> TaskId {
        task.delay(&self.client, job).await.unwrap().id
    }

    pub(crate) async fn submit_with<P: Encode, R>(
        &self,
        task: &TaskFn<P, R>,
        job: P,
        overrides: PolicyOverrides,
    ) -> TaskId {
        task.with(job).overrides(overrides).submit(&self.client).await.unwrap().id
    }

    pub(crate) fn probe(&self) -> Probe {
        self.probe.clone()
    }

    /// Waits until the worker's report `holds`.
    pub(crate) async fn until_report(&self, holds: impl Fn(&WorkerReport) -> bool) {
        let look = async {
            loop {
                let called = self.engine.called();
                let workers = self.engine.workers().await.unwrap();
                if workers.iter().any(|worker| holds(&worker.report)) {
                    return;
                }
                called.await;
            }
        };
        timeout(PATIENCE, look).await.expect("the worker reports");
    }

    /// Waits until `n` tasks of the first queue have completed.
    pub(crate) async fn until_settled(&self, n: u64) {
        let look = async {
            loop {
                let called = self.engine.called();
                let stats = first_queues(&*self.engine, 1).await.unwrap();
                if stats[0].tasks.get(&Status::Completed).is_some_and(|completed| *completed >= n) {
                    return;
                }
                called.await;
            }
        };
        timeout(PATIENCE, look).await.expect("the tasks complete");
    }

    /// Waits until the worker has made `n` more cycles.
    pub(crate) async fn cycles(&self, n: u64) {
        self.grows(&self.engine.cycles, n).await;
    }

    /// Waits until `n` more leases have been renewed.
    pub(crate) async fn renewals(&self, n: u64) {
        self.grows(&self.engine.renewed, n).await;
    }

    /// Waits until `n` more calls of the worker have failed.
    pub(crate) async fn refusals(&self, n: u64) {
        self.grows(&self.engine.refused, n).await;
    }

    /// Waits until `n` more settlements have failed.
    pub(crate) async fn settlements_refused(&self, n: u64) {
        self.grows(&self.engine.settlements_refused, n).await;
    }

    async fn grows(&self, count: &AtomicU64, n: u64) {
        let enough = count.load(Ordering::SeqCst) + n;
        let grows = async {
            loop {
                let called = self.engine.called();
                if count.load(Ordering::SeqCst) >= enough {
                    return;
                }
                called.await;
            }
        };
        timeout(PATIENCE, grows).await.expect("the worker calls");
    }

    /// Lets `n` tasks pass their gate.
    pub(crate) fn open(&self, n: usize) {
        self.probe.gate.add_permits(n);
    }

    /// The next event a task reports.
    pub(crate) async fn event(&self) -> String {
        let event = async { self.events.lock().await.recv().await.unwrap() };
        timeout(PATIENCE, event).await.expect("a task tells what it does")
    }

    /// Whether no unread event was reported.
    pub(crate) async fn is_quiet(&self) -> bool {
        self.events.lock().await.try_recv().is_err()
    }

    pub(crate) async fn get(&self, id: &TaskId) -> Task {
        self.engine.get(id).await.unwrap().expect("the task is there")
    }

    /// The task once it is over.
    pub(crate) async fn over(&self, id: &TaskId) -> Task {
        let task = self.engine.await_finished(id, PATIENCE).await.unwrap().expect("the task is there");
        assert!(task.status.is_finished(), "{task:?}");
        task
    }

    /// The task once `holds`: checked after each call the worker makes.
    pub(crate) async fn until(&self, id: &TaskId, holds: impl Fn(&Task) -> bool) -> Task {
        let look = async {
            loop {
                let called = self.engine.called();
                let task = self.get(id).await;
                if holds(&task) {
                    return task;
                }
                called.await;
            }
        };
        timeout(PATIENCE, look).await.expect("the task gets there")
    }

    pub(crate) async fn until_status(&self, id: &TaskId, status: Status) -> Task {
        self.until(id, |task| task.status == status).await
    }
}

impl Running {
    /// Drains it and waits for its end.
    pub(crate) async fn drain(self) -> Report {
        self.shutdown.drain.cancel();
        self.end().await
    }

    /// Drops the future that runs it.
    pub(crate) async fn abandon(self) {
        self.done.abort();
        assert!(self.done.await.unwrap_err().is_cancelled());
    }

    pub(crate) async fn end(self) -> Report {
        timeout(PATIENCE, self.done).await.expect("the worker ends").unwrap().unwrap()
    }
}

pub(crate) fn json(text: &str) -> Payload {
    Payload::json(text.as_bytes().to_vec())
}
