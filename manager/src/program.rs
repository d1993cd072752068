//! The `manager` program, also started as `jobbers manager`: it reads its configuration, opens the store, listens, and
//! serves until it is stopped.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use futures_util::future::BoxFuture;
use jobbers_process::{
    exit, logging,
    shutdown::Shutdown,
    site,
    telemetry::{Options, Telemetry, TelemetryError},
};
use tracing::Level;

use crate::{
    ListenError, Listeners,
    config::{Args, Config},
    keys::{self, BootstrapError},
};

/// Runs the program, and returns its exit code. Boxed, so that it is compiled with this crate and not again with each program that starts it.
#[inline(never)]
#[must_use]
pub fn run(args: Args) -> BoxFuture<'static, ExitCode> {
    Box::pin(run_here(args))
}

async fn run_here(args: Args) -> ExitCode {
    let config = match configure(&args) {
        Ok(config) => config,
        Err(error) => return fail(exit::CONFIG, &error),
    };
    if args.print_config {
        return match io::stdout().write_all(config.to_toml().as_bytes()) {
            Ok(()) => exit::OK,
            Err(error) => fail(exit::IO, &error.into()),
        };
    }
    match serve(&args, config).await {
        Ok(()) => exit::OK,
        Err(error) => {
            let code = match (error.downcast_ref(), error.downcast_ref(), error.downcast_ref()) {
                (Some(error), ..) => TelemetryError::exit_code(error),
                (_, Some(error), _) => exit::of_store(error),
                (.., Some(ListenError::Tls(_))) => exit::CONFIG,
                _ if error.is::<BootstrapError>() => exit::CONFIG,
                _ => exit::UNAVAILABLE,
            };
            fail(code, &error)
        }
    }
}

fn configure(args: &Args) -> anyhow::Result<Config> {
    logging::check(&args.log).map_err(anyhow::Error::msg)?;
    let config = Config::load(args)?;
    config.check_addresses()?;
    Ok(config)
}

async fn serve(args: &Args, config: Config) -> anyhow::Result<()> {
    let telemetry = Telemetry::start(&Options {
        service: "manager",
        version: env!("CARGO_PKG_VERSION"),
        metrics_listen: None,
        insecure: false,
        exposed_elsewhere: true,
    })?;
    logging::init(&args.log).map_err(anyhow::Error::msg)?;
    telemetry.announce();
    let first = keys::first_key(config.bootstrap_key_file())?;
    let shutdown = Shutdown::on_signals_after(config.shutdown_delay)?;
    site::announce(config.address_file.as_deref());
    let engine = tokio::select! {
        opened = jobbers_engines::open(&config.engine_url, config.open_options()) => opened?,
        () = shutdown.leaving.cancelled() => return Ok(()),
    };
    if let Some(text) = first {
        keys::bootstrap(&*engine, text).await?;
    }
    let listeners = Listeners::bind(&config).await?;
    crate::run(config, engine, listeners, shutdown).await;
    telemetry.shutdown().await;
    Ok(())
}

fn fail(code: u8, error: &anyhow::Error) -> ExitCode {
    // Not a log line: it must be seen whatever the filter says, also when the filter is what is wrong.
    logging::say(Level::ERROR, format_args!("manager: {error:#}"));
    code.into()
}
