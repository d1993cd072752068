//! What every `main` of Jobbers needs and no library should: layered configuration, logs, telemetry, signals, exit codes.
//!
//! A program pays for what it uses: command lines, listeners, metrics and OTLP are features.
//!
//! The order is the same everywhere: built-in defaults (the commented file shipped to users), then the address file of a
//! running system ([`site`]), then the configuration file, then the environment, then flags. Only this crate and the `clap` definitions of the binaries read the
//! environment.

pub mod client_key;
pub mod config;
pub mod engine_url;
pub mod exit;
pub mod host;
pub mod listen;
pub mod logging;
pub mod printable;
pub mod readiness;
#[cfg(feature = "server")]
pub mod server;
pub mod shutdown;
pub mod site;
pub mod telemetry;
pub mod when;
