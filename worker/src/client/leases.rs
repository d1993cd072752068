//! Leases over HTTP, for programs that run tasks in their own way. Others run a [`Worker`](crate::Worker).

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jobbers_common::{
    duration,
    engine::Error,
    label::Labels,
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    task::{Fence, Priority, Progress},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    SubmitError,
    http::{Http, payload},
};

/// Leases tasks of a manager, keeps the leases and returns the tasks.
///
/// ```no_run
/// # use jobbers_worker::{client::{Claim, LeaseClient, Outcome, Return}, prelude::*};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let worker = LeaseClient::new("http://127.0.0.1:8000", "resizer-1".parse()?)?;
/// let claim = Claim { wait: Duration::from_secs(20), ..Claim::of(["images".parse()?]) };
/// for task in worker.claim(&claim).await?.tasks {
///     // … works, and extends the lease meanwhile …
///     worker.finish(&[Return::new(&task, Outcome::Completed(None))]).await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LeaseClient {
    http: Http,
    worker: WorkerId,
}

/// Which tasks to lease.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The queues to ask, first to last; 1 to 256.
    pub queues: Vec<QueueName>,
    /// At most this many tasks, 1 to 1,000.
    pub limit: usize,
    /// How long the leases last unless they are extended, 1 second to 1 day.
    pub lease: Duration,
    /// How long to wait for a task, at most 60 seconds.
    pub wait: Duration,
}

/// What a claim is answered.
#[derive(Debug)]
pub struct Leases {
    /// The tasks, in the order of claiming. None if the wait ended first.
    pub tasks: Vec<Leased>,
    /// Tasks of this worker with a cancel request: all of them, each time, until they are returned.
    pub cancel_requested: Vec<TaskId>,
    /// Whether the worker is to drain: it is given nothing more until it is resumed.
    pub draining: bool,
}

/// A leased task.
#[derive(Debug)]
pub struct Leased {
    /// Its id.
    pub id: TaskId,
    /// Names this lease when it is extended and returned.
    pub token: String,
    /// Grows with each claim of any task. What the task writes to can refuse an earlier claim by it.
    pub fence: Fence,
    /// When the lease ends unless it is extended.
    pub expires_at: Timestamp,
    /// What to run.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    pub queue: QueueName,
    /// Its priority.
    pub priority: Priority,
    /// The labels of its submission.
    pub labels: Labels,
    /// Its parameters.
    pub parameters: Payload,
    /// This attempt's number, 1 for the first.
    pub attempt: u32,
    /// Leases lost so far.
    pub crashes: u32,
    /// What an earlier attempt left for this one.
    pub checkpoint: Option<Payload>,
}

/// A lease to extend, with news of its task.
#[derive(Debug, Clone)]
pub struct Extension {
    id: TaskId,
    token: String,
    /// Whether the task itself says that it goes on. Implied by the other news.
    pub heartbeat: bool,
    /// Its progress.
    pub progress: Option<Progress>,
    /// The checkpoint for its next attempt.
    pub checkpoint: Option<Payload>,
}

/// The result of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Extended {
    /// Whether the lease goes on, under the same token. If not, nothing that the task does counts any more: stop it.
    pub extended: bool,
    /// Whether the task's cancel is requested: stop it, and return it.
    pub cancel_requested: bool,
}

/// A task to return.
#[derive(Debug, Clone)]
pub struct Return {
    id: TaskId,
    token: String,
    outcome: Outcome,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done; with what it answers.
    Completed(Option<Payload>),
    /// It went wrong: the task's policy decides whether it is tried again.
    Failed {
        /// What went wrong, in words.
        message: String,
        /// Whether no further attempt can help.
        fatal: bool,
    },
    /// It goes back unharmed, not before this long: the attempt does not count.
    Released(Duration),
    /// The work is given up, for this reason.
    Aborted(String),
    /// It was cancelled.
    Cancelled,
}

#[derive(Serialize)]
struct ClaimBody<'a> {
    worker: &'a WorkerId,
    queues: &'a [QueueName],
    limit: usize,
    lease: String,
    wait: String,
}

#[derive(Deserialize)]
struct ClaimAnswer {
    leases: Vec<LeasedBody>,
    cancel_requested: Vec<TaskId>,
    draining: bool,
}

#[derive(Deserialize)]
struct LeasedBody {
    id: TaskId,
    token: String,
    fence: u64,
    expires_at: jiff::Timestamp,
    name: TaskName,
    version: u32,
    queue: QueueName,
    priority: u8,
    #[serde(default)]
    labels: Labels,
    parameters: Box<RawValue>,
    #[serde(default)]
    parameters_content_type: Option<String>,
    attempt: u32,
    crashes: u32,
    #[serde(default)]
    checkpoint: Option<Box<RawValue>>,
    #[serde(default)]
    checkpoint_content_type: Option<String>,
}

#[derive(Serialize)]
struct ExtendBody<'a> {
    worker: &'a WorkerId,
    lease: String,
    leases: Vec<ExtensionBody<'a>>,
}

#[derive(Serialize)]
struct ExtensionBody<'a> {
    id: &'a TaskId,
    token: &'a str,
    heartbeat: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a Progress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_content_type: Option<&'a str>,
}

#[derive(Serialize)]
struct ReturnBody<'a> {
    worker: &'a WorkerId,
    leases: Vec<ReturnedBody<'a>>,
}

#[derive(Default, Serialize)]
struct ReturnedBody<'a> {
    id: &'a str,
    token: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fatal: bool,
}

/// The answer for each lease, in the order sent.
#[derive(Deserialize)]
struct PerLease<T> {
    leases: Vec<T>,
}

#[derive(Deserialize)]
struct ReturnedAnswer {
    #[serde(default)]
    status: Option<Status>,
}

impl LeaseClient {
    /// Leases from the manager at this address, such as `http://127.0.0.1:8000`, as a worker of this name. Each process takes a
    /// name of its own, new at each start.
    ///
    /// # Errors
    /// [`Error::Config`] if the address is invalid.
    pub fn new(url: &str, worker: WorkerId) -> Result<Self, Error> {
        Ok(Self { http: Http::new(url)?, worker })
    }

    /// Leases tasks. A lease that expires counts as a crash of the worker, and the task is given to another. So do the leases
    /// of an answer that was sent and did not arrive; a claim whose connection breaks earlier leases nothing.
    ///
    /// # Errors
    /// [`SubmitError`], such as for an unknown queue.
    pub async fn claim(&self, claim: &Claim) -> Result<Leases, SubmitError> {
        let Claim { queues, limit, lease, wait } = claim;
        let [lease, text] = [*lease, *wait].map(duration::format);
        let body = ClaimBody { worker: &self.worker, queues, limit: *limit, lease, wait: text };
        let answer: ClaimAnswer = self.http.post(&["leases"], &body, *wait).await?;
        let tasks = answer.leases.into_iter().map(Leased::try_from).collect::<Result<_, _>>()?;
        Ok(Leases { tasks, cancel_requested: answer.cancel_requested, draining: answer.draining })
    }

    /// Extends up to 1,000 leases: from now on they last `lease`. The answers are in their order.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat.
    pub async fn extend(&self, lease: Duration, extensions: &[Extension]) -> Result<Vec<Extended>, SubmitError> {
        let leases = extensions.iter().map(ExtensionBody::new).collect::<Result<_, _>>()?;
        let body = ExtendBody { worker: &self.worker, lease: duration::format(lease), leases };
        let answer: PerLease<Extended> = self.http.post(&["leases", "extend"], &body, Duration::ZERO).await?;
        Ok(answer.leases)
    }

    /// Returns up to 1,000 tasks. The answers are in their order: the status then, or `None` if the lease was lost and nothing
    /// changed.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat: a return that ended its task is answered alike, and one that did not as a lost lease.
    pub async fn finish(&self, returns: &[Return]) -> Result<Vec<Option<Status>>, SubmitError> {
        let leases = returns.iter().map(ReturnedBody::new).collect::<Result<_, _>>()?;
        let body = ReturnBody { worker: &self.worker, leases };
        let answer: PerLease<ReturnedAnswer> = self.http.post(&["leases", "return"], &body, Duration::ZERO).await?;
        Ok(answer.leases.into_iter().map(|lease| lease.status).collect())
    }
}

impl Claim {
    /// A claim of one task of these queues, for 30 seconds, that does not wait.
    pub fn of(queues: impl IntoIterator<Item = QueueName>) -> Self {
        Self { queues: queues.into_iter().collect(), limit: 1, lease: Duration::from_secs(30), wait: Duration::ZERO }
    }
}

impl Extension {
    /// Keeps the lease of this task, without news.
    #[must_use]
    pub fn of(task: &Leased) -> Self {
        let (id, token) = (task.id.clone(), task.token.clone());
        Self { id, token, heartbeat: false, progress: None, checkpoint: None }
    }
}

impl Return {
    /// Returns this task so.
    #[must_use]
    pub fn new(task: &Leased, outcome: Outcome) -> Self {
        Self { id: task.id.clone(), token: task.token.clone(), outcome }
    }
}

impl TryFrom<LeasedBody> for Leased {
    type Error = SubmitError;

    fn try_from(body: LeasedBody) -> Result<Self, SubmitError> {
        let foreign = || SubmitError::Unreachable("its answer makes no sense: a priority is out of bounds".to_owned());
        let checkpoint = body.checkpoint.map(|checkpoint| payload(&checkpoint, body.checkpoint_content_type));
        Ok(Self {
            id: body.id,
            token: body.token,
            fence: Fence(body.fence),
            expires_at: Timestamp::from_micros(body.expires_at.as_microsecond()),
            name: body.name,
            version: body.version,
            queue: body.queue,
            priority: Priority::new(body.priority).ok_or_else(foreign)?,
            labels: body.labels,
            parameters: payload(&body.parameters, body.parameters_content_type)?,
            attempt: body.attempt,
            crashes: body.crashes,
            checkpoint: checkpoint.transpose()?,
        })
    }
}

impl<'a> ExtensionBody<'a> {
    fn new(extension: &'a Extension) -> Result<Self, SubmitError> {
        let Extension { id, token, heartbeat, progress, checkpoint } = extension;
        let (checkpoint, checkpoint_content_type) = checkpoint.as_ref().map(written).transpose()?.unzip();
        Ok(Self {
            id,
            token,
            heartbeat: *heartbeat,
            progress: progress.as_ref(),
            checkpoint,
            checkpoint_content_type: checkpoint_content_type.flatten(),
        })
    }
}

impl<'a> ReturnedBody<'a> {
    fn new(returned: &'a Return) -> Result<Self, SubmitError> {
        let body = |outcome| Self { id: returned.id.as_str(), token: &returned.token, outcome, ..Self::default() };
        Ok(match &returned.outcome {
            Outcome::Completed(None) => body("completed"),
            Outcome::Completed(Some(result)) => {
                let (result, result_content_type) = written(result)?;
                Self { result: Some(result), result_content_type, ..body("completed") }
            }
            Outcome::Failed { message, fatal } => {
                Self { error: Some(ErrorBody { message, fatal: *fatal }), ..body("failed") }
            }
            Outcome::Released(delay) => Self { delay: Some(duration::format(*delay)), ..body("released") },
            Outcome::Aborted(message) => Self { error: Some(ErrorBody { message, fatal: false }), ..body("aborted") },
            Outcome::Cancelled => body("cancelled"),
        })
    }
}

/// A payload as the manager reads it, with its type if it is not JSON.
fn written(payload: &Payload) -> Result<(Box<RawValue>, Option<&str>), SubmitError> {
    let wrong = |error: serde_json::Error| SubmitError::Invalid(format!("the payload is no JSON: {error}"));
    if payload.is_json() {
        return serde_json::from_slice(&payload.bytes).map(|value| (value, None)).map_err(wrong);
    }
    let text = BASE64_STANDARD.encode(&payload.bytes);
    let value = serde_json::value::to_raw_value(&text).map_err(wrong)?;
    Ok((value, Some(payload.content_type())))
}
