//! The worker's configuration: `worker.default.toml`, a file, the environment, flags.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::PathBuf,
    time::Duration,
};

use clap::Parser;
use jobbers_common::{
    duration,
    limits::MAX_NAME_BYTES,
    name::{QueueName, RoleName},
    queue::DEFAULT,
};
use jobbers_process::{
    config::{ConfigError, SiteKeys, layered_on_site},
    engine_url::EngineArgs,
    listen,
    logging::LogArgs,
    telemetry::MetricsArgs,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::stock::StockRoot;

/// The defaults, as shipped to users.
pub const DEFAULTS: &str = include_str!("../worker.default.toml");

/// The settings of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address of the store.
    pub engine_url: String,
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
    /// Merges the layers and checks the result.
    ///
    /// # Errors
    /// [`ConfigError`], with every value that is out of bounds.
    pub fn load(args: &Args) -> Result<Self, ConfigError> {
        let said = Said { engine: args.engine.resolved().engine_url, worker: &args.worker, metrics: &args.metrics };
        let (config, address_file) = layered_on_site(DEFAULTS, SiteKeys::Store, args.config.as_deref(), &said)?;
        let config = Self { address_file, ..config };
        config.validate()?;
        Ok(config)
    }

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

/// Flags and environment of a worker.
#[derive(Debug, Clone, Parser)]
#[command(version, about = "Runs tasks: leases them from the store, runs them, and settles them.")]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    worker: WorkerArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    /// A TOML file with settings that replace defaults
    #[arg(long, env = "WORKER_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the configuration that would be used, and end
    #[arg(long)]
    pub print_config: bool,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

/// The settings of a worker except its store. They are text, so that problems are reported in one form, whatever their
/// source.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub struct WorkerArgs {
    /// Which role this worker plays; the role says which queues it serves [default: default]
    #[arg(long, env = "WORKER_ROLE", value_name = "ROLE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// How many tasks run concurrently [default: 64]
    #[arg(long, env = "WORKER_CONCURRENT_TASKS", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_number")]
    concurrency: Option<String>,
    /// How many tasks to run before a clean exit; 0 is no limit [default: 0]
    #[arg(long, env = "WORKER_TTL", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_number")]
    ttl: Option<String>,
    /// How many tasks of a queue run concurrently at most: heavy=2,mail=20
    #[arg(long, env = "WORKER_QUEUE_LIMITS", value_name = "QUEUE=N,…")]
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_limits: Option<String>,
    /// How long a lease lasts; a killed worker's tasks run again after it [default: 8s]
    #[arg(long, env = "WORKER_LEASE", value_name = "DURATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<String>,
    /// How long running tasks may take to finish after SIGTERM [default: 30s]
    #[arg(long, env = "WORKER_DRAIN_DEADLINE", value_name = "DURATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    drain_deadline: Option<String>,
    /// How long a task may take to stop after a cancel or a shutdown before it is dropped [default: 5s]
    #[arg(long, env = "WORKER_CANCEL_GRACE", value_name = "DURATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_grace: Option<String>,
    /// How many threads tasks that do not end may hold before the worker drains and ends [default: 64]
    #[arg(long, env = "WORKER_MAX_HUNG_THREADS", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_number")]
    max_hung_threads: Option<String>,
    /// Folders below which the stock tasks may read files, separated by `:` [default: the working directory]
    #[arg(long, env = "WORKER_STOCK_ROOT", value_name = "FOLDER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    stock_root: Option<String>,
    /// The version of the program, by which operators distinguish and drain workers [default: the program's own]
    #[arg(id = "worker_version", long = "worker-version", env = "WORKER_VERSION", value_name = "VERSION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// Flags and environment as one layer.
struct Said<'a> {
    engine: Option<String>,
    worker: &'a WorkerArgs,
    metrics: &'a MetricsArgs,
}

impl Serialize for Said<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeMap};

        let worker = serde_json::to_value(self.worker).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        if let Some(url) = &self.engine {
            map.serialize_entry("engine_url", url)?;
        }
        let metrics = serde_json::to_value(self.metrics).map_err(S::Error::custom)?;
        for (key, value) in [&worker, &metrics].into_iter().filter_map(|map| map.as_object()).flatten() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Writes a whole number as a number, and anything else as text, so that the configuration reports it.
fn write_number<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match text.as_deref().map(|text| (text, text.trim().parse::<u64>())) {
        Some((_, Ok(number))) => serializer.serialize_u64(number),
        Some((text, Err(_))) => serializer.serialize_str(text),
        None => serializer.serialize_none(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn load(flags: &[&str]) -> Result<Config, String> {
        let args = Args::try_parse_from([&["worker"], flags].concat()).map_err(|error| error.to_string())?;
        Config::load(&args).map_err(|error| error.to_string())
    }

    #[test]
    fn the_shipped_file_is_the_default() {
        assert_eq!(load(&[]), Ok(Config::default()));
    }

    #[test]
    fn flags_are_read() {
        let config =
            load(&["--role", "media", "--concurrency", "8", "--queue-limits", "heavy=2, mail=20", "--lease", "2s"]);
        let config = config.unwrap();
        assert_eq!((config.role.as_str(), config.concurrency, config.lease), ("media", 8, Duration::from_secs(2)));
        let limits: Vec<(&str, usize)> = config.queue_limits.iter().map(|(queue, n)| (queue.as_str(), *n)).collect();
        assert_eq!(limits, [("heavy", 2), ("mail", 20)]);
    }

    #[test]
    fn what_is_printed_reads_back() {
        let config = load(&["--queue-limits", "heavy=2", "--drain-deadline", "1500ms"]).unwrap();
        let printed = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&printed).unwrap(), config);
    }

    #[test]
    fn each_bad_value_is_named() {
        for (flags, part) in [
            (["--concurrency", "0"], "concurrency must be 1 to 10000"),
            (["--concurrency", "many"], "concurrency"),
            (["--ttl=-1", "--ttl=-1"], "ttl"),
            (["--max-hung-threads", "0"], "max_hung_threads must be 1 to 10000"),
            (["--lease", "1ms"], "lease must be 100ms to 1h"),
            (["--lease", "soon"], "is not a duration"),
            (["--role", "two words"], "role name"),
            (["--worker-version", "1.4 beta"], "version must be"),
            (["--worker-version", ""], "version must be"),
            (["--queue-limits", "heavy"], "is no limit"),
            (["--queue-limits", "heavy=0"], "1 or more"),
            (["--queue-limits", "heavy=1,heavy=2"], "has two limits"),
            (["--config", "no-such-file.toml"], "no-such-file.toml"),
        ] {
            let flags = if flags[0] == flags[1] { &flags[..1] } else { &flags[..] };
            let error = load(flags).unwrap_err();
            assert!(error.contains(part), "{flags:?}: {error}");
        }
    }
}
