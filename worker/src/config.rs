//! The worker's configuration: `worker.default.toml`, a file, the environment, flags. A program without the feature `cli`
//! has no flags and no file.

#[cfg(feature = "cli")]
mod args;
#[cfg(any(test, not(feature = "cli")))]
mod variables;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::PathBuf,
    time::Duration,
};

use jobbers_common::{
    limits::MAX_NAME_BYTES,
    name::{QueueName, RoleName},
    queue::DEFAULT,
    values::duration,
};
use jobbers_process::{config::ConfigError, listen};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[cfg(feature = "cli")]
pub(crate) use self::args::UnreadableArgs;
#[cfg(feature = "cli")]
pub use self::args::{Args, WorkerArgs};
#[cfg(not(feature = "cli"))]
pub(crate) use self::variables::{Args, UnreadableArgs};
use crate::stock::StockRoot;

/// The defaults, as shipped to users.
pub const DEFAULTS: &str = include_str!("../worker.default.toml");

/// The settings of a worker.
///
/// ```no_run
/// use jobbers_worker::{Config, Shutdown, WorkerError, prelude::*};
///
/// /// A worker that follows neither flags nor variables.
/// async fn work(shutdown: Shutdown) -> Result<(), WorkerError> {
///     let config = Config { engine_url: "sqlite://jobs.db".to_owned(), concurrency: 8, ..Config::default() };
///     let report = Worker::open(config).run_until(shutdown).await?;
///     println!("{} tasks settled", report.settled);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address of the store.
    pub engine_url: String,
    /// How long it waits at its start for a store that can't be reached.
    #[serde(with = "duration::text")]
    pub wait_for_store: Duration,
    /// The role it plays.
    pub role: RoleName,
    /// How many tasks run concurrently.
    pub concurrency: u32,
    /// How many tasks to run before a clean exit; 0 is no limit.
    pub ttl: u64,
    /// How many tasks of each queue run concurrently at most.
    #[serde(serialize_with = "write_limits", deserialize_with = "read_limits")]
    pub queue_limits: BTreeMap<QueueName, usize>,
    /// How long a lease lasts.
    #[serde(with = "duration::text")]
    pub lease: Duration,
    /// How long running tasks may take to finish when the worker stops.
    #[serde(with = "duration::text")]
    pub drain_deadline: Duration,
    /// How long a task may take to stop after a cancel or a shutdown before it is dropped.
    #[serde(with = "duration::text")]
    pub cancel_grace: Duration,
    /// How many threads blocking tasks with finished attempts may hold before the worker drains and ends.
    pub max_hung_threads: u32,
    /// The folders below which the stock tasks may read files.
    pub stock_root: StockRoot,
    /// The version of the program, shown by `GET /workers` and used to choose workers to drain; `None` for
    /// [`crate::Worker::version`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where [`crate::Worker::run`] serves `/metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "listen::read_if_any")]
    pub metrics_listen: Option<SocketAddr>,
    /// Whether that address may be another than loopback.
    #[serde(default)]
    pub metrics_insecure: bool,
    /// The address file of the `jobbers up` that named the store, if one did.
    #[serde(skip)]
    pub address_file: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "a constant that is legal")]
        let role = RoleName::new(DEFAULT).expect("a legal role name");
        Self {
            engine_url: jobbers_engines::DEFAULT_URL.to_owned(),
            wait_for_store: Duration::ZERO,
            role,
            concurrency: 64,
            ttl: 0,
            queue_limits: BTreeMap::new(),
            lease: jobbers_common::limits::DEFAULT_LEASE,
            drain_deadline: Duration::from_secs(30),
            cancel_grace: Duration::from_secs(5),
            max_hung_threads: 64,
            stock_root: StockRoot::default(),
            version: None,
            metrics_listen: None,
            metrics_insecure: false,
            address_file: None,
        }
    }
}

impl Config {
    /// Checks the bounds.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`], with a sentence for each value out of bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let day = Duration::from_secs(86_400);
        let lease = Duration::from_millis(100)..=Duration::from_secs(3_600);
        let is_version = |text: &String| {
            (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let checks = [
            ((1..=10_000).contains(&self.concurrency), "concurrency must be 1 to 10000"),
            (lease.contains(&self.lease), "lease must be 100ms to 1h"),
            (self.drain_deadline <= day, "drain_deadline must be at most 1d"),
            (self.cancel_grace <= day, "cancel_grace must be at most 1d"),
            ((1..=10_000).contains(&self.max_hung_threads), "max_hung_threads must be 1 to 10000"),
            (self.version.as_ref().is_none_or(is_version), "version must be 1 to 128 visible ASCII characters"),
        ];
        let wrong: Vec<&str> = checks.into_iter().filter(|(holds, _)| !holds).map(|(_, rule)| rule).collect();
        if wrong.is_empty() { Ok(()) } else { Err(ConfigError::Invalid(wrong.join("; "))) }
    }
}

fn write_limits<S: Serializer>(limits: &BTreeMap<QueueName, usize>, serializer: S) -> Result<S::Ok, S::Error> {
    let each: Vec<String> = limits.iter().map(|(queue, limit)| format!("{queue}={limit}")).collect();
    serializer.serialize_str(&each.join(","))
}

fn read_limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<QueueName, usize>, D::Error> {
    parse_limits(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// Reads `heavy=2,mail=20`.
fn parse_limits(text: &str) -> Result<BTreeMap<QueueName, usize>, String> {
    let mut seen = BTreeSet::new();
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (queue, limit) = part.split_once('=').ok_or_else(|| format!("{part:?} is no limit: write heavy=2"))?;
            let queue = QueueName::new(queue.trim()).map_err(|error| error.to_string())?;
            if !seen.insert(queue.clone()) {
                return Err(format!("queue {queue} has two limits"));
            }
            match limit.trim().parse() {
                Ok(limit) if limit > 0 => Ok((queue, limit)),
                _ => Err(format!("the limit of queue {queue} must be a whole number, 1 or more, not {limit:?}")),
            }
        })
        .collect()
}
