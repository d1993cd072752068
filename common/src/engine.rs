//! The store as the services see it: verbs of the domain, batch first, every batch bounded.
//!
//! Two engines implement [`Engine`]: embedded SQLite and Redis. The crate `jobbers-law` has a case for each promise made here,
//! and the same law as a small program. What holds for every verb:
//!
//! - One call is one atomic step and, on a server, one round trip. State, lease and queue membership move together.
//! - The store's clock decides. No caller passes the time in.
//! - A call beyond a bound ([`crate::limits`]) returns [`Error::Invalid`] and changes nothing.
//! - [`Error::is_transient`] says whether the same call may succeed later. After a transient error the call may or may
//!   not have been carried out; each verb says why repeating it is safe.
//!
//! Start reading at [`Engine`]; then [`submit`], [`work`], [`look`], [`parents`], [`keep`], [`audit`], [`dead`], [`audit_log`], [`duty`],
//! [`schedules`], [`workflows`], [`boards`], [`backup`].

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    access::{AccessKey, Digest, Session},
    dependency::added::NewDependency,
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

pub mod audit;
pub mod audit_log;
pub mod backup;
pub mod boards;
pub mod dead;
mod due;
pub mod duty;
pub(crate) mod error;
mod halves;
pub mod keep;
mod limit;
pub mod look;
pub mod parents;
pub mod schedules;
pub mod submit;
pub mod verbs;
pub mod work;
pub mod workflows;

pub use self::{
    audit::{AuditRequest, Audited, Finding, Flaw},
    audit_log::{LoggedChange, LoggedChanges, LoggedKey},
    dead::{DeadKey, DeadTask, Outbox, Resubmit, ResubmitFrom, Resubmitted, Unreadable},
    due::Due,
    duty::{Duty, DutyClaim},
    error::{ConflictReason, Error, Result},
    keep::{DeleteRole, Deleted, LostTask, PruneRequest, PruneScope, Pruned, PutMode, Reclaimed, TaskDeletion},
    look::{
        Health, ListRequest, Page, Probation, QueueListRequest, QueuePage, QueuePlace, QueueStats, TaskFilter, Trouble,
    },
    parents::{Parent, Parents, ParentsRequest},
    schedules::{DueSchedules, Fire, Fired, IfBusy, Launch, Previous, PutSchedule, ScheduleEntry, StoredSchedule},
    submit::{OnConflict, Submit, Submitted, SubmittedHow},
    work::{
        Cancelled, ClaimRequest, Cycle, CycleReply, ExtendAnswer, Extension, Heartbeat, Outcome, QueueClaim, Refusal,
        SettleAnswer, Settlement,
    },
    workflows::{DueRuns, PutRun, RunCounts, RunQuery, StoredRun},
};

/// A store of tasks.
#[async_trait]
pub trait Engine: Send + Sync + std::fmt::Debug + 'static {
    /// The boards of this store: tasks that are addressed by revision ([`boards`]).
    fn boards(self: Arc<Self>) -> Arc<dyn boards::Boards>;

    /// Whole tasks of this store, to be stored elsewhere, and those of another ([`backup`]).
    fn backup(self: Arc<Self>) -> Arc<dyn backup::Backup>;

    // ---- submit -------------------------------------------------------------------------------------------------

    /// Accepts tasks: all of them or, on any error, none. Returns results in the order given.
    ///
    /// A task with a known id and the same [`crate::task::NewTask::fingerprint`] is answered with the stored task
    /// ([`SubmittedHow::Existing`]), so sending a batch twice is safe. For a submission that chose its id, a pruned
    /// task that is remembered ([`Engine::tombstone`]) is answered the same way. For another fingerprint,
    /// [`OnConflict`] decides; then, for a unique key that another task holds ([`crate::unique`]), its
    /// [`crate::unique::OnDuplicate`]. The tasks of a batch are judged as if each came alone, in their order, so one
    /// may find its key held by another. Wakes workers that wait for these queues.
    ///
    /// A task with dependencies ([`crate::dependency`]) is `waiting` until all of them are signalled. It may name tasks
    /// of the same batch, in any order, stored ones, and pruned ones that are remembered. Predecessors that are over
    /// signal once the whole batch is stored.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`] for the first task whose queue does not exist, before any [`Error::Conflict`] and
    /// [`Error::Duplicate`] for the first refused task; then [`Error::UnknownPredecessor`]; and these before
    /// [`Error::QueueFull`] for the first task that exceeds its queue's `max_length`, [`Error::QueueBytesFull`] for its
    /// `max_bytes`, and [`Error::RateLimited`]. [`Error::Invalid`] for a batch over 1,000, an empty one, one that names
    /// an id twice, or an invalid unique key.
    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>>;

    /// Adds dependencies between stored tasks ([`crate::dependency::added`]): all of them or, on any error, none. Returns
    /// for each whether it is new, in the order given.
    ///
    /// A task that is scheduled or submitted becomes `waiting` again. It keeps its due time, and joins the end of its
    /// queue when it is released. Dependencies that it did not wait for any more do not come back.
    ///
    /// # Errors
    /// [`Error::DependencyRefused`] for the first edge, in the order given, that can't be added; then for a task with too
    /// many; then for a circle, or if it takes too long to rule one out. [`Error::Invalid`] beyond a bound. Safe to
    /// repeat: an edge that exists stays as it is. If a task has started or ended meanwhile, the repeated call is
    /// refused.
    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>>;

    // ---- work ---------------------------------------------------------------------------------------------------

    /// Settles finished tasks and claims new ones in one step. The worker's whole loop.
    ///
    /// Settlements come first, in order. Each is compared by its fence and answered independently, so a lost lease does
    /// not affect the others. Repeating a settlement that ended its task returns the first result. Then due tasks of
    /// the claimed queues are promoted and expired leases reclaimed (a bounded number), and up to
    /// [`ClaimRequest::limit`] tasks are leased to the caller: queue by queue as listed, in each by priority and then
    /// in the order they became ready. Paused and unknown queues give no task, and a queue gives no more than its
    /// `max_concurrent` and its `rate_limit` allow now; the other tasks keep their places. A queue also does not give a
    /// task whose key or name has a limit that allows none: that task waits, and those behind it pass. A task of a kind
    /// that the claim refuses ([`ClaimRequest::refused`]) is set aside at its place, still `submitted`: claims that
    /// refuse it do not walk past it again, and the next claim that does not refuse it takes it in its turn. A waiting
    /// worker that does not refuse it is woken. For a queue with such limits, or such a claim, one call checks a
    /// bounded number of tasks (of refused kinds few at first, since others may take them meanwhile); if all of these were
    /// held back, `next_due` is zero: call again. A task that has expired
    /// ([`Task::expires_at`]) is dropped instead of leased. One call drops a bounded number; if it dropped any, `more` is
    /// set or `next_due` is zero. If nothing is claimed, the caller is registered as waiting, in the same step, so that
    /// the next submission, or the end of a task in a queue that was at one of its limits, wakes its [`Engine::wait`].
    /// The reply contains the time when a rate allows more ([`CycleReply::next_due`]).
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. After a transient error, repeat the settlements; tasks leased by a lost
    /// answer return when their lease expires.
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply>;

    /// Renews leases and notes heartbeats, progress and checkpoints. A lease is renewed while its fence and its worker agree;
    /// an expired one too, unless it was reclaimed. Heartbeat and progress belong to the attempt and are forgotten when
    /// the task goes back to its queue; its checkpoint stays. Returns results in the order given.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn extend(&self, worker: &WorkerId, lease: Duration, extensions: Vec<Extension>)
    -> Result<Vec<ExtendAnswer>>;

    /// Returns when something may have changed for this worker, or after `timeout`: tasks in queues of its last claim
    /// that gave none, a cancel request for a task it holds, or configuration. May return early without a reason. A
    /// change between that claim and this call is not missed. Dropping the future is safe.
    async fn wait(&self, worker: &WorkerId, timeout: Duration);

    // ---- look ---------------------------------------------------------------------------------------------------

    /// The whole task.
    ///
    /// # Errors
    /// Only those of the store.
    async fn get(&self, id: &TaskId) -> Result<Option<Task>>;

    /// The tombstone of a task that was pruned, if its client chose its id ([`crate::tombstone`]). `None` while the
    /// task is stored, and after the tombstone has expired.
    ///
    /// # Errors
    /// Only those of the store.
    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>>;

    /// The status of each of some tasks, in the order given; also of tasks that were pruned and are remembered. `None` for a
    /// task that is neither stored nor remembered.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound.
    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>>;

    /// Predecessors of a task, and their results ([`parents`]). A task holds the results of its predecessors from its
    /// submission until it is over.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn parents(&self, request: ParentsRequest) -> Result<Parents>;

    /// Waits until the task is over or deleted, at most `timeout`, and returns its state then. Returns at once if it is
    /// over already or unknown. Dropping the future is safe. Waiting costs the store next to nothing.
    ///
    /// # Errors
    /// Only those of the store.
    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>>;

    /// Tasks that match a filter, in pages, without parameters, results and errors.
    ///
    /// In sections: `started` (oldest claim first), `submitted` (in the order of claiming), `scheduled` (next due
    /// first), `waiting`, each of these queue by queue in the order of names; then finished tasks, the latest first
    /// over all queues. A task that matches and stays in its section during the whole walk is listed exactly once. A
    /// page may hold fewer than `limit` tasks, even none, and still have a next page.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000, or a cursor that this store did not issue.
    async fn list(&self, request: ListRequest) -> Result<Page>;

    /// The place of a `submitted` task in its queue; `None` for any other.
    ///
    /// # Errors
    /// Only those of the store.
    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>>;

    /// Counts of one queue.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`].
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats>;

    /// The queues and their counts in the order of names, in pages. A queue that exists during the whole walk is listed
    /// exactly once.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage>;

    /// Describes the store and its durability; fails if it can't be reached.
    ///
    /// # Errors
    /// Those of the store.
    async fn health(&self) -> Result<Health>;

    // ---- steer --------------------------------------------------------------------------------------------------

    /// Cancels tasks. A waiting, scheduled or submitted one is `cancelled` at once. A running one is marked, durably,
    /// and its worker woken: any settlement afterwards, and even the end of its lease, makes it `cancelled`. The mark
    /// itself is no change: the task's revision and fence stay. Returns results in the order given. Safe to repeat.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound.
    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>>;

    /// Makes tasks that are `failed`, `dropped`, `stalled`, `aborted` or `cancelled` `submitted` again, under the same
    /// id: at the end of their priority, due now, with their checkpoint; their list of errors continues. Each is
    /// answered independently, in the order given. Wakes workers.
    ///
    /// A task that moves to another queue is counted there as accepted, and as removed where it was. A task that is
    /// created again from its copy is counted as accepted. A task with a unique key takes it again, for its whole span,
    /// unless another task holds it ([`Resubmitted::Held`]). A task of a workflow's run makes the run due
    /// ([`Engine::due_workflows`]).
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat: a task that was sent again is then [`Resubmitted::Already`]
    /// or [`Resubmitted::Live`].
    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>>;

    /// Sends a signal from outside to a task ([`crate::signal`]). If that was the last that the task waited for, it is
    /// released, and workers are woken. If the task does not exist and was not pruned, the signal is kept for it, for `keep`
    /// at most, which is up to a day; without `keep` it is not.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a `keep` out of bounds. Safe to repeat: a signal that came is then [`Signalled::Already`].
    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled>;

    // ---- dead letters -------------------------------------------------------------------------------------------

    /// Up to `limit` copies of the outbox after the revision `after` (0: all), the oldest first; fewer if they are
    /// large, but at least one if any exists. Copies that can't be read are returned separately and do not block
    /// others.
    ///
    /// A task that ends as `failed`, `stalled` or `dropped` and is to be kept is copied in full to the outbox in the
    /// same step. The copy does not change when the task is pruned, replaced or sent again; it stays until it is
    /// [forgotten](Engine::forget_dead_letters). [`Health::outbox`] counts the copies.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox>;

    /// Deletes copies from the outbox, once an archive has them; their receipts stay. Unknown keys are not an error.
    /// Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()>;

    /// Deletes the receipts of copies that were sent again, once an archive has noted that. Unknown keys are not an
    /// error. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()>;

    // ---- audit log ----------------------------------------------------------------------------------------------

    /// Logs that a change begins, before it is carried out. The store does not read the record. It stays until an archive
    /// has it ([`Engine::forget_logged_changes`]). Works on a full store, because a change may be what drains it.
    ///
    /// # Errors
    /// [`Error::AuditLogFull`] if [`crate::limits::MAX_LOGGED_CHANGES`] wait for an archive; [`Error::Invalid`] beyond a
    /// bound. Safe to repeat: a change that is logged stays as it was logged first.
    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()>;

    /// Logs the outcome of a change that was logged. Returns whether the store knows the change: an archive may have
    /// taken it meanwhile, without an outcome. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat: the first outcome stays.
    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool>;

    /// Up to `limit` logged changes after a number (0: all), in the order in which they were logged; fewer if they are
    /// large, but at least one if any exists. Also returns how many there are, and the store's time.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges>;

    /// Deletes logged changes, once an archive has them. A change whose outcome was logged after the archive read it
    /// stays. Unknown ids are not an error. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()>;

    // ---- duties -------------------------------------------------------------------------------------------------

    /// Takes a duty that is free or expired, or renews the caller's. Returns the present holder, which may be another;
    /// a new holder also receives the previous holder's note.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat; the previous holder's note is then not returned again.
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty>;

    /// The holder of a duty; `None` if it is free.
    ///
    /// # Errors
    /// Only those of the store.
    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>>;

    /// Gives a duty back. Not an error if the caller does not hold it.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()>;

    // ---- keep ---------------------------------------------------------------------------------------------------

    /// Moves up to `limit` due scheduled tasks of any queue to their queues, the longest due first, and wakes workers.
    /// Returns how many.
    ///
    /// Times out up to 500 signals from outside that have not come in time ([`crate::signal`]), the longest due first, and
    /// forgets those that were kept for tasks in vain.
    ///
    /// Continues, by up to 1,000 tasks, counting the bytes of a queue whose `max_bytes` was set while it held tasks;
    /// until that is done, the limit is compared with the bytes counted so far.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn promote_due(&self, limit: usize) -> Result<u64>;

    /// Takes up to `limit` expired leases back, of any queue, and wakes workers. The task keeps its place in the queue
    /// and its attempt number, and its `crashes` grow by one; at `max_crashes` it is failed.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat.
    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed>;

    /// Deletes finished tasks, a bounded number per call; call again with [`Pruned::next`] until that is `None`. A task
    /// whose client chose its id leaves a tombstone ([`Engine::tombstone`]).
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound, for a filter that names a live status, or for a cursor that this store did
    /// not issue.
    async fn prune(&self, request: PruneRequest) -> Result<Pruned>;

    /// Deletes up to `limit` tasks of a queue that are waiting, scheduled or submitted; fewer if these have so many dependencies
    /// that one step should not delete them together. Returns how many: 0 once none is left.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`]; [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64>;

    /// Deletes tasks by their ids, unless they run. The ids are free again. An edge from a task that is deleted before its
    /// end is removed and does not count any more. With `cascade` a task whose last open edge is removed so is deleted too,
    /// and so on; else it is released. What the end of a finished task has done stays. Returns results in the order given; a
    /// task that went with an earlier one is unknown. Many tasks are deleted in pieces, each whole; past a bounded number of
    /// edges, the claims and ticks that follow remove the rest.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat: what was deleted is then unknown.
    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>>;

    /// Checks a piece of the store for inconsistencies, and on request repairs what is certain; call again with
    /// [`Audited::next`] until that is `None`. Each piece is read at one moment, so concurrent changes are not
    /// findings, and takes no longer than other verbs. The check of a file's own structure, and the counts of its
    /// queues, take longer and run beside them. A sound store gives no finding.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound, or for a cursor that this store did not issue. Safe to repeat.
    async fn audit(&self, request: AuditRequest) -> Result<Audited>;

    /// Moves up to `limit` tasks that are waiting, scheduled or submitted to another queue, the next in line first, and
    /// wakes workers. Returns how many. A task keeps everything, including its due time and its place among those of
    /// its priority, as if it had always been in the other queue. It is counted there as accepted, and as removed where
    /// it was; `max_length` and `max_bytes` do not apply.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`] for either; [`Error::Invalid`] beyond a bound, and if both are the same. Safe to repeat.
    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64>;

    // ---- arrange ------------------------------------------------------------------------------------------------

    /// The whole present configuration.
    ///
    /// # Errors
    /// Only those of the store.
    async fn config(&self) -> Result<Arc<Config>>;

    /// Creates the queues that do not exist, with the default settings: all of them or, on any error, none. Existing
    /// queues and their settings do not change. Queues are not configuration: this raises no version, wakes no worker,
    /// and its cost does not depend on the number of queues.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond a bound. Safe to repeat.
    async fn create_queues(&self, queues: &[QueueName]) -> Result<()>;

    /// Stores the settings of a queue, and creates the queue if it does not exist. Every change of configuration raises
    /// [`Config::version`] and wakes all workers; storing equal settings changes nothing. A queue without stored
    /// settings has the defaults ([`Config::settings_of`]), with which `mode` compares.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownQueue`] or [`Error::Changed`] by [`PutMode`]; [`Error::Invalid`] by
    /// [`QueueConfig::validate`].
    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>>;

    /// Deletes a queue without live tasks, together with its finished ones: up to 1,000 of these per call. Call again
    /// until the result is [`Deleted::Done`]. With `expected`, each call does so only while the queue has these
    /// settings. Raises [`Config::version`], whether or not settings were stored.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`]; then [`Error::Changed`] if the queue is not as expected; then [`Error::InUse`] if a
    /// role or a routing rule names it; [`Error::NotEmpty`].
    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted>;

    /// Creates or replaces a role.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownRole`] or [`Error::Changed`] by [`PutMode`]; [`Error::UnknownQueue`] when it
    /// names one; [`Error::Invalid`] by [`RoleConfig::validate`].
    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>>;

    /// Deletes a role. Its workers stay alive, claim nothing, and serve it again when it is created again. A worker
    /// that registers after this has a role that does not exist.
    ///
    /// # Errors
    /// [`Error::UnknownRole`]; [`Error::Changed`] if it is not as expected; [`Error::RoleInUse`] if live workers serve
    /// it, including draining ones, unless [`DeleteRole::force`].
    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>>;

    /// Creates a routing rule, or replaces the one for the same versions.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`]; [`Error::Invalid`] by [`RouteRule::validate`]; [`Error::RulesOverlap`] by
    /// [`check_place`](crate::routing::check_place).
    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>>;

    /// Deletes a routing rule. Not an error if it does not exist.
    ///
    /// # Errors
    /// Only those of the store.
    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>>;

    /// Creates or replaces an access key.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownKey`] or [`Error::Changed`] by [`PutMode`]; [`Error::Invalid`] by
    /// [`AccessKey::validate`], and beyond the number of keys that a store holds.
    async fn put_key(&self, key: AccessKey, mode: PutMode<AccessKey>) -> Result<Arc<Config>>;

    /// Deletes an access key. A store without any is open: managers ask no client for a key.
    ///
    /// # Errors
    /// [`Error::UnknownKey`].
    async fn delete_key(&self, key: &KeyId) -> Result<Arc<Config>>;

    // ---- sessions -----------------------------------------------------------------------------------------------

    /// Stores the session of a person who has signed in at the pages, for this long, under the digest of the text that the
    /// person's browser has. Of more than [`MAX_SESSIONS`](crate::limits::MAX_SESSIONS), those that end first are forgotten.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn put_session(&self, id: &Digest, session: &Session, ttl: Duration) -> Result<()>;

    /// A session; `None` if it has ended or never began.
    ///
    /// # Errors
    /// Only those of the store.
    async fn session(&self, id: &Digest) -> Result<Option<Session>>;

    /// Ends a session. Not an error if it has ended.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn end_session(&self, id: &Digest) -> Result<()>;

    // ---- schedules ----------------------------------------------------------------------------------------------

    /// Creates or replaces a schedule. Returns its new revision.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownSchedule`] or [`Error::Changed`] by [`PutSchedule`]; [`Error::Invalid`] by
    /// [`ScheduleEntry::encode`], and beyond the number of schedules that a store holds. After a transient error, read
    /// it again.
    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64>;

    /// A schedule.
    ///
    /// # Errors
    /// Only those of the store.
    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>>;

    /// Up to `limit` schedules after a name, in the order of names. One that exists during a whole walk is listed exactly
    /// once.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>>;

    /// Deletes a schedule, if given only at this revision. The tasks and workflows that it started stay.
    ///
    /// # Errors
    /// [`Error::UnknownSchedule`]; [`Error::Changed`].
    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()>;

    /// Up to `limit` due schedules, the longest due first, and when the next one is due. Costs by the number of due
    /// ones.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules>;

    /// Carries out one step of a schedule, if it still has the revision for which the step was made: checks whether its
    /// latest run is over, submits the task as [`Engine::submit`] does or creates the run of the workflow as
    /// [`Engine::put_workflow`] does, then cancels the latest run if requested, and stores the schedule's new state. All of
    /// it or nothing.
    ///
    /// # Errors
    /// Those of [`Engine::submit`] and [`Engine::put_workflow`]; [`Error::Invalid`] by [`Fire::validate`] and [`ScheduleEntry::encode`]. Safe to
    /// repeat: a step that was carried out is then [`Fired::Changed`].
    async fn fire_schedule(&self, fire: Fire) -> Result<Fired>;

    // ---- workflows ----------------------------------------------------------------------------------------------

    /// Creates or replaces the record of a run. Answers its new revision.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownWorkflow`] or [`Error::Changed`] by [`PutRun`]; [`Error::Invalid`] by
    /// [`workflows::encode_run`] and [`workflows::validate_definition`], and for one more than a store holds. After a
    /// transient error, read it again.
    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64>;

    /// A run.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>>;

    /// The definition of a run, as it was created with it.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>>;

    /// Runs by the time of their creation, the latest or the oldest first. One that exists, and keeps the state that is asked
    /// for, during a whole walk is listed exactly once.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>>;

    /// Deletes a run with its definition, if it is at this revision. Its tasks stay.
    ///
    /// # Errors
    /// [`Error::UnknownWorkflow`]; [`Error::Changed`].
    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()>;

    /// Up to `limit` runs with something to do, the longest due first, and when the next one is due. Costs by what is due.
    /// The step that sends a task `<run>/<node>` again, or stores another task of its id, makes its run due at once and gives
    /// it another revision, unless its tasks are still being submitted: so what was decided from an earlier look is not stored.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn due_workflows(&self, limit: usize) -> Result<DueRuns>;

    /// How many runs there are by state.
    ///
    /// # Errors
    /// Only those of the store.
    async fn count_workflows(&self) -> Result<RunCounts>;

    // ---- workers ------------------------------------------------------------------------------------------------

    /// Notes a worker's report, which is forgotten `ttl` after the last one. Returns the configuration's version.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64>;

    /// Forgets a worker that left in good order. An unknown one is not an error.
    ///
    /// # Errors
    /// Only those of the store.
    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()>;

    /// The workers with a report within their ttl, in the order of their ids.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workers(&self) -> Result<Vec<RegisteredWorker>>;

    /// Asks a live worker to claim nothing more, or to claim again. The request is part of the configuration
    /// ([`Config::draining`]), so it reaches the worker at once. It lasts until it is revoked or the worker leaves in
    /// good order. Repeating it changes nothing.
    ///
    /// # Errors
    /// [`Error::UnknownWorker`] for one that is neither alive nor draining by request. Safe to repeat.
    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>>;

    /// Stores a catalogue for `ttl` from now; storing it again prolongs that.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond its bound. Safe to repeat.
    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId>;

    /// The catalogue of this digest, unless it has expired.
    ///
    /// # Errors
    /// Only those of the store.
    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>>;
}
