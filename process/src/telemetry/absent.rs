//! Telemetry of a program that is built without the feature `metrics`: it has none, and does not start where some is
//! requested.

use super::{error::TelemetryError, options::Options, settings::Settings};

/// Telemetry that was not requested.
#[derive(Debug)]
pub struct Telemetry(());

impl Telemetry {
    /// Reads `OTEL_*`, and refuses what they and `options` request.
    ///
    /// # Errors
    /// [`TelemetryError`] for anything that this program can't do.
    pub fn start(options: &Options) -> Result<Self, TelemetryError> {
        if options.metrics_listen.is_some() {
            return Err(TelemetryError::WithoutMetrics);
        }
        if !Settings::from_env()?.is_off() {
            return Err(TelemetryError::WithoutOtlp);
        }
        Ok(Self(()))
    }

    /// Logs nothing.
    pub const fn announce(&self) {}

    /// Nothing is left to export.
    pub async fn shutdown(self) {}
}
