//! The flags for `/metrics`.

use std::net::SocketAddr;

use clap::Args;
use serde::Serialize;

use crate::listen;

/// Where to serve `/metrics`. Flatten it into a binary's arguments.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct MetricsArgs {
    /// Serve Prometheus metrics at http://ADDRESS/metrics, and probes at /health/live and /health/ready
    #[arg(long, env = "METRICS_LISTEN", value_name = "ADDRESS", value_parser = listen::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_listen: Option<SocketAddr>,
    /// Serve metrics on an address that isn't loopback, without authentication
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub metrics_insecure: bool,
}
