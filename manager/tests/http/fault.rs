//! The reference engine, made to fail, to panic and to be watched.

use std::{sync::Arc, time::Duration};

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
use jobbers_law::model::ModelEngine;
use tokio::sync::watch;

/// What every verb does first.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fault {
    #[default]
    None,
    Fails(Error),
    Panics,
}

#[derive(Debug)]
pub(crate) struct FaultyEngine {
    inner: Arc<ModelEngine>,
    fault: watch::Sender<Fault>,
    waiting: watch::Sender<usize>,
    /// Claims carried out, and whether their answers are held back.
    claims: watch::Sender<usize>,
    holds_claims: watch::Sender<bool>,
}

impl FaultyEngine {
    pub(crate) fn new() -> Self {
        Self {
            inner: Arc::new(ModelEngine::with_system_clock()),
            fault: watch::Sender::new(Fault::None),
            waiting: watch::Sender::new(0),
            claims: watch::Sender::new(0),
            holds_claims: watch::Sender::new(false),
        }
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Returns when so many long polls are under way.
    pub(crate) async fn waits(&self, count: usize) {
        self.waiting.subscribe().wait_for(|waiting| *waiting == count).await.unwrap();
    }

    /// Holds answers to claims back, or lets them go.
    pub(crate) fn hold_claims(&self, hold: bool) {
        self.holds_claims.send_replace(hold);
    }

    /// Returns when so many claims have been carried out.
    pub(crate) async fn claims(&self, count: usize) {
        self.claims.subscribe().wait_for(|claims| *claims >= count).await.unwrap();
    }

    fn well(&self) -> Result<&ModelEngine> {
        match &*self.fault.borrow() {
            Fault::None => Ok(&self.inner),
            Fault::Fails(error) => Err(error.clone()),
            Fault::Panics => panic!("a defect"),
        }
    }
}

/// Counts a long poll for as long as its future lives.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

#[async_trait]
impl Engine for FaultyEngine {
    fn boards(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::boards::Boards> {
        Arc::clone(&self.inner).boards()
    }

    fn backup(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::backup::Backup> {
        Arc::clone(&self.inner).backup()
    }

    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        self.well()?.submit(batch).await
    }
    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        self.well()?.signal(id, name, keep).await
    }
    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        self.well()?.add_dependencies(edges).await
    }
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        let claims = cycle.claim.is_some();
        let reply = self.well()?.cycle(cycle).await;
        if claims {
            self.claims.send_modify(|claims| *claims += 1);
            self.holds_claims.subscribe().wait_for(|holds| !holds).await.unwrap();
        }
        reply
    }
    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        self.well()?.extend(worker, lease, extensions).await
    }
    async fn wait(&self, worker: &WorkerId, timeout: Duration) {
        self.inner.wait(worker, timeout).await;
    }
    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        self.well()?.get(id).await
    }
    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        self.well()?.tombstone(id).await
    }
    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let _counted = Waiting(&self.waiting);
        self.well()?.await_finished(id, timeout).await
    }
    async fn list(&self, request: ListRequest) -> Result<Page> {
        self.well()?.list(request).await
    }
    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        self.well()?.place(id).await
    }
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        self.well()?.queue_stats(queue).await
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        self.well()?.list_queues(request).await
    }
    async fn health(&self) -> Result<Health> {
        self.well()?.health().await
    }
    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        self.well()?.cancel(ids).await
    }
    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        self.well()?.resubmit(batch).await
    }
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        self.well()?.dead_letters(after, limit).await
    }
    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        self.well()?.forget_dead_letters(keys).await
    }
    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        self.well()?.forget_receipts(keys).await
    }
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        self.well()?.claim_duty(claim).await
    }
    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        self.well()?.duty(duty).await
    }
    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        self.well()?.release_duty(duty, holder).await
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
        self.well()?.purge_queue(queue, limit).await
    }
    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        self.well()?.delete_tasks(ids, cascade).await
    }
    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        self.well()?.audit(request).await
    }
    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        self.well()?.move_tasks(from, to, limit).await
    }
    async fn config(&self) -> Result<Arc<Config>> {
        self.inner.config().await
    }
    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        self.well()?.put_schedule(entry, put).await
    }
    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        self.well()?.schedule(name).await
    }
    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        self.well()?.list_schedules(after, limit).await
    }
    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        self.well()?.delete_schedule(name, revision).await
    }
    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        self.well()?.due_schedules(limit).await
    }
    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        self.well()?.fire_schedule(fire).await
    }
    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        self.well()?.create_queues(queues).await
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        self.well()?.put_queue(queue, mode).await
    }
    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        self.well()?.delete_queue(queue, expected).await
    }
    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        self.well()?.put_role(role, mode).await
    }
    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        self.well()?.delete_role(role, on).await
    }
    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        self.well()?.put_route(key, rule).await
    }
    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        self.well()?.delete_route(key).await
    }
    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        self.well()?.statuses(ids).await
    }
    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        self.well()?.parents(request).await
    }
    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        self.well()?.put_workflow(run, put).await
    }
    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        self.well()?.workflow(id).await
    }
    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        self.well()?.workflow_definition(id).await
    }
    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        self.well()?.list_workflows(query).await
    }
    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        self.well()?.delete_workflow(id, revision).await
    }
    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        self.well()?.due_workflows(limit).await
    }
    async fn count_workflows(&self) -> Result<RunCounts> {
        self.well()?.count_workflows().await
    }
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        self.inner.register_worker(report, ttl).await
    }
    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.inner.deregister_worker(worker).await
    }
    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        self.well()?.workers().await
    }
    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        self.well()?.set_draining(worker, draining).await
    }
    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        self.inner.keep_catalogue(catalogue, ttl).await
    }
    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        self.inner.catalogue(id).await
    }
}
