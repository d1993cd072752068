//! The errors of starting telemetry, with their exit codes.

use std::net::SocketAddr;

use super::settings::SettingsError;
use crate::{exit, listen::NotLoopback};

/// Why telemetry does not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// An `OTEL_*` variable is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Other machines could reach the address for `/metrics`.
    #[error("--metrics-listen: {0}")]
    NotLoopback(#[from] NotLoopback),
    /// The address for `/metrics` can't be listened on.
    #[error("can't serve /metrics on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// An `OTEL_*` variable requests OTLP, which this program does not contain.
    #[error("this program is built without OTLP: build it with the feature `otlp` of jobbers-worker, or unset OTEL_*")]
    WithoutOtlp,
    /// An address for `/metrics` is set, which this program can't serve.
    #[error("this program is built without metrics: build it with the feature `metrics` of jobbers-worker")]
    WithoutMetrics,
    /// A collector's address is `https`, and nothing can check it.
    #[error(
        "OTEL_EXPORTER_OTLP_ENDPOINT begins with https://, and this system has no certificate authorities to check the \
         collector with: install its package ca-certificates, name a file of them with SSL_CERT_FILE, or use http://"
    )]
    NoAuthorities,
    /// An exporter could not be created.
    #[error("telemetry could not be started: {0}")]
    Exporter(String),
}

impl TelemetryError {
    /// The exit code for this error.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Settings(_)
            | Self::NotLoopback(_)
            | Self::WithoutOtlp
            | Self::WithoutMetrics
            | Self::NoAuthorities => exit::CONFIG,
            Self::Listen { .. } => exit::UNAVAILABLE,
            Self::Exporter(_) => exit::INTERNAL,
        }
    }
}
