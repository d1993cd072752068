//! The `cleaner` program: reads its configuration, runs, and says by its exit code whether all was done.

use std::{io, process::ExitCode};

use clap::Parser;
use jobbers_cleaner::{Args, Config, ConfigError};
use jobbers_common::engine;
use jobbers_engines::OpenOptions;
use jobbers_process::{exit, logging, shutdown::Shutdown};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    match clean(&args).await {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::from(code_of(&error))
        }
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(ConfigError::NoCriterion), _) => exit::USAGE,
        (Some(_), _) | (_, Some(engine::Error::Config(_))) => exit::CONFIG,
        (_, Some(_)) => exit::UNAVAILABLE,
        (None, None) => exit::FAILURE,
    }
}

async fn clean(args: &Args) -> anyhow::Result<ExitCode> {
    logging::init(&args.log).map_err(ConfigError::Value)?;
    let config = Config::load(args)?;
    // Asked before the store is: whoever says nothing is told so without one.
    config.passes()?;
    let engine = jobbers_engines::open(&config.engine_url, OpenOptions::default()).await?;
    let shutdown = Shutdown::on_signals()?;
    let report = jobbers_cleaner::run(&config, engine, &shutdown, &mut io::stdout()).await?;
    Ok(match report {
        // A cleaner that watches is stopped in good order by a signal, whatever it was about to do.
        _ if config.watch.is_some() || report.complete => exit::OK,
        _ if report.is_transient_failure() => exit::UNAVAILABLE.into(),
        _ => exit::FAILURE.into(),
    })
}
