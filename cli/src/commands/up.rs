//! `jobbers up`: manager, worker and cleaner in one process, or all but the worker.

use std::{
    collections::HashSet,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use jobbers_manager::{
    ListenError, Listeners,
    config::{ClientArgs, DeadLetterArgs, MassTaskerArgs, NameArgs, SetArgs, StopArgs, TaskStoreArgs, TlsArgs},
    keys::{self, BootstrapError},
};
use jobbers_process::{
    config::{is_flag, layered},
    engine_url::{EngineArgs, WaitArgs},
    exit, listen,
    logging::{self, LogArgs},
    shutdown::Shutdown,
    site::{self, Marker, Site},
    telemetry::{MetricsArgs, Options, Telemetry, TelemetryError},
};
use jobbers_worker::config::WorkerArgs;

use crate::{
    failure::Failure,
    scratch::cant_open,
    stack::{Stack, StackPlan},
    terminal::output,
};

const AFTER_HELP: &str = "\
SIGTERM or SIGINT (Ctrl-C) stops it in good order: the manager takes nothing more, the worker finishes what it runs (up to \
its drain deadline; what still runs then is given back), the cleaner ends. A second one stops it at once.

Exit codes: 0 stopped in good order; 64 the configuration makes no sense, or the address was refused; 69 the store or the \
address can't be had; 75 what still ran was given back; 76 too many threads were held by tasks that do not end.";

/// Flags of `jobbers up`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// Where the manager listens [default: 127.0.0.1:8000]
    #[arg(long, env = "MANAGER_LISTEN", value_name = "ADDRESS", value_parser = listen::parse)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    clients: ClientArgs,
    #[command(flatten)]
    tls: TlsArgs,
    /// A configuration file for the manager; see manager.default.toml
    #[arg(long, env = "MANAGER_CONFIG", value_name = "FILE")]
    manager_config: Option<PathBuf>,
    /// A configuration file for the worker; see worker.default.toml
    #[arg(long, env = "WORKER_CONFIG", value_name = "FILE")]
    worker_config: Option<PathBuf>,
    /// Run no worker: tasks wait for workers that you start beside it
    #[arg(long)]
    no_worker: bool,
    #[command(flatten)]
    dead_letters: DeadLetterArgs,
    #[command(flatten)]
    names: NameArgs,
    #[command(flatten)]
    taskstore: TaskStoreArgs,
    #[command(flatten)]
    masstasker: MassTaskerArgs,
    #[command(flatten)]
    settings: SetArgs,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    stop: StopArgs,
    #[command(flatten)]
    worker: WorkerArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    log: LogArgs,
}

impl Args {
    fn manager(&self) -> Result<jobbers_manager::Config, Failure> {
        let args = jobbers_manager::config::Args {
            listen: self.listen,
            engine: self.engine.clone(),
            clients: self.clients.clone(),
            tls: self.tls.clone(),
            config: self.manager_config.clone(),
            print_config: false,
            dead_letters: self.dead_letters.clone(),
            names: self.names.clone(),
            taskstore: self.taskstore.clone(),
            masstasker: self.masstasker.clone(),
            settings: self.settings.clone(),
            wait: self.wait.clone(),
            stop: self.stop.clone(),
            log: self.log.clone(),
        };
        let config = jobbers_manager::Config::load(&args).map_err(|error| Failure::Config(error.to_string()))?;
        config.check_addresses().map_err(|error| Failure::Config(error.to_string()))?;
        Ok(config)
    }

    fn telemetry(&self) -> Result<Telemetry, Failure> {
        let options = Options {
            service: "jobbers",
            version: env!("CARGO_PKG_VERSION"),
            metrics_listen: self.metrics.metrics_listen,
            insecure: self.metrics.metrics_insecure || self.clients.insecure,
            exposed_elsewhere: true,
        };
        Telemetry::start(&options).map_err(|error| match error {
            TelemetryError::Listen { .. } => Failure::Unavailable(error.to_string()),
            _ => Failure::Config(error.to_string()),
        })
    }

    /// The worker's configuration; `None` for no worker.
    fn worker(&self) -> Result<Option<jobbers_worker::Config>, Failure> {
        if self.no_worker {
            let file = self.worker_config.as_deref().and_then(Path::to_str);
            if self.worker.role_is_flag() || is_flag(file, "WORKER_CONFIG") {
                return Err(Failure::Usage(
                    "--no-worker starts no worker that --role or --worker-config is for".to_owned(),
                ));
            }
            return Ok(None);
        }
        let layers = layered(jobbers_worker::config::DEFAULTS, self.worker_config.as_deref(), &self.worker);
        let config: jobbers_worker::Config = layers.map_err(|error| Failure::Config(error.to_string()))?;
        config.validate().map_err(|error| Failure::Config(error.to_string()))?;
        Ok(Some(config))
    }
}

fn bootstrap_failed(store: &str, error: BootstrapError) -> Failure {
    match error {
        BootstrapError::Store(error) => cant_open(store, &error),
        wrong => Failure::Config(wrong.to_string()),
    }
}

/// Starts all three and waits for a signal.
///
/// # Errors
/// When the configuration makes no sense, or the store or the address can't be had.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    logging::check(&args.log).map_err(Failure::Config)?;
    let (manager, worker) = (args.manager()?, args.worker()?);
    let telemetry = args.telemetry()?;
    logging::init(&args.log).map_err(Failure::Config)?;
    telemetry.announce();
    let first = keys::first_key(manager.bootstrap_key_file()).map_err(|error| bootstrap_failed("", error))?;
    let has_worker = worker.is_some();
    let shutdown = on_signals_after(manager.shutdown_delay)?;
    let listeners = bind(&manager).await?;
    site::announce(manager.address_file.as_deref());
    let (store, reached) = (manager.engine_url.clone(), manager.clone());
    let opened = tokio::select! {
        opened = jobbers_engines::open(&store, manager.open_options()) => opened,
        () = shutdown.leaving.cancelled() => return Ok(exit::OK),
    };
    let engine = opened.map_err(|error| cant_open(&store, &error))?;
    let health = engine.health().await.map_err(|error| cant_open(&store, &error))?;
    if let Some(text) = first {
        keys::bootstrap(&*engine, text).await.map_err(|error| bootstrap_failed(&store, error))?;
    }
    let stack = Stack::start(StackPlan { manager, worker, listeners, engine, now: shutdown.now.clone() }).await?;
    let url = reached.url_here(stack.address);
    let _markers = mark(&url, &store, &health.store);
    for warning in &health.warnings {
        tracing::warn!("{warning}");
    }
    let next = match has_worker {
        true => "in another terminal: jobbers submit echo hello=world --wait".to_owned(),
        false => format!("it runs no worker: start your own on {}", health.store),
    };
    output::note(format_args!(
        "jobbers is up at {url} (its API is described at /docs); tasks are kept in {} ({})\n{next}",
        health.store, health.durability,
    ));
    tokio::select! {
        () = shutdown.leaving.cancelled() => stack.leave(),
        () = stack.ended() => shutdown.drain.cancel(),
    }
    tokio::select! {
        () = shutdown.drain.cancelled() => {}
        () = stack.ended() => {}
    }
    let report = stack.stop().await;
    telemetry.shutdown().await;
    Ok(report?.exit_code())
}

/// Writes the address file into the working directory, and beside an SQLite file in another folder.
fn mark(manager: &str, given: &str, shown: &str) -> Vec<Marker> {
    let here = PathBuf::from(".");
    let (site, folders) = match shown.strip_prefix("sqlite://") {
        Some(path) => {
            let beside = Path::new(path).parent().map(Path::to_owned);
            (Site::new(manager, &absolute(path, given)), std::iter::once(here).chain(beside).collect())
        }
        None => (Site::new(manager, given), vec![here]),
    };
    let mut seen = HashSet::new();
    let folders = folders.into_iter().filter(|folder| seen.insert(folder.canonicalize().ok()));
    folders.filter_map(|folder| mark_in(&folder, &site)).collect()
}

fn mark_in(folder: &Path, site: &Site) -> Option<Marker> {
    let file = site::file_in(folder).display().to_string();
    match site.mark(folder) {
        Ok(None) => {
            tracing::warn!(
                file,
                "commands in this folder find another running `jobbers up`; name this one with --manager"
            );
            None
        }
        Ok(marker) => marker,
        Err(error) => {
            tracing::warn!(%error, file, "the address file can't be written: commands in this folder need --manager and --engine-url");
            None
        }
    }
}

/// The URL of the SQLite file at this absolute path, with the options of the URL that was given.
fn absolute(path: &str, given: &str) -> String {
    let path = path.replace('%', "%25").replace('?', "%3F");
    let options = given.find('?').map_or("", |at| &given[at..]);
    format!("sqlite://{path}{options}")
}

/// Follows the process's signals.
///
/// # Errors
/// When the handlers can't be installed.
pub fn on_signals() -> Result<Shutdown, Failure> {
    on_signals_after(Duration::ZERO)
}

/// The same, but the first signal drains only after `delay`.
///
/// # Errors
/// When the handlers can't be installed.
fn on_signals_after(delay: Duration) -> Result<Shutdown, Failure> {
    let refused = |error| Failure::Unavailable(format!("signals can't be followed: {error}"));
    Shutdown::on_signals_after(delay).map_err(refused)
}

/// Listens where the manager is to.
///
/// # Errors
/// When an address can't be had.
pub async fn bind(manager: &jobbers_manager::Config) -> Result<Listeners, Failure> {
    Listeners::bind(manager).await.map_err(|error| match error {
        ListenError::Tls(_) => Failure::Config(error.to_string()),
        ListenError::Address { .. } => Failure::Unavailable(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn the_address_file_names_a_store_with_its_options() {
        let url = absolute("/srv/a b?/50%.db", "sqlite://50%25.db?max_bytes=2000000");
        assert_eq!(url, "sqlite:///srv/a b%3F/50%25.db?max_bytes=2000000");
    }
}
