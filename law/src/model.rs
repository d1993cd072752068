//! The law of [`Engine`] as a small program: everything in one map behind one lock, nothing clever.
//!
//! It is what the real engines are compared with, and a store for unit tests. It keeps nothing beyond its life, and its
//! costs grow with the number of tasks. Start reading at `state.rs`; then one function per verb.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;

use jobbers_common::engine::{
    AuditRequest, Audited, Cancelled, Cycle, CycleReply, DeadKey, DeleteRole, Deleted, DueRuns, DueSchedules, Duty,
    DutyClaim, Engine, Error, ExtendAnswer, Extension, Fire, Fired, Health, ListRequest, LoggedChanges, LoggedKey,
    Outbox, Page, Parents, ParentsRequest, PruneRequest, Pruned, PutMode, PutRun, PutSchedule, QueueListRequest,
    QueuePage, QueuePlace, QueueStats, Reclaimed, Resubmit, Resubmitted, Result, RunCounts, RunQuery, ScheduleEntry,
    StoredRun, StoredSchedule, Submit, Submitted, TaskDeletion,
    audit_log::{self as log, validate_record},
    dead::{validate_forget, validate_resubmit},
    keep::{validate_creation, validate_move, validate_task_deletion},
    look::validate_limit,
    work::validate_extend,
    workflows::{encode_run, validate_definition, validate_ids},
};
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    dependency::added::{NewDependency, validate_new},
    lifecycle::Status,
    name::{
        ChangeId, DutyName, HolderId, KeyId, QueueName, RoleName, ScheduleName, SignalName, TaskId, WorkerId,
        WorkflowId,
    },
    queue::{Config, QueueConfig, RoleConfig},
    registry::{Catalogue, CatalogueId},
    routing::{RouteKey, RouteRule},
    signal::{Signalled, validate_keep},
    task::Task,
    time::{Clock, Timestamp},
    tombstone::{Tombstone, TombstoneHealth},
    worker::{RegisteredWorker, WorkerReport},
    workflow::Run,
};

mod arrange;
mod audit;
mod audit_log;
mod backup;
mod board;
mod boards;
mod dead;
mod dependency;
mod gates;
mod keep;
mod look;
mod parents;
mod records;
mod schedules;
mod state;
mod submit;
mod unique;
mod work;
mod workflows;

use state::State;

/// The reference store.
pub struct ModelEngine {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// One per worker that ever waited; a permit is kept for one that is not waiting yet.
    wakers: Mutex<HashMap<WorkerId, Arc<Notify>>>,
    /// Told whenever a task is over.
    finished: Notify,
    /// Notified at each commit to a board.
    committed: Notify,
}

impl fmt::Debug for ModelEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelEngine")
    }
}

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl ModelEngine {
    /// An empty store that goes by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            wakers: Mutex::default(),
            finished: Notify::new(),
            committed: Notify::new(),
        }
    }

    /// An empty store that goes by the system's clock.
    #[must_use]
    pub fn with_system_clock() -> Self {
        Self::new(Arc::new(SystemClock))
    }

    /// Runs one verb, then wakes whom it concerns.
    fn step<T>(&self, verb: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let mut state = self.state.lock();
        let now = self.clock.now();
        let answer = verb(&mut state, now);
        state.signal_all(now);
        let wakes = std::mem::take(&mut state.wakes);
        let finished = std::mem::take(&mut state.something_finished);
        drop(state);
        for worker in wakes {
            self.waker(&worker).notify_one();
        }
        if finished {
            self.finished.notify_waiters();
        }
        answer
    }

    fn waker(&self, worker: &WorkerId) -> Arc<Notify> {
        Arc::clone(self.wakers.lock().entry(worker.clone()).or_default())
    }
}

#[async_trait]
impl Engine for ModelEngine {
    fn boards(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::boards::Boards> {
        self
    }

    fn backup(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::backup::Backup> {
        self
    }

    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        batch.validate()?;
        self.step(|state, now| state.submit(batch, now))
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        validate_new(edges)?;
        self.step(|state, now| state.add_dependencies(edges, now))
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        cycle.validate()?;
        Ok(self.step(|state, now| state.cycle(cycle, now)))
    }

    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        validate_extend(lease, &extensions)?;
        Ok(self.step(|state, now| {
            extensions.into_iter().map(|extension| state.extend(worker, extension, lease, now)).collect()
        }))
    }

    async fn wait(&self, worker: &WorkerId, timeout: Duration) {
        let waker = self.waker(worker);
        tokio::time::timeout(timeout, waker.notified()).await.ok();
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        Ok(self.step(|state, _| state.task(id)))
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        Ok(self.step(|state, now| state.tombstone(id, now).cloned()))
    }

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        validate_ids(ids)?;
        Ok(self.step(|state, now| state.statuses(ids, now)))
    }

    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        request.validate()?;
        Ok(self.step(|state, now| state.parents(&request, now)))
    }

    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            finished.as_mut().enable();
            let task = self.get(id).await?;
            if task.as_ref().is_none_or(|task| task.status.is_finished()) {
                return Ok(task);
            }
            if tokio::time::timeout_at(deadline, finished).await.is_err() {
                return self.get(id).await;
            }
        }
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        request.validate()?;
        self.step(|state, _| state.list(&request))
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        Ok(self.step(|state, now| state.place(id, now)))
    }

    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        self.step(|state, _| state.queue_stats(queue))
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        validate_limit(request.limit)?;
        Ok(self.step(|state, _| state.list_queues(&request)))
    }

    async fn health(&self) -> Result<Health> {
        Ok(Health {
            engine: "model",
            store: "model:".to_owned(),
            durability: "none: memory only".to_owned(),
            warnings: Vec::new(),
            troubles: Vec::new(),
            now: self.clock.now(),
            outbox: self.step(|state, _| state.outbox.len() as u64),
            tombstones: TombstoneHealth { count: self.step(|state, _| state.tombstones.len() as u64), cut_at: None },
        })
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        if ids.len() > jobbers_common::limits::MAX_BATCH {
            return Err(Error::Invalid("a call cancels at most 1000 tasks".to_owned()));
        }
        Ok(self.step(|state, now| ids.iter().map(|id| state.cancel(id, now)).collect()))
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        validate_resubmit(&batch)?;
        Ok(self.step(|state, now| batch.into_iter().map(|wish| state.resubmit(wish, now)).collect()))
    }

    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        validate_keep(keep).map_err(Error::Invalid)?;
        Ok(self.step(|state, now| state.signal(id, name, keep, now)))
    }

    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        validate_limit(limit)?;
        Ok(self.step(|state, _| state.dead_letters(after, limit)))
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        self.step(|state, _| state.forget_dead_letters(keys));
        Ok(())
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        self.step(|state, _| state.forget_receipts(keys));
        Ok(())
    }

    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()> {
        validate_record(record)?;
        self.step(|state, now| state.log_change(id, record, now))
    }

    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool> {
        validate_record(outcome)?;
        Ok(self.step(|state, _| state.log_outcome(id, outcome)))
    }

    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.logged_changes(after, limit, now)))
    }

    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()> {
        log::validate_forget(keys)?;
        self.step(|state, _| state.forget_logged_changes(keys));
        Ok(())
    }

    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        claim.validate()?;
        Ok(self.step(|state, now| state.claim_duty(claim, now)))
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        Ok(self.step(|state, now| state.duty(duty, now)))
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        self.step(|state, now| state.release_duty(duty, holder, now));
        Ok(())
    }

    async fn promote_due(&self, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| {
            state.time_out(now);
            state.promote_due(None, limit, now)
        }))
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.reclaim_expired(None, limit, now)))
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        request.validate()?;
        self.step(|state, now| state.prune(&request, now))
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        self.step(|state, _| state.purge_queue(queue, limit))
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        validate_task_deletion(ids)?;
        Ok(self.step(|state, now| state.delete_tasks(ids, cascade, now)))
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        request.validate()?;
        self.step(|state, _| state.audit(&request))
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        validate_move(from, to, limit)?;
        self.step(|state, _| state.move_tasks(from, to, limit))
    }

    async fn config(&self) -> Result<Arc<Config>> {
        Ok(self.step(|state, _| Arc::clone(&state.config)))
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        validate_creation(queues)?;
        self.step(|state, _| state.create_queues(queues));
        Ok(())
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_queue(queue, &mode))
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        self.step(|state, now| state.delete_queue(queue, expected.as_ref(), now))
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_role(role, &mode))
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        self.step(|state, now| state.delete_role(role, &on, now))
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_route(key, rule))
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        Ok(self.step(|state, _| state.delete_route(key)))
    }

    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_key(key, &mode))
    }

    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>> {
        self.step(|state, _| state.delete_key(key))
    }

    async fn put_session(&self, id: &Digest, session: &Session, ttl: Duration) -> Result<()> {
        self.step(|state, now| state.put_session(id, session, now.after(ttl), now));
        Ok(())
    }

    async fn session(&self, id: &Digest) -> Result<Option<Session>> {
        Ok(self.step(|state, now| state.session(id, now)))
    }

    async fn end_session(&self, id: &Digest) -> Result<()> {
        self.step(|state, _| state.sessions.remove(&id.to_string()));
        Ok(())
    }

    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        entry.encode()?;
        self.step(|state, _| state.put_schedule(entry, put))
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        Ok(self.step(|state, _| state.schedules.get(name).cloned()))
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        validate_limit(limit)?;
        Ok(self.step(|state, _| state.list_schedules(after, limit)))
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        self.step(|state, _| state.delete_schedule(name, revision))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.due_schedules(limit, now)))
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        fire.validate()?;
        fire.entry.encode()?;
        self.step(|state, now| state.fire_schedule(fire, now))
    }

    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        encode_run(&run)?;
        if let PutRun::Create(definition) = &put {
            validate_definition(definition)?;
        }
        self.step(|state, _| state.put_workflow(run, put))
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        Ok(self.step(|state, _| state.workflows.get(id).map(|(stored, _)| stored.clone())))
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        Ok(self.step(|state, _| state.workflows.get(id).map(|(_, definition)| definition.clone())))
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        query.validate()?;
        Ok(self.step(|state, _| state.list_workflows(&query)))
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        self.step(|state, _| state.delete_workflow(id, revision))
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.due_workflows(limit, now)))
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        Ok(self.step(|state, _| state.count_workflows()))
    }

    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        Ok(self.step(|state, now| state.register_worker(report, ttl, now)))
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.step(|state, _| state.deregister_worker(worker));
        Ok(())
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        Ok(self.step(|state, now| state.workers.values().filter(|worker| worker.expires_at > now).cloned().collect()))
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        self.step(|state, now| state.set_draining(worker, draining, now))
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        let (id, _) = catalogue.encode()?;
        self.step(|state, now| state.catalogues.insert(id, (catalogue.clone(), now.after(ttl))));
        Ok(id)
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        let kept = |state: &mut State, now| state.catalogues.get(&id).filter(|(_, until)| *until > now).cloned();
        Ok(self.step(kept).map(|(catalogue, _)| catalogue))
    }
}
