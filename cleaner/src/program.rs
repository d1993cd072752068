//! The `cleaner` program, also started as `jobbers cleaner`. It reads its configuration, cleans, and reports by its
//! exit code whether everything was done.

use std::{io, pin::Pin, process::ExitCode};

use jobbers_common::task::tombstone::TombstonePolicy;
use jobbers_engines::OpenOptions;
use jobbers_process::{
    exit, logging, readiness,
    shutdown::Shutdown,
    site,
    telemetry::{Options, Telemetry, TelemetryError},
};
use tracing::Level;

use crate::{Args, Config, ConfigError};

/// Runs the program and returns its exit code. Boxed, so that it is compiled with this crate and not again with each program that starts it.
#[inline(never)]
#[must_use]
pub fn run(args: Args) -> Pin<Box<dyn Future<Output = ExitCode> + Send>> {
    Box::pin(run_here(args))
}

async fn run_here(args: Args) -> ExitCode {
    match clean(&args).await {
        Ok(code) => code,
        Err(error) => {
            // Not a log line, because it must be visible with every log filter, even an invalid one.
            logging::say(Level::ERROR, format_args!("cleaner: {error:#}"));
            ExitCode::from(code_of(&error))
        }
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<TelemetryError>() {
        return error.exit_code();
    }
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(ConfigError::NoCriterion), _) => exit::USAGE,
        (Some(_), _) => exit::CONFIG,
        (_, Some(error)) => exit::of_store(error),
        (None, None) => exit::FAILURE,
    }
}

async fn clean(args: &Args) -> anyhow::Result<ExitCode> {
    logging::check(&args.log).map_err(ConfigError::Value)?;
    let config = Config::load(args)?;
    readiness::set(Err("its first round is not over".to_owned()));
    let telemetry = Telemetry::start(&Options {
        service: "cleaner",
        version: env!("CARGO_PKG_VERSION"),
        metrics_listen: config.metrics_listen.filter(|_| config.watch.is_some()),
        insecure: config.metrics_insecure,
        exposed_elsewhere: false,
    })?;
    logging::init(&args.log).map_err(ConfigError::Value)?;
    telemetry.announce();
    // Before the store is opened: a command line that requests nothing is refused without a store.
    config.passes()?;
    let tombstones = TombstonePolicy { age: config.tombstone_age, count: config.tombstone_count };
    let options = OpenOptions { tombstones, wait: config.wait_for_store, ..OpenOptions::existing() };
    // Before the store is opened, so that a signal from now on stops the cleaner in good order.
    let shutdown = Shutdown::on_signals()?;
    site::announce(config.address_file.as_deref());
    let engine = tokio::select! {
        opened = jobbers_engines::open(&config.engine_url, options) => opened?,
        () = shutdown.drain.cancelled() => return Ok(exit::OK),
    };
    let report = crate::run(&config, engine, &shutdown, &mut io::stdout()).await;
    telemetry.shutdown().await;
    let report = report?;
    Ok(match report {
        // A signal stops a watching cleaner in good order at any time.
        _ if config.watch.is_some() || report.complete => exit::OK,
        _ if report.is_transient_failure() => exit::UNAVAILABLE.into(),
        _ => exit::FAILURE.into(),
    })
}
