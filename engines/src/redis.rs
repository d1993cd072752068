//! Redis behind [`Engine`]: one primary, many machines.
//!
//! Each verb is one call of one script (`redis/scripts`), which is one atomic step. `redis/kernel/keys.rs` lists what each key
//! holds, and `redis/kernel/layout.rs` the layout of the strings. The engine's own state is only its connections and the
//! waiting callers of this process; any number of engines work on one store side by side.
//!
//! It follows its primary wherever Sentinels or a Cluster move it (`server/primary.rs`). It deliberately uses one slot of
//! a Cluster only: every key carries the hash tag of the only shard.
//! Start reading at `redis/verbs/work.rs` and `redis/scripts/verbs/cycle.lua`: the worker's loop.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    dependency::added::NewDependency,
    engine::{
        AuditRequest, Audited, Cancelled, Cycle, CycleReply, DeadKey, DeleteRole, Deleted, DueRuns, DueSchedules, Duty,
        DutyClaim, Engine, ExtendAnswer, Extension, Fire, Fired, Health, ListRequest, LoggedChanges, LoggedKey, Outbox,
        Page, Parents, ParentsRequest, PruneRequest, Pruned, PutMode, PutRun, PutSchedule, QueueListRequest, QueuePage,
        QueuePlace, QueueStats, Reclaimed, Resubmit, Resubmitted, Result, RunCounts, RunQuery, ScheduleEntry,
        StoredRun, StoredSchedule, Submit, Submitted, TaskDeletion,
    },
    lifecycle::Status,
    name::{
        ChangeId, DutyName, HolderId, KeyId, QueueName, RoleName, ScheduleName, SignalName, TaskId, WorkerId,
        WorkflowId,
    },
    queue::{Config, QueueConfig, RoleConfig},
    registry::{Catalogue, CatalogueId},
    routing::{RouteKey, RouteRule},
    signal::Signalled,
    task::Task,
    tombstone::Tombstone,
    worker::{RegisteredWorker, WorkerReport},
    workflow::Run,
};
use tokio::time::timeout;

use self::{
    boards::calls::Lines,
    read::health::check_durability,
    server::{
        address::Address, awaited_tasks::LOOK_AGAIN_SOON, following::follow_primary, primary::Primary, store::Store,
    },
    verbs::submit::Submitter,
};
use crate::{options::OpenOptions, pieces};

mod audit;
mod audit_log;
mod backup;
mod boards;
mod follow;
mod kernel;
mod read;
mod schedules;
mod server;
mod verbs;
mod workflows;

/// A store on a Redis server.
#[derive(Debug)]
pub struct RedisEngine {
    store: Arc<Store>,
    submitter: Submitter,
    board_lines: Lines,
}

impl RedisEngine {
    /// Connects to the server at `url` and creates the store if it does not exist, unless [`OpenOptions::must_exist`].
    ///
    /// # Errors
    /// [`Error::Config`](jobbers_common::engine::Error::Config) for an invalid address, a refused login, or a database
    /// without a store if one must exist, [`Error::Schema`](jobbers_common::engine::Error::Schema) for a store of a
    /// newer version, [`Error::Unavailable`](jobbers_common::engine::Error::Unavailable) if the server does not answer.
    pub async fn open(url: &str, options: OpenOptions) -> Result<Self> {
        let store = Arc::new(Store::open(Address::parse(url)?, options).await?);
        check_durability(&store).await?;
        follow_primary(&store);
        let submitter = Submitter::start(Arc::clone(&store));
        let board_lines = Lines::start(&store);
        Ok(Self { store, submitter, board_lines })
    }
}

/// A client for the server that takes the writes of the store at `url`: for what is no verb of a store, as measuring a bare
/// server.
///
/// # Errors
/// As [`RedisEngine::open`]; the store itself may be missing.
pub async fn primary(url: &str) -> Result<redis::Client> {
    let Address { client, directory, .. } = Address::parse(url)?;
    let primary = Primary::open(directory, client).await?;
    let client = primary.lead().client.clone();
    Ok(client)
}

#[async_trait]
impl Engine for RedisEngine {
    fn boards(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::boards::Boards> {
        self
    }

    fn backup(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::backup::Backup> {
        self
    }

    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        batch.validate()?;
        pieces::submit(
            self,
            batch,
            |batch| self.submitter.submit(batch),
            || async { Ok(follow::dependencies::link_pieces(&self.store).await? > 0) },
        )
        .await
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        follow::dependencies::add(&self.store, edges).await
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        verbs::work::cycle(&self.store, &cycle).await
    }

    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        verbs::work::extend(&self.store, worker, lease, &extensions).await
    }

    async fn wait(&self, worker: &WorkerId, limit: Duration) {
        self.store.leases.follow();
        let told = self.store.notifications.of_worker(worker);
        timeout(limit.min(LOOK_AGAIN_SOON), told.notified()).await.ok();
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        read::look::get(&self.store, id).await
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        follow::tombstones::find(&self.store, id).await
    }

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        workflows::statuses(&self.store, ids).await
    }

    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        follow::parents::read(&self.store, &request).await
    }

    async fn await_finished(&self, id: &TaskId, limit: Duration) -> Result<Option<Task>> {
        read::awaiting::await_finished(&self.store, id, limit).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        read::list::list(&self.store, &request).await
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        read::look::place(&self.store, id).await
    }

    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        read::look::queue_stats(&self.store, queue).await
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        read::look::list_queues(&self.store, &request).await
    }

    async fn health(&self) -> Result<Health> {
        read::health::health(&self.store).await
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        verbs::work::cancel(&self.store, ids).await
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        verbs::resubmit::resubmit(&self.store, batch).await
    }

    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        follow::dependencies::signal(&self.store, id, name, keep).await
    }

    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        follow::letters::letters(&self.store, after, limit).await
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        follow::letters::forget(&self.store, keys, &kernel::script::FORGET_DEAD_LETTERS).await
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        follow::letters::forget(&self.store, keys, &kernel::script::FORGET_RECEIPTS).await
    }

    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()> {
        audit_log::begin(&self.store, id, record).await
    }

    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool> {
        audit_log::end(&self.store, id, outcome).await
    }

    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges> {
        audit_log::read(&self.store, after, limit).await
    }

    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()> {
        audit_log::forget(&self.store, keys).await
    }

    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        verbs::duty::claim(&self.store, &claim).await
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        verbs::duty::look(&self.store, duty).await
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        verbs::duty::release(&self.store, duty, holder).await
    }

    async fn promote_due(&self, limit: usize) -> Result<u64> {
        verbs::keep::promote_due(&self.store, limit).await
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        verbs::keep::reclaim_expired(&self.store, limit).await
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        verbs::prune::prune(&self.store, &request).await
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        verbs::keep::purge_queue(&self.store, queue, limit).await
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        verbs::keep::delete_tasks(&self.store, ids, cascade).await
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        audit::audit(&self.store, &request).await
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        verbs::keep::move_tasks(&self.store, from, to, limit).await
    }

    async fn config(&self) -> Result<Arc<Config>> {
        verbs::arrange::read(&self.store).await
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        verbs::queues::create(&self.store, queues).await
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        verbs::arrange::put_queue(&self.store, &queue, &mode).await
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        verbs::arrange::delete_queue(&self.store, queue, expected.as_ref()).await
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        verbs::arrange::put_role(&self.store, &role, &mode).await
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        verbs::arrange::delete_role(&self.store, role, &on).await
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        verbs::arrange::put_route(&self.store, &key, &rule).await
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        verbs::arrange::delete_route(&self.store, key).await
    }

    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>> {
        verbs::arrange::put_key(&self.store, &key, &mode).await
    }

    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>> {
        verbs::arrange::delete_key(&self.store, key).await
    }

    async fn put_session(&self, id: &Digest, session: &Session, ttl: Duration) -> Result<()> {
        verbs::session::put(&self.store, id, session, ttl).await
    }

    async fn session(&self, id: &Digest) -> Result<Option<Session>> {
        verbs::session::look(&self.store, id).await
    }

    async fn end_session(&self, id: &Digest) -> Result<()> {
        verbs::session::end(&self.store, id).await
    }

    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        schedules::put(&self.store, &entry, put).await
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        schedules::find(&self.store, name).await
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        schedules::list(&self.store, after, limit).await
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        schedules::delete(&self.store, name, revision).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        schedules::due(&self.store, limit).await
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        schedules::fire(&self.store, fire).await
    }

    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        workflows::put(&self.store, &run, put).await
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        workflows::find(&self.store, id).await
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        workflows::definition(&self.store, id).await
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        workflows::list(&self.store, &query).await
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        workflows::delete(&self.store, id, revision).await
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        workflows::due(&self.store, limit).await
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        workflows::count(&self.store).await
    }

    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        verbs::arrange::register(&self.store, &report, ttl).await
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        verbs::arrange::deregister(&self.store, worker).await
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        verbs::arrange::workers(&self.store).await
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        verbs::arrange::set_draining(&self.store, worker, draining).await
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        verbs::arrange::keep_catalogue(&self.store, catalogue, ttl).await
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        verbs::arrange::catalogue(&self.store, id).await
    }
}
