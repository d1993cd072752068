//! Workers that speak HTTP, as the list of workers shows them.
//!
//! Such a worker sends no report of its own: its requests are. The manager that answers them counts what the worker holds,
//! and registers it like any other worker. This is for people, for advice at submission, and for `explain`; nothing that
//! the store decides rests on it, so a worker that asks several managers is only counted less exactly.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use jobbers_common::{
    engine::Engine,
    name::{QueueName, RoleName, TaskId, WorkerId},
    queue::Config,
    worker::{WorkerReport, WorkerState},
};
use parking_lot::Mutex;

/// The role that these workers are listed under.
pub(crate) const ROLE: &str = "http";

/// How often a worker is registered while it calls.
const EVERY: Duration = Duration::from_secs(2);
/// For how long a worker is listed after its last call, at least and at most; between these, as long as its leases last.
const LISTED: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));
/// How many workers are registered at a time.
const AT_ONCE: usize = 16;
/// Past so many names, those that are not heard of any more are forgotten.
const MANY_WORKERS: usize = 1_024;

/// The worker's description in its claim.
#[derive(Debug, Clone)]
pub(crate) struct Claimant {
    /// Where its request came from.
    pub(crate) host: String,
    /// The version of its program.
    pub(crate) version: String,
    /// The queues it claims from.
    pub(crate) queues: Vec<QueueName>,
    /// `name@version` of the tasks it knows; [`jobbers_common::worker::ANY_TASK`] if it names none.
    pub(crate) tasks: Vec<String>,
    /// How many tasks it asks for.
    pub(crate) limit: usize,
    /// How long its leases last.
    pub(crate) lease: Duration,
}

/// A worker that was heard of.
#[derive(Debug)]
struct HttpWorker {
    claimant: Claimant,
    /// Its tasks, and when their leases end by this process's clock.
    held: HashMap<TaskId, Instant>,
    settled: u64,
    slots: usize,
    heard_at: Instant,
    /// When it was registered last, and with how many running tasks.
    registered: Option<(Instant, usize)>,
}

/// The workers that this manager has heard of.
#[derive(Debug)]
pub(crate) struct HttpWorkers {
    engine: Arc<dyn Engine>,
    role: RoleName,
    workers: Mutex<HashMap<WorkerId, HttpWorker>>,
}

impl HttpWorkers {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        #[expect(clippy::expect_used, reason = "four letters")]
        let role = RoleName::new(ROLE).expect("a legal name");
        Self { engine, role, workers: Mutex::default() }
    }

    /// Whether a worker claimed from these very queues when it was last heard of.
    pub(crate) fn claims_from(&self, worker: &WorkerId, queues: &[QueueName]) -> bool {
        self.workers.lock().get(worker).is_some_and(|worker| worker.claimant.queues == queues)
    }

    /// A worker asks for tasks.
    pub(crate) fn asks(&self, worker: &WorkerId, claimant: Claimant) {
        let now = Instant::now();
        let mut all = self.workers.lock();
        if all.len() >= MANY_WORKERS && !all.contains_key(worker) {
            all.retain(|_, worker| worker.heard_at + LISTED.1 > now || worker.running(now) > 0);
        }
        let worker = all.entry(worker.clone()).or_insert_with(|| HttpWorker::new(claimant.clone(), now));
        let is_other = worker.claimant.queues != claimant.queues || worker.claimant.tasks != claimant.tasks;
        worker.registered = worker.registered.filter(|_| !is_other);
        worker.slots = worker.running(now) + claimant.limit;
        (worker.claimant, worker.heard_at) = (claimant, now);
    }

    /// A worker was given tasks, or renewed their leases.
    pub(crate) fn holds<'a>(&self, worker: &WorkerId, tasks: impl IntoIterator<Item = &'a TaskId>, lease: Duration) {
        let now = Instant::now();
        if let Some(worker) = self.workers.lock().get_mut(worker) {
            worker.held.retain(|_, ends| *ends > now);
            // A lease that no clock can name lasts for ever.
            let ends = now.checked_add(lease).unwrap_or(now + LISTED.1);
            worker.held.extend(tasks.into_iter().map(|id| (id.clone(), ends)));
            worker.heard_at = now;
        }
    }

    /// A worker holds these no longer; `settled` of them counted.
    pub(crate) fn lets_go<'a>(&self, worker: &WorkerId, tasks: impl IntoIterator<Item = &'a TaskId>, settled: usize) {
        if let Some(worker) = self.workers.lock().get_mut(worker) {
            for id in tasks {
                worker.held.remove(id);
            }
            worker.settled += settled as u64;
            worker.heard_at = Instant::now();
        }
    }

    /// A worker waits for tasks.
    pub(crate) fn waits(&self, worker: &WorkerId) {
        if let Some(worker) = self.workers.lock().get_mut(worker) {
            worker.heard_at = Instant::now();
        }
    }

    /// Registers those that have something new to report, and now and then those that call. A store that can't take a
    /// report now is given the next one.
    pub(crate) async fn register_due(&self, config: Option<&Config>) {
        let is_draining = |worker: &WorkerId| config.is_some_and(|config| config.draining.contains_key(worker));
        let due: Vec<(WorkerReport, Duration)> = {
            let (now, mut all) = (Instant::now(), self.workers.lock());
            all.iter_mut()
                .filter_map(|(id, worker)| worker.report_if_due(id, &self.role, is_draining(id), now))
                .collect()
        };
        stream::iter(due).for_each_concurrent(AT_ONCE, |(report, ttl)| self.register(report, ttl)).await;
    }

    /// Registers a worker that has something new to report.
    pub(crate) async fn register_now(&self, worker: &WorkerId, draining: bool) {
        let now = Instant::now();
        let due =
            self.workers.lock().get_mut(worker).and_then(|it| it.report_if_due(worker, &self.role, draining, now));
        if let Some((report, ttl)) = due {
            self.register(report, ttl).await;
        }
    }

    async fn register(&self, report: WorkerReport, ttl: Duration) {
        if let Err(error) = self.engine.register_worker(report, ttl).await {
            tracing::debug!(%error, "a worker could not be registered");
        }
    }
}

impl HttpWorker {
    fn new(claimant: Claimant, now: Instant) -> Self {
        Self { claimant, held: HashMap::new(), settled: 0, slots: 0, heard_at: now, registered: None }
    }

    /// Its report and for how long it counts, if it was heard of since the last and that is old or says something else.
    fn report_if_due(
        &mut self,
        worker: &WorkerId,
        role: &RoleName,
        draining: bool,
        now: Instant,
    ) -> Option<(WorkerReport, Duration)> {
        let running = self.running(now);
        if let Some((at, reported)) = self.registered
            && (self.heard_at < at || reported == running && now < at + EVERY)
        {
            return None;
        }
        self.registered = Some((now, running));
        let report = self.report(worker, role.clone(), draining, running);
        Some((report, self.claimant.lease.clamp(LISTED.0, LISTED.1)))
    }

    fn running(&self, now: Instant) -> usize {
        self.held.values().filter(|ends| **ends > now).count()
    }

    fn report(&self, worker: &WorkerId, role: RoleName, draining: bool, running: usize) -> WorkerReport {
        let Claimant { host, version, queues, tasks, .. } = &self.claimant;
        let count = |tasks: usize| u32::try_from(tasks).unwrap_or(u32::MAX);
        WorkerReport {
            id: worker.clone(),
            host: host.clone(),
            pid: 0,
            version: version.clone(),
            role,
            queues: queues.clone(),
            slots: count(self.slots),
            running: count(running),
            state: if draining { WorkerState::Draining } else { WorkerState::Running },
            tasks: tasks.clone(),
            settled: self.settled,
            catalogue: None,
            left: Vec::new(),
            draining_for: None,
            done_within: None,
            hung_threads: Vec::new(),
            blocking: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::Workers;
    use jobbers_law::model::ModelEngine;

    use super::*;

    fn claimant(limit: usize) -> Claimant {
        Claimant {
            host: "127.0.0.1".to_owned(),
            version: "python".to_owned(),
            queues: vec![QueueName::new("default").unwrap()],
            tasks: vec!["resize@1".to_owned()],
            limit,
            lease: Duration::from_secs(30),
        }
    }

    #[tokio::test]
    async fn what_a_worker_holds_is_counted_from_its_requests() {
        let engine = Arc::new(ModelEngine::with_system_clock());
        let workers = HttpWorkers::new(Arc::clone(&engine) as Arc<dyn Engine>);
        let (worker, id) = (WorkerId::new("py").unwrap(), TaskId::new("x").unwrap());
        let listed = async || {
            workers.register_due(None).await;
            let report = engine.workers().await.unwrap().remove(0).report;
            (report.running, report.slots, report.settled)
        };
        workers.asks(&worker, claimant(3));
        assert_eq!(listed().await, (0, 3, 0));
        workers.holds(&worker, [&id], Duration::from_secs(30));
        assert_eq!(listed().await, (1, 3, 0), "reported at once, as it is news");
        workers.asks(&worker, claimant(2));
        workers.lets_go(&worker, [&id], 1);
        assert_eq!(listed().await, (0, 3, 1), "it held one when it asked for two more");
    }

    #[tokio::test]
    async fn a_worker_that_fell_silent_is_not_registered_again() {
        let engine = Arc::new(ModelEngine::with_system_clock());
        let workers = HttpWorkers::new(Arc::clone(&engine) as Arc<dyn Engine>);
        let (worker, id) = (WorkerId::new("py").unwrap(), TaskId::new("x").unwrap());
        workers.asks(&worker, claimant(1));
        workers.holds(&worker, [&id], Duration::ZERO);
        workers.register_now(&worker, false).await;
        engine.deregister_worker(&worker).await.unwrap();
        workers.register_due(None).await;
        assert!(engine.workers().await.unwrap().is_empty());
        workers.waits(&worker);
        workers.workers.lock().get_mut(&worker).unwrap().registered = None;
        workers.register_due(None).await;
        assert_eq!(engine.workers().await.unwrap().len(), 1);
    }
}
