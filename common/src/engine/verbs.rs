//! The verbs of a store, a trait a noun; and the list of them, for what wraps an engine: the measurement of calls, and the
//! doubles of tests.

mod access;
mod audit_log;
mod claims;
mod duties;
mod letters;
mod queues;
mod schedules;
mod settings;
mod tasks;
mod upkeep;
mod waiting;
mod workers;
mod workflows;

pub use self::{
    access::Access, audit_log::AuditLog, claims::Claims, duties::Duties, letters::Letters, queues::Queues,
    schedules::Schedules, settings::Settings, tasks::Tasks, upkeep::Upkeep, waiting::Waiting, workers::Workers,
    workflows::Workflows,
};

/// What the list names.
pub mod types {
    pub use std::{sync::Arc, time::Duration};

    pub use super::*;
    pub use crate::{
        access::{AccessKey, Digest, Session},
        dependency::signal::Signalled,
        engine::{
            AuditRequest, Audited, Cancelled, Cycle, CycleReply, DeadKey, DeleteRole, Deleted, DueRuns, DueSchedules,
            Duty, DutyClaim, ExtendAnswer, Extension, Fire, Fired, Health, ListRequest, LoggedChanges, LoggedKey,
            Outbox, Page, Parents, ParentsRequest, PruneRequest, Pruned, PutMode, PutRun, PutSchedule,
            QueueListRequest, QueuePage, QueuePlace, QueueStats, Reclaimed, Rescheduled, Resubmit, Resubmitted,
            RunCounts, RunQuery, StoredRun, StoredSchedule, Submit, Submitted, TaskDeletion, TaskTimes,
            dependencies::NewDependency,
        },
        history::{Grain, History},
        lifecycle::Status,
        name::{
            ChangeId, DutyName, HolderId, KeyId, QueueName, RoleName, ScheduleName, SignalName, TaskId, WorkerId,
            WorkflowId,
        },
        queue::{
            Config, QueueConfig, RoleConfig,
            routing::{RouteKey, RouteRule},
        },
        schedule::entry::ScheduleEntry,
        task::{Start, Task, tombstone::Tombstone},
        worker::{
            RegisteredWorker, WorkerReport,
            registry::{Catalogue, CatalogueId},
        },
        workflow::Run,
    };
}

/// Calls a macro with every verb of an [`Engine`](crate::engine::Engine) that answers at once, trait by trait: its name, its
/// arguments, and its answer without the [`Result`](crate::engine::Result). The two of [`Waiting`] are not among them,
/// because they take as long as nothing happens. The caller imports all of [`types`].
#[macro_export]
macro_rules! engine_verbs {
    ($act:ident) => {
        $act! {
            Tasks {
                submit(batch: Submit) -> Vec<Submitted>;
                add_dependencies(edges: &[NewDependency]) -> Vec<bool>;
                get(id: &TaskId) -> Option<Task>;
                tombstone(id: &TaskId) -> Option<Tombstone>;
                statuses(ids: &[TaskId]) -> Vec<Option<Status>>;
                times(ids: &[TaskId]) -> Vec<TaskTimes>;
                parents(request: ParentsRequest) -> Parents;
                list(request: ListRequest) -> Page;
                place(id: &TaskId) -> Option<QueuePlace>;
                cancel(ids: &[TaskId]) -> Vec<Cancelled>;
                resubmit(batch: Vec<Resubmit>) -> Vec<Resubmitted>;
                reschedule(ids: &[TaskId], start: Start) -> Vec<Rescheduled>;
                signal(id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Signalled;
                delete_tasks(ids: &[TaskId], cascade: bool) -> Vec<TaskDeletion>;
            }
            Claims {
                cycle(cycle: Cycle) -> CycleReply;
                extend(worker: &WorkerId, lease: Duration, extensions: Vec<Extension>) -> Vec<ExtendAnswer>;
            }
            Queues {
                queue_stats(queue: &QueueName) -> QueueStats;
                list_queues(request: QueueListRequest) -> QueuePage;
                history(queues: &[QueueName], by: Grain) -> History;
                create_queues(queues: &[QueueName]) -> ();
                put_queue(queue: QueueConfig, mode: PutMode<QueueConfig>) -> Arc<Config>;
                delete_queue(queue: &QueueName, expected: Option<QueueConfig>) -> Deleted;
                purge_queue(queue: &QueueName, limit: usize) -> u64;
                move_tasks(from: &QueueName, to: &QueueName, limit: usize) -> u64;
            }
            Settings {
                config() -> Arc<Config>;
                put_role(role: RoleConfig, mode: PutMode<RoleConfig>) -> Arc<Config>;
                delete_role(role: &RoleName, on: DeleteRole) -> Arc<Config>;
                put_route(key: RouteKey, rule: RouteRule) -> Arc<Config>;
                delete_route(key: &RouteKey) -> Arc<Config>;
            }
            Access {
                put_key(key: AccessKey, mode: PutMode<AccessKey>) -> Arc<Config>;
                delete_key(key: &KeyId) -> Arc<Config>;
                put_session(id: &Digest, session: &Session, ttl: Duration) -> ();
                session(id: &Digest) -> Option<Session>;
                end_session(id: &Digest) -> ();
            }
            Letters {
                dead_letters(after: u64, limit: usize) -> Outbox;
                forget_dead_letters(keys: &[DeadKey]) -> ();
                forget_receipts(keys: &[DeadKey]) -> ();
            }
            AuditLog {
                log_change(id: &ChangeId, record: &str) -> ();
                log_outcome(id: &ChangeId, outcome: &str) -> bool;
                logged_changes(after: u64, limit: usize) -> LoggedChanges;
                forget_logged_changes(keys: &[LoggedKey]) -> ();
            }
            Duties {
                claim_duty(claim: DutyClaim) -> Duty;
                duty(duty: &DutyName) -> Option<Duty>;
                release_duty(duty: &DutyName, holder: &HolderId) -> ();
            }
            Upkeep {
                promote_due(limit: usize) -> u64;
                reclaim_expired(limit: usize) -> Reclaimed;
                prune(request: PruneRequest) -> Pruned;
                audit(request: AuditRequest) -> Audited;
                health() -> Health;
            }
            Schedules {
                put_schedule(entry: ScheduleEntry, put: PutSchedule) -> u64;
                schedule(name: &ScheduleName) -> Option<StoredSchedule>;
                list_schedules(after: Option<&ScheduleName>, limit: usize) -> Vec<StoredSchedule>;
                delete_schedule(name: &ScheduleName, revision: Option<u64>) -> ();
                due_schedules(limit: usize) -> DueSchedules;
                fire_schedule(fire: Fire) -> Fired;
            }
            Workflows {
                put_workflow(run: Run, put: PutRun) -> u64;
                workflow(id: &WorkflowId) -> Option<StoredRun>;
                workflow_definition(id: &WorkflowId) -> Option<String>;
                list_workflows(query: RunQuery) -> Vec<StoredRun>;
                delete_workflow(id: &WorkflowId, revision: u64) -> ();
                due_workflows(limit: usize) -> DueRuns;
                count_workflows() -> RunCounts;
            }
            Workers {
                register_worker(report: WorkerReport, ttl: Duration) -> u64;
                deregister_worker(worker: &WorkerId) -> ();
                workers() -> Vec<RegisteredWorker>;
                set_draining(worker: &WorkerId, draining: bool) -> Arc<Config>;
                keep_catalogue(catalogue: &Catalogue, ttl: Duration) -> CatalogueId;
                catalogue(id: CatalogueId) -> Option<Catalogue>;
            }
        }
    };
}
