//! Logs on standard error: for people, or JSON lines. Payloads never.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people; colours only on a terminal.
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged and how. Flatten it into a binary's arguments.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// What to log: error, warn, info, debug, trace, or per module (info,jobbers_worker=debug)
    #[arg(long, env = "JOBBERS_LOG", default_value = "info", value_name = "FILTER", global = true)]
    pub log: String,
    /// How log lines look
    #[arg(long, env = "JOBBERS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

/// Starts logging. A second call does nothing.
///
/// # Errors
/// When the filter can't be read.
pub fn init(args: &LogArgs) -> Result<(), String> {
    let filter = EnvFilter::try_new(&args.log).map_err(|error| format!("--log {}: {error}", args.log))?;
    let registry = tracing_subscriber::registry().with(filter);
    let colours = std::io::stderr().is_terminal();
    let done = match args.log_format {
        LogFormat::Text => registry.with(fmt::layer().with_writer(std::io::stderr).with_ansi(colours)).try_init(),
        LogFormat::Json => registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init(),
    };
    if done.is_err() {
        tracing::debug!("logging was started before");
    }
    Ok(())
}
