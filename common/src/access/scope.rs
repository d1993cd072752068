//! The one table of scopes and roles.

use std::fmt;

/// What an operation needs and a key may have: a verb on a resource, such as `tasks:submit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scope {
    /// Look at tasks and follow them.
    TasksRead,
    /// See what sensitive tasks and dead letters hold.
    TasksReveal,
    /// Submit tasks, and add dependencies.
    TasksSubmit,
    /// Cancel, resubmit and signal tasks.
    TasksControl,
    /// Delete tasks.
    TasksDelete,
    /// Lease tasks, renew and return leases.
    TasksLease,
    /// Look at dead letters.
    DeadLettersRead,
    /// Resubmit dead letters, and stop such an operation.
    DeadLettersControl,
    /// Delete dead letters.
    DeadLettersDelete,
    /// Look at queues.
    QueuesRead,
    /// Pause and resume queues.
    QueuesControl,
    /// Create, change and delete queues.
    QueuesWrite,
    /// Delete the tasks of a queue.
    QueuesDelete,
    /// Look at the roles of workers, and at routing.
    ConfigRead,
    /// Change the roles of workers, and routing.
    ConfigWrite,
    /// Look at schedules.
    SchedulesRead,
    /// Pause, resume and run schedules.
    SchedulesControl,
    /// Create, change and delete schedules.
    SchedulesWrite,
    /// Look at workflows.
    WorkflowsRead,
    /// Submit workflows.
    WorkflowsSubmit,
    /// Cancel and retry workflows.
    WorkflowsControl,
    /// Delete workflows.
    WorkflowsDelete,
    /// Look at workers, and at the tasks that they can run.
    WorkersRead,
    /// Drain and resume workers.
    WorkersControl,
    /// Look at boards.
    BoardsRead,
    /// Change boards, as clients of TaskStore do.
    BoardsControl,
    /// Scrape metrics.
    MetricsRead,
    /// Read the audit log.
    AuditRead,
    /// Look at access keys.
    KeysRead,
    /// Create, rotate, revoke and delete access keys that grant no more than the one it is done with.
    KeysWrite,
}

/// A named set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AccessRole {
    /// Looks at everything.
    Viewer,
    /// Submits tasks and workflows, and follows them.
    Submitter,
    /// Leases tasks over HTTP, and submits what tasks spawn.
    Worker,
    /// Looks at everything and steers it, without changing the configuration.
    Operator,
    /// May do everything.
    Admin,
}

use AccessRole::{Admin, Operator, Submitter, Viewer, Worker};
use Scope::{
    AuditRead, BoardsControl, BoardsRead, ConfigRead, ConfigWrite, DeadLettersControl, DeadLettersDelete,
    DeadLettersRead, KeysRead, KeysWrite, MetricsRead, QueuesControl, QueuesDelete, QueuesRead, QueuesWrite,
    SchedulesControl, SchedulesRead, SchedulesWrite, TasksControl, TasksDelete, TasksLease, TasksRead, TasksReveal,
    TasksSubmit, WorkersControl, WorkersRead, WorkflowsControl, WorkflowsDelete, WorkflowsRead, WorkflowsSubmit,
};

/// Every scope, with its name and the roles that have it. [`AccessRole::Admin`] has all.
const TABLE: &[(Scope, &str, &[AccessRole])] = &[
    (TasksRead, "tasks:read", &[Viewer, Submitter, Worker, Operator]),
    (TasksReveal, "tasks:reveal", &[]),
    (TasksSubmit, "tasks:submit", &[Submitter, Worker]),
    (TasksControl, "tasks:control", &[Operator]),
    (TasksDelete, "tasks:delete", &[]),
    (TasksLease, "tasks:lease", &[Worker]),
    (DeadLettersRead, "dead_letters:read", &[Viewer, Operator]),
    (DeadLettersControl, "dead_letters:control", &[Operator]),
    (DeadLettersDelete, "dead_letters:delete", &[Operator]),
    (QueuesRead, "queues:read", &[Viewer, Operator]),
    (QueuesControl, "queues:control", &[Operator]),
    (QueuesWrite, "queues:write", &[]),
    (QueuesDelete, "queues:delete", &[]),
    (ConfigRead, "config:read", &[Viewer, Operator]),
    (ConfigWrite, "config:write", &[]),
    (SchedulesRead, "schedules:read", &[Viewer, Operator]),
    (SchedulesControl, "schedules:control", &[Operator]),
    (SchedulesWrite, "schedules:write", &[]),
    (WorkflowsRead, "workflows:read", &[Viewer, Submitter, Operator]),
    (WorkflowsSubmit, "workflows:submit", &[Submitter]),
    (WorkflowsControl, "workflows:control", &[Operator]),
    (WorkflowsDelete, "workflows:delete", &[]),
    (WorkersRead, "workers:read", &[Viewer, Worker, Operator]),
    (WorkersControl, "workers:control", &[Operator]),
    (BoardsRead, "boards:read", &[Viewer, Operator]),
    (BoardsControl, "boards:control", &[Operator]),
    (MetricsRead, "metrics:read", &[Viewer, Operator]),
    (AuditRead, "audit:read", &[]),
    (KeysRead, "keys:read", &[]),
    (KeysWrite, "keys:write", &[]),
];

impl Scope {
    /// All of them, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|(scope, ..)| *scope)
    }

    /// Its name, such as `tasks:submit`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The scope of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|scope| scope.as_str() == name)
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read(self) -> bool {
        self.as_str().ends_with(":read")
    }

    /// Whether what it allows is logged in the audit log: changes, and looks at what is sensitive. To submit and to run tasks
    /// is work, and no change.
    #[must_use]
    pub fn is_audited(self) -> bool {
        !self.is_read() && !matches!(self, TasksSubmit | TasksLease | WorkflowsSubmit)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AccessRole {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 5] = [Viewer, Submitter, Worker, Operator, Admin];

    /// Its name, such as `viewer`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Viewer => "viewer",
            Submitter => "submitter",
            Worker => "worker",
            Operator => "operator",
            Admin => "admin",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// Whether it has a scope.
    #[must_use]
    pub fn has(self, scope: Scope) -> bool {
        self == Admin || TABLE[scope as usize].2.contains(&self)
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_is_at_its_place_and_has_a_name_of_its_own() {
        for (place, scope) in Scope::all().enumerate() {
            assert_eq!(scope as usize, place, "{scope}");
            assert_eq!(Scope::find(scope.as_str()), Some(scope));
        }
    }

    #[test]
    fn a_viewer_reads_everything_and_changes_nothing() {
        for scope in Scope::all() {
            let is_for_admins = matches!(scope, AuditRead | KeysRead);
            assert_eq!(Viewer.has(scope), scope.is_read() && !is_for_admins, "{scope}");
            assert!(!Viewer.has(scope) || Operator.has(scope), "an operator also has {scope}");
            assert!(Admin.has(scope));
        }
    }
}
