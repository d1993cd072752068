//! A task as a value: the expansion of `#[task]`.

use std::{fmt, future::Future, pin::Pin, sync::OnceLock, time::Duration};

use jobbers_common::{payload::Payload, policy::TaskPolicy, task::AttemptFailure};
use serde_json::Value;

use crate::{
    attempts::state::NeededState,
    declaration::{
        defaults::{Declared, Defaults},
        uniqueness::Uniqueness,
    },
    payload::encoding::{Decode, Encode},
    tasks::{
        context::Context,
        error::{TaskError, listed::ListedErrors},
    },
};

/// A running task function.
pub type TaskFuture<R> = Pin<Box<dyn Future<Output = Result<R, TaskError>> + Send>>;

/// A registered function with parameters `P` and output `R`.
///
/// Created by `#[task]` as a `static` of the function's name. [`crate::client`] submits it.
///
/// ```no_run
/// use jobbers_worker::{Payload, prelude::*};
///
/// #[task(version = 2, max_retries = 5)]
/// async fn double(n: u64) -> Result<u64, TaskError> { Ok(2 * n) }
///
/// # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
/// assert_eq!((double.name(), double.version(), double.policy().max_retries), ("double", 2, 5));
/// // The function alone, in a test:
/// assert_eq!(double.call(Context::detached(Payload::json("21")), 21).await, Ok(42));
/// // Submitted, as it is or with more to say:
/// double.delay(client, 21).await?;
/// double.with(21).after(Duration::from_secs(60)).priority(9).submit(client).await?;
/// # Ok(())
/// # }
/// ```
pub struct TaskFn<P, R> {
    declared: Declared<P>,
    call: TaskCall<P, R>,
    description: &'static str,
    schema: fn() -> Option<Value>,
    cron: Option<Cron>,
    needs: fn() -> Vec<NeededState>,
    backoff: Option<BackoffFn>,
    place: Option<&'static str>,
    errors: ListedErrors,
    /// The policy with the error types that it lists. Their names are known when the program runs.
    complete: OnceLock<TaskPolicy>,
}

/// When a task is submitted by a schedule of its own, which workers that have the task create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cron {
    /// Five fields, or six with seconds in front: `0 2 * * *`.
    pub expression: &'static str,
    /// A name of the IANA database: `Europe/Berlin`.
    pub time_zone: &'static str,
}

/// What the submissions of a task say, unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Submits {
    /// The queue, where no routing rule applies; `None` is `default`.
    pub queue: Option<&'static str>,
    /// 0 to 9; `None` is 5.
    pub priority: Option<u8>,
    /// Names and values.
    pub labels: &'static [(&'static str, &'static str)],
    /// Whether what a task holds is hidden from readers.
    pub sensitive: bool,
}

/// Says how long to wait before the next attempt, from the number of the one that failed, 1 for the first, and its failure.
///
/// ```
/// use jobbers_worker::{AttemptFailure, prelude::*};
///
/// /// When a customer's server is called again: as often as was promised.
/// fn promised(attempt: u32, _: &AttemptFailure) -> Duration {
///     Duration::from_secs(match attempt { 1 => 5, 2 => 60, _ => 3_600 })
/// }
///
/// #[task(backoff = promised, max_retries = 24)]
/// async fn call_webhook(url: String) -> Result<(), TaskError> {
///     Err(TaskError::retry(format!("{url} does not answer")))
/// }
/// ```
pub type BackoffFn = fn(u32, &AttemptFailure) -> Duration;

/// How a task function is called.
pub enum TaskCall<P, R> {
    /// On the caller's runtime, as a task of its own.
    Async(fn(Context, P) -> TaskFuture<R>),
    /// On a thread of the pool for blocking work.
    Blocking(fn(Context, P) -> Result<R, TaskError>),
    /// Not at all: another program has the function.
    Remote,
}

/// A task of any types, as a worker stores it.
///
/// ```
/// use jobbers_worker::{AnyTask, prelude::*};
///
/// #[task(unlisted)]
/// async fn resize(width: u32) -> Result<u32, TaskError> { Ok(width) }
///
/// #[task(unlisted)]
/// async fn crop() -> Result<(), TaskError> { Ok(()) }
///
/// /// What a worker for pictures runs.
/// fn pictures() -> [&'static dyn AnyTask; 2] {
///     [&resize, &crop]
/// }
///
/// # fn example() -> Worker {
/// Worker::from_env().tasks(pictures())
/// # }
/// ```
pub trait AnyTask: fmt::Debug + Send + Sync + 'static {
    /// The name that submissions use.
    fn name(&self) -> &'static str;
    /// Its version.
    fn version(&self) -> u32;
    /// The author's settings for retries, limits and endings.
    fn policy(&self) -> &TaskPolicy;
    /// The author's description.
    fn description(&self) -> &str {
        ""
    }
    /// The JSON Schema of its parameters, if it has one.
    fn schema(&self) -> Option<Value> {
        None
    }
    /// The schedule that it declares.
    fn cron(&self) -> Option<Cron> {
        None
    }
    /// How late the first attempt of a task of that schedule may begin.
    fn expires_in(&self) -> Option<Duration> {
        None
    }
    /// The state that the function can't do without. A worker that lacks it does not start.
    fn needs(&self) -> Vec<NeededState> {
        Vec::new()
    }
    /// The place in the source that declares it, for messages.
    fn place(&self) -> Option<&'static str> {
        None
    }
    /// How long to wait before the next attempt, after this one failed so; `None` leaves it to the policy.
    fn backoff(&self, _attempt: u32, _failure: &AttemptFailure) -> Option<Duration> {
        None
    }
    /// What the tasks of its schedule say, as its submissions do.
    fn submits(&self) -> Submits {
        Submits::default()
    }
    /// Whether [`AnyTask::start`] returns [`Start::Blocking`]. A worker claims only as many of these as its threads run
    /// soon.
    fn is_blocking(&self) -> bool {
        false
    }
    /// Prepares one attempt; nothing runs yet.
    fn start(&self, context: Context) -> Start;
}

/// The output of a finished task function: its result, if it has one.
pub type Answer = Result<Option<Payload>, TaskError>;

/// An attempt that is ready to run.
///
/// ```
/// use jobbers_worker::{Start, prelude::*};
///
/// /// A layer that says how long each attempt takes.
/// fn timing(ctx: &Context, attempt: Start) -> Start {
///     let (name, begun) = (ctx.name().clone(), std::time::Instant::now());
///     attempt.after(move |answer| {
///         println!("{name} took {:?}", begun.elapsed());
///         answer
///     })
/// }
/// ```
pub enum Start {
    /// To be polled.
    Async(Pin<Box<dyn Future<Output = Answer> + Send>>),
    /// To be called on a thread that may block.
    Blocking(Box<dyn FnOnce() -> Answer + Send>),
}

impl<P, R> TaskFn<P, R> {
    /// A task. `#[task]` calls this after it has checked the name.
    #[must_use]
    pub const fn new(name: &'static str, version: u32, policy: TaskPolicy, call: TaskCall<P, R>) -> Self {
        let declared = Declared { name, version, policy, unique: None, expires_in: None, defaults: Defaults::NONE };
        Self {
            declared,
            call,
            description: "",
            schema: || None,
            cron: None,
            needs: Vec::new,
            backoff: None,
            place: None,
            errors: ListedErrors::NONE,
            complete: OnceLock::new(),
        }
    }

    /// The same with the author's description, and the JSON Schema of its parameters if it has one.
    #[must_use]
    pub const fn described(mut self, description: &'static str, schema: fn() -> Option<Value>) -> Self {
        self.description = description;
        self.schema = schema;
        self
    }

    /// The same with a uniqueness constraint. `#[task]` calls this after it has checked the bounds.
    #[doc(hidden)]
    #[must_use]
    pub const fn unique(mut self, unique: Uniqueness<P>) -> Self {
        self.declared.unique = Some(unique);
        self
    }

    /// The same with a schedule. `#[task]` calls this after it has checked both.
    #[doc(hidden)]
    #[must_use]
    pub const fn cron(mut self, expression: &'static str, time_zone: &'static str) -> Self {
        self.cron = Some(Cron { expression, time_zone });
        self
    }

    /// The same with a bound on how late a first attempt may begin. `#[task]` calls this after it has checked it.
    #[doc(hidden)]
    #[must_use]
    pub const fn expires_in(mut self, late: Duration) -> Self {
        self.declared.expires_in = Some(late);
        self
    }

    /// The same with the state that the function can't do without: a worker that lacks it does not start.
    #[must_use]
    pub const fn needing(mut self, needs: fn() -> Vec<NeededState>) -> Self {
        self.needs = needs;
        self
    }

    /// The same with a function that says how long to wait before a retry, in place of the policy's backoff. A submission that
    /// says how to back off wins.
    #[must_use]
    pub const fn backing_off(mut self, backoff: BackoffFn) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// The same with what its submissions say unless they say otherwise. `#[task]` calls this after it has checked it.
    #[doc(hidden)]
    #[must_use]
    pub const fn defaults(mut self, defaults: Defaults<P>) -> Self {
        self.declared.defaults = defaults;
        self
    }

    /// The same with the place in the source that declares it, for messages.
    #[doc(hidden)]
    #[must_use]
    pub const fn placed(mut self, place: &'static str) -> Self {
        self.place = Some(place);
        self
    }

    /// The same with the error types that its policy lists.
    #[doc(hidden)]
    #[must_use]
    pub const fn listing(mut self, errors: ListedErrors) -> Self {
        self.errors = errors;
        self
    }

    /// The error of an attempt where the function is not.
    fn elsewhere(&self) -> TaskError {
        TaskError::fatal(format!("{self:?} is `remote`: another program has its body"))
    }

    /// What its submissions take from it.
    pub(crate) const fn declared(&self) -> &Declared<P> {
        &self.declared
    }

    /// The name that submissions use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.declared.name
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.declared.version
    }

    /// The author's settings for retries, limits and endings.
    #[must_use]
    pub fn policy(&self) -> &TaskPolicy {
        let policy = &self.declared.policy;
        match self.complete.get() {
            Some(complete) => complete,
            None => match self.errors.complete(policy) {
                Some(complete) => self.complete.get_or_init(|| complete),
                None => policy,
            },
        }
    }
}

impl<P, R: Send + 'static> TaskFn<P, R> {
    /// Calls the plain function without a worker. For unit tests, with [`Context::detached`]; a blocking task runs on
    /// the calling thread before this returns.
    pub fn call(&self, context: Context, job: P) -> TaskFuture<R> {
        match self.call {
            TaskCall::Async(call) => call(context, job),
            TaskCall::Blocking(call) => Box::pin(std::future::ready(call(context, job))),
            TaskCall::Remote => Box::pin(std::future::ready(Err(self.elsewhere()))),
        }
    }
}

impl<P, R> fmt::Debug for TaskFn<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskFn({}@{})", self.declared.name, self.declared.version)
    }
}

impl<P: Decode + 'static, R: Encode + 'static> AnyTask for TaskFn<P, R> {
    fn name(&self) -> &'static str {
        self.declared.name
    }

    fn version(&self) -> u32 {
        self.declared.version
    }

    fn policy(&self) -> &TaskPolicy {
        self.policy()
    }

    fn description(&self) -> &str {
        self.description
    }

    fn schema(&self) -> Option<Value> {
        (self.schema)()
    }

    fn cron(&self) -> Option<Cron> {
        self.cron
    }

    fn expires_in(&self) -> Option<Duration> {
        self.declared.expires_in
    }

    fn needs(&self) -> Vec<NeededState> {
        (self.needs)()
    }

    fn place(&self) -> Option<&'static str> {
        self.place
    }

    fn backoff(&self, attempt: u32, failure: &AttemptFailure) -> Option<Duration> {
        self.backoff.map(|backoff| backoff(attempt, failure))
    }

    fn submits(&self) -> Submits {
        let Defaults { queue, priority, labels, sensitive, .. } = self.declared.defaults;
        Submits { queue, priority, labels, sensitive }
    }

    fn is_blocking(&self) -> bool {
        matches!(self.call, TaskCall::Blocking(_))
    }

    fn start(&self, context: Context) -> Start {
        match self.call {
            TaskCall::Async(call) => Start::Async(Box::pin(async move {
                let job = decode(&context)?;
                encode(&call(context, job).await?)
            })),
            TaskCall::Blocking(call) => Start::Blocking(Box::new(move || {
                let job = decode(&context)?;
                encode(&call(context, job)?)
            })),
            TaskCall::Remote => Start::Async(Box::pin(std::future::ready(Err(self.elsewhere())))),
        }
    }
}

/// Parameters that can't be read now can't be read later. So the error is fatal, and the stored bytes do not change.
fn decode<P: Decode>(context: &Context) -> Result<P, TaskError> {
    P::decode(context.parameters())
        .map_err(|problem| TaskError::fatal(format!("the parameters do not fit: {problem}")).kind("invalid_parameters"))
}

fn encode<R: Encode>(output: &R) -> Answer {
    output.encode().map_err(|problem| TaskError::fatal(format!("the result: {problem}")).kind("invalid_result"))
}
