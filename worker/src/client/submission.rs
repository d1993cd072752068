//! A submission being built.

use std::{marker::PhantomData, time::Duration};

use jobbers_common::{
    dependency::{DependencyPolicy, signal::OnTimeout},
    lifecycle::Status,
    payload::Payload,
    policy::{CrashPolicy, Exhausted, PolicyOverrides},
    task::{
        Start,
        unique::{OnDuplicate, StatusSet, Unique, UniqueKey},
    },
    time::Timestamp,
};
use sha2::{Digest, Sha256};

use super::error::SubmitError;
use crate::{
    declaration::{
        defaults::Declared,
        uniqueness::{Uniqueness, key_of_parameters},
    },
    payload::encoding::{Encode, Raw},
};

mod checked;

/// A submission being built, of a task with a result of type `R`. Nothing is checked, and nothing happens, before
/// [`Submission::submit`].
///
/// ```no_run
/// use jobbers_worker::prelude::*;
///
/// #[task]
/// async fn charge(cents: u64) -> Result<(), TaskError> {
/// #   let _ = cents;
///     Ok(())
/// }
///
/// # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
/// let submission = charge.with(999).idempotency_key("order-7").label("tenant", "acme");
/// submission.after(Duration::from_secs(60)).max_retries(9).submit(client).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is submitted before `.submit(&client)`"]
pub struct Submission<R> {
    name: &'static str,
    version: u32,
    on_crash: CrashPolicy,
    parameters: Result<Payload, String>,
    id: Option<String>,
    queue: Option<String>,
    /// That of the task's author, where no routing rule applies.
    default_queue: Option<&'static str>,
    priority: Option<u8>,
    start: Start,
    overrides: PolicyOverrides,
    unique: Option<WantedUniqueness>,
    concurrency_key: Option<Result<String, String>>,
    labels: Vec<(String, String)>,
    /// The labels of the task's author, where the submission has none of that name.
    default_labels: &'static [(&'static str, &'static str)],
    is_sensitive: bool,
    depends_on: Vec<(String, DependencyPolicy)>,
    signals: Vec<(String, Option<Duration>, OnTimeout)>,
    is_spontaneous: bool,
    output: PhantomData<fn() -> R>,
}

/// The uniqueness settings so far: by the task's author, then by the submitter.
#[derive(Debug, Clone, Default)]
struct WantedUniqueness {
    key: Option<Result<String, String>>,
    span: Option<Duration>,
    statuses: Option<StatusSet>,
    rule: OnDuplicate,
}

impl WantedUniqueness {
    fn of_author<P>(unique: &Uniqueness<P>, job: &P, parameters: &Result<Payload, String>) -> Self {
        let key = match (unique.by, parameters) {
            (Some(by), _) => by(job),
            // Parameters that can't be encoded are refused with that error.
            (None, parameters) => Ok(parameters.as_ref().map(key_of_parameters).unwrap_or_default()),
        };
        let statuses = unique.statuses.map(|statuses| statuses.iter().copied().collect());
        Self { key: Some(key), span: unique.span, statuses, rule: unique.on_duplicate }
    }

    fn check(self) -> Result<Unique, SubmitError> {
        let invalid = |error: &dyn std::fmt::Display| SubmitError::Invalid(error.to_string());
        let key = self.key.ok_or_else(|| invalid(&"a rule for duplicates needs a unique key"))?;
        let key = key.map_err(|error| invalid(&error))?;
        let mut unique = Unique::new(UniqueKey::new(key).map_err(|error| invalid(&error))?).on_duplicate(self.rule);
        unique.span = self.span;
        unique.statuses = self.statuses.unwrap_or(unique.statuses);
        unique.validate().map_err(|error| invalid(&error))?;
        Ok(unique)
    }
}

impl<R> Clone for Submission<R> {
    fn clone(&self) -> Self {
        Self {
            parameters: self.parameters.clone(),
            id: self.id.clone(),
            queue: self.queue.clone(),
            overrides: self.overrides.clone(),
            unique: self.unique.clone(),
            concurrency_key: self.concurrency_key.clone(),
            labels: self.labels.clone(),
            depends_on: self.depends_on.clone(),
            signals: self.signals.clone(),
            ..*self
        }
    }
}

impl<R> Submission<R> {
    pub(crate) fn new<P: Encode>(task: &Declared<P>, job: &P) -> Self {
        let parameters = job.encode().map(|payload| payload.unwrap_or_else(|| Payload::json(&b"null"[..])));
        let unique = task.unique.as_ref().map(|unique| WantedUniqueness::of_author(unique, job, &parameters));
        Self {
            name: task.name,
            version: task.version,
            on_crash: (&task.policy).into(),
            parameters,
            id: None,
            queue: None,
            default_queue: task.defaults.queue,
            priority: task.defaults.priority,
            start: Start::Now,
            overrides: PolicyOverrides { expires_in: task.expires_in, ..PolicyOverrides::default() },
            unique,
            concurrency_key: task.defaults.concurrency_key.and_then(|key_of| key_of(job).transpose()),
            labels: Vec::new(),
            default_labels: task.defaults.labels,
            is_sensitive: task.defaults.sensitive,
            depends_on: Vec::new(),
            signals: Vec::new(),
            is_spontaneous: false,
            output: PhantomData,
        }
    }

    /// Sets the id: submitting the same task under it again is safe.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Derives the id from the task's name and a key of any characters, such as an order's number. Submitting the same task
    /// with the same parameters under the same key again is safe, and with others is refused. Each task has its own keys: the
    /// same order may be charged and sent by mail. The key wins over [`Submission::id`].
    pub fn idempotency_key(mut self, key: impl AsRef<[u8]>) -> Self {
        // No name contains a zero byte, so no other name and key give the same bytes.
        let digest = Sha256::new().chain_update(self.name).chain_update([0]).chain_update(key.as_ref()).finalize();
        let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.id = Some(format!("key:{digits}"));
        self
    }

    /// Sets the queue. Neither routing nor the queue of `#[task(queue = "…")]` is used.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// 0 to 9; higher is claimed first, 5 is the default.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Runs not before this delay from now.
    pub fn after(mut self, delay: Duration) -> Self {
        self.start = Start::After(delay);
        self
    }

    /// Runs not before this time: a [`SystemTime`](std::time::SystemTime), or a [`Timestamp`].
    pub fn at(mut self, at: impl Into<Timestamp>) -> Self {
        self.start = Start::At(at.into());
        self
    }

    /// How late its first attempt may begin, counted from when it is due: a task that no worker has leased by then never runs
    /// and ends as `dropped`.
    pub fn expires_in(mut self, late: Duration) -> Self {
        self.overrides.expires_in = Some(late);
        self
    }

    /// Retries after the first attempt, for this submission only.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.overrides.max_retries = Some(retries);
        self
    }

    /// How many leases may be taken on this task, 1 to 100. Each counts as an attempt, also one that expires or is given
    /// back after the function began: with 1, it runs at most once. Without [`Submission::max_retries`], this replaces that
    /// limit.
    pub fn max_tries(mut self, tries: u32) -> Self {
        self.overrides.max_tries = Some(tries);
        self
    }

    /// How the task ends when its tries are used up.
    pub fn when_exhausted(mut self, exhausted: Exhausted) -> Self {
        self.overrides.exhausted = Some(exhausted);
        self
    }

    /// The longest one attempt of this submission may run.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.overrides.timeout = Some(timeout);
        self
    }

    /// Replaces all overrides of the task's policy for this submission, including earlier ones.
    pub fn overrides(mut self, overrides: PolicyOverrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Allows at most one task per key, such as `customer:42`, among tasks of its name. Another one with this key is
    /// refused until this one is over, unless [`Submission::on_duplicate`] says otherwise. The key replaces that of
    /// `#[task(unique)]`.
    pub fn unique_key(mut self, key: impl Into<String>) -> Self {
        self.unique.get_or_insert_default().key = Some(Ok(key.into()));
        self
    }

    /// Like [`Submission::unique_key`], with a key derived from the parameters: at most one task with these parameters.
    pub fn unique_by_parameters(self) -> Self {
        let key = self.parameters.as_ref().map(key_of_parameters).unwrap_or_default();
        self.unique_key(key)
    }

    /// Allows any number of such tasks, discarding every earlier uniqueness setting, including the task author's.
    pub fn not_unique(mut self) -> Self {
        self.unique = None;
        self
    }

    /// The longest time that the task holds its unique key.
    pub fn unique_for(mut self, span: Duration) -> Self {
        self.unique.get_or_insert_default().span = Some(span);
        self
    }

    /// The statuses in which the task holds its unique key. The default is until it is over; with
    /// [`OnDuplicate::KeepLast`], until it starts.
    pub fn unique_while(mut self, statuses: impl IntoIterator<Item = Status>) -> Self {
        self.unique.get_or_insert_default().statuses = Some(statuses.into_iter().collect());
        self
    }

    /// What to do when another task holds the unique key. The returned handle may then refer to that task.
    pub fn on_duplicate(mut self, rule: OnDuplicate) -> Self {
        self.unique.get_or_insert_default().rule = rule;
        self
    }

    /// Sets the concurrency key, such as `customer:42`: the queue may limit how many tasks of one key run and start.
    /// The default is the value of the queue's `key_parameter` in the parameters.
    pub fn concurrency_key(mut self, key: impl Into<String>) -> Self {
        self.concurrency_key = Some(Ok(key.into()));
        self
    }

    /// Adds a label, to find the task by. May be called several times; a task has at most 16 labels.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((name.into(), value.into()));
        self
    }

    /// Hides the parameters, result and checkpoint, and the messages of progress and errors, from readers: lists, pages, logs, dead
    /// letters and `jobbers status`. With the scope `tasks:reveal` they are shown, and that is in the audit log. Over HTTP,
    /// [`PendingResult::wait`](super::handle::PendingResult::wait) then needs this scope too.
    pub const fn sensitive(mut self) -> Self {
        self.is_sensitive = true;
        self
    }

    /// The value of a label: the one that was added, or else the task's own.
    #[must_use]
    pub fn label_value(&self, name: &str) -> Option<&str> {
        let said = self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        said.chain(self.default_labels.iter().copied()).find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The name of its task.
    #[must_use]
    pub const fn task_name(&self) -> &'static str {
        self.name
    }

    /// Waits until another task has ended, by its id, and runs only if that one completed; otherwise this task is
    /// aborted. The other task is stored, or part of the same batch ([`Client::submit_all`](super::Client::submit_all)). May be called several
    /// times.
    pub fn depends_on(self, predecessor: impl Into<String>) -> Self {
        self.depends_on_by(predecessor, DependencyPolicy::AbortSuccessors)
    }

    /// Waits until another task has ended, by its id; the policy decides by that task's end whether this one runs.
    pub fn depends_on_by(mut self, predecessor: impl Into<String>, policy: DependencyPolicy) -> Self {
        self.depends_on.push((predecessor.into(), policy));
        self
    }

    /// Waits for a signal from outside ([`Client::signal`](super::Client::signal)), such as an approval. May be called several times.
    pub fn wait_for_signal(mut self, name: impl Into<String>) -> Self {
        self.signals.push((name.into(), None, OnTimeout::default()));
        self
    }

    /// Waits for a signal from outside, for at most this long once it waits for no other task; the rule says what follows then.
    pub fn wait_for_signal_within(mut self, name: impl Into<String>, timeout: Duration, on_timeout: OnTimeout) -> Self {
        self.signals.push((name.into(), Some(timeout), on_timeout));
        self
    }

    /// Lets no worker run it: it ends by itself, as completed and without a result, once all that it waits for has come. A task
    /// that others wait for in place of many.
    pub const fn spontaneous(mut self) -> Self {
        self.is_spontaneous = true;
        self
    }

    /// The same without the result type, so that submissions of different tasks fit in one batch.
    pub fn any(self) -> Submission<Raw> {
        let Self {
            name,
            version,
            on_crash,
            parameters,
            id,
            queue,
            default_queue,
            priority,
            start,
            overrides,
            unique,
            concurrency_key,
            labels,
            default_labels,
            is_sensitive,
            depends_on,
            signals,
            is_spontaneous,
            ..
        } = self;
        Submission {
            name,
            version,
            on_crash,
            parameters,
            id,
            queue,
            default_queue,
            priority,
            start,
            overrides,
            unique,
            concurrency_key,
            labels,
            default_labels,
            is_sensitive,
            depends_on,
            signals,
            is_spontaneous,
            output: PhantomData,
        }
    }

    /// The id that was set.
    pub(crate) fn chosen_id(&self) -> Option<String> {
        self.id.clone()
    }

    /// The same as a node of a canvas, which this is called in messages, without an id; and its parameters.
    pub(crate) fn into_node(mut self, node: &str) -> Result<(Self, Payload), SubmitError> {
        let refuse = |rule: &str| Err(SubmitError::Invalid(format!("node {node}: {rule}")));
        if self.unique.is_some() {
            return refuse("a task of a canvas has no unique key; say `.not_unique()`");
        }
        if self.start != Start::Now {
            return refuse("a task of a canvas starts when those before it have ended");
        }
        if !self.depends_on.is_empty() {
            return refuse("a task of a canvas waits for those before it; say `.then(…)`");
        }
        self.id = None;
        let none = Ok(Payload::json(&b"null"[..]));
        let parameters = std::mem::replace(&mut self.parameters, none);
        let parameters = parameters.map_err(|problem| SubmitError::Invalid(format!("node {node}: {problem}")))?;
        Ok((self, parameters))
    }

    /// The same with other parameters.
    pub(crate) fn with_parameters(mut self, parameters: Payload) -> Self {
        self.parameters = Ok(parameters);
        self
    }
}
