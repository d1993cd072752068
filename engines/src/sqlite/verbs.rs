//! The verbs of the store: what is checked before a verb goes to the writer or to a reader, and how much it adds.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    dependency::added::{NewDependency, validate_new},
    engine::{
        AuditRequest, Audited, Cancelled, Cycle, CycleReply, DeadKey, DeleteRole, Deleted, DueRuns, DueSchedules, Duty,
        DutyClaim, Engine, Error, ExtendAnswer, Extension, Fire, Fired, Health, ListRequest, LoggedChanges, LoggedKey,
        Outbox, Page, Parents, ParentsRequest, PruneRequest, PruneScope, Pruned, PutMode, PutRun, PutSchedule,
        QueueListRequest, QueuePage, QueuePlace, QueueStats, Reclaimed, Resubmit, Resubmitted, Result, RunCounts,
        RunQuery, ScheduleEntry, StoredRun, StoredSchedule, Submit, Submitted, TaskDeletion,
        audit_log::{self as log, validate_record},
        dead::{validate_forget, validate_resubmit},
        keep::{validate_creation, validate_move, validate_task_deletion},
        look::validate_limit,
        work::validate_extend,
        workflows::validate_ids,
    },
    lifecycle::Status,
    limits::{DEPENDENCIES_A_PIECE, MAX_BATCH},
    name::{
        ChangeId, DutyName, HolderId, KeyId, QueueName, RoleName, ScheduleName, SignalName, TaskId, WorkerId,
        WorkflowId,
    },
    queue::{Config, QueueConfig, RoleConfig},
    registry::{Catalogue, CatalogueId},
    routing::{RouteKey, RouteRule},
    signal::{Signalled, validate_keep},
    task::Task,
    tombstone::Tombstone,
    worker::{RegisteredWorker, WorkerReport},
    workflow::Run,
};
use tokio::time::timeout;

use super::{
    SqliteEngine, audit, audit_log,
    follow::{
        dependency::{self, external},
        gates, letters, parents, tombstones, waiting_bytes,
    },
    kernel::step,
    read::{health, list, look},
    schedules, sql, workflows,
};
use crate::pieces;

pub(super) mod arrange;
pub(super) mod cycle;
pub(super) mod delete;
pub(super) mod duty;
pub(super) mod lease;
pub(super) mod maintain;
pub(super) mod prune;
pub(super) mod registered;
pub(super) mod resubmit;
pub(super) mod session;
pub(super) mod settle;
pub(super) mod submit;

/// The most leases that one transaction takes back, and the most tasks that one call of an audit checks, because a
/// chore's transaction is short.
const RECLAIMED_A_PIECE: u64 = 300;
const AUDITED_A_PIECE: usize = 500;

#[async_trait]
impl Engine for SqliteEngine {
    fn boards(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::boards::Boards> {
        self
    }

    fn backup(self: Arc<Self>) -> Arc<dyn jobbers_common::engine::backup::Backup> {
        self
    }

    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        batch.validate()?;
        let store = |batch: Submit| {
            let growth = submit::growth(&batch);
            self.writer.grow(batch.tasks.len(), growth, move |step| submit::submit(step, &batch))
        };
        pieces::submit(self, batch, store, || self.writer.run(DEPENDENCIES_A_PIECE, dependency::pieces::link_some))
            .await
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        validate_new(edges)?;
        let growth = dependency::add::growth(edges.len());
        let edges: Arc<[NewDependency]> = edges.into();
        loop {
            let edges = Arc::clone(&edges);
            let weight = edges.len().max(DEPENDENCIES_A_PIECE);
            let added = self.writer.grow(weight, growth, move |step| dependency::add::add(step, &edges)).await?;
            if let Some(added) = added {
                return Ok(added);
            }
        }
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        cycle.validate()?;
        self.writer.run(cycle::weight(&cycle), move |step| cycle::run(step, &cycle)).await
    }

    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        validate_extend(lease, &extensions)?;
        let worker = worker.clone();
        self.writer.run(extensions.len(), move |step| lease::extend(step, &worker, lease, &extensions)).await
    }

    async fn wait(&self, worker: &WorkerId, longest: Duration) {
        let wake = self.shared.waiters.wake_of(worker);
        let _blocked = self.shared.waiters.enter();
        self.shared.watch.wake();
        // Notified or out of time: the worker looks in either case.
        timeout(longest, wake.notified()).await.ok();
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        let id = id.clone();
        self.read(move |view| look::get(view, &id)).await
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        let id = id.clone();
        self.read(move |view| tombstones::find(view.conn, &id, view.now)).await
    }

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        validate_ids(ids)?;
        let ids = ids.to_vec();
        self.read(move |view| workflows::statuses(view, &ids)).await
    }

    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        request.validate()?;
        self.read(move |view| parents::read(view, &request)).await
    }

    async fn await_finished(&self, id: &TaskId, longest: Duration) -> Result<Option<Task>> {
        match timeout(longest, self.until_finished(id)).await {
            Ok(task) => task,
            Err(_) => self.get(id).await,
        }
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        request.validate()?;
        self.read(move |view| list::list(view, &request)).await
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        let id = id.clone();
        self.read(move |view| look::place(view, &id)).await
    }

    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let queue = queue.clone();
        self.read(move |view| look::queue_stats(view, &queue)).await
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        validate_limit(request.limit)?;
        self.read(move |view| look::list_queues(view, &request)).await
    }

    async fn health(&self) -> Result<Health> {
        health::look(self).await
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        if ids.len() > MAX_BATCH {
            return Err(Error::Invalid(format!("a call cancels at most {MAX_BATCH} tasks")));
        }
        let mut answers = Vec::with_capacity(ids.len());
        while answers.len() < ids.len() {
            let rest = ids[answers.len()..].to_vec();
            answers.extend(self.writer.run(rest.len(), move |step| lease::cancel_some(step, &rest)).await?);
        }
        Ok(answers)
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        validate_resubmit(&batch)?;
        let growth = resubmit::growth(&batch);
        self.writer.grow(batch.len(), growth, move |step| resubmit::resubmit(step, &batch)).await
    }

    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        validate_keep(keep).map_err(Error::Invalid)?;
        let (id, name) = (id.clone(), name.clone());
        match keep {
            None => self.writer.run(1, move |step| external::signal(step, &id, &name)).await,
            Some(keep) => {
                let signal = move |step: &mut step::Step<'_>| external::signal_or_keep(step, &id, &name, keep);
                self.writer.grow(1, external::KEPT_BYTES, signal).await
            }
        }
    }

    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        validate_limit(limit)?;
        self.read(move |view| letters::letters(view, after, limit)).await
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| letters::forget(step, &keys, sql::FORGET_COPY)).await
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| letters::forget(step, &keys, sql::FORGET_RECEIPT)).await
    }

    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()> {
        validate_record(record)?;
        let (id, record) = (id.clone(), record.to_owned());
        self.writer.run(1, move |step| audit_log::begin(step, &id, &record)).await
    }

    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool> {
        validate_record(outcome)?;
        let (id, outcome) = (id.clone(), outcome.to_owned());
        self.writer.run(1, move |step| audit_log::end(step, &id, &outcome)).await
    }

    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges> {
        validate_limit(limit)?;
        self.read(move |view| audit_log::read(view, after, limit)).await
    }

    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()> {
        log::validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| audit_log::forget(step, &keys)).await
    }

    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        claim.validate()?;
        self.writer.run(1, move |step| duty::claim(step, &claim)).await
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        let duty = duty.clone();
        self.read(move |view| duty::look(view, &duty)).await
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        let (duty, holder) = (duty.clone(), holder.clone());
        self.writer.run(1, move |step| duty::release(step, &duty, &holder)).await
    }

    async fn promote_due(&self, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        let promote = move |step: &mut step::Step<'_>| {
            gates::wake_for_due(step)?;
            waiting_bytes::count_next(step)?;
            external::time_out(step)?;
            maintain::promote_all(step, limit)
        };
        self.writer.run(limit, promote).await
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        validate_limit(limit)?;
        let mut all = Reclaimed::default();
        loop {
            let piece = RECLAIMED_A_PIECE.min(limit as u64 - all.total());
            let some = self.reclaim_piece(piece).await?;
            let count = some.total();
            all += some;
            if count < piece || all.total() >= limit as u64 {
                return Ok(all);
            }
        }
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        request.validate()?;
        let limit = request.limit;
        if request.scope == PruneScope::Retention && !request.dry_run {
            let quota = self.quota;
            return self.writer.run(limit, move |step| prune::prune_retention(step, quota, limit)).await;
        }
        let is_dry = request.dry_run;
        let found = self.read(move |view| prune::find(view, &request)).await?;
        if is_dry {
            return Ok(found.counted());
        }
        self.writer.run(limit, move |step| prune::remove_found(step, &found)).await
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        let queue = queue.clone();
        self.writer.run(limit, move |step| prune::purge_queue(step, &queue, limit)).await
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        validate_task_deletion(ids)?;
        let mut answers = Vec::with_capacity(ids.len());
        while answers.len() < ids.len() {
            let rest = ids[answers.len()..].to_vec();
            answers.extend(self.writer.run(rest.len(), move |step| delete::tasks(step, &rest, cascade)).await?);
        }
        Ok(answers)
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        request.validate()?;
        let request = AuditRequest { limit: request.limit.min(AUDITED_A_PIECE), ..request };
        let limit = request.limit;
        let look = self.read({
            let request = request.clone();
            move |view| audit::look(view, &request)
        });
        let look = match (look.await, &self.readers) {
            (Err(Error::Corrupt(why)), Some(readers)) => {
                readers.run_bare(move |conn| Ok(audit::look_at_pages(conn, &why))).await?
            }
            (look, _) => look?,
        };
        if !request.repair || !look.can_be_mended() {
            return Ok(look.into_audited());
        }
        self.writer.run(limit, move |step| audit::repair(step, look.clone())).await
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        validate_move(from, to, limit)?;
        let (from, to) = (from.clone(), to.clone());
        self.writer.run(limit, move |step| arrange::move_tasks(step, &from, &to, limit)).await
    }

    async fn config(&self) -> Result<Arc<Config>> {
        self.read(|view| Ok(Arc::clone(&view.catalog.config))).await
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        validate_creation(queues)?;
        let queues = queues.to_vec();
        self.writer.run(queues.len(), move |step| arrange::create_queues(step, &queues)).await
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| arrange::put_queue(step, &queue, &mode)).await
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        let queue = queue.clone();
        self.writer.run(MAX_BATCH, move |step| arrange::delete_queue(step, &queue, expected.as_ref())).await
    }

    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| arrange::put_role(step, &role, &mode)).await
    }

    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>> {
        let role = role.clone();
        self.writer.run(1, move |step| arrange::delete_role(step, &role, &on)).await
    }

    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| arrange::put_route(step, &key, &rule)).await
    }

    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>> {
        let key = key.clone();
        self.writer.run(1, move |step| arrange::delete_route(step, &key)).await
    }

    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| arrange::put_key(step, &key, &mode)).await
    }

    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>> {
        let key = key.clone();
        self.writer.run(1, move |step| arrange::delete_key(step, &key)).await
    }

    async fn put_session(&self, id: &Digest, kept: &Session, ttl: Duration) -> Result<()> {
        let (id, kept) = (*id, kept.clone());
        self.writer.run(1, move |step| session::put(step, &id, &kept, ttl)).await
    }

    async fn session(&self, id: &Digest) -> Result<Option<Session>> {
        let id = *id;
        self.read(move |view| session::look(view, &id)).await
    }

    async fn end_session(&self, id: &Digest) -> Result<()> {
        let id = *id;
        self.writer.run(1, move |step| session::end(step, &id)).await
    }

    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        let text = entry.encode()?;
        let growth = text.len() as u64;
        self.writer.grow(1, growth, move |step| schedules::put(step, &entry, &text, put)).await
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        let name = name.clone();
        self.read(move |view| schedules::find(view.conn, &name)).await
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        validate_limit(limit)?;
        let after = after.cloned();
        self.read(move |view| schedules::list(view, after.as_ref(), limit)).await
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        let name = name.clone();
        self.writer.run(1, move |step| schedules::delete(step, &name, revision)).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        validate_limit(limit)?;
        self.read(move |view| schedules::due(view, limit)).await
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        let step_of_it = schedules::Prepared::of(fire)?;
        let growth = step_of_it.growth();
        self.writer.grow(1, growth, move |step| schedules::fire(step, &step_of_it)).await
    }

    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        let put = workflows::Prepared::of(run, put)?;
        self.writer.grow(1, put.growth(), move |step| workflows::put(step, &put)).await
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        let id = id.clone();
        self.read(move |view| workflows::find(view.conn, &id)).await
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        let id = id.clone();
        self.read(move |view| workflows::definition(view.conn, &id)).await
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        query.validate()?;
        self.read(move |view| workflows::list(view.conn, &query)).await
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        let id = id.clone();
        self.writer.run(1, move |step| workflows::delete(step, &id, revision)).await
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        validate_limit(limit)?;
        self.read(move |view| workflows::due(view, limit)).await
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        self.read(|view| workflows::count(view.conn)).await
    }

    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        self.writer.run(1, move |step| registered::register(step, &report, ttl)).await
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.shared.waiters.forget(worker);
        let worker = worker.clone();
        self.writer.run(1, move |step| arrange::deregister_worker(step, &worker)).await
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        self.read(registered::all).await
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        let worker = worker.clone();
        self.writer.run(1, move |step| arrange::set_draining(step, &worker, draining)).await
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        let (id, text) = catalogue.encode()?;
        self.writer.run(1, move |step| arrange::keep_catalogue(step, id, &text, ttl)).await?;
        Ok(id)
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        self.read(move |view| look::catalogue(view, id)).await
    }
}
