//! A client's connection: straight to a store, or over HTTP to a manager.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use jobbers_common::engine::{Engine, Error};
use parking_lot::Mutex;
use ulid::Generator;

use super::{http::Http, store::DirectStore, submission::Submission};
use crate::payload::{codec::Codecs, encoding::Raw};

/// A client that submits tasks. Clones share it.
///
/// ```no_run
/// use jobbers_worker::prelude::*;
///
/// #[task]
/// async fn greet(name: String) -> Result<String, TaskError> { Ok(format!("hello, {name}")) }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::http("http://127.0.0.1:8000")?;     // or straight to a store, by `Client::open`
/// let handle = greet.delay(&client, "Ada".to_owned()).await?;
/// assert_eq!(handle.result(Duration::from_secs(10)).await?, "hello, Ada");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    shared: Arc<SharedConnection>,
    layers: SubmitLayers,
    codecs: Codecs,
}

/// What happens to each submission of a client, the first one first.
#[derive(Clone, Default)]
struct SubmitLayers(Vec<Arc<Layer>>);

type Layer = dyn Fn(Submission<Raw>) -> Submission<Raw> + Send + Sync;

impl fmt::Debug for SubmitLayers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layers({})", self.0.len())
    }
}

#[derive(Debug)]
struct SharedConnection {
    transport: ClientTransport,
    /// Monotonic, so that the ids of one client sort by time and are close together in indexes.
    ids: Mutex<Generator>,
    /// The answers that a test wants to lose.
    lost_answers: AtomicU32,
}

/// The connection.
#[derive(Debug)]
pub(super) enum ClientTransport {
    Store(DirectStore),
    Http(Http),
}

impl Client {
    /// A client of this store.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self::by(ClientTransport::Store(DirectStore::new(engine)))
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
    /// [`Error::Config`] if the address is invalid, or the program is built without the feature `http`.
    pub fn http(url: &str) -> Result<Self, Error> {
        Ok(Self::by(ClientTransport::Http(Http::new(url)?)))
    }

    /// The same, which signs in with this access key in place of that in `JOBBERS_KEY` or `JOBBERS_KEY_FILE`.
    ///
    /// # Errors
    /// [`Error::Config`] if the address is invalid, it is not a key, or the program is built without the feature `http`.
    pub fn http_with_key(url: &str, key: &str) -> Result<Self, Error> {
        Ok(Self::by(ClientTransport::Http(Http::new(url)?.with_key(key)?)))
    }

    fn by(transport: ClientTransport) -> Self {
        Self {
            shared: Arc::new(SharedConnection { transport, ids: Mutex::default(), lost_answers: AtomicU32::new(0) }),
            layers: SubmitLayers::default(),
            codecs: Codecs::default(),
        }
    }

    /// This client with a function through which each of its submissions passes, after those that were added before: to add
    /// a label, choose a queue, or count. It may change all but the parameters and the task. Other clones stay as they are.
    ///
    /// ```
    /// # use jobbers_worker::prelude::*;
    /// /// What a request handler of a service with tenants submits by.
    /// fn client_of(tenant: &str, client: &Client) -> Client {
    ///     let tenant = tenant.to_owned();
    ///     client.layer(move |submission| submission.label("tenant", tenant.clone()))
    /// }
    /// ```
    #[must_use]
    pub fn layer(&self, layer: impl Fn(Submission<Raw>) -> Submission<Raw> + Send + Sync + 'static) -> Self {
        let mut layered = self.clone();
        layered.layers.0.push(Arc::new(layer));
        layered
    }

    /// This client with a [`Codec`](crate::Codec), or with [`Codecs`] where several keys are in use: it encodes the parameters of
    /// what it submits, and decodes results, errors and progress. Other clones stay as they are.
    ///
    /// Names, labels, queues, times and the kinds of errors stay clear, and so do a unique key and a concurrency key: a key that a
    /// task derives from parameters shows them.
    #[must_use]
    pub fn codec(&self, codecs: impl Into<Codecs>) -> Self {
        Self { codecs: codecs.into(), ..self.clone() }
    }

    pub(crate) const fn codecs(&self) -> &Codecs {
        &self.codecs
    }

    /// A submission after all layers.
    pub(super) fn stamp<R>(&self, submission: Submission<R>) -> Submission<Raw> {
        self.layers.0.iter().fold(submission.any(), |submission, layer| layer(submission))
    }

    /// The engine, for operations this client does not cover. `None` over HTTP.
    #[must_use]
    pub fn engine(&self) -> Option<&Arc<dyn Engine>> {
        match &self.shared.transport {
            ClientTransport::Store(store) => Some(store.engine()),
            ClientTransport::Http(_) => None,
        }
    }

    pub(super) fn transport(&self) -> &ClientTransport {
        &self.shared.transport
    }

    /// Loses the answer to the next submission that nothing else loses.
    pub(crate) fn lose_answer(&self) {
        self.shared.lost_answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the answer that has come is to be lost.
    pub(super) fn takes_lost_answer(&self) -> bool {
        let lost = &self.shared.lost_answers;
        lost.load(Ordering::Relaxed) > 0
            && lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// An id for a task or a workflow that has none.
    pub(super) fn next_id(&self) -> String {
        let mut ids = self.shared.ids.lock();
        ids.generate().unwrap_or_else(|overflow| overflow.commit_overflow_increment()).to_string()
    }
}
