//! The two steps of stopping: drain, then stop now.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The stop request of a service. Clones share the same pair.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Take no new work and finish what runs.
    pub drain: CancellationToken,
    /// Stop at once, in good order. Cancelling it also cancels `drain`.
    pub now: CancellationToken,
}

impl Shutdown {
    /// A pair that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        let now = CancellationToken::new();
        Self { drain: now.child_token(), now }
    }

    /// A pair that follows the process's signals: the first SIGTERM or SIGINT drains, the second stops now.
    ///
    /// # Errors
    /// When the signal handlers can't be installed.
    pub fn on_signals() -> std::io::Result<Self> {
        let shutdown = Self::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let told = shutdown.clone();
        tokio::spawn(async move {
            for token in [&told.drain, &told.now] {
                let name = tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                tracing::info!(signal = name, "stopping{}", if told.drain.is_cancelled() { " now" } else { "" });
                token.cancel();
            }
        });
        Ok(shutdown)
    }
}
