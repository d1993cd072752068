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
    dependency::added::NewDependency,
    engine::{
        AuditRequest, Audited, Cancelled, Cycle, CycleReply, DeadKey, DeleteRole, Deleted, DueRuns, DueSchedules, Duty,
        DutyClaim, Engine, Error, ExtendAnswer, Extension, Fire, Fired, Health, ListRequest, Outbox, Page, Parents,
        ParentsRequest, PruneRequest, Pruned, PutMode, PutRun, PutSchedule, QueueListRequest, QueuePage, QueuePlace,
        QueueStats, Reclaimed, Resubmit, Resubmitted, Result, RunCounts, RunQuery, ScheduleEntry, StoredRun,
        StoredSchedule, Submit, Submitted, TaskDeletion,
    },
    lifecycle::Status,
    name::{DutyName, HolderId, QueueName, RoleName, ScheduleName, SignalName, TaskId, WorkerId, WorkflowId},
    queue::{Config, QueueConfig, RoleConfig},
    registry::{Catalogue, CatalogueId},
    routing::{RouteKey, RouteRule},
    signal::Signalled,
    task::Task,
    tombstone::Tombstone,
    worker::{RegisteredWorker, WorkerReport},
    workflow::Run,
};
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

    fn reach(&self) -> Result<()> {
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
impl Engine for Faulty {
    fn boards(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::boards::Boards> {
        Arc::clone(&self.inner).boards()
    }

    fn backup(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::backup::Backup> {
        Arc::clone(&self.inner).backup()
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        let settles = !cycle.settlements.is_empty();
        if settles && self.down.load(Ordering::SeqCst) {
            self.settlements_refused.fetch_add(1, Ordering::SeqCst);
        }
        self.reach()?;
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
        self.reach()?;
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

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        self.inner.statuses(ids).await
    }
    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        self.inner.parents(request).await
    }

    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        self.inner.put_workflow(run, put).await
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        self.inner.workflow(id).await
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        self.inner.workflow_definition(id).await
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        self.inner.list_workflows(query).await
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        self.inner.delete_workflow(id, revision).await
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        self.inner.due_workflows(limit).await
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        self.inner.count_workflows().await
    }

    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        self.reach()?;
        let version = self.inner.register_worker(report, ttl).await;
        self.called.notify_waiters();
        version
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.reach()?;
        self.inner.deregister_worker(worker).await
    }

    async fn wait(&self, worker: &WorkerId, timeout: Duration) {
        self.inner.wait(worker, timeout).await;
    }

    async fn config(&self) -> Result<Arc<Config>> {
        self.reach()?;
        self.configs.fetch_add(1, Ordering::SeqCst);
        let config = self.inner.config().await?;
        let version = self.behind(config.version);
        Ok(Arc::new(Config { version, ..Config::clone(&config) }))
    }

    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        self.inner.submit(batch).await
    }
    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        self.inner.signal(id, name, keep).await
    }
    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        self.inner.add_dependencies(edges).await
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        self.inner.get(id).await
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        self.inner.tombstone(id).await
    }

    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        self.inner.await_finished(id, timeout).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        self.inner.list(request).await
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        self.inner.place(id).await
    }

    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        self.inner.queue_stats(queue).await
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        self.inner.list_queues(request).await
    }

    async fn health(&self) -> Result<Health> {
        self.inner.health().await
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        self.inner.cancel(ids).await
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        self.inner.resubmit(batch).await
    }

    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        self.inner.dead_letters(after, limit).await
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        self.inner.forget_dead_letters(keys).await
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        self.inner.forget_receipts(keys).await
    }

    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        self.inner.claim_duty(claim).await
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        self.inner.duty(duty).await
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        self.inner.release_duty(duty, holder).await
    }

    async fn promote_due(&self, limit: usize) -> Result<u64> {
        self.inner.promote_due(limit).await
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        self.inner.reclaim_expired(limit).await
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        self.inner.prune(request).await
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        self.inner.purge_queue(queue, limit).await
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        self.inner.delete_tasks(ids, cascade).await
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        self.inner.audit(request).await
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        self.inner.move_tasks(from, to, limit).await
    }

    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        self.inner.put_schedule(entry, put).await
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        self.inner.schedule(name).await
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        self.inner.list_schedules(after, limit).await
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        self.inner.delete_schedule(name, revision).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        self.inner.due_schedules(limit).await
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        self.inner.fire_schedule(fire).await
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        self.inner.create_queues(queues).await
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        self.inner.put_queue(queue, mode).await
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        self.inner.delete_queue(queue, expected).await
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        self.inner.put_role(role, mode).await
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        self.inner.delete_role(role, on).await
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        self.inner.put_route(key, rule).await
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        self.inner.delete_route(key).await
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        self.inner.workers().await
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        self.inner.set_draining(worker, draining).await
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        self.inner.keep_catalogue(catalogue, ttl).await
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        self.inner.catalogue(id).await
    }
}
