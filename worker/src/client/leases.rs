//! Leases over HTTP, for programs that run tasks in their own way. Others run a [`Worker`](crate::Worker).

use std::time::Duration;

use jobbers_api::{
    lease::{
        Entry, Token,
        claim::{LeaseRequest, LeasedTaskView, LeasesView},
        extend::{ExtendRequest, ExtendedListView, ExtensionRequest, ProgressRequest},
        returned::{ErrorRequest, ReturnOutcome, ReturnRequest, ReturnedListView, ReturnedRequest},
    },
    problem::Code,
    wire::payload::shown,
};
use jobbers_common::{
    engine::Error,
    lifecycle::Status,
    limits::{MAX_ERROR_BYTES, MAX_PROGRESS_BYTES},
    name::{QueueName, TaskId, TaskName, WorkerId},
    payload::Payload,
    policy::error_kind::ErrorKind,
    task::{Fence, Priority, Progress, label::Labels},
    time::Timestamp,
};
use serde_json::value::RawValue;

use super::{error::SubmitError, http::Http};
use crate::payload::codec::{
    CodecError, Codecs, ContentKind,
    error::{UNDECODABLE, WITHOUT_CODEC, message},
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
    codecs: Codecs,
}

/// Which tasks to lease.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The queues to ask, first to last; 1 to 1,024.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    error_kind: Option<&'static str>,
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

impl LeaseClient {
    /// Leases from the manager at this address, such as `http://127.0.0.1:8000`, as a worker of this name. Each process takes a
    /// name of its own, new at each start.
    ///
    /// # Errors
    /// [`Error::Config`] if the address is invalid.
    pub fn new(url: &str, worker: WorkerId) -> Result<Self, Error> {
        Ok(Self { http: Http::new(url)?, worker, codecs: Codecs::default() })
    }

    /// The same client, which signs in with this access key in place of that in `JOBBERS_KEY` or `JOBBERS_KEY_FILE`.
    ///
    /// # Errors
    /// [`Error::Config`] if it is not a key.
    pub fn with_key(self, key: &str) -> Result<Self, Error> {
        Ok(Self { http: self.http.with_key(key)?, ..self })
    }

    /// The same client, which decodes parameters and checkpoints, and encodes checkpoints, results and the messages of progress and
    /// errors. A claim gives back a task whose codec it does not have, and fails one that it can't decode: neither is returned.
    #[must_use]
    pub fn codec(mut self, codecs: impl Into<Codecs>) -> Self {
        self.codecs = codecs.into();
        self
    }

    /// Leases tasks. A lease that expires counts as a crash of the worker, and the task is given to another. So do the leases
    /// of an answer that was sent and did not arrive; a claim whose connection breaks earlier leases nothing.
    ///
    /// # Errors
    /// [`SubmitError`], such as for an unknown queue.
    pub async fn claim(&self, claim: &Claim) -> Result<Leases, SubmitError> {
        let Claim { queues, limit, lease, wait } = claim;
        let body = LeaseRequest {
            worker: self.worker.clone(),
            version: Some(concat!("jobbers-", env!("CARGO_PKG_VERSION")).to_owned()),
            queues: queues.clone(),
            tasks: None,
            limit: *limit,
            lease: Some(*lease),
            wait: Some(*wait),
            predecessors: false,
        };
        let answer: LeasesView = self.http.post("/leases", &body, *wait).await?;
        let (mut tasks, mut unreadable) = (Vec::with_capacity(answer.leases.len()), Vec::new());
        for task in answer.leases {
            let mut task = self.leased(task)?;
            match self.decode(&mut task) {
                Ok(()) => tasks.push(task),
                Err(error) => unreadable.push(Return::unreadable(&task, &error)),
            }
        }
        if !unreadable.is_empty()
            && let Err(error) = self.settle(&unreadable).await
        {
            // Their leases expire, and the tasks go to other workers.
            tracing::warn!(%error, "tasks that can't be decoded could not be returned");
        }
        Ok(Leases { tasks, cancel_requested: answer.cancel_requested, draining: answer.draining })
    }

    /// Extends up to 1,000 leases: from now on they last `lease`. The answers are in their order.
    ///
    /// # Errors
    /// [`SubmitError`]; [`SubmitError::Invalid`] when one was refused, and the others are extended. Safe to repeat.
    pub async fn extend(&self, lease: Duration, extensions: &[Extension]) -> Result<Vec<Extended>, SubmitError> {
        let extensions = extensions.iter().map(|extension| self.encode_extension(extension.clone()));
        let extensions = extensions.collect::<Result<Vec<_>, _>>()?;
        let checkpoints = extensions.iter().map(|extension| write(extension.checkpoint.as_ref()));
        let checkpoints = checkpoints.collect::<Result<Vec<_>, _>>()?;
        let leases = extensions.iter().zip(&checkpoints).map(|(extension, checkpoint)| extension.request(checkpoint));
        let body = ExtendRequest {
            worker: self.worker.clone(),
            lease: Some(lease),
            leases: leases.map(Entry::Read).collect(),
        };
        let answer: ExtendedListView = self.http.post("/leases/extend", &body, Duration::ZERO).await?;
        let extended = answer.leases.into_iter().map(|lease| {
            check_refusal(lease.code.as_deref(), lease.detail)?;
            Ok(Extended { extended: lease.extended, cancel_requested: lease.cancel_requested })
        });
        extended.collect()
    }

    /// Returns up to 1,000 tasks. The answers are in their order: the status then, or `None` if the lease was lost and nothing
    /// changed.
    ///
    /// # Errors
    /// [`SubmitError`]; [`SubmitError::Invalid`] when one was refused, and the others are settled. Safe to repeat: a return that
    /// ended its task is answered alike, and one that did not as a lost lease.
    pub async fn finish(&self, returns: &[Return]) -> Result<Vec<Option<Status>>, SubmitError> {
        let returns = returns.iter().map(|returned| self.encode_return(returned.clone()));
        self.settle(&returns.collect::<Result<Vec<_>, _>>()?).await
    }

    /// Returns tasks with what is encoded already.
    async fn settle(&self, returns: &[Return]) -> Result<Vec<Option<Status>>, SubmitError> {
        let results = returns.iter().map(|returned| write(returned.outcome.result()));
        let results = results.collect::<Result<Vec<_>, _>>()?;
        let leases =
            returns.iter().zip(&results).map(|(returned, result)| Entry::Read(returned.request(result))).collect();
        let body = ReturnRequest { worker: self.worker.clone(), leases };
        let answer: ReturnedListView = self.http.post("/leases/return", &body, Duration::ZERO).await?;
        let statuses = answer.leases.into_iter().map(|lease| {
            check_refusal(lease.code.as_deref(), lease.detail)?;
            Ok(lease.status)
        });
        statuses.collect()
    }

    fn decode(&self, task: &mut Leased) -> Result<(), CodecError> {
        task.parameters = self.codecs.decode(task.parameters.clone(), ContentKind::Parameters)?;
        let decode = |checkpoint| self.codecs.decode(checkpoint, ContentKind::Checkpoint);
        task.checkpoint = task.checkpoint.take().map(decode).transpose()?;
        Ok(())
    }

    fn encode_extension(&self, mut extension: Extension) -> Result<Extension, SubmitError> {
        let id = extension.id.as_str();
        let encode = |checkpoint| self.codecs.encode(checkpoint, ContentKind::Checkpoint, id);
        extension.checkpoint = extension.checkpoint.map(encode).transpose().map_err(unencodable)?;
        if let Some(progress) = &mut extension.progress {
            let message = std::mem::take(&mut progress.message);
            let encoded = self.codecs.encode_text(message, MAX_PROGRESS_BYTES, ContentKind::Progress, id);
            progress.message = encoded.unwrap_or_default();
        }
        Ok(extension)
    }

    fn encode_return(&self, mut returned: Return) -> Result<Return, SubmitError> {
        let id = returned.id.as_str();
        match &mut returned.outcome {
            Outcome::Completed(result) => {
                let encode = |result| self.codecs.encode(result, ContentKind::Result, id);
                *result = result.take().map(encode).transpose().map_err(unencodable)?;
            }
            Outcome::Failed { message, .. } | Outcome::Aborted(message) => {
                let clear = std::mem::take(message);
                let encoded = self.codecs.encode_text(clear, MAX_ERROR_BYTES, ContentKind::Error, id);
                *message = encoded.map_err(unencodable)?;
            }
            Outcome::Released(_) | Outcome::Cancelled => {}
        }
        Ok(returned)
    }

    fn leased(&self, task: LeasedTaskView) -> Result<Leased, SubmitError> {
        let parameters = self.http.payload(task.parameters.as_deref(), task.parameters_content_type.as_deref())?;
        let checkpoint = self.http.payload(task.checkpoint.as_deref(), task.checkpoint_content_type.as_deref())?;
        let priority = Priority::new(task.priority).ok_or_else(|| self.http.foreign("a priority is out of bounds"))?;
        Ok(Leased {
            id: task.id,
            token: task.token,
            fence: Fence(task.fence),
            expires_at: task.expires_at.0,
            name: task.name,
            version: task.version,
            queue: task.queue,
            priority,
            labels: task.labels,
            parameters: parameters.unwrap_or_else(|| Payload::json(&b"null"[..])),
            attempt: task.attempt,
            crashes: task.crashes,
            checkpoint,
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "given to `map_err`")]
fn unencodable(error: CodecError) -> SubmitError {
    SubmitError::Invalid(error.to_string())
}

/// Refuses the answer for an entry that the manager could not read.
fn check_refusal(code: Option<&str>, detail: Option<String>) -> Result<(), SubmitError> {
    match code {
        None => Ok(()),
        Some(code) if code == Code::LeaseLost.as_str() => Ok(()),
        Some(_) => Err(SubmitError::Invalid(detail.unwrap_or_default())),
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

    fn request<'a>(&self, (checkpoint, content_type): &'a Written) -> ExtensionRequest<'a> {
        let progress = self.progress.as_ref();
        ExtensionRequest {
            id: self.id.clone(),
            token: Token(self.token.clone()),
            heartbeat: self.heartbeat,
            progress: progress.map(|it| ProgressRequest { fraction: it.fraction, message: it.message.clone() }),
            checkpoint: checkpoint.as_deref(),
            checkpoint_content_type: content_type.clone(),
        }
    }
}

impl Return {
    /// Returns this task so.
    #[must_use]
    pub fn new(task: &Leased, outcome: Outcome) -> Self {
        Self { id: task.id.clone(), token: task.token.clone(), outcome, error_kind: None }
    }

    /// Returns a task whose payloads can't be decoded.
    fn unreadable(task: &Leased, error: &CodecError) -> Self {
        let outcome = match error {
            CodecError::Unknown(_) => Outcome::Released(WITHOUT_CODEC),
            error => Outcome::Failed { message: message(error), fatal: true },
        };
        Self { error_kind: Some(UNDECODABLE), ..Self::new(task, outcome) }
    }

    fn request<'a>(&self, (result, content_type): &'a Written) -> ReturnedRequest<'a> {
        let kind = || self.error_kind.and_then(ErrorKind::lossy);
        let error = |message: &str, fatal| Some(ErrorRequest { message: message.to_owned(), kind: kind(), fatal });
        let (outcome, error, delay) = match &self.outcome {
            Outcome::Completed(_) => (ReturnOutcome::Completed, None, None),
            Outcome::Failed { message, fatal } => (ReturnOutcome::Failed, error(message, *fatal), None),
            Outcome::Released(delay) => (ReturnOutcome::Released, None, Some(*delay)),
            Outcome::Aborted(message) => (ReturnOutcome::Aborted, error(message, false), None),
            Outcome::Cancelled => (ReturnOutcome::Cancelled, None, None),
        };
        ReturnedRequest {
            id: self.id.clone(),
            token: Token(self.token.clone()),
            outcome,
            result: result.as_deref(),
            result_content_type: content_type.clone(),
            error,
            checkpoint: None,
            delay,
        }
    }
}

impl Outcome {
    const fn result(&self) -> Option<&Payload> {
        match self {
            Self::Completed(result) => result.as_ref(),
            _ => None,
        }
    }
}

/// A payload as a request has it: its text, and its type if it is not JSON.
type Written = (Option<Box<RawValue>>, Option<String>);

fn write(payload: Option<&Payload>) -> Result<Written, SubmitError> {
    let written = shown(payload);
    // An answer shows invalid JSON as plain bytes. A request must not change what the caller said.
    if written.1.is_some() && payload.is_some_and(Payload::is_json) {
        return Err(SubmitError::Invalid("the payload is no JSON".to_owned()));
    }
    Ok(written)
}
