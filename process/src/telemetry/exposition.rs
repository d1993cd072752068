//! Prometheus text of all there is.

use std::sync::{OnceLock, RwLock};

use prometheus::{Registry, TextEncoder};

/// The media type of [`Exposition::text`].
pub const TEXT_FORMAT: &str = prometheus::TEXT_FORMAT;

/// The metrics of this process, to be read.
#[derive(Debug, Clone)]
pub struct Exposition(Registry);

static CURRENT: OnceLock<RwLock<Option<Exposition>>> = OnceLock::new();

/// What [`super::Telemetry::start`] keeps ready; `None` when nobody started it.
#[must_use]
pub fn exposition() -> Option<Exposition> {
    let current = CURRENT.get()?.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    current.clone()
}

/// Makes `exposition` the one that is shown.
pub(super) fn show(exposition: Exposition) {
    let current = CURRENT.get_or_init(RwLock::default);
    *current.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(exposition);
}

impl Exposition {
    pub(super) const fn new(registry: Registry) -> Self {
        Self(registry)
    }

    /// Reads every metric. Takes a while where there are many: not for a thread that must not wait.
    ///
    /// # Errors
    /// When a metric can't be written as text.
    pub fn text(&self) -> Result<String, String> {
        TextEncoder::new().encode_to_string(&self.0.gather()).map_err(|error| error.to_string())
    }
}
