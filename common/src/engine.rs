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
//! The verbs have a trait a noun ([`verbs`]), of which [`Engine`] is the whole: what takes a part of a store says which.
//! Start reading at [`Tasks`] and [`Claims`]; the modules beside have what the verbs take and answer.

use std::sync::Arc;

pub mod audit;
pub mod audit_log;
pub mod backup;
pub mod boards;
pub mod dependencies;
mod due;
pub mod duty;
mod halves;
pub mod letters;
mod limit;
pub mod parents;
pub mod reads;
pub mod schedules;
pub mod sealed;
pub mod settings;
pub mod submit;
pub mod upkeep;
pub mod verbs;
pub mod work;
pub mod workflows;

pub use self::{
    audit::{AuditRequest, Audited, Finding, Flaw},
    audit_log::{LoggedChange, LoggedChanges, LoggedKey},
    due::Due,
    duty::{Duty, DutyClaim},
    letters::{DeadKey, DeadTask, Outbox, Resubmit, ResubmitFrom, Resubmitted, Unreadable},
    parents::{Parent, Parents, ParentsRequest},
    reads::{
        Health, ListRequest, Page, Probation, QueueListRequest, QueuePage, QueuePlace, QueueStats, TaskFilter,
        TaskTimes, Trouble,
    },
    schedules::{DueSchedules, Fire, Fired, IfBusy, Launch, Previous, PutSchedule, StoredSchedule},
    settings::{DeleteRole, Deleted, PutMode},
    submit::{OnConflict, Submit, Submitted, SubmittedHow},
    upkeep::{LostTask, PruneRequest, PruneScope, Pruned, Reclaimed, TaskDeletion},
    verbs::{
        Access, AuditLog, Claims, Duties, Letters, Queues, Schedules, Settings, Tasks, Upkeep, Waiting, Workers,
        Workflows,
    },
    work::{
        Cancelled, ClaimRequest, Cycle, CycleReply, ExtendAnswer, Extension, Heartbeat, Outcome, QueueClaim, Refusal,
        Rescheduled, SettleAnswer, Settlement,
    },
    workflows::{DueRuns, PutRun, RunCounts, RunQuery, StoredRun},
};
pub use crate::error::{ConflictReason, Error, Result};

/// A store of tasks: all verbs, and what leads to boards and backups.
///
/// Only the engines of Jobbers implement it ([`sealed`]), so a new verb breaks no other program.
pub trait Engine:
    Tasks
    + Claims
    + Waiting
    + Queues
    + Settings
    + Access
    + Letters
    + AuditLog
    + Duties
    + Upkeep
    + Schedules
    + Workflows
    + Workers
    + sealed::Sealed
    + std::fmt::Debug
    + 'static
{
    /// The boards of this store: tasks that are addressed by revision ([`boards`]).
    fn boards(self: Arc<Self>) -> Arc<dyn boards::Boards>;

    /// Whole tasks of this store, to be stored elsewhere, and those of another ([`backup`]).
    fn backup(self: Arc<Self>) -> Arc<dyn backup::Backup>;
}
