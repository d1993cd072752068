//! The configuration of a program without flags: the variables that the flags have too.

use std::path::Path;
#[cfg(not(feature = "cli"))]
use std::process::ExitCode;

use jobbers_process::{
    config::{ConfigError, of_variables},
    logging::LogArgs,
};
#[cfg(not(feature = "cli"))]
use jobbers_process::{exit, logging};

use super::Config;

/// Each variable, and the key that it sets. The first of several for a key wins.
const VARIABLES: [(&str, &str); 15] = [
    ("ENGINE_URL", "engine_url"),
    ("REDIS_URL", "engine_url"),
    ("METRICS_LISTEN", "metrics_listen"),
    ("WAIT_FOR_STORE", "wait_for_store"),
    ("WORKER_CANCEL_GRACE", "cancel_grace"),
    ("WORKER_CONCURRENT_TASKS", "concurrency"),
    ("WORKER_DRAIN_DEADLINE", "drain_deadline"),
    ("WORKER_LEASE", "lease"),
    ("WORKER_MAX_HUNG_THREADS", "max_hung_threads"),
    ("WORKER_QUEUE_LIMITS", "queue_limits"),
    ("WORKER_ROLE", "role"),
    ("WORKER_STOCK_ROOT", "stock_root"),
    ("WORKER_TTL", "ttl"),
    ("WORKER_VERSION", "version"),
    ("WORKER_CONFIG", FILE),
];
/// The key of a configuration file, which such a program can't read.
const FILE: &str = "config";

/// The settings of the environment.
#[derive(Debug)]
pub(crate) struct Args {
    variables: Vec<(&'static str, String)>,
    pub(crate) log: LogArgs,
}

/// Why a program can't take its arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UnreadableArgs(String);

#[cfg(not(feature = "cli"))]
impl UnreadableArgs {
    /// Prints it, and returns the exit code of the program.
    pub(crate) fn report(&self) -> ExitCode {
        logging::say(tracing::Level::ERROR, format_args!("error: {self}"));
        exit::USAGE.into()
    }
}

#[cfg(not(feature = "cli"))]
impl Args {
    /// The program's own.
    pub(crate) fn read() -> Result<Self, UnreadableArgs> {
        Self::of(std::env::args().nth(1).as_deref(), |name| std::env::var(name).ok())
    }
}

#[cfg(not(feature = "cli"))]
impl Config {
    /// Merges what is known and checks the result.
    pub(crate) fn load(args: &Args) -> Result<Self, ConfigError> {
        args.load_in(Path::new("."))
    }
}

impl Args {
    /// Of the first argument, and of what `variable` looks up.
    fn of(argument: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Self, UnreadableArgs> {
        let without = "this program is built without the feature `cli` of jobbers-worker, which brings flags and files: \
                       build it with that feature, or set ENGINE_URL, JOBBERS_LOG, WORKER_ROLE and the other variables";
        if let Some(argument) = argument {
            return Err(UnreadableArgs(format!("unknown argument {argument}: {without}")));
        }
        let mut variables: Vec<(&'static str, String)> = Vec::new();
        for (name, key) in VARIABLES {
            let Some(text) = variable(name).filter(|_| variables.iter().all(|(known, _)| *known != key)) else {
                continue;
            };
            if key == FILE {
                return Err(UnreadableArgs(format!("{name}={text}: {without}")));
            }
            variables.push((key, text));
        }
        Ok(Self { variables, log: LogArgs::of_variables(variable).map_err(UnreadableArgs)? })
    }

    fn load_in(&self, folder: &Path) -> Result<Config, ConfigError> {
        let (config, address_file) = of_variables(folder, &Config::default(), self.variables.iter().cloned())?;
        let config = Config { address_file, ..config };
        config.validate()?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Config, String> {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned());
        let folder = tempfile::tempdir().unwrap();
        let args = Args::of(None, find).map_err(|error| error.to_string())?;
        args.load_in(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_without_flags_reads_each_variable_that_a_flag_has() {
        let command = <crate::config::args::Args as clap::CommandFactory>::command();
        let of_flags: BTreeSet<String> =
            command.get_arguments().filter_map(|arg| Some(arg.get_env()?.to_str()?.to_owned())).collect();
        let own = VARIABLES.iter().map(|(name, _)| *name).chain(["JOBBERS_LOG", "JOBBERS_LOG_FORMAT"]);
        assert_eq!(of_flags, own.map(str::to_owned).collect());
    }

    #[test]
    fn variables_replace_defaults_and_the_first_of_two_wins() {
        assert_eq!(of(&[]), Ok(Config::default()));
        assert_eq!(Args::of(None, |_| None).unwrap().log.log, "info");
        let config = of(&[
            ("REDIS_URL", "redis://second"),
            ("ENGINE_URL", "sqlite://first.db"),
            ("WORKER_ROLE", "7"),
            ("WORKER_CONCURRENT_TASKS", "8"),
            ("WORKER_QUEUE_LIMITS", "heavy=2"),
            ("WORKER_LEASE", "2s"),
            ("WORKER_VERSION", "1"),
        ]);
        let config = config.unwrap();
        assert_eq!((config.engine_url.as_str(), config.role.as_str()), ("sqlite://first.db", "7"));
        assert_eq!((config.concurrency, config.lease, config.queue_limits.len()), (8, Duration::from_secs(2), 1));
        assert_eq!(config.version.as_deref(), Some("1"));
    }

    #[test]
    fn a_bad_value_a_flag_and_a_file_are_refused_with_what_to_do() {
        for (pair, part) in [
            (("WORKER_CONCURRENT_TASKS", "many"), "concurrency: "),
            (("WORKER_LEASE", "1ms"), "lease must be 100ms to 1h"),
            (("WORKER_CONFIG", "worker.toml"), "the feature `cli`"),
        ] {
            let error = of(&[pair]).unwrap_err();
            assert!(error.contains(part), "{pair:?}: {error}");
        }
        let refused = Args::of(Some("--role"), |_| None).unwrap_err().to_string();
        assert!(refused.contains("unknown argument --role") && refused.contains("WORKER_ROLE"), "{refused}");
    }
}
