//! A store that can be made to fail, and that reports each call.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jobbers_common::{
    engine::{Cycle, CycleReply, Engine, Error, ExtendAnswer, Extension, Result},
    name::WorkerId,
    queue::Config,
    worker::WorkerReport,
};
use jobbers_law::double::Behaviour;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Decides whether and how a cycle is refused.
type Refusal = fn(&Cycle) -> Option<Error>;
/// The same for a call that extends leases.
type ExtendRefusal = fn(&[Extension]) -> Option<Error>;

#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn Engine>,
    called: Notify,
    /// No worker's call gets through.
    down: AtomicBool,
    /// The next cycle that settles is carried out, and its answer lost.
    lose_answer: AtomicBool,
    /// Cycles are carried out, and their answers lost.
    one_way: AtomicBool,
    /// Which cycles are refused, and how.
    refusal: Mutex<Option<Refusal>>,
    extend_refusal: Mutex<Option<ExtendRefusal>>,
    /// By how much the reported version of the configuration is too small.
    behind: AtomicU64,
    /// Whether answers with tasks are held back.
    held: AtomicBool,
    let_go: Notify,
    /// Calls that extend leases.
    pub(crate) extends: AtomicU64,
    /// Progress heartbeats that were written.
    pub(crate) heartbeats: AtomicU64,
    /// Calls that failed, and the settlements in them.
    pub(crate) refused: AtomicU64,
    pub(crate) settlements_refused: AtomicU64,
    /// Leases that were renewed.
    pub(crate) renewed: AtomicU64,
    /// Cycles that were carried out.
    pub(crate) cycles: AtomicU64,
    /// How often the configuration was read.
    pub(crate) configs: AtomicU64,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Engine>) -> Self {
        Self {
            inner,
            called: Notify::new(),
            down: AtomicBool::new(false),
            lose_answer: AtomicBool::new(false),
            one_way: AtomicBool::new(false),
            refusal: Mutex::new(None),
            extend_refusal: Mutex::new(None),
            behind: AtomicU64::new(0),
            held: AtomicBool::new(false),
            let_go: Notify::new(),
            extends: AtomicU64::new(0),
            heartbeats: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            settlements_refused: AtomicU64::new(0),
            renewed: AtomicU64::new(0),
            cycles: AtomicU64::new(0),
            configs: AtomicU64::new(0),
        }
    }

    pub(crate) fn go_down(&self) {
        self.down.store(true, Ordering::SeqCst);
    }

    pub(crate) fn come_back(&self) {
        self.down.store(false, Ordering::SeqCst);
    }

    pub(crate) fn lose_the_next_answer(&self) {
        self.lose_answer.store(true, Ordering::SeqCst);
    }

    pub(crate) fn lose_answers(&self, lost: bool) {
        self.one_way.store(lost, Ordering::SeqCst);
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        *self.refusal.lock() = Some(refusal);
    }

    pub(crate) fn refuse_to_extend(&self, refusal: ExtendRefusal) {
        *self.extend_refusal.lock() = Some(refusal);
    }

    pub(crate) fn refuse_nothing(&self) {
        *self.refusal.lock() = None;
    }

    /// From now on, reported versions are this much smaller.
    pub(crate) fn go_back(&self, versions: u64) {
        self.behind.store(versions, Ordering::SeqCst);
    }

    pub(crate) fn hold_claims(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    pub(crate) fn let_claims_go(&self) {
        self.held.store(false, Ordering::SeqCst);
        self.let_go.notify_one();
    }

    /// The next call a worker makes, from now on.
    pub(crate) fn called(&self) -> impl Future<Output = ()> + '_ {
        let mut called = Box::pin(self.called.notified());
        called.as_mut().enable();
        called
    }

    fn check_up(&self) -> Result<()> {
        if self.down.load(Ordering::SeqCst) {
            return self.fail(Error::unavailable("it is down"));
        }
        Ok(())
    }

    fn fail<T>(&self, error: Error) -> Result<T> {
        self.refused.fetch_add(1, Ordering::SeqCst);
        self.called.notify_waiters();
        Err(error)
    }

    fn behind(&self, version: u64) -> u64 {
        version - self.behind.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Behaviour for Faulty {
    fn store(&self) -> &Arc<dyn Engine> {
        &self.inner
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        let settles = !cycle.settlements.is_empty();
        if settles && self.down.load(Ordering::SeqCst) {
            self.settlements_refused.fetch_add(1, Ordering::SeqCst);
        }
        self.check_up()?;
        let refusal = self.refusal.lock().and_then(|refusal| refusal(&cycle));
        if let Some(error) = refusal {
            return self.fail(error);
        }
        let mut reply = self.inner.cycle(cycle).await;
        if self.one_way.load(Ordering::SeqCst) {
            return self.fail(Error::unavailable("the answer got lost"));
        }
        if let Ok(reply) = &mut reply {
            reply.config_version = self.behind(reply.config_version);
        }
        self.cycles.fetch_add(1, Ordering::SeqCst);
        self.called.notify_waiters();
        if reply.as_ref().is_ok_and(|reply| !reply.claimed.is_empty()) && self.held.load(Ordering::SeqCst) {
            self.let_go.notified().await;
        }
        if settles && self.lose_answer.swap(false, Ordering::SeqCst) {
            return Err(Error::unavailable("the answer got lost"));
        }
        reply
    }

    async fn extend(&self, worker: &WorkerId, lease: Duration, all: Vec<Extension>) -> Result<Vec<ExtendAnswer>> {
        self.check_up()?;
        let refusal = self.extend_refusal.lock().and_then(|refusal| refusal(&all));
        if let Some(error) = refusal {
            return self.fail(error);
        }
        let leases = all.len() as u64;
        self.extends.fetch_add(1, Ordering::SeqCst);
        let heartbeats = all.iter().filter(|one| one.heartbeat.is_some()).count() as u64;
        self.heartbeats.fetch_add(heartbeats, Ordering::SeqCst);
        let answers = self.inner.extend(worker, lease, all).await;
        self.renewed.fetch_add(leases, Ordering::SeqCst);
        self.called.notify_waiters();
        answers
    }

    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        self.check_up()?;
        let version = self.inner.register_worker(report, ttl).await;
        self.called.notify_waiters();
        version
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.check_up()?;
        self.inner.deregister_worker(worker).await
    }

    async fn config(&self) -> Result<Arc<Config>> {
        self.check_up()?;
        self.configs.fetch_add(1, Ordering::SeqCst);
        let config = self.inner.config().await?;
        let version = self.behind(config.version);
        Ok(Arc::new(Config { version, ..Config::clone(&config) }))
    }
}
