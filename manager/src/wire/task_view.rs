//! The JSON of a task.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jobbers_common::{
    backoff::Backoff,
    duration,
    engine::{Submitted, SubmittedHow},
    error_kind::ErrorKind,
    gate::ConcurrencyKey,
    label::Labels,
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    policy::{DeadLetter, Exhausted, OnShutdown, OnStall, PolicyOverrides},
    task::{AttemptError, Lease, Progress, Task},
    unique::{OnDuplicate, StatusSet, Unique},
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::dependency::DependenciesView;
use super::registry::WarningView;
use super::value::{
    AnyJsonDoc, BackoffDoc, DeadLetterDoc, DurationDoc, ExhaustedDoc, NameDoc, OnDuplicateDoc, OnShutdownDoc,
    OnStallDoc, Rfc3339, StatusDoc,
};

/// The result for a submitted task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubmittedTask)]
pub struct SubmittedView<'a> {
    /// Its id; when another task holds its unique key and is answered in its place, that one's.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    status: Status,
    /// Whether a task was stored; false when the same submission was there already, or another one was left in place.
    created: bool,
    /// Whether it took the place of another, which held its id or its unique key.
    replaced: bool,
    /// Whether the task that holds its unique key has become what it says (`keep_last`).
    updated: bool,
    /// What may be wrong with it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [WarningView],
}

impl<'a> SubmittedView<'a> {
    pub(crate) fn new(task: &'a Submitted, warnings: &'a [WarningView]) -> Self {
        Self {
            id: &task.id,
            queue: &task.queue,
            status: task.status,
            created: matches!(task.how, SubmittedHow::Created | SubmittedHow::Replaced),
            replaced: task.how == SubmittedHow::Replaced,
            updated: task.how == SubmittedHow::Updated,
            warnings,
        }
    }
}

/// The result of a batch: its tasks, in the order they were sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubmittedTasks)]
pub struct SubmittedList<'a> {
    /// The tasks.
    pub(crate) tasks: Vec<SubmittedView<'a>>,
}

/// The result of a submission, in its form: of a task, or of a batch.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = SubmitAnswer)]
// Only described, never made: the handler writes the one or the other.
pub enum SubmitAnswer<'a> {
    /// Of one.
    One(SubmittedView<'a>),
    /// Of several.
    Many(SubmittedList<'a>),
}

/// A task. Unknown fields, and fields that lists omit, are absent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its version.
    version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// 0 to 9; higher is claimed first.
    priority: u8,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    status: Status,
    /// Grows with each change except heartbeat and progress.
    revision: u64,
    /// Its parameters. Not in lists; let go when the task completes.
    #[serde(flatten)]
    parameters: Parameters<'a>,
    /// What the submission changed of the task's policy.
    policy: PolicyView<'a>,
    /// Attempts that count: the running one, or those that ended by themselves.
    attempt: u32,
    /// Lost leases.
    crashes: u32,
    /// Crashes of a worker whose only suspect it was. At `max_crashes` it is failed as poison.
    blames: u32,
    /// How far it is suspected of crashing its workers, 0 to 3. Few suspects run on one worker at a time.
    suspicion: u8,
    /// When the store accepted it: for the last time, if it was sent again with its attempts counted from the start.
    submitted_at: Rfc3339,
    /// When it became, or becomes, due.
    ready_at: Rfc3339,
    /// Until when its first attempt must begin. Absent once a worker has leased it, and while it waits for other tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Rfc3339>,
    /// When its latest attempt started.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Rfc3339>,
    /// Its latest heartbeat in the current attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat_at: Option<Rfc3339>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Rfc3339>,
    /// The worker that runs it or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    worker: Option<&'a WorkerId>,
    /// The lease it runs under.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseView<'a>>,
    /// Whether its cancel is requested and its worker has not yet answered.
    cancel_requested: bool,
    /// Its reported progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ProgressView<'a>>,
    /// What it wants to find again at its next attempt.
    #[serde(flatten)]
    checkpoint: Checkpoint<'a>,
    /// The result of the function. Not in lists.
    #[serde(flatten)]
    result: TaskResult<'a>,
    /// Its failed attempts, oldest first, the latest 100. Empty in lists.
    errors: Vec<AttemptView<'a>>,
    /// Whether it is to be kept in the dead-letter store.
    dead_letter: bool,
    /// Its uniqueness constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    unique: Option<UniqueView<'a>>,
    /// Its concurrency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    concurrency_key: Option<&'a ConcurrencyKey>,
    /// Its labels.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    labels: &'a Labels,
    /// The tasks it waits for, or has waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    dependencies: Option<DependenciesView<'a>>,
    /// The W3C trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    /// The span of its latest attempt that did not complete it, if that is kept in a trace, as a `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_span: Option<&'a str>,
}

/// Of what a task is to be the only one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Unique)]
struct UniqueView<'a> {
    /// The key, among tasks of its name.
    key: &'a str,
    /// For how long at most it holds the key.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    span: Option<String>,
    /// In which statuses it does.
    #[serde(rename = "while")]
    #[schema(value_type = Vec<StatusDoc>)]
    statuses: StatusSet,
    /// What its submission did if another task held the key.
    #[schema(value_type = OnDuplicateDoc)]
    on_duplicate: OnDuplicate,
}

impl<'a> From<&'a Unique> for UniqueView<'a> {
    fn from(unique: &'a Unique) -> Self {
        let Unique { key, span, statuses, on_duplicate } = unique;
        Self { key: key.as_str(), span: span.map(duration::format), statuses: *statuses, on_duplicate: *on_duplicate }
    }
}

/// A payload on the wire: JSON as it is; anything else as base64, with its content type beside it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Json(&'a RawValue),
    Encoded(String),
}

/// The content and, unless it is JSON, its type.
type EncodedContent<'a> = (Option<Content<'a>>, Option<&'a str>);

/// A worker's bytes need not be the JSON they are declared as; then they are sent as plain bytes.
fn tell(payload: Option<&Payload>) -> EncodedContent<'_> {
    let Some(payload) = payload else { return (None, None) };
    if payload.is_json()
        && let Ok(raw) = serde_json::from_slice::<&RawValue>(&payload.bytes)
    {
        return (Some(Content::Json(raw)), None);
    }
    let content_type = if payload.is_json() { "application/octet-stream" } else { payload.content_type() };
    (Some(Content::Encoded(BASE64_STANDARD.encode(&payload.bytes))), Some(content_type))
}

macro_rules! payload_fields {
    ($(#[doc = $doc:literal])+ $name:ident, $field:ident, $type_field:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Serialize, ToSchema)]
        pub(crate) struct $name<'a> {
            #[doc = "The JSON; base64 text if the content type is given."]
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(value_type = AnyJsonDoc, required = false)]
            $field: Option<Content<'a>>,
            #[doc = "Only when it is not JSON."]
            #[serde(skip_serializing_if = "Option::is_none")]
            $type_field: Option<&'a str>,
        }

        impl<'a> From<Option<&'a Payload>> for $name<'a> {
            fn from(payload: Option<&'a Payload>) -> Self {
                let ($field, $type_field) = tell(payload);
                Self { $field, $type_field }
            }
        }
    };
}

payload_fields! {
    /// What the task is given.
    Parameters, parameters, parameters_content_type
}
payload_fields! {
    /// What the task function answered.
    TaskResult, result, result_content_type
}
payload_fields! {
    /// What an attempt left for the next.
    Checkpoint, checkpoint, checkpoint_content_type
}

/// What a submission changed of the task's policy.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
pub(crate) struct PolicyView<'a> {
    /// How late its first attempt may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    expires_in: Option<String>,
    /// Retries after the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retries: Option<u32>,
    /// Base delay before a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    retry_delay: Option<String>,
    /// How that delay grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BackoffDoc>)]
    backoff: Option<Backoff>,
    /// Upper bound of a computed delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    max_retry_delay: Option<String>,
    /// No attempt begins later than this after the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    retry_for: Option<String>,
    /// The only kinds of errors that are retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<NameDoc>>)]
    retry_on: Option<&'a [ErrorKind]>,
    /// Kinds of errors that are never retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<NameDoc>>)]
    fatal_on: Option<&'a [ErrorKind]>,
    /// Longest one attempt may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    timeout: Option<String>,
    /// Longest silence between two heartbeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    max_heartbeat_interval: Option<String>,
    /// What a longer silence means.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnStallDoc>)]
    on_stall: Option<OnStall>,
    /// What a stopping worker does with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnShutdownDoc>)]
    on_shutdown: Option<OnShutdown>,
    /// Whether it is kept in the dead-letter store when it fails for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DeadLetterDoc>)]
    dead_letter: Option<DeadLetter>,
    /// Lost leases until it counts as poison.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_crashes: Option<u32>,
    /// How many leases may be taken on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tries: Option<u32>,
    /// How it ends when they are used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExhaustedDoc>)]
    exhausted: Option<Exhausted>,
}

impl<'a> From<&'a PolicyOverrides> for PolicyView<'a> {
    fn from(overrides: &'a PolicyOverrides) -> Self {
        Self {
            expires_in: overrides.expires_in.map(duration::format),
            max_retries: overrides.max_retries,
            retry_delay: overrides.retry_delay.map(duration::format),
            backoff: overrides.backoff,
            max_retry_delay: overrides.max_retry_delay.map(duration::format),
            retry_for: overrides.retry_for.map(duration::format),
            retry_on: overrides.retry_on.as_deref(),
            fatal_on: overrides.fatal_on.as_deref(),
            timeout: overrides.timeout.map(duration::format),
            max_heartbeat_interval: overrides.max_heartbeat_interval.map(duration::format),
            on_stall: overrides.on_stall,
            on_shutdown: overrides.on_shutdown,
            dead_letter: overrides.dead_letter,
            max_crashes: overrides.max_crashes,
            max_tries: overrides.max_tries,
            exhausted: overrides.exhausted,
        }
    }
}

/// Who runs a task, until when.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Lease)]
struct LeaseView<'a> {
    /// The holder.
    #[schema(value_type = NameDoc)]
    worker: &'a WorkerId,
    /// The number its claim came with; it grows with each claim.
    fence: u64,
    /// When it ends unless renewed.
    expires_at: Rfc3339,
}

impl<'a> From<&'a Lease> for LeaseView<'a> {
    fn from(lease: &'a Lease) -> Self {
        Self { worker: &lease.worker, fence: lease.fence.0, expires_at: lease.expires_at.into() }
    }
}

/// How far a running task says it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Progress)]
pub(crate) struct ProgressView<'a> {
    /// 0 to 1.
    fraction: f64,
    /// A message for the reader.
    message: &'a str,
}

impl<'a> From<&'a Progress> for ProgressView<'a> {
    fn from(progress: &'a Progress) -> Self {
        Self { fraction: progress.fraction, message: &progress.message }
    }
}

/// A failed attempt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttemptError)]
pub(crate) struct AttemptView<'a> {
    /// When the store learned of it.
    at: Rfc3339,
    /// Which attempt, 1 for the first.
    attempt: u32,
    /// The worker that ran it.
    #[schema(value_type = NameDoc)]
    worker: &'a WorkerId,
    /// `error`, `fatal`, `timeout`, `panic`, `crash`, `shutdown`, `cancelled`, `stall`, `unknown` or `expired`.
    kind: &'static str,
    /// What sort of error it was, as the task names it: a word, or the path of an error type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    error_kind: Option<&'a ErrorKind>,
    /// What was said.
    message: &'a str,
}

impl<'a> From<&'a AttemptError> for AttemptView<'a> {
    fn from(error: &'a AttemptError) -> Self {
        Self {
            at: error.at.into(),
            attempt: error.attempt,
            worker: &error.worker,
            kind: error.kind.as_str(),
            error_kind: error.error_kind.as_ref(),
            message: &error.message,
        }
    }
}

impl<'a> From<&'a Task> for TaskView<'a> {
    fn from(task: &'a Task) -> Self {
        Self {
            id: &task.id,
            name: &task.name,
            version: task.version,
            queue: &task.queue,
            priority: task.priority.get(),
            status: task.status,
            revision: task.revision,
            parameters: task.parameters.as_ref().into(),
            policy: (&task.overrides).into(),
            attempt: task.attempt,
            crashes: task.crashes,
            blames: task.blames,
            suspicion: task.suspicion.level(),
            submitted_at: task.submitted_at.into(),
            ready_at: task.ready_at.into(),
            expires_at: task.expires_at().map(Rfc3339),
            started_at: task.started_at.map(Rfc3339),
            heartbeat_at: task.heartbeat_at.map(Rfc3339),
            finished_at: task.completed_at.map(Rfc3339),
            worker: task.worker.as_ref(),
            lease: task.lease.as_ref().map(LeaseView::from),
            cancel_requested: task.cancel_requested,
            progress: task.progress.as_ref().map(ProgressView::from),
            checkpoint: task.checkpoint.as_ref().into(),
            result: task.result.as_ref().into(),
            errors: task.errors.iter().map(AttemptView::from).collect(),
            dead_letter: task.dead_letter,
            unique: task.unique.as_deref().map(UniqueView::from),
            concurrency_key: task.concurrency_key.as_ref(),
            labels: &task.labels,
            dependencies: task.dependencies.as_deref().map(DependenciesView::from),
            traceparent: task.trace.as_deref(),
            last_span: task.last_span.as_deref(),
        }
    }
}
