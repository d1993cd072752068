//! Manager, worker and cleaner in one process, and the order in which they stop.
//!
//! The manager goes first, so that nothing new is taken; then the worker drains; the cleaner goes last. Each has its own
//! word to drain and all share the word to stop now.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use jobbers_cleaner::{Prune, Runner};
use jobbers_common::engine::Engine;
use jobbers_manager::Listeners;
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{Report, Worker, WorkerError, stock};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// How far apart the cleaner's rounds are.
const CLEANING_INTERVAL: Duration = Duration::from_secs(60);

/// How long the worker may take to be known to the store before the manager starts without it.
const WORKER_PATIENCE: Duration = Duration::from_secs(2);
/// How often the store is asked for it.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is to run.
#[derive(Debug)]
pub(crate) struct StackPlan {
    /// The manager's configuration.
    pub(crate) manager: jobbers_manager::Config,
    /// The worker's; `None` for no worker.
    pub(crate) worker: Option<jobbers_worker::Config>,
    /// Where the manager listens.
    pub(crate) listeners: Listeners,
    /// The store.
    pub(crate) engine: Arc<dyn Engine>,
    /// Stops all at once.
    pub(crate) now: CancellationToken,
}

/// Its name.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Where the manager listens.
    pub(crate) address: SocketAddr,
    manager: RunningService<()>,
    worker: Option<RunningService<Result<Report, WorkerError>>>,
    cleaner: RunningService<()>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct RunningService<T> {
    shutdown: Shutdown,
    task: JoinHandle<T>,
}

impl<T: Send + 'static> RunningService<T> {
    /// Starts it. However it ends, `ended` is cancelled.
    fn start<F: Future<Output = T> + Send + 'static>(
        now: &CancellationToken,
        ended: &CancellationToken,
        run: impl FnOnce(Shutdown) -> F,
    ) -> Self {
        let shutdown = Shutdown::below(now);
        let (running, guard) = (run(shutdown.clone()), ended.clone().drop_guard());
        let task = tokio::spawn(async move {
            let _guard = guard;
            running.await
        });
        Self { shutdown, task }
    }

    async fn stop(self, name: &str) -> Result<T, Failure> {
        self.shutdown.drain.cancel();
        self.task.await.map_err(|error| Failure::Negative(format!("the {name} broke down: {error}")))
    }
}

impl Stack {
    /// Starts all three, or all but the worker. The manager answers only when the store knows the worker, so that the first
    /// submission is not warned that no worker can run it.
    ///
    /// # Errors
    /// When the listener has no address.
    pub(crate) async fn start(plan: StackPlan) -> Result<Self, Failure> {
        let StackPlan { manager, worker, listeners, engine, now } = plan;
        let address = listeners.http.local_addr().map_err(|error| Failure::Unavailable(error.to_string()))?;
        let (for_manager, for_cleaner) = (Arc::clone(&engine), Arc::clone(&engine));
        let ended = CancellationToken::new();
        let worker = worker.map(|config| Worker::new(config, Arc::clone(&engine)).tasks(stock::ALL));
        let worker = worker.map(|worker| RunningService::start(&now, &ended, |shutdown| worker.run_until(shutdown)));
        if worker.is_some() {
            tokio::select! {
                _ = tokio::time::timeout(WORKER_PATIENCE, worker_is_known(engine.as_ref())) => {}
                () = ended.cancelled() => {}
            }
        }
        let manage = |shutdown| jobbers_manager::run(manager, for_manager, listeners, shutdown);
        Ok(Self {
            address,
            manager: RunningService::start(&now, &ended, manage),
            worker,
            cleaner: RunningService::start(&now, &ended, |shutdown| clean(for_cleaner, shutdown)),
            ended,
        })
    }

    /// Returns when one of them has ended by itself: the worker after its last task, or any that broke down.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// The manager is no longer ready, and serves on.
    pub(crate) fn leave(&self) {
        self.manager.shutdown.leaving.cancel();
    }

    /// Stops all three in their order, and answers what the worker did.
    ///
    /// # Errors
    /// When the worker could not work, or one of them broke down.
    pub(crate) async fn stop(self) -> Result<Report, Failure> {
        let manager = self.manager.stop("manager").await;
        let worker = match self.worker {
            Some(worker) => worker.stop("worker").await,
            None => Ok(Ok(Report::default())),
        };
        let cleaner = self.cleaner.stop("cleaner").await;
        manager.and(cleaner)?;
        worker?.map_err(|error| match error {
            WorkerError::Config(_) | WorkerError::DuplicateTask(_) => Failure::Config(error.to_string()),
            _ => Failure::Unavailable(error.to_string()),
        })
    }
}

/// Returns when the store knows a worker of this process.
async fn worker_is_known(engine: &dyn Engine) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    loop {
        looks.tick().await;
        let workers = engine.workers().await.unwrap_or_default();
        if workers.iter().any(|worker| worker.report.pid == std::process::id()) {
            return;
        }
    }
}

/// Prunes by the queues' retention, once a minute, until the stop request.
pub(crate) async fn clean(engine: Arc<dyn Engine>, shutdown: Shutdown) {
    let runner = Runner::new(engine, vec![Box::new(Prune::Retention)], false);
    let mut rounds = runner.watch(CLEANING_INTERVAL, &shutdown);
    while let Some(report) = rounds.next().await {
        if report.removed > 0 {
            tracing::info!(removed = report.removed, "pruned");
        }
        for pass in report.passes.iter().filter(|pass| pass.error.is_some()) {
            tracing::warn!(pass = pass.pass, error = pass.error, "a pass failed");
        }
    }
}
