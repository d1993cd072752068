//! Embedded SQLite behind [`Engine`]: one file, no server; several processes of one machine share it.
//!
//! All writes go through one thread that commits for all callers together (`writer`); reads use a few connections of
//! their own (`readers`). A verb is a function over one transaction ([`step::Step`]) or one state ([`view::View`]),
//! with its SQL in files under `sql/`. Waiting callers are notified after the commit (`waiters`), also after another
//! process's commit (`watch`).
//!
//! No verb is decided here, and no row is cached between transactions, because other processes write to the same file.
//!
//! Start reading at `sql/migrations/0001_tasks.sql`, then `writer`, then `cycle`.

use std::{
    sync::{Arc, atomic::AtomicI64},
    thread::JoinHandle,
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use jobbers_common::{
    dependency::added::{NewDependency, validate_new},
    engine::{
        AuditRequest, Audited, Cancelled, Cycle, CycleReply, DeadKey, DeleteRole, Deleted, DueRuns, DueSchedules, Duty,
        DutyClaim, Engine, Error, ExtendAnswer, Extension, Fire, Fired, Health, ListRequest, Outbox, Page, Parents,
        ParentsRequest, PruneRequest, PruneScope, Pruned, PutMode, PutRun, PutSchedule, QueueListRequest, QueuePage,
        QueuePlace, QueueStats, Reclaimed, Resubmit, Resubmitted, Result, RunCounts, RunQuery, ScheduleEntry,
        StoredRun, StoredSchedule, Submit, Submitted, TaskDeletion,
        dead::{validate_forget, validate_resubmit},
        keep::{validate_creation, validate_move, validate_task_deletion},
        look::validate_limit,
        work::validate_extend,
        workflows::validate_ids,
    },
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{DutyName, HolderId, QueueName, RoleName, ScheduleName, SignalName, TaskId, WorkerId, WorkflowId},
    queue::{Config, QueueConfig, RoleConfig},
    registry::{Catalogue, CatalogueId},
    routing::{RouteKey, RouteRule},
    signal::{Signalled, validate_keep},
    task::Task,
    tombstone::{Tombstone, TombstonePolicy},
    worker::{RegisteredWorker, WorkerReport},
    workflow::Run,
};
use jobbers_sqlite_file::{OpenFiles, Quota, exposure};
use rusqlite::Connection;
use tokio::time::timeout;

pub use self::steps::StepCounter;
use self::{
    address::Address, catalog::Catalog, clock::StoreClock, damage::Damage, dependency::external, error::OrStore,
    heartbeats::Heartbeats, mark::Mark, readers::Readers, result_slot::ResultSlot, stall::Stall, view::View,
    waiters::Waiters, watch::Watch, writer::Writer,
};

mod address;
mod arrange;
mod audit;
mod backup;
mod boards;
mod catalog;
mod clock;
mod commit_notifier;
mod connection;
mod cycle;
mod damage;
mod dead;
mod delete;
mod dependency;
mod directory;
mod due;
mod duty;
mod error;
mod expiry;
mod find;
mod finished;
mod gates;
mod heartbeats;
mod lease;
mod limits;
mod list;
mod log_length;
mod look;
mod losses;
mod maintain;
mod mark;
mod moves;
mod open;
mod parents;
mod prune;
mod quota;
mod readers;
mod registered;
mod removal;
mod result_slot;
mod row;
mod schedules;
mod schema;
mod settle;
mod sql;
mod stall;
mod step;
mod steps;
mod submit;
mod tombstones;
mod unique;
mod unknown;
mod view;
mod waiters;
mod waiting_bytes;
mod watch;
mod workflows;
mod writer;

/// After this long without a completed transaction the store counts as unhealthy: the time a transaction waits for
/// another process's.
const STALLED_AFTER: Duration = Duration::from_secs(5);
/// How long the health check of a stalled store waits for a transaction to complete.
const PROBED_WITHIN: Duration = Duration::from_millis(100);
/// The most leases that one transaction takes back, and the most tasks that one call of an audit checks, because a
/// chore's transaction is short.
const RECLAIMED_A_PIECE: u64 = 300;
const AUDITED_A_PIECE: usize = 500;

/// The state shared by writer, readers and watch.
#[derive(Debug)]
struct Shared {
    clock: StoreClock,
    /// The latest configuration seen; a transaction that finds another version reads it again.
    catalog: ArcSwap<Catalog>,
    waiters: Waiters,
    watch: Watch,
    /// The store's commit counter at our latest commit: a higher one means another process committed.
    own_commits: AtomicI64,
    stall: Stall,
    files: OpenFiles,
    heartbeats: Heartbeats,
    mark: Mark,
    damage: Damage,
    /// Where steps are counted ([`crate::OpenOptions::steps`]).
    steps: Option<Arc<StepCounter>>,
    tombstones: TombstonePolicy,
}

/// A store in one file.
#[derive(Debug)]
pub struct SqliteEngine {
    address: Address,
    quota: Quota,
    shared: Arc<Shared>,
    writer: Writer,
    /// `None` for a store in memory, which only its writer's connection sees.
    readers: Option<Readers>,
    /// The watching thread; `None` for a store in memory.
    lookout: Option<JoinHandle<()>>,
}

/// Warnings for the operator about the state of the file.
fn warnings_of_file(conn: &Connection, shared: &Shared) -> Result<Vec<String>> {
    let Some(path) = shared.mark.path() else { return Ok(Vec::new()) };
    let journal = connection::journal_warning(conn)?;
    let missing = Mark::missing(path).map(|missing| missing.warning(path));
    Ok(journal.into_iter().chain(missing).chain(shared.damage.warning()).chain(exposure(path)).collect())
}

/// A verb that only reads, and leaves its result elsewhere.
type Look = Box<dyn FnMut(&View<'_>) -> Result<()> + Send>;

impl SqliteEngine {
    /// Runs a verb that only reads.
    async fn read<T, F>(&self, mut verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&View<'_>) -> Result<T> + Send + 'static,
    {
        let result = ResultSlot::default();
        let filled = result.clone();
        let verb = move |view: &View<'_>| {
            filled.put(verb(view)?);
            Ok(())
        };
        self.look(Box::new(verb)).await?;
        result.take()
    }

    async fn look(&self, mut verb: Look) -> Result<()> {
        match &self.readers {
            Some(readers) => readers.run(move |view| verb(view)).await,
            None => self.writer.run(1, move |step| verb(&step.view()?)).await,
        }
    }

    /// Takes some expired leases back, in one transaction.
    async fn reclaim_piece(&self, limit: u64) -> Result<Reclaimed> {
        let limit = usize::try_from(limit).unwrap_or(MAX_BATCH);
        self.writer.run(limit, move |step| maintain::reclaim_all(step, limit)).await
    }

    /// Reads a task each time its end is signalled, until it is over or gone.
    async fn until_finished(&self, id: &TaskId) -> Result<Option<Task>> {
        let awaited = self.shared.waiters.await_task(id);
        loop {
            let over = awaited.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            let task = self.get(id).await?;
            if task.as_ref().is_none_or(|task| task.status.is_finished()) {
                return Ok(task);
            }
            let _blocked = self.shared.waiters.enter();
            self.shared.watch.wake();
            over.await;
        }
    }
}

/// Waits until all connections are closed, so that a process that ends leaves everything in the store's own file. The
/// writer is the last: it writes the log back.
impl Drop for SqliteEngine {
    fn drop(&mut self) {
        self.shared.watch.stop();
        if let Some(lookout) = self.lookout.take() {
            // A panic there was logged, and the other connections are still to be closed.
            lookout.join().ok();
        }
        drop(self.readers.take());
        self.writer.stop();
    }
}

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
        let growth = submit::growth(&batch);
        self.writer.grow(batch.tasks.len(), growth, move |step| submit::submit(step, &batch)).await
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        validate_new(edges)?;
        let (growth, edges) = (dependency::add::growth(edges.len()), edges.to_vec());
        self.writer.grow(edges.len(), growth, move |step| dependency::add::add(step, &edges)).await
    }

    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        cycle.validate()?;
        self.writer.run(cycle::weight(&cycle), move |step| cycle::run(step, &cycle)).await
    }

    async fn extend(
        &self,
        _worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        validate_extend(lease, &extensions)?;
        self.writer.run(extensions.len(), move |step| lease::extend(step, lease, &extensions)).await
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
        if !self.writer.is_running() {
            return Err(Error::unavailable("the store's writer has stopped"));
        }
        if self.shared.stall.lasts(STALLED_AFTER)
            && !matches!(timeout(PROBED_WITHIN, self.writer.run(1, |_| Ok(()))).await, Ok(Ok(())))
        {
            let why =
                "nothing could be written for 5 seconds: another process holds the file's lock, or the disk hangs";
            return Err(Error::unavailable(why));
        }
        let (quota, shared) = (self.quota, Arc::clone(&self.shared));
        let look = move |view: &View<'_>| {
            let quota = quota.warning(view.conn).or_store()?;
            let warnings = quota.into_iter().chain(warnings_of_file(view.conn, &shared)?).collect();
            Ok((view.now, warnings, dead::outbox_size(view)?, tombstones::health(view.conn)?))
        };
        let (now, warnings, outbox, tombstones) = self.read(look).await?;
        let durability = connection::durability(&self.address);
        let store = self.address.shown();
        Ok(Health { engine: "sqlite", store, durability, warnings, now, outbox, tombstones })
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        if ids.len() > MAX_BATCH {
            return Err(Error::Invalid(format!("a call cancels at most {MAX_BATCH} tasks")));
        }
        let ids = ids.to_vec();
        self.writer.run(ids.len(), move |step| lease::cancel(step, &ids)).await
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        validate_resubmit(&batch)?;
        let growth = dead::growth(&batch);
        self.writer.grow(batch.len(), growth, move |step| dead::resubmit(step, &batch)).await
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
        self.read(move |view| dead::letters(view, after, limit)).await
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| dead::forget(step, &keys, sql::FORGET_COPY)).await
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| dead::forget(step, &keys, sql::FORGET_RECEIPT)).await
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
        let ids = ids.to_vec();
        self.writer.run(ids.len(), move |step| delete::tasks(step, &ids, cascade)).await
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
