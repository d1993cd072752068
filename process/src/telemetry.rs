//! Where metrics, traces and log lines go: OTLP to a collector, Prometheus text to any reader.
//!
//! OTLP is off until `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector. Then the standard `OTEL_*` variables apply, with
//! one exception: log lines are always on standard error, so they are exported only if requested by name. Prometheus
//! text is always available where it can be read. Measurements are not declared here but made where they happen, on
//! OpenTelemetry's global meter and tracer: a program that embeds a worker and has its own providers does not need this
//! module.
//!
//! Everything runs on a thread of its own, so tasks never wait for a slow collector or a reader of `/metrics`, nor the
//! other way round. Data that can't be delivered is dropped. Start reading at [`Telemetry::start`].

#[cfg(not(feature = "metrics"))]
mod absent;
#[cfg(feature = "cli")]
mod args;
mod error;
#[cfg(feature = "metrics")]
mod exporters;
#[cfg(feature = "metrics")]
mod exposition;
#[cfg(feature = "metrics")]
mod listener;
#[cfg(feature = "metrics")]
pub(crate) mod logs;
mod options;
#[cfg(feature = "metrics")]
mod process;
#[cfg(feature = "metrics")]
mod providers;
#[cfg(feature = "metrics")]
mod running;
mod settings;
pub mod traces;

#[cfg(not(feature = "metrics"))]
pub use self::absent::Telemetry;
#[cfg(feature = "cli")]
pub use self::args::MetricsArgs;
pub use self::{
    error::TelemetryError,
    options::{Options, SCOPE},
    settings::{Settings, SettingsError},
};
#[cfg(feature = "metrics")]
pub use self::{
    exposition::{Exposition, TEXT_FORMAT, exposition},
    running::{FLUSH_DEADLINE, Telemetry},
};
