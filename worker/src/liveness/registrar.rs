//! Reports to the store, every two seconds, that this worker is alive, what it serves and what it runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::Engine,
    name::{QueueName, TaskId},
    worker::{
        WorkerReport, WorkerState,
        registry::{Catalogue, CatalogueId},
    },
};
use jobbers_process::readiness;
use tokio::{sync::watch, time::timeout};

use crate::{
    attempts::{attempt::SharedState, leases::HeldLeases},
    threads::hung::longest_first,
};

const EVERY: Duration = Duration::from_secs(2);
/// How often the catalogue of its tasks is sent again, and how long the store keeps it.
const CATALOGUE_EVERY: Duration = Duration::from_secs(600);
const CATALOGUE_KEPT: Duration = Duration::from_secs(86_400);
/// The most tasks that a draining worker names.
const MOST_LEFT: usize = 100;
/// A worker without a report for this long is considered gone.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// What the fetcher writes and the registrar reports.
#[derive(Debug)]
pub(crate) struct WorkerStatus {
    running: AtomicU32,
    settled: AtomicU64,
    standing: watch::Sender<Standing>,
}

/// The part that is reported as soon as it changes.
#[derive(Debug, Clone)]
struct Standing {
    state: WorkerState,
    queues: Vec<QueueName>,
    /// Since when it drains, if it does.
    since: Option<Instant>,
    /// When a draining worker stops waiting, if it has a deadline.
    deadline: Option<Instant>,
    /// How many threads endless tasks hold.
    hung: usize,
}

impl Default for WorkerStatus {
    fn default() -> Self {
        let standing =
            Standing { state: WorkerState::Running, queues: Vec::new(), since: None, deadline: None, hung: 0 };
        Self { running: AtomicU32::new(0), settled: AtomicU64::new(0), standing: watch::Sender::new(standing) }
    }
}

impl WorkerStatus {
    /// How many tasks run, and how many have been settled.
    pub(crate) fn count(&self, running: usize, settled: u64) {
        self.running.store(u32::try_from(running).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.settled.store(settled, Ordering::Relaxed);
    }

    /// Sets the queues that the worker serves.
    pub(crate) fn serve(&self, queues: Vec<QueueName>) {
        self.standing.send_modify(|standing| standing.queues = queues);
    }

    /// The worker claims no more tasks and stops waiting for running ones at `deadline`.
    pub(crate) fn drain(&self, deadline: Option<Instant>) {
        self.standing.send_modify(|standing| {
            standing.state = WorkerState::Draining;
            standing.since.get_or_insert_with(Instant::now);
            standing.deadline = deadline;
        });
    }

    /// Sets how many threads endless tasks hold.
    pub(crate) fn count_hung(&self, hung: usize) {
        self.standing.send_if_modified(|standing| std::mem::replace(&mut standing.hung, hung) != hung);
    }

    /// The worker claims tasks again.
    pub(crate) fn resume(&self) {
        self.standing.send_modify(|standing| {
            standing.state = WorkerState::Running;
            standing.since = None;
            standing.deadline = None;
        });
    }
}

/// Reports until it is dropped. `report` is the part that never changes.
pub(crate) async fn keep_registered(
    engine: Arc<dyn Engine>,
    status: Arc<WorkerStatus>,
    leases: Arc<HeldLeases>,
    shared: Arc<SharedState>,
    mut report: WorkerReport,
    catalogue: Catalogue,
) {
    let mut changes = status.standing.subscribe();
    let mut kept: Option<Instant> = None;
    loop {
        if kept.is_none_or(|kept| kept.elapsed() > CATALOGUE_EVERY) {
            let id = keep_catalogue(engine.as_ref(), &catalogue).await;
            kept = id.is_some().then(Instant::now);
            report.catalogue = id.or(report.catalogue);
        }
        let Standing { state, queues, since, deadline, .. } = changes.borrow_and_update().clone();
        (report.left, report.done_within) = match state {
            WorkerState::Running => (Vec::new(), None),
            WorkerState::Draining => rest(&leases, deadline),
        };
        report.hung_threads = shared.hung.named();
        if let Some(blocking) = &mut report.blocking {
            let (held, waiting) = leases.threads();
            blocking.busy = u32::try_from(held.len()).unwrap_or(u32::MAX);
            blocking.waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
            blocking.held = longest_first(held);
        }
        report.draining_for = since.map(|since| since.elapsed());
        report.state = state;
        report.queues = queues;
        report.running = status.running.load(Ordering::Relaxed);
        report.settled = status.settled.load(Ordering::Relaxed);
        let registered = match timeout(EVERY, engine.register_worker(report.clone(), FORGOTTEN_AFTER)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(format!("the store does not take its reports: {error}")),
            Err(_) => Err("the store does not answer in time".to_owned()),
        };
        if let Err(problem) = &registered {
            tracing::debug!(%problem, "could not register");
        }
        readiness::set(match report.state {
            WorkerState::Running => registered,
            WorkerState::Draining => Err("it drains".to_owned()),
        });
        // Either way the next report is due; the status outlives this function.
        let _ = timeout(EVERY, changes.changed()).await;
    }
}

/// The first tasks that a draining worker still runs, and how long until they are over at the latest.
fn rest(leases: &HeldLeases, deadline: Option<Instant>) -> (Vec<TaskId>, Option<Duration>) {
    let now = Instant::now();
    let running: Vec<_> = leases.all().into_iter().filter(|attempt| !attempt.has_ended()).collect();
    let ends: Option<Vec<Instant>> = running.iter().map(|attempt| attempt.ends_by()).collect();
    let last = ends.map(|ends| ends.into_iter().max().unwrap_or(now));
    let over = last.into_iter().chain(deadline).min().map(|over| over.saturating_duration_since(now));
    (running.iter().take(MOST_LEFT).map(|attempt| attempt.task.id.clone()).collect(), over)
}

/// Sends the catalogue to the store. Without it the worker is known only by the names of its tasks.
async fn keep_catalogue(engine: &dyn Engine, catalogue: &Catalogue) -> Option<CatalogueId> {
    match timeout(EVERY, engine.keep_catalogue(catalogue, CATALOGUE_KEPT)).await {
        Ok(Ok(id)) => Some(id),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the store did not take the catalogue of tasks");
            None
        }
        Err(_) => None,
    }
}
