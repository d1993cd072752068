//! All metrics of the process as Prometheus text.

use std::sync::{OnceLock, RwLock};

use prometheus::{Registry, TextEncoder};

/// The media type of [`Exposition::text`].
pub const TEXT_FORMAT: &str = prometheus::TEXT_FORMAT;

/// The metrics of this process, readable.
#[derive(Debug, Clone)]
pub struct Exposition(Registry);

static CURRENT: OnceLock<RwLock<Option<Exposition>>> = OnceLock::new();

/// The exposition of [`super::Telemetry::start`]; `None` if telemetry was not started.
#[must_use]
pub fn exposition() -> Option<Exposition> {
    let current = CURRENT.get()?.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    current.clone()
}

/// Makes `exposition` the one that is served.
pub(super) fn show(exposition: Exposition) {
    let current = CURRENT.get_or_init(RwLock::default);
    *current.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(exposition);
}

impl Exposition {
    pub(super) const fn new(registry: Registry) -> Self {
        Self(registry)
    }

    /// Reads every metric. This takes a while for many metrics: do not call it on a thread that must not wait.
    ///
    /// # Errors
    /// If a metric can't be written as text.
    pub fn text(&self) -> Result<String, String> {
        TextEncoder::new().encode_to_string(&self.0.gather()).map_err(|error| error.to_string())
    }
}
