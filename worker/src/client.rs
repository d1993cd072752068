//! Submitting typed tasks: `resize.delay(&client, job)`, `resize.with(job).queue("mail").submit(&client)`; and awaiting
//! their results.
//!
//! A client connects directly to the store, for programs next to one, or over HTTP to a manager; requests and answers
//! are the same. With a direct connection it routes by the same rules as the manager, including rules that forbid
//! naming a queue; it does not do the manager's further checks (schemas, strict queues). It caches the rules: it
//! follows a changed rule within a second, and a client in steady use never waits for a read of the configuration.
//!
//! ```no_run
//! # use jobbers_worker::prelude::*;
//! # #[derive(Serialize, Deserialize)]
//! # struct Resize { path: PathBuf, width: u32 }
//! # #[task]
//! # async fn resize(job: Resize) -> Result<u64, TaskError> { Ok(job.width.into()) }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::http("http://127.0.0.1:8000")?; // or Client::open("sqlite://./jobbers.db").await?
//! let job = Resize { path: "a.png".into(), width: 640 };
//! let handle = resize.with(job).priority(9).max_retries(5).submit(&client).await?;
//! let bytes: u64 = handle.result(Duration::from_secs(30)).await?;
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use jobbers_common::{
    engine::{Engine, Error, OnConflict},
    name::{NameError, TaskId},
    policy::PolicyError,
    routing::QueueForbidden,
    time::Timestamp,
};
use parking_lot::Mutex;
use ulid::Generator;

use crate::{codec::Encode, task_fn::TaskFn};

mod handle;
mod http;
mod leases;
mod store;
mod stored;
mod submission;
mod workflow;

pub use self::{
    handle::{Handle, PendingResult, ResultError},
    leases::{Claim, Extended, Extension, LeaseClient, Leased, Leases, Outcome, Return},
    submission::Submission,
    workflow::{Flow, RunHandle},
};
use self::{http::Http, store::Store};

/// A client that submits tasks. Clones share it.
#[derive(Debug, Clone)]
pub struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    way: Way,
    /// Monotonic, so that the ids of one client sort by time and are close together in indexes.
    ids: Mutex<Generator>,
}

#[derive(Debug)]
enum Way {
    Store(Store),
    Http(Http),
}

/// Why a task was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// An invalid id or queue name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A policy value outside its bounds.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An invalid value.
    #[error("{0}")]
    Invalid(String),
    /// A routing rule forbids naming this queue.
    #[error(transparent)]
    QueueForbidden(#[from] QueueForbidden),
    /// The store did not accept it.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The manager did not accept it.
    #[error("{detail} ({code})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The problem's stable code, such as `unknown_queue`.
        code: String,
        /// The problem's description.
        detail: String,
    },
    /// The manager can't be reached, or its answer was lost. The task may have been submitted; submitting it again
    /// under the same id is safe.
    #[error("{0}")]
    Unreachable(String),
}

impl Client {
    /// A client of this store.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self::by(Way::Store(Store::new(engine)))
    }

    /// A client of the store at this address ([`jobbers_engines::open`]), or of the manager at this `http://` address.
    ///
    /// # Errors
    /// If the store can't be opened, or the address is invalid.
    pub async fn open(url: &str) -> Result<Self, Error> {
        if url.starts_with("http://") || url.starts_with("https://") {
            return Self::http(url);
        }
        Ok(Self::new(jobbers_engines::open(url, jobbers_engines::OpenOptions::default()).await?))
    }

    /// A client of the manager at this address, such as `http://127.0.0.1:8000`. It connects at its first request and
    /// repeats lost requests. Each task has an id from the start, so repeating is safe.
    ///
    /// # Errors
    /// [`Error::Config`] if the address is invalid.
    pub fn http(url: &str) -> Result<Self, Error> {
        Ok(Self::by(Way::Http(Http::new(url)?)))
    }

    fn by(way: Way) -> Self {
        Self(Arc::new(Shared { way, ids: Mutex::default() }))
    }

    /// The engine, for operations this client does not cover. `None` over HTTP.
    #[must_use]
    pub fn engine(&self) -> Option<&Arc<dyn Engine>> {
        match &self.0.way {
            Way::Store(store) => Some(store.engine()),
            Way::Http(_) => None,
        }
    }

    /// Submits several tasks, up to 1,000: all of them or, on any error, none. Returns handles in the same order.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing was submitted.
    pub async fn submit_all<R>(
        &self,
        batch: impl IntoIterator<Item = Submission<R>>,
    ) -> Result<Vec<Handle<R>>, SubmitError> {
        self.send(batch, OnConflict::Fail).await
    }

    /// Submits several tasks, up to 1,000, in place of stored tasks with their ids: all of them or, on any error, none. An id
    /// that is free is submitted as by [`Client::submit_all`].
    ///
    /// # Errors
    /// [`SubmitError`], such as for a running task, which is never replaced; then nothing was submitted.
    pub async fn replace_all<R>(
        &self,
        batch: impl IntoIterator<Item = Submission<R>>,
    ) -> Result<Vec<Handle<R>>, SubmitError> {
        self.send(batch, OnConflict::Replace).await
    }

    async fn send<R>(
        &self,
        batch: impl IntoIterator<Item = Submission<R>>,
        on_conflict: OnConflict,
    ) -> Result<Vec<Handle<R>>, SubmitError> {
        let batch: Vec<_> = batch.into_iter().map(|submission| submission.check(self)).collect::<Result<_, _>>()?;
        let taken = match &self.0.way {
            Way::Store(store) => store.submit(batch, on_conflict).await?,
            Way::Http(http) => http.submit(&batch, on_conflict).await?,
        };
        Ok(taken.into_iter().map(|taken| Handle::new(self.clone(), taken)).collect())
    }

    /// A task that was submitted earlier, to await its result.
    #[must_use]
    pub fn task<R>(&self, id: TaskId) -> PendingResult<R> {
        PendingResult::new(self.clone(), id)
    }

    fn next_id(&self) -> String {
        let mut ids = self.0.ids.lock();
        ids.generate().unwrap_or_else(|overflow| overflow.commit_overflow_increment()).to_string()
    }
}

impl<P: Encode, R> TaskFn<P, R> {
    /// Submits a task that runs as soon as a worker is free.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing was submitted.
    pub async fn delay(&self, client: &Client, job: P) -> Result<Handle<R>, SubmitError> {
        self.with(job).submit(client).await
    }

    /// The same as [`TaskFn::delay`].
    ///
    /// # Errors
    /// As there.
    pub async fn submit(&self, client: &Client, job: P) -> Result<Handle<R>, SubmitError> {
        self.delay(client, job).await
    }

    /// Submits a task that starts no earlier than `at`: a [`SystemTime`](std::time::SystemTime), or a [`Timestamp`].
    ///
    /// ```no_run
    /// # use std::time::SystemTime;
    /// # use jobbers_worker::{SubmitError, prelude::*};
    /// # #[task]
    /// # async fn remind(whom: String) -> Result<(), TaskError> { Ok(()) }
    /// # async fn example(client: &Client) -> Result<(), SubmitError> {
    /// let tomorrow = SystemTime::now() + Duration::from_secs(24 * 3600);
    /// remind.schedule_at(client, "you".to_owned(), tomorrow).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`TaskFn::delay`].
    pub async fn schedule_at(
        &self,
        client: &Client,
        job: P,
        at: impl Into<Timestamp>,
    ) -> Result<Handle<R>, SubmitError> {
        self.with(job).at(at).submit(client).await
    }

    /// Starts a submission with further settings.
    #[expect(clippy::needless_pass_by_value, reason = "the job is given away, as it is to the task function")]
    pub fn with(&self, job: P) -> Submission<R> {
        Submission::new(self, &job)
    }
}
