//! Leases of workers that speak HTTP: what they ask, and what they are answered.

use std::time::Duration;

use jobbers_common::{
    duration,
    engine::{ExtendAnswer, Extension, Heartbeat, SettleAnswer},
    error_kind::ErrorKind,
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_DELAY, MAX_PROGRESS_BYTES, MAX_QUEUES_PER_CLAIM, MAX_WAIT},
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    task::{ClaimedTask, Fence, Progress},
    task_kind::TaskKind,
    time::Timestamp,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    check_reachable,
    payload::Sent,
    task_request::invalid,
    task_view::{Checkpoint, Parameters, PolicyView},
    value::{AnyJsonDoc, DurationDoc, NameDoc, Rfc3339, StatusDoc},
};
use crate::{
    json,
    problem::{Code, Problem, Result},
};

/// How long a lease lasts unless the worker says so.
const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// The shortest and the longest lease that is given over HTTP.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(24 * 3_600));
/// Most kinds of tasks that one worker names.
const MOST_TASKS: usize = 1_000;

/// A wish for tasks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// The worker's name, as lists show it. Each process takes one of its own, new at each start.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// The queues to ask, first to last.
    #[schema(value_type = Vec<NameDoc>, min_items = 1, max_items = 256)]
    pub queues: Vec<QueueName>,
    /// The tasks that the worker knows, as `name@version`; without a version, version 1. It is then given no others.
    /// Without this it is given any.
    #[serde(default)]
    #[schema(max_items = 1000, example = json!(["resize@1"]))]
    tasks: Option<Vec<String>>,
    /// At most this many tasks.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1000, default = 1)]
    pub limit: usize,
    /// How long the leases last unless they are extended: 1s to 1d. The default is 30s.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    lease: Option<Duration>,
    /// Answer when there are tasks, at the latest after this long, at most 60s. Default: answer at once.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    wait: Option<Duration>,
}

const fn one() -> usize {
    1
}

impl LeaseRequest {
    /// Checks its bounds.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for a value out of its bounds.
    pub(crate) fn check(&self) -> Result<()> {
        check_reachable(self.worker.as_str(), "worker")?;
        if self.queues.is_empty() || self.queues.len() > MAX_QUEUES_PER_CLAIM {
            return Err(invalid("queues", format!("names 1 to {MAX_QUEUES_PER_CLAIM} queues")));
        }
        if !(1..=MAX_BATCH).contains(&self.limit) {
            return Err(invalid("limit", format!("is 1 to {MAX_BATCH}, not {}", self.limit)));
        }
        Ok(())
    }

    /// How long the leases last.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] out of its bounds.
    pub(crate) fn lease(&self) -> Result<Duration> {
        lease_or_default(self.lease)
    }

    /// How long to wait for tasks.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] over [`MAX_WAIT`].
    pub(crate) fn wait(&self) -> Result<Duration> {
        match self.wait.unwrap_or_default() {
            wait if wait <= MAX_WAIT => Ok(wait),
            wait => Err(invalid(
                "wait",
                format!("is at most {}, not {}", duration::format(MAX_WAIT), duration::format(wait)),
            )),
        }
    }

    /// The tasks the worker knows, if it names them.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for what is no `name@version`, and for too many or none.
    pub(crate) fn tasks(&self) -> Result<Option<Vec<TaskKind>>> {
        let Some(tasks) = &self.tasks else { return Ok(None) };
        if !(1..=MOST_TASKS).contains(&tasks.len()) {
            return Err(invalid("tasks", format!("names 1 to {MOST_TASKS} tasks, or is left out")));
        }
        let kinds = tasks.iter().enumerate().map(|(at, text)| {
            read_kind(text).ok_or_else(|| {
                let detail = format!("{text:?} is no name@version, such as resize@1");
                Problem::new(Code::InvalidRequest, detail).at(format!("/tasks/{at}"))
            })
        });
        kinds.collect::<Result<_>>().map(Some)
    }
}

fn read_kind(text: &str) -> Option<TaskKind> {
    let (name, version) = text.split_once('@').unwrap_or((text, "1"));
    let version = version.bytes().all(|byte| byte.is_ascii_digit()).then(|| version.parse().ok())??;
    Some(TaskKind { name: TaskName::new(name).ok()?, version })
}

fn lease_or_default(lease: Option<Duration>) -> Result<Duration> {
    let lease = lease.unwrap_or(DEFAULT_LEASE);
    if (LEASES.0..=LEASES.1).contains(&lease) {
        return Ok(lease);
    }
    let [from, to] = [LEASES.0, LEASES.1].map(duration::format);
    Err(invalid("lease", format!("is {from} to {to}, not {}", duration::format(lease))))
}

/// Names one lease: what proves that the worker has it. Opaque to workers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// The fence it stands for; a number that is never given out for what this manager did not write.
    pub(crate) fn fence(&self) -> Fence {
        let canonical = self.0.parse::<u64>().ok().filter(|fence| fence.to_string() == self.0);
        Fence(canonical.unwrap_or(0))
    }
}

/// The tasks that were leased.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeasedTasks)]
pub struct LeasesView<'a> {
    /// The tasks, in the order of claiming. None if the wait ended first.
    pub(crate) leases: Vec<LeasedTaskView<'a>>,
    /// Tasks that this worker runs and somebody cancelled: all of them, each time, until they are returned.
    #[schema(value_type = Vec<NameDoc>)]
    pub(crate) cancel_requested: &'a [TaskId],
    /// Whether the worker has been told to drain: it is given nothing more until it is told to resume.
    pub(crate) draining: bool,
}

/// A leased task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeasedTask)]
pub struct LeasedTaskView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Names this lease when it is extended and returned.
    token: String,
    /// Grows with each claim of any task. Give it to what the task writes to, so that it can refuse an earlier claim.
    fence: u64,
    /// When the lease ends unless it is extended.
    expires_at: Rfc3339,
    /// What to run.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Which version of it.
    version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// 0 to 9.
    priority: u8,
    /// What it is given.
    #[serde(flatten)]
    parameters: Parameters<'a>,
    /// This attempt's number, 1 for the first.
    attempt: u32,
    /// Leases lost so far.
    crashes: u32,
    /// What an earlier attempt left for this one.
    #[serde(flatten)]
    checkpoint: Checkpoint<'a>,
    /// What the submission says of its policy. Time limits are the worker's to keep.
    policy: PolicyView<'a>,
    /// When the store took it.
    submitted_at: Rfc3339,
    /// When it became due.
    ready_at: Rfc3339,
    /// When this attempt started: the claim.
    started_at: Rfc3339,
    /// The W3C trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
}

impl<'a> LeasedTaskView<'a> {
    pub(crate) fn new(task: &'a ClaimedTask, lease: Duration) -> Self {
        let expires_at: Timestamp = task.started_at.after(lease);
        Self {
            id: &task.id,
            token: task.fence.to_string(),
            fence: task.fence.0,
            expires_at: expires_at.into(),
            name: &task.name,
            version: task.version,
            queue: &task.queue,
            priority: task.priority.get(),
            parameters: Some(&task.parameters).into(),
            attempt: task.attempt,
            crashes: task.crashes,
            checkpoint: task.checkpoint.as_ref().into(),
            policy: (&task.overrides).into(),
            submitted_at: task.submitted_at.into(),
            ready_at: task.ready_at.into(),
            started_at: task.started_at.into(),
            traceparent: task.trace.as_deref(),
        }
    }
}

/// Leases to extend.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest<'a> {
    /// The worker's name, by which it stays in the list of workers.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// How long they last from now on: 1s to 1d. The default is 30s.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    lease: Option<Duration>,
    /// 1 to 1,000 leases.
    #[serde(borrow, deserialize_with = "json::objects")]
    #[schema(min_items = 1, max_items = 1000)]
    pub leases: Vec<ExtensionRequest<'a>>,
}

impl ExtendRequest<'_> {
    /// How long the leases last.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] out of its bounds.
    pub(crate) fn lease(&self) -> Result<Duration> {
        lease_or_default(self.lease)
    }
}

/// A lease to extend, with news of its task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LeaseExtension)]
pub struct ExtensionRequest<'a> {
    /// The task.
    #[schema(value_type = NameDoc)]
    pub id: TaskId,
    /// The token its lease came with.
    pub token: Token,
    /// Whether the task itself says that it goes on. Implied by `progress` and `checkpoint`.
    #[serde(default)]
    heartbeat: bool,
    /// How far it is.
    #[serde(default, deserialize_with = "json::object_if_any")]
    progress: Option<ProgressRequest>,
    /// What its next attempt shall find: any JSON, or base64 text if `checkpoint_content_type` names another type.
    #[serde(default, borrow, deserialize_with = "present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    checkpoint: Option<&'a RawValue>,
    /// The type of a checkpoint that is not JSON.
    #[serde(default)]
    checkpoint_content_type: Option<String>,
}

/// How far a running task is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressRequest {
    /// 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    fraction: f64,
    /// A word to the reader, at most 1 KiB.
    #[serde(default)]
    #[schema(max_length = 1024)]
    message: String,
}

impl ExtensionRequest<'_> {
    /// What the store is asked.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for progress out of its bounds; those of [`Sent::payload`].
    pub(crate) fn extension(self, max_bytes: usize) -> Result<Extension> {
        let sent = Sent {
            field: "checkpoint",
            text: self.checkpoint,
            content_type: self.checkpoint_content_type.as_deref(),
            max_bytes,
        };
        let checkpoint = sent.payload()?;
        let progress = self.progress.map(|ProgressRequest { fraction, message }| Progress { fraction, message });
        if progress.as_ref().is_some_and(|progress| !progress.is_within_bounds()) {
            let rule = format!("has a fraction of 0 to 1 and a message of at most {MAX_PROGRESS_BYTES} bytes");
            return Err(invalid("progress", rule));
        }
        let has_news = self.heartbeat || progress.is_some() || checkpoint.is_some();
        let fence = self.token.fence();
        Ok(Extension { id: self.id, fence, heartbeat: has_news.then_some(Heartbeat { progress, checkpoint }) })
    }
}

/// `null` is a value like any other here, not the absence of one.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What became of each lease, in the order sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ExtendedLeases)]
pub struct ExtendedListView {
    /// The leases.
    pub(crate) leases: Vec<ExtendedView>,
}

impl ExtendedListView {
    pub(crate) fn new(ids: &[TaskId], answers: &[ExtendAnswer]) -> Self {
        let leases = ids.iter().zip(answers).map(|(id, answer)| ExtendedView::new(id.clone(), *answer));
        Self { leases: leases.collect() }
    }
}

/// What became of a lease that was to be extended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ExtendedLease)]
pub struct ExtendedView {
    /// The task.
    #[schema(value_type = NameDoc)]
    id: TaskId,
    /// Whether the lease goes on, under the same token.
    extended: bool,
    /// Whether somebody cancelled the task: stop it, and return it.
    cancel_requested: bool,
    /// Why it does not go on: `lease_lost`. Stop the task; nothing it does counts any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Code>)]
    code: Option<&'static str>,
    /// The same in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl ExtendedView {
    fn new(id: TaskId, answer: ExtendAnswer) -> Self {
        match answer {
            ExtendAnswer::Extended { cancel_requested } => {
                Self { id, extended: true, cancel_requested, code: None, detail: None }
            }
            ExtendAnswer::LeaseLost => {
                let (code, detail) = (Some(Code::LeaseLost.as_str()), Some(lost(&id)));
                Self { id, extended: false, cancel_requested: false, code, detail }
            }
        }
    }
}

fn lost(id: &TaskId) -> String {
    format!("this token holds no lease on task {id}: the lease ended and was taken back, or the task is over or gone")
}

/// Tasks to return.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnRequest<'a> {
    /// The worker's name, by which it stays in the list of workers.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// 1 to 1,000 tasks.
    #[serde(borrow, deserialize_with = "json::objects")]
    #[schema(min_items = 1, max_items = 1000)]
    pub leases: Vec<ReturnedRequest<'a>>,
}

/// A task to return.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LeaseReturn)]
pub struct ReturnedRequest<'a> {
    /// The task.
    #[schema(value_type = NameDoc)]
    pub id: TaskId,
    /// The token its lease came with.
    pub token: Token,
    /// How the attempt ended.
    pub outcome: ReturnOutcome,
    /// With `completed`: what the task answers; any JSON, or base64 text if `result_content_type` names another type.
    #[serde(default, borrow, deserialize_with = "present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    result: Option<&'a RawValue>,
    /// The type of a result that is not JSON.
    #[serde(default)]
    result_content_type: Option<String>,
    /// With `failed` and `retry`: what went wrong.
    #[serde(default, deserialize_with = "json::object_if_any")]
    pub error: Option<ErrorRequest>,
    /// With `retry` and `released`: not before this long. Default: at once.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    delay: Option<Duration>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReturnOutcome {
    /// It is done.
    Completed,
    /// It went wrong. The task's policy decides: another attempt after its backoff, or `failed` for good, as a dead letter
    /// unless it says otherwise.
    Failed,
    /// It went wrong, and is to be tried again after `delay`, if the task's policy leaves another attempt.
    Retry,
    /// It goes back unharmed: the attempt does not count and no error is noted.
    Released,
    /// It was cancelled.
    Cancelled,
}

/// What went wrong.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReturnedError)]
pub struct ErrorRequest {
    /// What went wrong, in words. Cut at 4 KiB.
    #[serde(default)]
    pub message: String,
    /// What sort of error it is, as `retry_on` and `fatal_on` of a submission name it.
    #[serde(default)]
    #[schema(value_type = Option<NameDoc>, example = "rate_limited")]
    pub kind: Option<ErrorKind>,
    /// Whether no further attempt can help: then there is none.
    #[serde(default)]
    pub fatal: bool,
}

impl ReturnedRequest<'_> {
    /// How long it is not to be tried again.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] over 366 days.
    pub(crate) fn delay(&self) -> Result<Duration> {
        match self.delay.unwrap_or_default() {
            delay if delay <= MAX_DELAY => Ok(delay),
            _ => Err(invalid("delay", "is at most 366d")),
        }
    }

    /// What the task answers.
    ///
    /// # Errors
    /// Those of [`Sent::payload`].
    pub(crate) fn result(&self, max_bytes: usize) -> Result<Option<Payload>> {
        let content_type = self.result_content_type.as_deref();
        Sent { field: "result", text: self.result, content_type, max_bytes }.payload()
    }

    /// Refuses what does not belong to its outcome.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`].
    pub(crate) fn check(&self) -> Result<()> {
        use ReturnOutcome::{Completed, Failed, Released, Retry};
        let is = |outcomes: &[ReturnOutcome]| outcomes.contains(&self.outcome);
        let has_result = self.result.is_some() || self.result_content_type.is_some();
        let misplaced = [
            ("result", has_result && !is(&[Completed]), "completed"),
            ("error", self.error.is_some() && !is(&[Failed, Retry]), "failed or retry"),
            ("delay", self.delay.is_some() && !is(&[Retry, Released]), "retry or released"),
        ];
        if self.outcome == Retry && self.error.as_ref().is_some_and(|error| error.fatal) {
            return Err(invalid("error", "is fatal, so the task can't be retried: return it as failed"));
        }
        match misplaced.into_iter().find(|(_, is_misplaced, _)| *is_misplaced) {
            Some((field, _, outcome)) => Err(invalid(field, format!("belongs to outcome {outcome}"))),
            None => Ok(()),
        }
    }
}

/// What became of each task, in the order sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReturnedTasks)]
pub struct ReturnedListView {
    /// The tasks.
    pub(crate) leases: Vec<ReturnedView>,
}

impl ReturnedListView {
    pub(crate) fn new(ids: &[TaskId], answers: &[SettleAnswer]) -> Self {
        let leases = ids.iter().zip(answers).map(|(id, answer)| ReturnedView::new(id.clone(), *answer));
        Self { leases: leases.collect() }
    }

    /// How many were accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.leases.iter().filter(|lease| lease.accepted).count()
    }
}

/// What became of a task that was returned.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReturnedTask)]
pub struct ReturnedView {
    /// The task.
    #[schema(value_type = NameDoc)]
    id: TaskId,
    /// Whether the store took it. One that ended its task is taken again, to the same effect.
    accepted: bool,
    /// Where the task then stands; `cancelled` whenever somebody cancelled it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    status: Option<Status>,
    /// Why it was not taken: `lease_lost`. Nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Code>)]
    code: Option<&'static str>,
    /// The same in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl ReturnedView {
    fn new(id: TaskId, answer: SettleAnswer) -> Self {
        match answer {
            SettleAnswer::Accepted(status) => {
                Self { id, accepted: true, status: Some(status), code: None, detail: None }
            }
            SettleAnswer::LeaseLost => {
                let (code, detail) = (Some(Code::LeaseLost.as_str()), Some(lost(&id)));
                Self { id, accepted: false, status: None, code, detail }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_was_never_given_is_no_lease_s() {
        let fence = |text: &str| Token(text.to_owned()).fence();
        assert_eq!(fence("1795406275123456"), Fence(1_795_406_275_123_456));
        for text in ["", "x", "-1", "+7", "007", " 7", "7.0", "99999999999999999999999"] {
            assert_eq!(fence(text), Fence(0), "{text:?}");
        }
    }

    #[test]
    fn a_kind_of_task_is_a_name_and_a_version() {
        let read = |text| read_kind(text).map(|kind| kind.to_string());
        assert_eq!(read("resize@2").as_deref(), Some("resize@2"));
        assert_eq!(read("resize").as_deref(), Some("resize@1"));
        for text in ["", "@1", "a b@1", "a@", "a@x", "a@-1", "a@+1", "a@1@2", "a@4294967296"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
