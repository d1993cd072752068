//! Tells the store, every two seconds, that this worker lives, what it serves and what it runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use jobbers_common::{
    engine::Engine,
    name::QueueName,
    worker::{WorkerReport, WorkerState},
};
use tokio::{sync::watch, time::timeout};

const EVERY: Duration = Duration::from_secs(2);
/// A worker that has not been heard of for this long is gone.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// What the fetcher writes up and the registrar reports.
#[derive(Debug)]
pub(crate) struct Board {
    running: AtomicU32,
    settled: AtomicU64,
    standing: watch::Sender<Standing>,
}

/// What is reported as soon as it changes.
#[derive(Debug, Clone)]
struct Standing {
    state: WorkerState,
    queues: Vec<QueueName>,
}

impl Default for Board {
    fn default() -> Self {
        let standing = Standing { state: WorkerState::Running, queues: Vec::new() };
        Self { running: AtomicU32::new(0), settled: AtomicU64::new(0), standing: watch::Sender::new(standing) }
    }
}

impl Board {
    /// How many tasks run, and how many have been settled.
    pub(crate) fn count(&self, running: usize, settled: u64) {
        self.running.store(u32::try_from(running).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.settled.store(settled, Ordering::Relaxed);
    }

    /// The worker serves these queues.
    pub(crate) fn serve(&self, queues: Vec<QueueName>) {
        self.standing.send_modify(|standing| standing.queues = queues);
    }

    /// The worker takes on nothing more.
    pub(crate) fn drain(&self) {
        self.standing.send_modify(|standing| standing.state = WorkerState::Draining);
    }
}

/// Reports until it is dropped. `report` is what never changes.
pub(crate) async fn keep_registered(engine: Arc<dyn Engine>, board: Arc<Board>, mut report: WorkerReport) {
    let mut changes = board.standing.subscribe();
    loop {
        let Standing { state, queues } = changes.borrow_and_update().clone();
        report.state = state;
        report.queues = queues;
        report.running = board.running.load(Ordering::Relaxed);
        report.settled = board.settled.load(Ordering::Relaxed);
        match timeout(EVERY, engine.register_worker(report.clone(), FORGOTTEN_AFTER)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "could not register"),
            Err(_) => tracing::debug!("could not register: no answer in time"),
        }
        // Either way it is time for the next report; the board outlives this function.
        let _ = timeout(EVERY, changes.changed()).await;
    }
}
