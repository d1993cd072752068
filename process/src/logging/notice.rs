//! What a user must read whatever the filter says, in the format of the log.

use std::{
    fmt::Display,
    io::{self, Write},
    sync::OnceLock,
};

use jobbers_common::access::redact;
use serde::Serialize;

use crate::printable;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people; coloured only on a terminal.
    Text,
    /// One JSON object per line.
    Json,
}

/// The format that this program was asked for.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Takes the format for [`say`]. The first one stays.
pub(super) fn set_format(format: LogFormat) {
    FORMAT.set(format).ok();
}

/// Writes what a user must read whatever the filter says, such as where the program listens or why it ends: on standard
/// error, as it is, or as a line of the JSON log if that was asked for. A closed standard error is not a failure.
pub fn say(level: tracing::Level, text: impl Display) {
    let text = text.to_string();
    let text = redact(&text);
    let mut out = io::stderr().lock();
    match FORMAT.get() {
        Some(LogFormat::Json) => {
            let timestamp = jiff::Timestamp::now().to_string();
            let line = serde_json::json!({
                "timestamp": timestamp, "level": level.as_str(), "fields": { "message": text }, "target": "jobbers",
            });
            writeln!(out, "{}", printable::json(&line.to_string())).ok();
        }
        Some(LogFormat::Text) | None => {
            writeln!(out, "{}", printable::printable(&text)).ok();
        }
    }
}

/// Whether log lines are JSON, and what is written beside them therefore too.
#[must_use]
pub fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}
