//! Submitting tasks, typed: `resize.delay(&client, job)`, `resize.with(job).queue("mail").submit(&client)`.
//!
//! Straight to the store, so it routes as the manager does, by the same rules. It is for programs beside a store; those
//! that are further away submit over HTTP.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Submit, Submitted},
    limits::{DEFAULT_MAX_PAYLOAD_BYTES, MAX_DELAY},
    name::{NameError, QueueName, TaskId, TaskName},
    payload::Payload,
    policy::{PolicyError, PolicyOverrides},
    queue::DEFAULT,
    routing::{Draw, choose, field_text, find_rule},
    task::{NewTask, Priority, Start},
    time::Timestamp,
};
use jobbers_process::telemetry::traces;
use opentelemetry::{Context, trace::TraceContextExt};
use parking_lot::Mutex;
use ulid::Generator;

use crate::{codec::Encode, task_fn::TaskFn};

/// A way to submit tasks to a store. Clones share it.
#[derive(Debug, Clone)]
pub struct Client {
    engine: Arc<dyn Engine>,
    routed: Arc<AtomicU64>,
    /// Monotonic, so that the ids of one client sort by their time and stand close together in indexes.
    ids: Arc<Mutex<Generator>>,
}

/// Why a task was not taken in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// An id or a queue that can't be.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A policy value outside its bounds.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A value that can't be.
    #[error("{0}")]
    Invalid(String),
    /// The store did not take it.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl Client {
    /// A client of this store.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, routed: Arc::default(), ids: Arc::default() }
    }

    /// A client of the store at this address; see [`jobbers_engines::open`].
    ///
    /// # Errors
    /// When the store can't be opened.
    pub async fn open(url: &str) -> Result<Self, Error> {
        Ok(Self::new(jobbers_engines::open(url, jobbers_engines::OpenOptions::default()).await?))
    }

    /// The store, for what this client has no words for.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    fn next_id(&self) -> String {
        let mut ids = self.ids.lock();
        ids.generate().unwrap_or_else(|overflow| overflow.commit_overflow_increment()).to_string()
    }

    /// The queue of a task whose submitter named none.
    async fn route(&self, name: &TaskName, version: u32, parameters: &Payload) -> Result<QueueName, SubmitError> {
        let config = self.engine.config().await?;
        let chosen = find_rule(&config.routes, name, version).and_then(|(_, rule)| {
            let draw = Draw { random: rand::random(), count: self.routed.fetch_add(1, Ordering::Relaxed) };
            choose(rule, draw, |field| field_text(parameters, field))
        });
        Ok(chosen.cloned().map_or_else(|| QueueName::new(DEFAULT), Ok)?)
    }
}

impl<P: Encode, R> TaskFn<P, R> {
    /// Submits a task, to be run as soon as a worker is free.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is submitted then.
    pub async fn delay(&self, client: &Client, job: P) -> Result<Submitted, SubmitError> {
        self.with(job).submit(client).await
    }

    /// Submits a task that starts no earlier than `at`.
    ///
    /// # Errors
    /// As [`TaskFn::delay`].
    pub async fn schedule_at(&self, client: &Client, job: P, at: Timestamp) -> Result<Submitted, SubmitError> {
        self.with(job).at(at).submit(client).await
    }

    /// Readies a submission about which there is more to say.
    #[expect(clippy::needless_pass_by_value, reason = "the job is given away, as it is to the task function")]
    pub fn with(&self, job: P) -> Submission {
        let parameters = job.encode().map(|payload| payload.unwrap_or_else(|| Payload::json(&b"null"[..])));
        Submission {
            name: self.name(),
            version: self.version(),
            parameters,
            id: None,
            queue: None,
            priority: None,
            start: Start::Now,
            overrides: PolicyOverrides::default(),
        }
    }
}

/// A submission in the making. Nothing is checked, and nothing happens, before [`Submission::submit`].
#[derive(Debug, Clone)]
#[must_use = "nothing is submitted before `.submit(&client)`"]
pub struct Submission {
    name: &'static str,
    version: u32,
    parameters: Result<Payload, String>,
    id: Option<String>,
    queue: Option<String>,
    priority: Option<u8>,
    start: Start,
    overrides: PolicyOverrides,
}

impl Submission {
    /// An id of the submitter's own: submitting the same task under it again is safe.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
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

    /// What this one submission changes of the task's policy.
    pub fn overrides(mut self, overrides: PolicyOverrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Submits it.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is submitted then.
    pub async fn submit(self, client: &Client) -> Result<Submitted, SubmitError> {
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
        let name = TaskName::new(self.name)?;
        let id = TaskId::new(self.id.unwrap_or_else(|| client.next_id()))?;
        let queue = match &self.queue {
            Some(queue) => QueueName::new(queue)?,
            None => client.route(&name, self.version, &parameters).await?,
        };
        let priority = match self.priority.map(Priority::new) {
            None => Priority::DEFAULT,
            Some(Some(priority)) => priority,
            Some(None) => return Err(SubmitError::Invalid("a priority is 0 to 9".to_owned())),
        };
        let sent = traces::current().map(|tracing| tracing.send(queue.as_str(), 1, &Context::current()));
        let trace = sent.as_ref().map(|sent| traces::write(sent.span().span_context()).into_boxed_str());
        let task = NewTask {
            trace,
            version: self.version,
            queue_is_explicit: self.queue.is_some(),
            priority,
            start: self.start,
            overrides: self.overrides,
            ..NewTask::new(id, name, queue, parameters)
        };
        let batch = Submit { tasks: vec![task], on_conflict: OnConflict::Fail };
        let submitted = client.engine.submit(batch).await;
        if let Some(sent) = sent {
            traces::end(&sent, submitted.as_ref().err().map(Error::kind));
        }
        let submitted = submitted?;
        submitted.into_iter().next().ok_or_else(|| Error::Corrupt("a submission without an answer".to_owned()).into())
    }
}
