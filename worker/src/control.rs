//! The control thread: everything that keeps a worker alive runs here, separate from the task functions.
//!
//! Fetcher, renewal of leases and registration share one thread with its own runtime, and the connection to the store
//! is opened on it. So a task function that blocks every thread of its runtime, by a defect or by heavy work, can't
//! make the worker lose its leases: neither the renewal nor its connection waits for that runtime. (An engine passed in
//! ready-made may do its I/O on the runtime it was opened on; then it depends on that runtime.)

use std::{sync::Arc, thread, time::Duration};

use jobbers_common::{
    engine::Engine,
    name::WorkerId,
    schedule::Schedule,
    worker::{BlockingThreads, WorkerReport, WorkerState},
};
use jobbers_engines::OpenOptions;
use jobbers_process::{
    logging::panics,
    shutdown::Shutdown,
    site,
    telemetry::{SCOPE, traces},
};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinSet,
    time::timeout,
};

use crate::{
    attempts::{
        attempt::SharedState,
        leases::HeldLeases,
        meters::{self, Meters, Renewals},
        state::States,
    },
    client::{Client, ParentClient},
    config::Config,
    execution::{executor::Tools, hooks::AllHooks, layer::Layers},
    fetcher::{Fetcher, FetcherParts, claim_planner::ClaimPlanner},
    liveness::{
        registrar::{WorkerStatus, keep_registered},
        renewal::Renewal,
    },
    payload::codec::Codecs,
    report::{Report, WorkerError},
    tasks::{registry::Registry, schedules::declare},
    threads::pool::BlockingPool,
};

/// How long the deregistration of this worker may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// The parts and settings of a worker.
pub(crate) struct WorkerParts {
    pub(crate) config: Config,
    /// The store, if it is open already.
    pub(crate) engine: Option<Arc<dyn Engine>>,
    pub(crate) states: States,
    pub(crate) layers: Layers,
    pub(crate) hooks: AllHooks,
    pub(crate) codecs: Codecs,
    /// The labels that tasks hand on to those that they submit.
    pub(crate) carried: Vec<String>,
    pub(crate) registry: Registry,
    /// The schedules that its tasks declare.
    pub(crate) schedules: Vec<Schedule>,
    /// The runtime of the task functions.
    pub(crate) runtime: Handle,
}

/// Runs a worker on a thread of its own, until it is over.
pub(crate) async fn run(plan: WorkerParts, shutdown: Shutdown) -> Result<Report, WorkerError> {
    panics::follow();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (answer, answered) = oneshot::channel();
    // If this future is dropped, the thread gets the stop request.
    let abandoned = shutdown.now.clone().drop_guard();
    thread::Builder::new().name("jobbers-control".to_owned()).spawn(move || {
        let report = runtime.block_on(work(plan, &shutdown));
        // Remaining background work of the engine serves no caller any more.
        runtime.shutdown_background();
        answer.send(report).ok();
    })?;
    let report = answered.await.map_err(|_| WorkerError::Vanished)?;
    abandoned.disarm();
    report
}

/// Opens the store; `None` if the worker is to stop before it can be reached.
async fn open_store(config: &Config, shutdown: &Shutdown) -> Result<Option<Arc<dyn Engine>>, WorkerError> {
    site::announce(config.address_file.as_deref());
    let options = OpenOptions { wait: config.wait_for_store, ..OpenOptions::default() };
    tokio::select! {
        opened = jobbers_engines::open(&config.engine_url, options) => Ok(Some(opened?)),
        () = shutdown.drain.cancelled() => Ok(None),
    }
}

async fn work(plan: WorkerParts, shutdown: &Shutdown) -> Result<Report, WorkerError> {
    let WorkerParts { config, engine, states, layers, hooks, codecs, carried, registry, schedules, runtime } = plan;
    let engine = match engine {
        Some(engine) => engine,
        None => match open_store(&config, shutdown).await? {
            Some(engine) => engine,
            None => return Ok(Report::default()),
        },
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let pool = BlockingPool::new(cores, runtime.clone());
    let identity = identity(&config, &registry, &pool);
    announce(&identity, registry.len());

    let client = ParentClient::new(Client::new(Arc::clone(&engine)).codec(codecs), carried);
    let shared = SharedState::new(identity.id.clone(), config.lease, config.cancel_grace, states, Some(client));
    let leases = Arc::new(HeldLeases::default());
    let status = Arc::new(WorkerStatus::default());
    let meter = opentelemetry::global::meter(SCOPE);
    let figures = Arc::default();
    meters::observe(&meter, &config.role, config.concurrency, &figures, &leases);
    meters::observe_hung_threads(&meter, &shared);
    if registry.has_blocking() {
        meters::observe_threads(&meter, &config.role, pool.width(), &leases);
    }
    let tools = Tools { pool, tracing: traces::current(), layers, hooks };
    let meters = Meters::new(&config.role, &meter);

    let renewal = Renewal {
        engine: Arc::clone(&engine),
        shared: Arc::clone(&shared),
        leases: Arc::clone(&leases),
        meters: Renewals::new(&meter),
    };
    let mut background = JoinSet::new();
    background.spawn(renewal.clone().run());
    background.spawn(renewal.guard());
    let catalogue = registry.catalogue();
    background.spawn(keep_registered(
        Arc::clone(&engine),
        Arc::clone(&status),
        Arc::clone(&leases),
        Arc::clone(&shared),
        identity.clone(),
        catalogue,
    ));

    background.spawn(declare(Arc::clone(&engine), schedules));

    let fetcher = Fetcher::new(FetcherParts {
        engine: Arc::clone(&engine),
        shared,
        leases,
        registry,
        planner: ClaimPlanner::new(config.role, config.queue_limits),
        tools: Arc::new(tools),
        runtime,
        status,
        meters,
        figures,
        slots: usize::try_from(config.concurrency).unwrap_or(usize::MAX),
        ttl: (config.ttl > 0).then_some(config.ttl),
        drain_deadline: config.drain_deadline,
        max_hung_threads: usize::try_from(config.max_hung_threads).unwrap_or(usize::MAX),
    });
    let report = fetcher.run(shutdown).await;

    background.shutdown().await;
    timeout(FAREWELL, engine.deregister_worker(&identity.id)).await.ok();
    let Report { settled, lost, late, unsettled, .. } = report;
    tracing::info!(settled, lost, late, unsettled, "worker stopped");
    Ok(report)
}

/// Logs what this worker is, and warns if its program has no tasks.
fn announce(identity: &WorkerReport, tasks: usize) {
    let WorkerReport { id, role, slots, .. } = identity;
    tracing::info!(worker = %id, %role, slots, tasks, "worker started");
    if tasks == 0 {
        tracing::warn!(
            "this program has no tasks, so the worker gives back all that it claims. Tasks in a library crate are linked by \
             `use that_crate as _;` in main.rs; unlisted tasks are given to Worker::task"
        );
    }
}

fn identity(config: &Config, registry: &Registry, pool: &BlockingPool) -> WorkerReport {
    let id = WorkerId::new(ulid::Ulid::generate().to_string());
    #[expect(clippy::expect_used, reason = "a ULID is 26 letters and digits")]
    let id = id.expect("a legal worker id");
    WorkerReport {
        id,
        host: hostname(),
        pid: std::process::id(),
        version: config.version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
        role: config.role.clone(),
        queues: Vec::new(),
        slots: config.concurrency,
        running: 0,
        state: WorkerState::Running,
        tasks: registry.names(),
        settled: 0,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: registry.has_blocking().then(|| BlockingThreads {
            threads: u32::try_from(pool.width()).unwrap_or(u32::MAX),
            tasks: registry.blocking_names(),
            busy: 0,
            waiting: 0,
            held: Vec::new(),
        }),
    }
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}
