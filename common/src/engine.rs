//! The store as the services see it: verbs of the domain, batch first, every batch bounded.
//!
//! Two engines implement [`Engine`]: embedded SQLite and Redis. Their law is the conformance suite beside this trait
//! (feature `conformance`), and [`model`] is the same law as a small program. What holds for every verb:
//!
//! - One call is one atomic step and, on a server, one round trip. State, lease and queue membership move together.
//! - The store's clock decides. No caller passes the present in.
//! - A call past a bound ([`crate::limits`]) answers [`Error::Invalid`] and changes nothing.
//! - [`Error::is_transient`] says whether the same call may succeed later. After a transient error the call may or may
//!   not have been carried out; each verb says why repeating it is safe.
//!
//! Start reading at [`Engine`]; then [`submit`], [`work`], [`look`], [`keep`], [`audit`], [`dead`],
//! [`duty`], [`schedules`].

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    name::{DutyName, HolderId, QueueName, RoleName, ScheduleName, TaskId, WorkerId},
    queue::{Config, QueueConfig, RoleConfig},
    registry::{Catalogue, CatalogueId},
    routing::{RouteKey, RouteRule},
    task::Task,
    tombstone::Tombstone,
    worker::{RegisteredWorker, WorkerReport},
};

pub mod audit;
pub mod boards;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod dead;
pub mod duty;
mod error;
pub mod keep;
pub mod look;
#[cfg(feature = "conformance")]
pub mod model;
pub mod schedules;
pub mod submit;
pub mod work;

pub use self::{
    audit::{AuditRequest, Audited, Finding, Flaw},
    dead::{DeadKey, DeadTask, Outbox, Resubmit, ResubmitFrom, Resubmitted, Unreadable},
    duty::{Duty, DutyClaim},
    error::{ConflictReason, Error},
    keep::{DeleteRole, Deleted, LostTask, PruneRequest, PruneScope, Pruned, PutMode, Reclaimed},
    look::{Health, ListRequest, Page, QueueListRequest, QueuePage, QueuePlace, QueueStats, TaskFilter},
    schedules::{DueSchedules, Fire, Fired, IfBusy, PutSchedule, ScheduleEntry, StoredSchedule},
    submit::{OnConflict, Submit, Submitted, SubmittedHow},
    work::{
        Cancelled, ClaimRequest, Cycle, CycleReply, ExtendAnswer, Extension, Heartbeat, Outcome, QueueClaim, Refusal,
        SettleAnswer, Settlement,
    },
};

/// The answer of every verb.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A store of tasks.
#[async_trait]
pub trait Engine: Send + Sync + std::fmt::Debug + 'static {
    // ---- submit -------------------------------------------------------------------------------------------------

    /// Takes tasks in: all of them or, on any error, none. Answers in the order given.
    ///
    /// A task whose id is known and whose [`crate::task::NewTask::fingerprint`] agrees is answered as it stands
    /// ([`SubmittedHow::Existing`]), so sending a batch twice is safe; for a submission that chose its id, a pruned task
    /// that is remembered ([`Engine::tombstone`]) is answered the same way. One whose fingerprint differs is treated by
    /// [`OnConflict`]; then one whose unique key another task holds ([`crate::unique`]) by its
    /// [`crate::unique::OnDuplicate`]. The tasks of a batch are judged as if each came alone, in their order: one may meet
    /// the key of another. Wakes workers that wait for these queues.
    ///
    /// A task with dependencies ([`crate::dependency`]) is `waiting` until all of them are signalled. It may name tasks of
    /// the same batch, in any order, stored ones, and pruned ones that are remembered. Those that are over signal when all
    /// of the batch is in.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`] for the first task whose queue there is not, before any [`Error::Conflict`] and
    /// [`Error::Duplicate`], for the first task that may not go in; then [`Error::UnknownPredecessor`]; and these before [`Error::QueueFull`], for the
    /// first task that its queue's `max_length` has no room for, or [`Error::QueueBytesFull`], its `max_bytes`, and
    /// [`Error::RateLimited`]; [`Error::Invalid`] for a batch over 1,000, an empty one, or one
    /// that names an id twice, and for a unique key that makes no sense.
    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>>;

    // ---- work ---------------------------------------------------------------------------------------------------

    /// Settles what finished and claims what fits, in one step. The worker's whole loop.
    ///
    /// Settlements come first, in order; each is compared by its fence and answered for itself, so a lost lease harms
    /// no neighbour. Repeating a settlement that ended its task is answered like the first time. Then due tasks of the
    /// claimed queues are promoted and expired leases reclaimed (a bounded number), and up to
    /// [`ClaimRequest::limit`] tasks are leased to the caller: queue by queue as listed, in each by priority and then
    /// in the order they became ready. Paused and unknown queues give nothing, and a queue gives no more than its
    /// `max_concurrent` and its `rate_limit` leave at this moment: what is left waits in its place. Nor does it give a task
    /// whose key or name has a limit of its own that leaves nothing: that one waits, and those behind it pass. A task of a
    /// kind that the claim refuses ([`ClaimRequest::refused`]) is set aside at its place, still `submitted`: claims that
    /// refuse it do not walk past it again, and the next claim that does not refuse it takes it in its turn. A waiting worker
    /// that does not refuse it is woken. Of a queue with such limits, or such a claim, one call looks at a bounded number of
    /// tasks; when these were all held back, `next_due` is zero: call again. When nothing is claimed, the caller is
    /// registered as waiting, in the same step, so that the next submission, or the end of a task in a queue that was at
    /// one of its limits, wakes its [`Engine::wait`]; and is told when a rate allows more ([`CycleReply::next_due`]).
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. After a transient error, repeat the settlements; tasks leased by an answer that
    /// got lost come back when their lease ends.
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply>;

    /// Renews leases and notes heartbeats, progress and checkpoints. A lease is renewed as long as its fence agrees,
    /// even if it had run out, as long as nobody reclaimed it. Heartbeat and progress belong to the attempt: they are
    /// forgotten when the task goes back to its queue, while its checkpoint stays. Answers in the order given.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat.
    async fn extend(&self, worker: &WorkerId, lease: Duration, extensions: Vec<Extension>)
    -> Result<Vec<ExtendAnswer>>;

    /// Returns when something may have changed for this worker (tasks in the queues of its last claim that left nothing, a cancel
    /// request for a task it holds, configuration), or after `timeout`. May return early for no reason. What happens
    /// between that claim and this call is not missed. Dropping the future is safe.
    async fn wait(&self, worker: &WorkerId, timeout: Duration);

    // ---- look ---------------------------------------------------------------------------------------------------

    /// Everything known of a task.
    ///
    /// # Errors
    /// Only those of the store.
    async fn get(&self, id: &TaskId) -> Result<Option<Task>>;

    /// What is remembered of a task that was pruned, if its client chose its id ([`crate::tombstone`]). `None` while the
    /// task is stored, and after the time for which it is remembered.
    ///
    /// # Errors
    /// Only those of the store.
    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>>;

    /// Waits until the task is over or deleted, at most `timeout`, and answers it as it then stands. Answers at once when
    /// it is over already or unknown. Dropping the future is safe. While it waits it costs the store next to nothing.
    ///
    /// # Errors
    /// Only those of the store.
    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>>;

    /// Tasks that match a filter, a page at a time, without parameters, results and errors.
    ///
    /// In sections: `started` (oldest claim first), `submitted` (in the order of claiming), `scheduled` (next due
    /// first), `waiting`; in each of these queue by queue in the order of their names; then what is over, the latest
    /// first over all queues. A task that matches and stays in its section during the whole walk is listed exactly once. A
    /// page may hold fewer than `limit` tasks, even none, and still have a successor.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000, or a cursor this store did not give.
    async fn list(&self, request: ListRequest) -> Result<Page>;

    /// Where a task that is `submitted` stands in its queue; `None` for any other.
    ///
    /// # Errors
    /// Only those of the store.
    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>>;

    /// Counts of one queue.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`].
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats>;

    /// The queues and their counts in the order of names, a page at a time. A queue that exists during the whole walk is
    /// listed exactly once.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage>;

    /// What the store is and what it promises; fails when it can't be reached.
    ///
    /// # Errors
    /// Those of the store.
    async fn health(&self) -> Result<Health>;

    // ---- steer --------------------------------------------------------------------------------------------------

    /// Cancels tasks. One that waits, is scheduled or submitted is `cancelled` at once; one that runs is marked,
    /// durably, and its worker woken: whatever is settled for it afterwards, and even its lease's end, makes it
    /// `cancelled`. The wish alone is no change: the task's revision and fence stay. Answers in the order given. Safe
    /// to repeat.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound.
    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>>;

    /// Makes tasks that are `failed`, `dropped`, `stalled`, `aborted` or `cancelled` `submitted` again, under the same
    /// id: at the end of their priority, due now, with their checkpoint; their errors go on growing. Each is answered
    /// for itself, in the order given. Wakes workers.
    ///
    /// A task that moves to another queue is counted there as accepted, and as removed where it was; one that is made
    /// anew from its copy is counted as accepted. One that had a unique key takes it again, for its whole span, unless
    /// another task holds it ([`Resubmitted::Held`]).
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat: what was sent again is then [`Resubmitted::Already`] or
    /// [`Resubmitted::Live`].
    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>>;

    // ---- dead letters -------------------------------------------------------------------------------------------

    /// Up to `limit` copies of the outbox that come after the revision `after` (0: all), the oldest first; fewer when they
    /// are large, but not none while there are some. What is there and can't be read is told apart, and is in nobody's way.
    ///
    /// A task that ends as `failed`, `stalled` or `dropped` and is to be kept is put on the outbox in the same step, as a
    /// full copy: whatever becomes of the task then, by pruning, replacing or sending it again, the copy stays as it is
    /// until it is [forgotten](Engine::forget_dead_letters). How many there are, [`Health::outbox`] tells.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox>;

    /// Takes copies off the outbox, once an archive has them; their receipts stay. Keys of what is not there are no error.
    /// Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat.
    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()>;

    /// Takes the receipts of copies away that were sent again, once an archive has noted that. Keys of what is not there
    /// are no error. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat.
    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()>;

    // ---- duties -------------------------------------------------------------------------------------------------

    /// Takes a duty that is free or whose holder fell silent, or keeps one that the caller has. Answers who has it now,
    /// which may be somebody else; and to who took it over, what the holder before said of itself, however long that is ago.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat; what the holder before said is then not told again.
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty>;

    /// Who has a duty; `None` when nobody does.
    ///
    /// # Errors
    /// Only those of the store.
    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>>;

    /// Gives a duty back. No error when the caller does not have it.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()>;

    // ---- keep ---------------------------------------------------------------------------------------------------

    /// Moves up to `limit` scheduled tasks whose time has come to their queues, of any queue, the longest due first,
    /// and wakes workers. Answers how many.
    ///
    /// Goes on, by up to 1,000 tasks, with counting the bytes of a queue whose `max_bytes` was set while it held tasks;
    /// until that is over the limit is judged by what has been counted.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat.
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
    /// [`Error::Invalid`] past a bound, for a filter that names a live status, or for a cursor this store did not give.
    async fn prune(&self, request: PruneRequest) -> Result<Pruned>;

    /// Deletes up to `limit` tasks of a queue that are waiting, scheduled or submitted. Answers how many.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`]; [`Error::Invalid`] past a bound. Safe to repeat.
    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64>;

    /// Looks over a piece of the store for what does not agree with itself, and mends what is certain when asked to; call
    /// again with [`Audited::next`] until that is `None`. Each piece is looked at as of one moment, so what goes on
    /// meanwhile is no finding; it takes no longer than other verbs. The check of a file's own structure, and the counts of
    /// its queues, take longer and run beside them. A sound store has nothing to find.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound, or for a cursor this store did not give. Safe to repeat.
    async fn audit(&self, request: AuditRequest) -> Result<Audited>;

    /// Moves up to `limit` tasks that are waiting, scheduled or submitted to another queue, those that are next in line
    /// first, and wakes workers. Answers how many. A task keeps everything, its due time and its place among those of its
    /// priority too: it stands in the other queue as if it had been there all along. It is counted there as accepted, and
    /// as removed where it was; a `max_length` or `max_bytes` turns nothing away.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`] for either; [`Error::Invalid`] past a bound, and when both are one. Safe to repeat.
    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64>;

    // ---- arrange ------------------------------------------------------------------------------------------------

    /// All configuration, as of now.
    ///
    /// # Errors
    /// Only those of the store.
    async fn config(&self) -> Result<Arc<Config>>;

    /// Creates those of these queues that do not exist, with the default settings: all of them or, on any error, none.
    /// Existing queues and their settings stay as they are. Queues are no configuration: this raises no version, wakes no
    /// worker, and costs the same however many queues exist.
    ///
    /// # Errors
    /// [`Error::Invalid`] past a bound. Safe to repeat.
    async fn create_queues(&self, queues: &[QueueName]) -> Result<()>;

    /// Puts the settings of a queue, and creates the queue if it does not exist. Every change of configuration raises
    /// [`Config::version`] and wakes all workers. Putting what is there already changes nothing. A queue whose settings
    /// were never put has the defaults ([`Config::settings_of`]); `mode` is judged by these.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownQueue`] or [`Error::Changed`] by [`PutMode`]; [`Error::Invalid`] by
    /// [`QueueConfig::validate`].
    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>>;

    /// Deletes a queue that holds no live task, together with its finished ones: up to 1,000 of these per call. Call
    /// again until the answer is [`Deleted::Done`]. With `expected` each call does so only while the queue's settings are
    /// these. Raises [`Config::version`], whether or not the queue's settings were put.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`]; before what follows, [`Error::Changed`] when the queue is not as expected;
    /// [`Error::InUse`] when a role or a routing rule names it; [`Error::NotEmpty`].
    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted>;

    /// Creates or replaces a role.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownRole`] or [`Error::Changed`] by [`PutMode`]; [`Error::UnknownQueue`] when it
    /// names one; [`Error::Invalid`] by [`RoleConfig::validate`].
    async fn put_role(&self, role: RoleConfig, mode: PutMode<RoleConfig>) -> Result<Arc<Config>>;

    /// Deletes a role. Its workers live on, claim nothing, and serve it again when it is put again. A worker that
    /// registers after this is one of a role that there is not.
    ///
    /// # Errors
    /// [`Error::UnknownRole`]; [`Error::Changed`] when it is not as expected; [`Error::RoleInUse`] when live workers
    /// serve it, those that drain too, unless [`DeleteRole::force`].
    async fn delete_role(&self, role: &RoleName, on: DeleteRole) -> Result<Arc<Config>>;

    /// Creates a routing rule, or replaces the one for the same versions.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`]; [`Error::Invalid`] by [`RouteRule::validate`]; [`Error::RulesOverlap`] by
    /// [`check_place`](crate::routing::check_place).
    async fn put_route(&self, key: RouteKey, rule: RouteRule) -> Result<Arc<Config>>;

    /// Deletes a routing rule; no rule is no error.
    ///
    /// # Errors
    /// Only those of the store.
    async fn delete_route(&self, key: &RouteKey) -> Result<Arc<Config>>;

    // ---- schedules ----------------------------------------------------------------------------------------------

    /// Creates or replaces a schedule. Answers its new revision.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::UnknownSchedule`] or [`Error::Changed`] by [`PutSchedule`]; [`Error::Invalid`] by
    /// [`ScheduleEntry::encode`], and for one more than a store holds. After a transient error, read it again.
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

    /// Deletes a schedule, if given only at this revision. The tasks that it submitted stay.
    ///
    /// # Errors
    /// [`Error::UnknownSchedule`]; [`Error::Changed`].
    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()>;

    /// Up to `limit` schedules that are due, the longest due first, and when the next one is. Costs by what is due.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit of 0 or over 1,000.
    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules>;

    /// Carries one step of a schedule out, if it is still at the revision that the step was made for: judges whether its
    /// latest run is over, submits the task as [`Engine::submit`] does, then cancels that run where this is asked for,
    /// and stores what the schedule becomes. All of it or nothing.
    ///
    /// # Errors
    /// Those of [`Engine::submit`]; [`Error::Invalid`] by [`Fire::validate`] and [`ScheduleEntry::encode`]. Safe to
    /// repeat: what was carried out is then [`Fired::Changed`].
    async fn fire_schedule(&self, fire: Fire) -> Result<Fired>;

    // ---- workers ------------------------------------------------------------------------------------------------

    /// Notes a worker's report; it is forgotten `ttl` after the last. Answers the configuration's version.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64>;

    /// Forgets a worker that left in good order. An unknown one is no error.
    ///
    /// # Errors
    /// Only those of the store.
    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()>;

    /// The workers heard of within their ttl, in the order of their ids.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workers(&self) -> Result<Vec<RegisteredWorker>>;

    /// Tells a live worker to claim nothing more, or to claim again. A part of the configuration
    /// ([`Config::draining`]), so it reaches the worker at once; it lasts until it is taken back or the worker leaves in
    /// good order. What was said already changes nothing.
    ///
    /// # Errors
    /// [`Error::UnknownWorker`] for one that is neither alive nor told to drain. Safe to repeat.
    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>>;

    /// Keeps a catalogue for `ttl` from now; keeping it again prolongs that.
    ///
    /// # Errors
    /// [`Error::Invalid`] past its bound. Safe to repeat.
    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId>;

    /// The catalogue of this digest, unless its time is over.
    ///
    /// # Errors
    /// Only those of the store.
    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>>;
}
