//! The JSON of a task.

use jobbers_common::{
    engine::{Submitted, SubmittedHow},
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName, WorkerId},
    policy::{
        DeadLetter, Exhausted, OnShutdown, OnStall, PolicyOverrides, TaskPolicy, backoff::Backoff,
        error_kind::ErrorKind,
    },
    queue::gate::ConcurrencyKey,
    task::{
        AttemptError, Lease, Progress, Task,
        label::Labels,
        unique::{OnDuplicate, StatusSet, Unique},
    },
    values::duration,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{dependency::DependenciesView, sensitive, warning::WarningView};
use crate::{
    openapi::ToSchema,
    value::{
        AnyJsonDoc, BackoffDoc, DeadLetterDoc, DurationDoc, ExhaustedDoc, NameDoc, OnDuplicateDoc, OnShutdownDoc,
        OnStallDoc, Rfc3339, StatusDoc, TaskIdDoc, Word,
    },
    wire::payload::shown,
};

/// The result for a submitted task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SubmittedTask)]
pub struct SubmittedView {
    /// Its id; when another task holds its unique key and is answered in its place, that one's.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
    /// Whether a task was stored; false when the same submission was there already, or another one was left in place.
    pub created: bool,
    /// Whether it took the place of another, which held its id or its unique key.
    pub replaced: bool,
    /// Whether the task that holds its unique key has become what it says (`keep_last`).
    pub updated: bool,
    /// What may be wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningView>,
}

impl SubmittedView {
    /// A task that the store took in, or found.
    pub fn new(task: &Submitted, warnings: Vec<WarningView>) -> Self {
        Self {
            id: task.id.clone(),
            queue: task.queue.clone(),
            status: task.status,
            created: matches!(task.how, SubmittedHow::Created | SubmittedHow::Replaced),
            replaced: task.how == SubmittedHow::Replaced,
            updated: task.how == SubmittedHow::Updated,
            warnings,
        }
    }
}

/// The result of a batch: its tasks, in the order they were sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SubmittedTasks)]
pub struct SubmittedList {
    /// The tasks.
    pub tasks: Vec<SubmittedView>,
}

/// The result of a submission, in its form: of a task, or of a batch.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = SubmitAnswer)]
// Only described, never made: the handler writes the one or the other.
pub enum SubmitAnswer {
    /// Of one.
    One(SubmittedView),
    /// Of several.
    Many(SubmittedList),
}

/// A task. Unknown fields, and fields that lists omit, are absent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// 0 to 9; higher is claimed first.
    pub priority: u8,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
    /// Grows with each change except heartbeat and progress.
    pub revision: u64,
    /// Its parameters: the JSON, or base64 text if the content type is given. Not in lists. A completed task keeps those that its queue's `keep_parameters` allows.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::payload::present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub parameters: Option<Box<RawValue>>,
    /// Only when it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_content_type: Option<String>,
    /// What the submission changed of the task's policy.
    pub policy: PolicyView,
    /// What holds: this, else what its author set, else the default. Not in lists, and only while a live worker knows the
    /// task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_in_force: Option<PolicyView>,
    /// Attempts that count: the running one, or those that ended by themselves.
    pub attempt: u32,
    /// Lost leases.
    pub crashes: u32,
    /// Crashes of a worker whose only suspect it was. At `max_crashes` it is failed as poison.
    pub blames: u32,
    /// With how many workers in a row it was lost, 0 to 6. From 2 on it is suspected of crashing them, and a worker starts few
    /// such tasks at a time.
    pub suspicion: u8,
    /// When the store accepted it: for the last time, if it was sent again with its attempts counted from the start.
    pub submitted_at: Rfc3339,
    /// When it became, or becomes, due.
    pub ready_at: Rfc3339,
    /// Until when its first attempt must begin. Absent once a worker has leased it, and while it waits for other tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// When a worker claimed it for its latest attempt. Its function begins when that worker has a free slot and, for a
    /// blocking task, a free thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Rfc3339>,
    /// Its latest heartbeat in the current attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_at: Option<Rfc3339>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Rfc3339>,
    /// The worker that runs it or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub worker: Option<WorkerId>,
    /// The lease it runs under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    /// Whether its cancel is requested and its worker has not yet answered.
    pub cancel_requested: bool,
    /// Its reported progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
    /// What it wants to find again at its next attempt: the JSON, or base64 text if the content type is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::payload::present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub checkpoint: Option<Box<RawValue>>,
    /// Only when it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_content_type: Option<String>,
    /// The result of the function: the JSON, or base64 text if the content type is given. Not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::payload::present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub result: Option<Box<RawValue>>,
    /// Only when it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_content_type: Option<String>,
    /// Its failed attempts, oldest first, the latest 100. Empty in lists.
    pub errors: Vec<AttemptView>,
    /// Whether it is to be kept in the dead-letter store.
    pub dead_letter: bool,
    /// Its uniqueness constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<UniqueView>,
    /// Its concurrency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    pub labels: Labels,
    /// Present and true for a sensitive task: its parameters, result and checkpoint are left out, and the messages of its
    /// progress and errors are empty. `POST /tasks/{id}/reveal` shows them, and says it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
    /// The tasks it waits for, or has waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<DependenciesView>,
    /// The W3C trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The span of its latest attempt that did not complete it, if that is kept in a trace, as a `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_span: Option<String>,
}

/// Of what a task is to be the only one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Unique)]
pub struct UniqueView {
    /// The key, among tasks of its name.
    pub key: String,
    /// For how long at most it holds the key.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub span: Option<String>,
    /// In which statuses it does.
    #[serde(rename = "while")]
    #[schema(value_type = Vec<StatusDoc>)]
    pub statuses: StatusSet,
    /// What its submission did if another task held the key.
    #[schema(value_type = OnDuplicateDoc)]
    pub on_duplicate: OnDuplicate,
}

impl From<&Unique> for UniqueView {
    fn from(unique: &Unique) -> Self {
        let Unique { key, span, statuses, on_duplicate } = unique;
        Self {
            key: key.as_str().to_owned(),
            span: span.map(duration::format),
            statuses: *statuses,
            on_duplicate: *on_duplicate,
        }
    }
}

/// What a submission changed of the task's policy.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Policy)]
pub struct PolicyView {
    /// How late its first attempt may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub expires_in: Option<String>,
    /// Retries after the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Base delay before a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub retry_delay: Option<String>,
    /// How that delay grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BackoffDoc>)]
    pub backoff: Option<Backoff>,
    /// Upper bound of a computed delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub max_retry_delay: Option<String>,
    /// No attempt begins later than this after the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub retry_for: Option<String>,
    /// The only kinds of errors that are retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub retry_on: Option<Vec<ErrorKind>>,
    /// Kinds of errors that are never retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub fatal_on: Option<Vec<ErrorKind>>,
    /// Longest one attempt may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub timeout: Option<String>,
    /// Longest silence between two heartbeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub max_heartbeat_interval: Option<String>,
    /// What a longer silence means.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnStallDoc>)]
    pub on_stall: Option<OnStall>,
    /// What a stopping worker does with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<OnShutdownDoc>)]
    pub on_shutdown: Option<OnShutdown>,
    /// Whether it is kept in the dead-letter store when it fails for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DeadLetterDoc>)]
    pub dead_letter: Option<DeadLetter>,
    /// Lost leases until it counts as poison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_crashes: Option<u32>,
    /// How many leases may be taken on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tries: Option<u32>,
    /// How it ends when they are used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExhaustedDoc>)]
    pub exhausted: Option<Exhausted>,
}

impl PolicyView {
    /// What holds for a task with these overrides of its submission, if its author wrote this policy.
    #[must_use]
    pub fn in_force(author: &PolicyOverrides, overrides: &PolicyOverrides) -> Self {
        let policy = TaskPolicy::DEFAULT.with(author).with(overrides);
        let kinds = |kinds: &[ErrorKind]| (!kinds.is_empty()).then(|| kinds.to_vec());
        Self {
            max_retries: Some(policy.max_retries),
            retry_delay: Some(duration::format(policy.retry_delay)),
            backoff: Some(policy.backoff),
            max_retry_delay: Some(duration::format(policy.max_retry_delay)),
            retry_for: policy.retry_for.map(duration::format),
            retry_on: kinds(&policy.retry_on),
            fatal_on: kinds(&policy.fatal_on),
            timeout: policy.timeout.map(duration::format),
            max_heartbeat_interval: policy.max_heartbeat_interval.map(duration::format),
            on_stall: Some(policy.on_stall),
            on_shutdown: Some(policy.on_shutdown),
            dead_letter: Some(policy.dead_letter),
            max_crashes: overrides.blames_allowed().map(|_| policy.max_crashes),
            ..Self::from(overrides)
        }
    }
}

impl From<&PolicyOverrides> for PolicyView {
    fn from(overrides: &PolicyOverrides) -> Self {
        Self {
            expires_in: overrides.expires_in.map(duration::format),
            max_retries: overrides.max_retries,
            retry_delay: overrides.retry_delay.map(duration::format),
            backoff: overrides.backoff,
            max_retry_delay: overrides.max_retry_delay.map(duration::format),
            retry_for: overrides.retry_for.map(duration::format),
            retry_on: overrides.retry_on.clone(),
            fatal_on: overrides.fatal_on.clone(),
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
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Lease)]
pub struct LeaseView {
    /// The holder.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// The number its claim came with; it grows with each claim.
    pub fence: u64,
    /// When it ends unless renewed.
    pub expires_at: Rfc3339,
}

impl From<&Lease> for LeaseView {
    fn from(lease: &Lease) -> Self {
        Self { worker: lease.worker.clone(), fence: lease.fence.0, expires_at: lease.expires_at.into() }
    }
}

/// How far a running task says it is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Progress)]
pub struct ProgressView {
    /// 0 to 1.
    pub fraction: f64,
    /// A message for the reader.
    pub message: String,
}

impl From<&Progress> for ProgressView {
    fn from(progress: &Progress) -> Self {
        Self { fraction: progress.fraction, message: progress.message.clone() }
    }
}

impl From<ProgressView> for Progress {
    fn from(view: ProgressView) -> Self {
        Self::new(view.fraction, view.message)
    }
}

/// A failed attempt.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = AttemptError)]
pub struct AttemptView {
    /// When the store learned of it.
    pub at: Rfc3339,
    /// Which attempt, 1 for the first.
    pub attempt: u32,
    /// The worker that ran it.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// `error`, `fatal`, `timeout`, `panic`, `crash`, `shutdown`, `cancelled`, `stall`, `unknown` or `expired`.
    #[schema(value_type = String)]
    pub kind: Word,
    /// What sort of error it was, as the task names it: a word, or the path of an error type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub error_kind: Option<ErrorKind>,
    /// What was said.
    pub message: String,
}

impl From<&AttemptError> for AttemptView {
    fn from(error: &AttemptError) -> Self {
        Self {
            at: error.at.into(),
            attempt: error.attempt,
            worker: error.worker.clone(),
            kind: error.kind.as_str().into(),
            error_kind: error.error_kind.clone(),
            message: error.message.clone(),
        }
    }
}

impl TaskView {
    /// Whether it is over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.status.is_finished()
    }

    /// A task with all that it holds, for who may see what is sensitive.
    #[must_use]
    pub fn revealed(task: &Task) -> Self {
        let (parameters, parameters_content_type) = shown(task.parameters.as_ref());
        let (checkpoint, checkpoint_content_type) = shown(task.checkpoint.as_ref());
        let (result, result_content_type) = shown(task.result.as_ref());
        Self {
            id: task.id.clone(),
            name: task.name.clone(),
            version: task.version,
            queue: task.queue.clone(),
            priority: task.priority.get(),
            status: task.status,
            revision: task.revision,
            parameters,
            parameters_content_type,
            policy: (&task.overrides).into(),
            policy_in_force: None,
            attempt: task.attempt,
            crashes: task.crashes,
            blames: task.blames,
            suspicion: task.suspicion.losses(),
            submitted_at: task.submitted_at.into(),
            ready_at: task.ready_at.into(),
            expires_at: task.expires_at().map(Rfc3339),
            started_at: task.started_at.map(Rfc3339),
            heartbeat_at: task.heartbeat_at.map(Rfc3339),
            finished_at: task.completed_at.map(Rfc3339),
            worker: task.worker.clone(),
            lease: task.lease.as_ref().map(LeaseView::from),
            cancel_requested: task.cancel_requested,
            progress: task.progress.as_ref().map(ProgressView::from),
            checkpoint,
            checkpoint_content_type,
            result,
            result_content_type,
            errors: task.errors.iter().map(AttemptView::from).collect(),
            dead_letter: task.dead_letter,
            unique: task.unique.as_deref().map(UniqueView::from),
            concurrency_key: task.concurrency_key.clone(),
            labels: task.metadata.labels.clone(),
            sensitive: task.metadata.is_sensitive(),
            dependencies: task.dependencies.as_deref().map(DependenciesView::from),
            traceparent: task.trace.as_deref().map(str::to_owned),
            last_span: task.last_span.as_deref().map(str::to_owned),
        }
    }
}

impl From<&Task> for TaskView {
    /// A task as any reader sees it.
    fn from(task: &Task) -> Self {
        if !task.metadata.is_sensitive() {
            return Self::revealed(task);
        }
        Self::revealed(&sensitive::hide(task))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_task_is_read_as_it_was_written() {
        let text = json!({
            "id": "a", "name": "resize", "version": 2, "queue": "images", "priority": 7, "status": "started",
            "revision": 12, "parameters": {"n": 1.0, "z": 1, "a": null}, "policy": {"max_retries": 3, "retry_delay": "2s"},
            "attempt": 2, "crashes": 1, "blames": 0, "suspicion": 0, "submitted_at": "2026-11-21T08:30:00.25Z",
            "ready_at": "2026-11-21T08:30:00Z", "started_at": "2026-11-21T08:30:01Z", "worker": "w",
            "lease": {"worker": "w", "fence": 9, "expires_at": "2026-11-21T08:31:00Z"}, "cancel_requested": false,
            "progress": {"fraction": 0.5, "message": "half"}, "checkpoint": "AAE=", "checkpoint_content_type": "image/png",
            "errors": [{"at": "2026-11-21T08:30:00Z", "attempt": 1, "worker": "w", "kind": "timeout", "message": "slow"}],
            "dead_letter": true, "concurrency_key": "customer:42", "labels": {"team": "billing"},
            "unique": {"key": "k", "for": "1h", "while": ["submitted", "started"], "on_duplicate": "reject"},
            "dependencies": {"total": 2, "signals": 1, "external": [{
                "name": "approved", "state": "waiting", "timeout": "1h", "on_timeout": "abort",
            }]},
        });
        let task: TaskView = serde_json::from_value::<Box<RawValue>>(text.clone())
            .and_then(|raw| serde_json::from_str(raw.get()))
            .unwrap();
        assert_eq!(task.parameters.as_deref().map(RawValue::get), Some(r#"{"a":null,"n":1.0,"z":1}"#));
        assert_eq!(serde_json::to_value(&task).unwrap(), text);
    }

    #[test]
    fn what_a_newer_manager_adds_is_ignored() {
        let warning: WarningView =
            serde_json::from_str(r#"{"code":"brand_new","detail":"d","since":"2026-11-21T08:30:00Z"}"#).unwrap();
        assert_eq!(
            (&*warning.code, serde_json::to_value(&warning).unwrap()["since"].clone()),
            ("brand_new", Value::Null)
        );
    }
}
