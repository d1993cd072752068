//! What calls over a lane learn about the server: whether it is away, and why.

use jobbers_common::engine::Error;
use tokio::time::Instant;

/// What is known of the server's health.
#[derive(Debug, Default)]
pub(crate) struct ConnectionHealth {
    /// Since when the server is unreachable.
    pub(crate) down_since: Option<Instant>,
    /// Since when callers gave calls up and none was answered.
    pub(crate) unanswered_since: Option<Instant>,
    /// Why connecting fails, if the server reports it; only reasons that do not pass by themselves.
    pub(crate) obstacle: Option<Error>,
    /// Whether a test connection is being made.
    pub(crate) is_looking: bool,
}

impl ConnectionHealth {
    /// Notes an answer of the server.
    pub(crate) fn note_answer(&mut self) {
        self.unanswered_since = None;
        if self.down_since.take().is_some() {
            self.obstacle = None;
        }
    }
}
