//! Flags and environment of a program with a worker.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, error::ErrorKind};
use jobbers_process::{
    config::{ConfigError, SiteKeys, is_flag, layered_on_site},
    engine_url::{EngineArgs, WaitArgs},
    exit,
    logging::LogArgs,
    telemetry::MetricsArgs,
};
use serde::{Serialize, Serializer};

use super::{Config, DEFAULTS};

/// Flags and environment of a worker.
#[derive(Debug, Clone, Parser)]
#[command(version, about = "Runs tasks: leases them from the store, runs them, and settles them.")]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    wait: WaitArgs,
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
    /// Print the program's tasks as JSON, and end
    #[arg(long)]
    pub list_tasks: bool,
    /// What is logged.
    #[command(flatten)]
    pub log: LogArgs,
}

impl Args {
    /// The program's own.
    pub(crate) fn read() -> Result<Self, UnreadableArgs> {
        Self::try_parse().map_err(UnreadableArgs)
    }
}

/// Flags that make no sense, or a request for help.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct UnreadableArgs(clap::Error);

impl UnreadableArgs {
    /// Prints it, and returns the exit code of the program.
    pub(crate) fn report(&self) -> ExitCode {
        self.0.print().ok();
        match self.0.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => exit::OK,
            _ => exit::USAGE.into(),
        }
    }
}

impl Config {
    /// Merges the layers and checks the result.
    ///
    /// # Errors
    /// [`ConfigError`], with every value that is out of bounds.
    pub fn load(args: &Args) -> Result<Self, ConfigError> {
        let engine = args.engine.resolved().engine_url;
        let flags = FlagsLayer { engine, wait: &args.wait, worker: &args.worker, metrics: &args.metrics };
        let (config, address_file) = layered_on_site(DEFAULTS, SiteKeys::Store, args.config.as_deref(), &flags)?;
        let config = Self { address_file, ..config };
        config.validate()?;
        Ok(config)
    }
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

impl WorkerArgs {
    /// Whether the role is on the command line.
    #[must_use]
    pub fn role_is_flag(&self) -> bool {
        is_flag(self.role.as_deref(), "WORKER_ROLE")
    }
}

/// Flags and environment as one layer.
struct FlagsLayer<'a> {
    engine: Option<String>,
    wait: &'a WaitArgs,
    worker: &'a WorkerArgs,
    metrics: &'a MetricsArgs,
}

impl Serialize for FlagsLayer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeMap};

        let wait = serde_json::to_value(self.wait).map_err(S::Error::custom)?;
        let worker = serde_json::to_value(self.worker).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        if let Some(url) = &self.engine {
            map.serialize_entry("engine_url", url)?;
        }
        let metrics = serde_json::to_value(self.metrics).map_err(S::Error::custom)?;
        for (key, value) in [&wait, &worker, &metrics].into_iter().filter_map(|map| map.as_object()).flatten() {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
