//! What a program says about itself when it starts telemetry.

use std::net::SocketAddr;

/// The name of our meter and tracer.
pub const SCOPE: &str = "jobbers";

/// How a process describes itself, and where it serves its metrics.
#[derive(Debug, Clone)]
pub struct Options {
    /// `manager`, `worker`, `cleaner`, or `jobbers` for all of them in one process.
    pub service: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// Where to serve `/metrics`, for a process without a listener of its own.
    pub metrics_listen: Option<SocketAddr>,
    /// Whether that address may be another than loopback.
    pub insecure: bool,
    /// Whether another listener serves `exposition()`.
    pub exposed_elsewhere: bool,
}
