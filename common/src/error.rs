//! How a verb can fail.

use std::time::Duration;

use crate::{
    dependency::refused::RefusedDependency,
    lifecycle::Status,
    name::{KeyId, QueueName, RoleName, ScheduleName, TaskId, WorkerId, WorkflowId},
    queue::routing::{RouteKey, RuleOverlap},
    task::unique::UniqueKey,
};

/// The result of every verb.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a submission conflicts with a stored task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// The id is taken by a submission with another body.
    BodyDiffers,
    /// It should be replaced, but runs.
    Started,
}

/// How a verb can fail. Nothing was changed, unless [`Error::is_transient`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The queue does not exist.
    #[error("queue {0} does not exist")]
    UnknownQueue(QueueName),
    /// The role does not exist.
    #[error("role {0} does not exist")]
    UnknownRole(RoleName),
    /// The access key does not exist.
    #[error("key {0} does not exist")]
    UnknownKey(KeyId),
    /// No live worker has this id.
    #[error("no worker {0} is alive")]
    UnknownWorker(WorkerId),
    /// The schedule does not exist.
    #[error("schedule {0} does not exist")]
    UnknownSchedule(ScheduleName),
    /// No such run of a workflow.
    #[error("workflow {0} does not exist")]
    UnknownWorkflow(WorkflowId),
    /// The id is taken.
    #[error("task {id} exists ({status}) {}", match reason {
        ConflictReason::BodyDiffers => "and was submitted with another body",
        ConflictReason::Started => "and is running, so it can't be replaced",
    })]
    Conflict {
        /// The id.
        id: TaskId,
        /// The status of the task with this id.
        status: Status,
        /// The reason.
        reason: ConflictReason,
    },
    /// Another task holds the unique key of a submission, which must not or can't change it. Nothing was accepted.
    #[error("task {id} has the unique key {key:?}, which task {holder} holds ({status})")]
    Duplicate {
        /// The submission's id.
        id: TaskId,
        /// Its key.
        key: UniqueKey,
        /// The task that holds it.
        holder: TaskId,
        /// The status of the holder.
        status: Status,
    },
    /// A submission depends on a task that is neither stored, nor remembered, nor part of the batch. Nothing was
    /// accepted.
    #[error("task {id} depends on task {predecessor}, which does not exist")]
    UnknownPredecessor {
        /// The submission's id.
        id: TaskId,
        /// The task that it names.
        predecessor: TaskId,
    },
    /// An edge between stored tasks can't be added. None was.
    #[error("{0}")]
    DependencyRefused(Box<RefusedDependency>),
    /// The queue holds as many tasks as it may. Nothing was accepted.
    #[error("queue {queue} holds as many tasks as its max_length of {max_length} allows")]
    QueueFull {
        /// The queue.
        queue: QueueName,
        /// How many tasks may wait in it.
        max_length: u64,
    },
    /// As many bytes of parameters wait in the queue as may. Nothing was accepted.
    #[error("queue {queue} holds as many bytes of parameters as its max_bytes of {max_bytes} allows")]
    QueueBytesFull {
        /// The queue.
        queue: QueueName,
        /// How many bytes may wait in it.
        max_bytes: u64,
    },
    /// The queue accepts no more for now, by its `submit_rate_limit`. Nothing was accepted.
    #[error("queue {queue} takes no more tasks in for {} by its submit_rate_limit", crate::values::duration::format(crate::values::duration::rounded_up(*retry_after)))]
    RateLimited {
        /// The queue.
        queue: QueueName,
        /// When all of them may be accepted.
        retry_after: Duration,
    },
    /// As many logged changes wait for an archive as may. Nothing was changed.
    #[error("{max} logged changes wait in the store, as many as may, because no manager moves them to an archive")]
    AuditLogFull {
        /// How many may wait.
        max: usize,
    },
    /// The entry to create exists.
    #[error("{0} exists")]
    Exists(String),
    /// The entry to change is no longer in the expected state.
    #[error("{0} was changed meanwhile")]
    Changed(String),
    /// The queue to delete has live tasks.
    #[error("queue {queue} holds {live} live tasks")]
    NotEmpty {
        /// The queue.
        queue: QueueName,
        /// Its live tasks.
        live: u64,
    },
    /// A role or a rule names the queue to delete.
    #[error("queue {queue} is named by {by}")]
    InUse {
        /// The queue.
        queue: QueueName,
        /// The role or rule, e.g. `role default`.
        by: String,
    },
    /// Live workers serve the role to delete.
    #[error("role {role} is served by {workers} live {}", if *workers == 1 { "worker" } else { "workers" })]
    RoleInUse {
        /// The role.
        role: RoleName,
        /// How many workers serve it.
        workers: u64,
    },
    /// The routing rule shares versions with another one, and neither contains the other.
    #[error(
        "the routing rule of {rule} would overlap that of {other}, and neither lies within the other; change that first"
    )]
    RulesOverlap {
        /// The new one.
        rule: RouteKey,
        /// The existing one.
        other: RouteKey,
    },
    /// The call breaks a bound or a rule.
    #[error("{0}")]
    Invalid(String),
    /// The store can't be reached or can't answer now. The call may or may not have been carried out.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// What happened.
        reason: String,
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// The store accepts no more: disk, quota or memory is full. Nothing was changed; settling still works if the store
    /// allows it.
    #[error("the store is full: {0}")]
    Full(String),
    /// The store only reads: a replica, or a file without write permission. Nothing was changed.
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// The store was written by a newer or an unknown version.
    #[error("the store's schema is version {found}; this program reads and writes version {supported}")]
    Schema {
        /// The version found.
        found: String,
        /// The supported version.
        supported: String,
    },
    /// Stored data can't be read.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// A defect in this program. Nothing was changed.
    #[error("a defect was met, and nothing was changed: {0}")]
    Defect(String),
    /// The URL or path of the store is invalid.
    #[error("{0}")]
    Config(String),
}

impl From<RuleOverlap> for Error {
    fn from(RuleOverlap { rule, other }: RuleOverlap) -> Self {
        Self::RulesOverlap { rule, other }
    }
}

impl Error {
    /// Whether the same call may succeed later without any other change.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::Full(_)
                | Self::ReadOnly(_)
                | Self::QueueFull { .. }
                | Self::QueueBytesFull { .. }
                | Self::RateLimited { .. }
                | Self::AuditLogFull { .. }
        )
    }

    /// The kind of failure as a stable word, for metrics and logs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::UnknownQueue(_) => "unknown_queue",
            Self::UnknownRole(_) => "unknown_role",
            Self::UnknownKey(_) => "unknown_key",
            Self::UnknownWorker(_) => "unknown_worker",
            Self::UnknownSchedule(_) => "unknown_schedule",
            Self::UnknownWorkflow(_) => "unknown_workflow",
            Self::Conflict { .. } => "conflict",
            Self::Duplicate { .. } => "duplicate",
            Self::UnknownPredecessor { .. } => "unknown_predecessor",
            Self::DependencyRefused(refused) => refused.kind(),
            Self::Exists(_) => "exists",
            Self::NotEmpty { .. } => "not_empty",
            Self::InUse { .. } => "in_use",
            Self::RoleInUse { .. } => "role_in_use",
            Self::RulesOverlap { .. } => "rules_overlap",
            Self::Changed(_) => "changed",
            Self::QueueFull { .. } => "queue_full",
            Self::QueueBytesFull { .. } => "queue_bytes_full",
            Self::RateLimited { .. } => "rate_limited",
            Self::AuditLogFull { .. } => "audit_log_full",
            Self::Invalid(_) => "invalid",
            Self::Unavailable { .. } => "unavailable",
            Self::Full(_) => "full",
            Self::ReadOnly(_) => "read_only",
            Self::Schema { .. } => "schema",
            Self::Corrupt(_) => "corrupt",
            Self::Defect(_) => "defect",
            Self::Config(_) => "config",
        }
    }

    /// A batch with more tasks for one queue than that queue ever accepts at once.
    #[must_use]
    pub fn over_burst(queue: &QueueName, tasks: usize, burst: u32) -> Self {
        Self::Invalid(format!(
            "the batch brings {tasks} new tasks to queue {queue}, which takes at most {burst} at once by its \
             submit_rate_limit; send smaller batches, or raise its burst"
        ))
    }

    /// A batch with more tasks for one queue than that queue ever holds.
    #[must_use]
    pub fn over_length(queue: &QueueName, tasks: usize, max_length: u64) -> Self {
        Self::Invalid(format!(
            "the batch brings {tasks} new tasks to queue {queue}, which holds at most {max_length} by its max_length; \
             send smaller batches, or raise it"
        ))
    }

    /// An [`Error::Unavailable`] to retry in a second.
    #[must_use]
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), retry_after: Duration::from_secs(1) }
    }
}
