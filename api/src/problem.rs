//! Errors on the wire: `application/problem+json` (RFC 9457), each with a stable code.
//!
//! [`Code`] is the one list; statuses, titles and what OpenAPI says all follow from it.

use std::time::Duration;

use http::StatusCode;
use jobbers_common::{
    access::redact,
    engine::{ConflictReason, Error, dependencies::AddRefusal},
    lifecycle::Status,
    name::{QueueName, TaskId},
    task::tombstone::Tombstone,
    values::text::excerpt,
};
use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::{
    PartialSchema,
    openapi::{
        RefOr,
        schema::{ObjectBuilder, Schema, Type},
    },
};

use crate::{
    openapi::ToSchema,
    value::{Rfc3339, TaskIdDoc, Word},
};

#[cfg(feature = "server")]
mod answer;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $status:ident, $title:literal;)+) => {
        /// What went wrong, for programs. A code never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The code's name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// The HTTP status it comes with.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)+ }
            }

            /// The short sentence that goes with it.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// The path of the page about it, which is the `type` of its problems.
            #[must_use]
            pub fn page(self) -> String {
                format!("/problems/{}", self.as_str())
            }

            /// What it means and what to do about it.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The body is not JSON. The detail names line and column.
    MalformedJson = "malformed_json", BAD_REQUEST, "The body is not JSON";
    /// A part of the path or query, or a header, can't be read or is unknown.
    InvalidParameter = "invalid_parameter", BAD_REQUEST, "A parameter of the request is not valid";
    /// The request came from a web page of another site. Only the manager's own pages, and programs, change anything.
    ForeignOrigin = "foreign_origin", FORBIDDEN, "A page of another site may not do this";
    /// A manager on loopback was asked for under a name it does not know. Use localhost or an address, or put the name into
    /// `allowed_hosts`.
    ForeignHost = "foreign_host", FORBIDDEN, "The manager does not answer to this name";
    /// The store has access keys, and the request came without one. Send `Authorization: Bearer KEY`; `jobbers keys create`
    /// makes a key.
    KeyRequired = "key_required", UNAUTHORIZED, "A key is needed";
    /// The request's key is not valid: it has a typing error, does not exist, has expired, or was revoked or replaced.
    KeyRefused = "key_refused", UNAUTHORIZED, "The key is not valid";
    /// The header in which a trusted proxy names a person is there twice, is empty or too long, or is no plain text; or the client's
    /// certificate has no such name. The detail says which. Correct the proxy or the certificate, or send a key.
    IdentityRefused = "identity_refused", UNAUTHORIZED, "The client is not named";
    /// A trusted proxy names a person, or a certificate a client, and no valid key has this name, or more than one has.
    /// `jobbers keys create NAME` makes a key.
    IdentityUnknown = "identity_unknown", FORBIDDEN, "The name has no key";
    /// The key does not have the scope that the operation needs; the detail names it. Use another key.
    ScopeMissing = "scope_missing", FORBIDDEN, "The key may not do this";
    /// The key is restricted to queues, tasks or boards, and this is not among them, or can't be restricted; the detail says which. Use
    /// another key.
    OutOfReach = "out_of_reach", FORBIDDEN, "The key does not reach this";
    /// No such path. The paths are listed at /openapi.json.
    NotFound = "not_found", NOT_FOUND, "There is nothing at this path";
    /// No task has this id: it was never submitted, or it has been pruned.
    UnknownTask = "unknown_task", NOT_FOUND, "Task not found";
    /// The task is over and was pruned. Its id is remembered for a time: `end` has its status, its queue and when it ended.
    Gone = "gone", GONE, "The task is over and was pruned";
    /// The task was not submitted to wait for a signal of this name. `GET /tasks/{id}` shows those that it has, in
    /// `dependencies.external`.
    UnknownSignal = "unknown_signal", NOT_FOUND, "The task has no such signal";
    /// No queue has this name. Create it with POST /queues.
    UnknownQueue = "unknown_queue", NOT_FOUND, "Queue not found";
    /// This task has no dead letter: it did not fail for good, was not to be kept, or was deleted.
    UnknownDeadLetter = "unknown_dead_letter", NOT_FOUND, "Dead letter not found";
    /// No operation has this id, or it was finished over a week ago.
    UnknownOperation = "unknown_operation", NOT_FOUND, "Operation not found";
    /// No role has this name. Create it with POST /roles.
    UnknownRole = "unknown_role", NOT_FOUND, "Role not found";
    /// No access key has this id. The keys are listed at GET /keys.
    UnknownKey = "unknown_key", NOT_FOUND, "Access key not found";
    /// No live worker has this id. The workers are listed at GET /workers.
    UnknownWorker = "unknown_worker", NOT_FOUND, "Worker not found";
    /// No schedule has this name. Create it with POST /schedules.
    UnknownSchedule = "unknown_schedule", NOT_FOUND, "Schedule not found";
    /// No run of a workflow has this id: it was never submitted, or it is past its retention.
    UnknownWorkflow = "unknown_workflow", NOT_FOUND, "Workflow not found";
    /// No task was ever put on a board of this name. The boards are listed at GET /boards.
    UnknownBoard = "unknown_board", NOT_FOUND, "Board not found";
    /// The board has no task at this revision. Each change gives a task a new one: list its group at
    /// GET /boards/{board}/tasks.
    UnknownBoardTask = "unknown_board_task", NOT_FOUND, "Task of the board not found";
    /// The path exists, the method on it does not; see the Allow header.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "This path does not take this method";
    /// The body did not arrive in time. Send it again.
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "The body did not arrive in time";
    /// A task with this id was submitted with another body. Choose another id, or say on_conflict.
    TaskExists = "task_exists", CONFLICT, "The task id is taken by another submission";
    /// The token holds no lease on the task: the lease ended and the task was given to another, or it is over or gone. Nothing
    /// changed; stop the task.
    LeaseLost = "lease_lost", CONFLICT, "The lease is lost";
    /// A task that runs can't be replaced: cancel it first. Nor can it wait for further tasks.
    TaskStarted = "task_started", CONFLICT, "The task is running";
    /// Another task, `holder`, holds the task's unique key. Wait until it is over, or say on_duplicate.
    Duplicate = "duplicate", CONFLICT, "Another task holds the unique key";
    /// The task was over before it could be cancelled, or could wait for another one.
    TaskOver = "task_over", CONFLICT, "The task is over";
    /// The task does not wait for the signal any more: the signal timed out, or the task has ended. Nothing changed.
    SignalLate = "signal_late", CONFLICT, "The signal is too late";
    /// A task to wait for is over, so no dependency on it was added, and none of the same request. If that is no obstacle, add
    /// the others.
    PredecessorOver = "predecessor_over", CONFLICT, "The task to wait for is over";
    /// The task waits for that task already, with another policy. Policies do not change; none of the request's dependencies
    /// was added.
    DependencyExists = "dependency_exists", CONFLICT, "The dependency exists with another policy";
    /// The workflow's id is taken by another one. Choose another id, or send the body that it was submitted with.
    WorkflowExists = "workflow_exists", CONFLICT, "The workflow exists";
    /// The workflow is over; only one that is not can be cancelled.
    WorkflowOver = "workflow_over", CONFLICT, "The workflow is over";
    /// Only a workflow that is over is deleted, and only one with nodes that did not complete is run again.
    WorkflowNotOver = "workflow_not_over", CONFLICT, "The workflow is not over, or has nothing left to run";
    /// Only a task that is scheduled gets another time: this one waits for others or for its turn, runs, or is over.
    TaskNotScheduled = "task_not_scheduled", CONFLICT, "The task is not scheduled";
    /// The task waits for its turn or runs; it can be sent again when it is over.
    TaskLive = "task_live", CONFLICT, "The task is not over";
    /// The task completed, has ended again, or is spontaneous; look at its present state.
    TaskCompleted = "task_completed", CONFLICT, "The task is not to be sent again";
    /// This dead letter was sent again before, or is about to be.
    AlreadyResubmitted = "already_resubmitted", CONFLICT, "It was sent again before";
    /// This Idempotency-Key was used for a request with another body. Use a new key.
    IdempotencyKeyReused = "idempotency_key_reused", CONFLICT, "The idempotency key was used for another request";
    /// A queue, role or schedule of this name exists. Change it with PUT.
    Exists = "exists", CONFLICT, "It exists already";
    /// The queue holds live tasks. Cancel or purge them, or let them finish.
    QueueNotEmpty = "queue_not_empty", CONFLICT, "The queue holds live tasks";
    /// A role or a routing rule names the queue. Change that first.
    QueueInUse = "queue_in_use", CONFLICT, "The queue is in use";
    /// Live workers serve the role, as many as the detail says. Stop them, or say force: they then claim nothing until there
    /// is such a role again.
    RoleInUse = "role_in_use", CONFLICT, "Live workers serve the role";
    /// The access key signs clients in, so it is not deleted, or it does not any more, so it gets no new secret; the detail says which.
    KeyState = "key_state", CONFLICT, "The key is not in the state for this";
    /// The rule shares versions with another rule of the task, and neither lies within the other. Change or delete that one
    /// first.
    RulesOverlap = "rules_overlap", CONFLICT, "The rule overlaps another";
    /// Another change came first: the `If-Match` of the request no longer holds. Read it again, and decide again.
    Changed = "changed", PRECONDITION_FAILED, "It was changed meanwhile";
    /// The body is over `max_body_bytes`.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// A task's parameters are over `max_payload_bytes`, or the `max_bytes` of its queue. Store large data elsewhere and pass its address.
    PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "The parameters of a task are too large";
    /// A request carries at most 1,000 tasks or ids.
    BatchTooLarge = "batch_too_large", PAYLOAD_TOO_LARGE, "The batch is too large";
    /// The body must come with `Content-Type: application/json`.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body must be JSON";
    /// A field is missing, unknown, of the wrong kind or out of its bounds; `pointer` says which.
    InvalidRequest = "invalid_request", UNPROCESSABLE_ENTITY, "The request makes no sense";
    /// Arrays and objects in the parameters stand more than 64 deep in each other.
    JsonTooDeep = "json_too_deep", UNPROCESSABLE_ENTITY, "The JSON is nested too deeply";
    /// The parameters do not fit the schema that the task's workers registered; `pointer` says where. The schema is at
    /// GET /tasks/registry.
    SchemaMismatch = "schema_mismatch", UNPROCESSABLE_ENTITY, "The parameters do not fit the task";
    /// The queue is strict, and no live worker that claims from it can run the task. Start one, or correct name, version
    /// or queue.
    NoWorker = "no_worker", UNPROCESSABLE_ENTITY, "No worker can run the task";
    /// A task names a dependency on a task that is not stored, not remembered and not part of the same batch. Submit that
    /// one first or with it, or correct the id; `pointer` says where it is. Nothing was accepted.
    UnknownPredecessor = "unknown_predecessor", UNPROCESSABLE_ENTITY, "A task to wait for does not exist";
    /// With this dependency tasks would wait for each other for ever; the detail names them. None of the request's dependencies
    /// was added.
    CircularDependency = "circular_dependency", UNPROCESSABLE_ENTITY, "The tasks would wait for each other";
    /// Too many dependencies lead from the task and to the one that it is to wait for: whether they would wait for each other
    /// can't be checked in one step. Name the dependency when the task is submitted. None of the request was added.
    TooManyToCheck = "too_many_to_check", UNPROCESSABLE_ENTITY, "The graph is too large to check";
    /// The routing rule for the task forbids to name a queue other than its own. Leave `queue` out.
    QueueForbidden = "queue_forbidden", UNPROCESSABLE_ENTITY, "The queue is not the submitter's to choose";
    /// A defect of ours; the log tells more.
    Internal = "internal", INTERNAL_SERVER_ERROR, "The manager failed";
    /// The store was written by another version of Jobbers. Run matching versions.
    StoreSchema = "store_schema", INTERNAL_SERVER_ERROR, "The store has another version";
    /// What is stored can't be read; the log tells more.
    StoreCorrupt = "store_corrupt", INTERNAL_SERVER_ERROR, "The store is damaged";
    /// The queue holds as many tasks, or bytes, as its `max_length` or `max_bytes` allows. Nothing was accepted; send it again
    /// after Retry-After. A batch that brings more tasks than ever fit is `invalid_request`.
    QueueFull = "queue_full", TOO_MANY_REQUESTS, "The queue is full";
    /// The queue takes no more tasks in for now, by its `submit_rate_limit`. Nothing was accepted; send it again after
    /// Retry-After.
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "The queue takes no more in for now";
    /// Too many requests from this address had a wrong key: one a second is looked at. Correct the key; a right one is accepted at once.
    TooManyWrongKeys = "too_many_wrong_keys", TOO_MANY_REQUESTS, "Too many wrong keys came from this address";
    /// As many signals are kept for tasks that do not exist yet as may be. Send it again after Retry-After, or once the task
    /// exists.
    TooManySignalsKept = "too_many_signals_kept", TOO_MANY_REQUESTS, "Too many signals are kept";
    /// The archive of dead letters was written by another version of Jobbers. Run matching versions.
    ArchiveSchema = "archive_schema", INTERNAL_SERVER_ERROR, "The archive has another version";
    /// The archive of dead letters can't be read; the log tells more. Dead letters wait in the store.
    ArchiveCorrupt = "archive_corrupt", INTERNAL_SERVER_ERROR, "The archive is damaged";
    /// No manager keeps the archive of dead letters now, or its file can't be used. Dead letters wait in the store.
    ArchiveUnavailable = "archive_unavailable", SERVICE_UNAVAILABLE, "The archive is unavailable";
    /// Another process holds the file of dead letters. Send the request again after Retry-After.
    ArchiveLocked = "archive_locked", SERVICE_UNAVAILABLE, "The archive is locked";
    /// The disk, or the quota of the archive (dlq_max_bytes), is full. Dead letters wait in the store.
    ArchiveFull = "archive_full", SERVICE_UNAVAILABLE, "The archive is full";
    /// The change can't be logged for the audit log, so it was not made: as many logged changes wait in the store as may,
    /// because no manager moves them to its archive.
    AuditUnavailable = "audit_unavailable", SERVICE_UNAVAILABLE, "The change can't be logged";
    /// The manager is stopping. Ask another one.
    ShuttingDown = "shutting_down", SERVICE_UNAVAILABLE, "The manager is stopping";
    /// What is held for all clients is over `max_client_memory`, or too many clients follow tasks. Nothing was changed;
    /// send the request again after Retry-After.
    Overloaded = "overloaded", SERVICE_UNAVAILABLE, "The manager has too much to do";
    /// The store can't be reached or can't answer now. Send the request again after Retry-After, with the same ids or
    /// the same Idempotency-Key: it may have been carried out.
    StoreUnavailable = "store_unavailable", SERVICE_UNAVAILABLE, "The store is unavailable";
    /// Disk, quota or memory of the store is full. Nothing was changed.
    StoreFull = "store_full", SERVICE_UNAVAILABLE, "The store is full";
    /// The store only reads, e.g. a replica. Nothing was changed.
    StoreReadOnly = "store_read_only", SERVICE_UNAVAILABLE, "The store is read-only";
}

/// What any operation may answer beside what is its own.
pub const ALWAYS: &[Code] = &[
    Code::InvalidParameter,
    Code::ForeignOrigin,
    Code::ForeignHost,
    Code::KeyRequired,
    Code::KeyRefused,
    Code::IdentityRefused,
    Code::IdentityUnknown,
    Code::TooManyWrongKeys,
    Code::ScopeMissing,
    Code::OutOfReach,
    Code::Internal,
    Code::StoreSchema,
    Code::StoreCorrupt,
    Code::StoreUnavailable,
    Code::StoreFull,
    Code::StoreReadOnly,
    Code::AuditUnavailable,
];

/// What any operation with a JSON body may answer.
pub const WITH_BODY: &[Code] = &[
    Code::MalformedJson,
    Code::RequestTimeout,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::InvalidRequest,
    Code::Overloaded,
];

/// What an operation may answer that takes tasks to submit later.
pub const TEMPLATES: &[Code] = &[
    Code::UnknownQueue,
    Code::QueueForbidden,
    Code::JsonTooDeep,
    Code::PayloadTooLarge,
    Code::SchemaMismatch,
    Code::NoWorker,
];

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    detail: String,
    pointer: Option<String>,
    retry_after: Option<Duration>,
    holder: Option<TaskId>,
    end: Option<Box<EndView>>,
}

/// The answer of a handler that can fail.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    /// An error with a sentence on this very occurrence. What it repeats of a request is cut ([`excerpt`]), and secrets of
    /// access keys are left out.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail: String = detail.into();
        Self {
            code,
            detail: excerpt(redact(&detail).into_owned()),
            pointer: None,
            retry_after: None,
            holder: None,
            end: None,
        }
    }

    /// The same, with a place in a text of the body.
    pub fn with_place(mut self, place: impl std::fmt::Display) -> Self {
        self.detail = excerpt(redact(&format!("{place}: {}", self.detail)).into_owned());
        self
    }

    /// The same, about one field of the body.
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into()).filter(|pointer| !pointer.is_empty()).map(excerpt);
        self
    }

    /// The same, with the task that holds the unique key.
    pub fn held_by(mut self, holder: TaskId) -> Self {
        self.holder = Some(holder);
        self
    }

    /// The answer for a pruned task that is remembered.
    pub fn gone(task: &Tombstone) -> Self {
        let Tombstone { id, queue, status, finished_at, .. } = task;
        let end = EndView { status: *status, finished_at: (*finished_at).into(), queue: queue.clone() };
        let detail = format!("task {id} is over ({status}) and was pruned");
        Self { end: Some(Box::new(end)), ..Self::new(Code::Gone, detail) }
    }

    /// The same, and when it is worth trying again.
    pub fn after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }

    /// The same, with the code for another way to look at it.
    pub fn recode(mut self, from: Code, to: Code) -> Self {
        if self.code == from {
            self.code = to;
        }
        self
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// What happened here.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The task that holds the unique key, if that is why.
    #[must_use]
    pub const fn holder(&self) -> Option<&TaskId> {
        self.holder.as_ref()
    }

    /// When it is worth trying again, if that is known.
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The field of the body that is meant, as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }
}

/// A request is invalid by this rule on one of its fields.
pub fn invalid(field: &str, rule: impl std::fmt::Display) -> Problem {
    Problem::new(Code::InvalidRequest, format!("{field} {rule}")).at(format!("/{field}"))
}

impl From<&Error> for Code {
    /// The code of an error of the store: the same whether a manager answers with it, or a program meets it itself.
    fn from(error: &Error) -> Self {
        match error {
            Error::UnknownQueue(_) => Code::UnknownQueue,
            Error::UnknownRole(_) => Code::UnknownRole,
            Error::UnknownKey(_) => Code::UnknownKey,
            Error::UnknownWorker(_) => Code::UnknownWorker,
            Error::UnknownSchedule(_) => Code::UnknownSchedule,
            Error::UnknownWorkflow(_) => Code::UnknownWorkflow,
            Error::Conflict { reason: ConflictReason::BodyDiffers, .. } => Code::TaskExists,
            Error::Conflict { reason: ConflictReason::Started, .. } => Code::TaskStarted,
            Error::Duplicate { .. } => Code::Duplicate,
            Error::Exists(_) => Code::Exists,
            Error::QueueFull { .. } | Error::QueueBytesFull { .. } => Code::QueueFull,
            Error::RateLimited { .. } => Code::RateLimited,
            Error::Changed(_) => Code::Changed,
            Error::RulesOverlap { .. } => Code::RulesOverlap,
            Error::NotEmpty { .. } => Code::QueueNotEmpty,
            Error::InUse { .. } => Code::QueueInUse,
            Error::RoleInUse { .. } => Code::RoleInUse,
            Error::Invalid(_) => Code::InvalidRequest,
            Error::UnknownPredecessor { .. } => Code::UnknownPredecessor,
            Error::DependencyRefused(refused) => match refused.why {
                AddRefusal::UnknownRun => Code::UnknownTask,
                AddRefusal::RunStarted(Status::Started) => Code::TaskStarted,
                AddRefusal::RunStarted(_) => Code::TaskOver,
                AddRefusal::UnknownAfter => Code::UnknownPredecessor,
                AddRefusal::AfterOver(_) => Code::PredecessorOver,
                AddRefusal::OtherPolicy(_) => Code::DependencyExists,
                AddRefusal::RunIsUnique | AddRefusal::TooMany => Code::InvalidRequest,
                AddRefusal::Circle(_) => Code::CircularDependency,
                AddRefusal::TooManyToCheck => Code::TooManyToCheck,
            },
            // What was right when the program started and is not any more, such as a login.
            Error::Unavailable { .. } | Error::Config(_) => Code::StoreUnavailable,
            Error::Full(_) => Code::StoreFull,
            Error::ReadOnly(_) => Code::StoreReadOnly,
            Error::AuditLogFull { .. } => Code::AuditUnavailable,
            Error::Schema { .. } => Code::StoreSchema,
            Error::Corrupt(_) => Code::StoreCorrupt,
            _ => Code::Internal,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let code = Code::from(&error);
        if code.status().is_server_error() {
            tracing::debug!(%error, code = code.as_str(), "the store refused");
        }
        let retry_after = match &error {
            Error::Unavailable { retry_after, .. } | Error::RateLimited { retry_after, .. } => Some(*retry_after),
            Error::QueueFull { .. } | Error::QueueBytesFull { .. } => Some(Duration::from_secs(1)),
            // An operator must repair these; asking every second would not help.
            Error::Full(_) | Error::ReadOnly(_) | Error::Config(_) | Error::AuditLogFull { .. } => {
                Some(Duration::from_secs(5))
            }
            _ => None,
        };
        let holder = match &error {
            Error::Duplicate { holder, .. } => Some(holder.clone()),
            _ => None,
        };
        Self { retry_after, holder, ..Self::new(code, error.to_string()) }
    }
}

/// An error: a problem document (RFC 9457). A client reads what it finds, because a proxy in between may answer with less.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Names the kind of problem, one per code, by the address of a page about it.
    #[serde(rename = "type", default)]
    #[schema(required = true, example = "/problems/unknown_queue")]
    pub kind: String,
    /// The kind in a few words.
    #[serde(default)]
    #[schema(required = true, value_type = String)]
    pub title: Word,
    /// The HTTP status.
    #[serde(default)]
    #[schema(required = true)]
    pub status: u16,
    /// What happened here.
    #[serde(default)]
    #[schema(required = true)]
    pub detail: String,
    /// The kind, for programs.
    #[schema(value_type = Code)]
    pub code: Word,
    /// The field of the body that is meant, as a JSON pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The id of the task that holds the unique key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TaskIdDoc>)]
    pub holder: Option<TaskId>,
    /// Of a task that was pruned: how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub end: Option<Box<EndView>>,
}

/// How a pruned task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndView {
    /// Its last status.
    pub status: Status,
    /// When it ended.
    pub finished_at: Rfc3339,
    /// The queue it was in.
    pub queue: QueueName,
}

impl From<Problem> for ProblemBody {
    fn from(problem: Problem) -> Self {
        let Problem { code, detail, pointer, holder, end, .. } = problem;
        Self {
            kind: code.page(),
            title: code.title().into(),
            status: code.status().as_u16(),
            detail,
            code: code.as_str().into(),
            pointer,
            holder,
            end,
        }
    }
}

/// The content type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

#[cfg(feature = "openapi")]
impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        let help: Vec<String> =
            Self::ALL.iter().map(|code| format!("- `{}`: {}", code.as_str(), code.help())).collect();
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(Self::ALL.iter().map(|code| code.as_str())))
            .description(Some(help.join("\n")))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for Code {
    fn name() -> std::borrow::Cow<'static, str> {
        "ProblemCode".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_each_says_what_to_do() {
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| !code.help().is_empty() && code.status().as_u16() >= 400));
    }
}
