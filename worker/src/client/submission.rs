//! A submission in the making.

use std::{marker::PhantomData, time::Duration};

use jobbers_common::{
    limits::{DEFAULT_MAX_PAYLOAD_BYTES, MAX_DELAY},
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    policy::PolicyOverrides,
    task::{Priority, Start},
    time::Timestamp,
};
use sha2::{Digest, Sha256};

use super::{Client, Handle, SubmitError};
use crate::codec::{Encode, Raw};

/// A submission in the making, of a task that answers `R`. Nothing is checked, and nothing happens, before
/// [`Submission::submit`].
#[derive(Debug)]
#[must_use = "nothing is submitted before `.submit(&client)`"]
pub struct Submission<R> {
    name: &'static str,
    version: u32,
    parameters: Result<Payload, String>,
    id: Option<String>,
    queue: Option<String>,
    priority: Option<u8>,
    start: Start,
    overrides: PolicyOverrides,
    output: PhantomData<fn() -> R>,
}

/// A submission that has been checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) id: TaskId,
    pub(super) name: TaskName,
    pub(super) version: u32,
    pub(super) queue: Option<QueueName>,
    pub(super) priority: Priority,
    pub(super) parameters: Payload,
    pub(super) start: Start,
    pub(super) overrides: PolicyOverrides,
}

impl<R> Clone for Submission<R> {
    fn clone(&self) -> Self {
        Self {
            parameters: self.parameters.clone(),
            id: self.id.clone(),
            queue: self.queue.clone(),
            overrides: self.overrides.clone(),
            ..*self
        }
    }
}

impl<R> Submission<R> {
    pub(super) fn new<P: Encode>(name: &'static str, version: u32, job: &P) -> Self {
        Self {
            name,
            version,
            parameters: job.encode().map(|payload| payload.unwrap_or_else(|| Payload::json(&b"null"[..]))),
            id: None,
            queue: None,
            priority: None,
            start: Start::Now,
            overrides: PolicyOverrides::default(),
            output: PhantomData,
        }
    }

    /// An id of the submitter's own: submitting the same task under it again is safe.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Derives the id from a key of any characters, such as an order's number: submitting the same task under the same
    /// key again is safe, and another one under it is refused. The key has the last word over [`Submission::id`].
    pub fn idempotency_key(mut self, key: impl AsRef<[u8]>) -> Self {
        let digest = Sha256::digest(key.as_ref());
        let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.id = Some(format!("key:{digits}"));
        self
    }

    /// The queue, in place of what routing would choose.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// 0 to 9; higher is claimed first, 5 is the default.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Not before this long from now.
    pub fn after(mut self, delay: Duration) -> Self {
        self.start = Start::After(delay);
        self
    }

    /// Not before this point in time.
    pub fn at(mut self, at: Timestamp) -> Self {
        self.start = Start::At(at);
        self
    }

    /// Retries after the first attempt, for this submission alone.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.overrides.max_retries = Some(retries);
        self
    }

    /// The longest one attempt of this submission may run.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.overrides.timeout = Some(timeout);
        self
    }

    /// All that this one submission changes of the task's policy; what was said of it before is forgotten.
    pub fn overrides(mut self, overrides: PolicyOverrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// The same, of a task that answers anything: so that submissions of several tasks fit in one batch.
    pub fn any(self) -> Submission<Raw> {
        let Self { name, version, parameters, id, queue, priority, start, overrides, .. } = self;
        Submission { name, version, parameters, id, queue, priority, start, overrides, output: PhantomData }
    }

    /// Submits it.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is submitted then.
    pub async fn submit(self, client: &Client) -> Result<Handle<R>, SubmitError> {
        let taken = client.submit_all([self]).await?;
        taken.into_iter().next().ok_or_else(|| SubmitError::Unreachable("a submission without an answer".to_owned()))
    }

    pub(super) fn check(self, client: &Client) -> Result<Checked, SubmitError> {
        let parameters =
            self.parameters.map_err(|problem| SubmitError::Invalid(format!("the parameters: {problem}")))?;
        if parameters.len() > DEFAULT_MAX_PAYLOAD_BYTES {
            let bytes = parameters.len();
            let problem = format!("the parameters are {bytes} bytes; at most {DEFAULT_MAX_PAYLOAD_BYTES}");
            return Err(SubmitError::Invalid(problem));
        }
        self.overrides.validate()?;
        if let Start::After(delay) = self.start
            && delay > MAX_DELAY
        {
            return Err(SubmitError::Invalid("a delay is at most 366d".to_owned()));
        }
        let priority = self.priority.unwrap_or(Priority::DEFAULT.get());
        Ok(Checked {
            id: TaskId::new(self.id.unwrap_or_else(|| client.next_id()))?,
            name: TaskName::new(self.name)?,
            version: self.version,
            queue: self.queue.map(QueueName::new).transpose()?,
            priority: Priority::new(priority).ok_or_else(|| SubmitError::Invalid("a priority is 0 to 9".to_owned()))?,
            parameters,
            start: self.start,
            overrides: self.overrides,
        })
    }
}
