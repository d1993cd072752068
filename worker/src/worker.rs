//! The worker as a value: a program creates it, adds state and tasks, and runs it.

use std::{process::ExitCode, sync::Arc};

use futures_util::future::BoxFuture;
use jobbers_common::engine::Engine;
use jobbers_process::{
    config::ConfigError,
    logging, readiness,
    shutdown::Shutdown,
    telemetry::{Options, Telemetry},
};
use tokio::runtime::Handle;
use tracing::Level;

use crate::{
    attempts::state::States,
    config::{Args, Config, UnreadableArgs},
    control,
    execution::{
        hooks::{AllHooks, Hooks},
        layer::{Layer, Layers},
    },
    payload::codec::Codecs,
    report::{Report, WorkerError},
    tasks::{registry::Registry, task_fn::AnyTask},
};

/// A worker that has not started yet.
///
/// It runs every `#[task]` of the program, unless a task says `unlisted`.
///
/// ```no_run
/// use jobbers_worker::prelude::*;
///
/// /// What all tasks share, such as the connections to a database.
/// struct Rates { cents_per_kilo: u64 }
///
/// #[task]
/// async fn postage(rates: State<Rates>, kilos: u64) -> Result<u64, TaskError> {
///     Ok(kilos * rates.cents_per_kilo)
/// }
///
/// #[tokio::main]
/// async fn main() -> ExitCode {
///     Worker::from_env().state(Rates { cents_per_kilo: 250 }).run().await     // `--help` lists its flags
/// }
/// ```
#[derive(Debug)]
pub struct Worker {
    settings: Settings,
    engine: Option<Arc<dyn Engine>>,
    states: States,
    layers: Layers,
    hooks: AllHooks,
    codecs: Codecs,
    carried: Vec<String>,
    tasks: Vec<&'static dyn AnyTask>,
    has_telemetry: bool,
    version: Option<String>,
}

/// The source of the configuration. [`Worker::run`] reports its problems, because it has an exit code for them.
#[derive(Debug)]
enum Settings {
    Given(Box<Config>),
    Arguments(Box<Args>),
    Unreadable(UnreadableArgs),
}

impl Worker {
    /// A worker that follows the program's flags and environment; `--help` lists them. Without the feature `cli` it has
    /// the variables alone.
    #[must_use]
    pub fn from_env() -> Self {
        match Args::read() {
            Ok(args) => Self::with_settings(Settings::Arguments(Box::new(args))),
            Err(error) => Self::with_settings(Settings::Unreadable(error)),
        }
    }

    /// A worker that follows flags which the program has parsed itself, for example as a subcommand of its own.
    #[cfg(feature = "cli")]
    #[must_use]
    pub fn from_args(args: Args) -> Self {
        Self::with_settings(Settings::Arguments(Box::new(args)))
    }

    /// A worker that opens the store its configuration names.
    #[must_use]
    pub fn open(config: Config) -> Self {
        Self::with_settings(Settings::Given(Box::new(config)))
    }

    /// A worker on an engine that is already open.
    #[must_use]
    pub fn new(config: Config, engine: Arc<dyn Engine>) -> Self {
        Self { engine: Some(engine), ..Self::open(config) }
    }

    fn with_settings(settings: Settings) -> Self {
        Self {
            settings,
            engine: None,
            states: States::default(),
            layers: Layers::default(),
            hooks: AllHooks::default(),
            codecs: Codecs::default(),
            carried: Vec::new(),
            tasks: Vec::new(),
            has_telemetry: false,
            version: None,
        }
    }

    /// The version of the program, shown by `GET /workers` and used to choose workers to drain, so that a deploy can
    /// distinguish old workers from new ones. [`Config::version`] (`WORKER_VERSION`) wins. The default is the version
    /// of the package that defines the program's listed tasks, or this library's if these packages differ.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Shares a value with every task, found by its type: an argument `pool: State<Pool>`, or `ctx.state::<Pool>()`. A second
    /// value of the same type replaces the first. A worker without a value that an argument of one of its tasks names does
    /// not start.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Runs a [`Layer`] around every attempt, inside the layers that were added before. [`Start`](crate::Start) has what most
    /// layers need: `before`, `after` and `instrument`. A closure is passed by [`layer_fn`](crate::layer_fn), or names the types of
    /// its arguments, `|ctx: &Context, attempt: Start|`: otherwise the compiler calls it "not general enough".
    ///
    /// ```
    /// use jobbers_worker::{Start, prelude::*};
    ///
    /// /// A span per attempt, for the program's own subscriber.
    /// fn span(ctx: &Context, attempt: Start) -> Start {
    ///     attempt.instrument(tracing::info_span!("task", id = %ctx.id(), name = %ctx.name(), attempt = ctx.attempt()))
    /// }
    ///
    /// /// A line for each failed attempt, or a call of an error tracker.
    /// fn failures(ctx: &Context, attempt: Start) -> Start {
    ///     let name = ctx.name().clone();
    ///     attempt.after(move |answer| answer.inspect_err(|error| eprintln!("{name}: {error}")))
    /// }
    ///
    /// # fn example() -> Worker {
    /// Worker::from_env().layer(span).layer(failures)
    /// # }
    /// ```
    #[must_use]
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.add(layer);
        self
    }

    /// Calls these [`Hooks`] when attempts begin and end, beside those that were added before.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.add(hooks);
        self
    }

    /// Encodes and decodes payloads by a [`Codec`](crate::Codec), or by [`Codecs`] where several keys are in use. It decodes the
    /// parameters, checkpoints and predecessors' results that its tasks read, and encodes their results, checkpoints, the messages
    /// of their progress and errors, and the parameters of what they submit. A payload that is not encoded is read as it is.
    ///
    /// A task that is encoded by a codec which this worker does not have is given back, for a worker that has it. One that can't be
    /// decoded fails, without a retry, and is kept as a dead letter with its bytes as they are.
    #[must_use]
    pub fn codec(mut self, codecs: impl Into<Codecs>) -> Self {
        self.codecs = codecs.into();
        self
    }

    /// Hands these labels on, such as `tenant`: a task that a task submits by [`Context::client`](crate::Context::client) or
    /// [`Context::spawn`](crate::Context::spawn) gets the values of its parent, unless its submission says others. [`Context::carried`](crate::Context::carried) lists
    /// them. Labels are short; a task whose context is large carries its id.
    #[must_use]
    pub fn carry_labels<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.carried.extend(names.into_iter().map(Into::into));
        self
    }

    /// Declares that the program has set OpenTelemetry's global providers itself. [`Worker::run`] then starts none, and
    /// the worker's measurements go to those.
    #[must_use]
    pub const fn with_own_telemetry(mut self) -> Self {
        self.has_telemetry = true;
        self
    }

    /// Adds a task that is `unlisted`.
    #[must_use]
    pub fn task(self, task: &'static dyn AnyTask) -> Self {
        self.tasks([task])
    }

    /// Adds tasks that are `unlisted`, such as [`crate::stock::ALL`].
    #[must_use]
    pub fn tasks(mut self, tasks: impl IntoIterator<Item = &'static dyn AnyTask>) -> Self {
        self.tasks.extend(tasks);
        self
    }

    /// The whole `main` of a program: starts telemetry and logging from flags and environment, works until SIGTERM or
    /// SIGINT, and returns the exit code.
    ///
    /// The first signal drains; the second, or the drain deadline, stops now. 0: everything is done. 2: the command
    /// line is invalid. 64: the configuration is invalid. 69: the store can't be opened. 70: a defect. 75: running
    /// tasks were given back, or the store did not accept the results of finished ones. 76: endless tasks held too many
    /// threads.
    ///
    /// Boxed, so that it is compiled with this crate and not again with each program that starts it.
    #[inline(never)]
    #[must_use]
    pub fn run(self) -> BoxFuture<'static, ExitCode> {
        Box::pin(self.run_here())
    }

    async fn run_here(self) -> ExitCode {
        match &self.settings {
            Settings::Unreadable(error) => return error.report(),
            #[cfg(feature = "cli")]
            Settings::Arguments(args) if args.print_config => return print_config(args),
            #[cfg(feature = "cli")]
            Settings::Arguments(args) if args.list_tasks => return list_tasks(&self.tasks),
            Settings::Arguments(_) | Settings::Given(_) => {}
        }
        readiness::set(Err("it starts".to_owned()));
        let telemetry = match self.start_telemetry() {
            Ok(telemetry) => telemetry,
            Err(error) => return complain(&error, error.exit_code()),
        };
        let worked = match Shutdown::on_signals() {
            Ok(shutdown) => self.work(shutdown).await,
            Err(error) => Err(error.into()),
        };
        if let Some(telemetry) = telemetry {
            telemetry.shutdown().await;
        }
        match worked {
            Ok(report) => report.exit_code(),
            Err(error) => complain(&error, error.exit_code()),
        }
    }

    /// Starts logging by its flags, and telemetry unless the program has its own.
    fn start_telemetry(&self) -> Result<Option<Telemetry>, WorkerError> {
        let loaded;
        let (config, log) = match &self.settings {
            Settings::Given(config) => (&**config, None),
            Settings::Arguments(args) => {
                logging::check(&args.log).map_err(ConfigError::Invalid)?;
                loaded = Config::load(args)?;
                (&loaded, Some(&args.log))
            }
            Settings::Unreadable(_) => return Ok(None),
        };
        let start = || {
            Telemetry::start(&Options {
                service: "worker",
                version: env!("CARGO_PKG_VERSION"),
                metrics_listen: config.metrics_listen,
                insecure: config.metrics_insecure,
                exposed_elsewhere: false,
            })
        };
        let telemetry = (!self.has_telemetry).then(start).transpose()?;
        if let Some(log) = log {
            logging::init(log).map_err(ConfigError::Invalid)?;
        }
        if let Some(telemetry) = &telemetry {
            telemetry.announce();
        }
        Ok(telemetry)
    }

    /// Works until `shutdown` requests a stop, or the configured number of tasks has run. Tasks run on the runtime this
    /// is called on. Dropping the future stops the worker in good order, in the background.
    ///
    /// # Errors
    /// [`WorkerError`], before anything was claimed.
    #[inline(never)]
    pub fn run_until(self, shutdown: Shutdown) -> BoxFuture<'static, Result<Report, WorkerError>> {
        Box::pin(self.work(shutdown))
    }

    async fn work(mut self, shutdown: Shutdown) -> Result<Report, WorkerError> {
        let mut config = match self.settings {
            Settings::Given(config) => *config,
            Settings::Arguments(args) => Config::load(&args)?,
            Settings::Unreadable(error) => return Err(ConfigError::Invalid(error.to_string()).into()),
        };
        let version = self.version.or_else(|| Registry::program_version().map(str::to_owned));
        config.version = config.version.or(version);
        config.validate()?;
        self.codecs.check().map_err(ConfigError::Invalid)?;
        self.states.insert(config.stock_root.clone());
        let registry = Registry::collect(&self.tasks)?;
        registry.check_states(&self.states)?;
        let plan = control::WorkerParts {
            config,
            engine: self.engine,
            states: self.states,
            layers: self.layers,
            hooks: self.hooks,
            codecs: self.codecs,
            carried: self.carried,
            schedules: registry.schedules()?,
            registry,
            runtime: Handle::current(),
        };
        control::run(plan, shutdown).await
    }
}

fn complain(problem: &dyn std::fmt::Display, code: u8) -> ExitCode {
    logging::say(Level::ERROR, format_args!("error: {problem}"));
    code.into()
}

/// Prints the tasks that a worker of this program would have, as `GET /tasks/registry` shows them.
#[cfg(feature = "cli")]
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
fn list_tasks(by_hand: &[&'static dyn AnyTask]) -> ExitCode {
    use jobbers_process::exit;

    let registry = match Registry::collect(by_hand) {
        Ok(registry) => registry,
        Err(error) => return complain(&error, exit::CONFIG),
    };
    match serde_json::to_string_pretty(&registry.catalogue()) {
        Ok(catalogue) => {
            println!("{catalogue}");
            exit::OK
        }
        Err(error) => complain(&error, exit::INTERNAL),
    }
}

/// Prints the configuration as an equivalent TOML file, without a password.
#[cfg(feature = "cli")]
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
fn print_config(args: &Args) -> ExitCode {
    use jobbers_process::{engine_url::without_password, exit};

    let mut config = match Config::load(args) {
        Ok(config) => config,
        Err(error) => return complain(&error, exit::CONFIG),
    };
    config.engine_url = without_password(&config.engine_url);
    match serde_json::to_value(&config) {
        Ok(serde_json::Value::Object(fields)) => {
            for (key, value) in fields {
                println!("{key} = {value}");
            }
            exit::OK
        }
        _ => exit::INTERNAL.into(),
    }
}
