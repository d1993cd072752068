//! The steps of stopping: leave, drain, then stop now.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The stop request of a service. Clones share the same tokens.
#[derive(Debug, Clone)]
pub struct Shutdown {
    /// Report that you are about to stop, and serve on: whatever directs requests here needs time to learn it.
    pub leaving: CancellationToken,
    /// Take no new work and finish what runs. Cancelling it also cancels `leaving`.
    pub drain: CancellationToken,
    /// Stop at once, in good order. Cancelling it also cancels `drain`.
    pub now: CancellationToken,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    /// A request that is not made yet.
    #[must_use]
    pub fn new() -> Self {
        Self::below(&CancellationToken::new())
    }

    /// The request of one of several services, which `now` stops together.
    #[must_use]
    pub fn below(now: &CancellationToken) -> Self {
        let drain = now.child_token();
        Self { leaving: drain.child_token(), drain, now: now.clone() }
    }

    /// A request that follows the process's signals: the first SIGTERM or SIGINT drains, the second stops now.
    ///
    /// # Errors
    /// When the signal handlers can't be installed.
    pub fn on_signals() -> std::io::Result<Self> {
        Self::on_signals_after(Duration::ZERO)
    }

    /// The same, but the first signal drains only after `delay`.
    ///
    /// # Errors
    /// When the signal handlers can't be installed.
    pub fn on_signals_after(delay: Duration) -> std::io::Result<Self> {
        let shutdown = Self::new();
        let mut signals = Signals::install()?;
        let followed = shutdown.clone();
        tokio::spawn(async move {
            let name = signals.next().await;
            followed.leaving.cancel();
            if delay.is_zero() {
                tracing::info!(signal = name, "stopping");
            } else {
                tracing::info!(signal = name, ?delay, "stopping after the delay; no longer ready");
            }
            tokio::select! {
                () = tokio::time::sleep(delay) => followed.drain.cancel(),
                name = signals.next() => return stop_now(&followed, name),
            }
            let name = signals.next().await;
            stop_now(&followed, name);
        });
        Ok(shutdown)
    }
}

fn stop_now(shutdown: &Shutdown, signal: &str) {
    tracing::info!(signal, "stopping now");
    shutdown.now.cancel();
}

/// The signals that ask a process to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the next one.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_includes_those_before_it() {
        let (leaving, draining, now) = (Shutdown::new(), Shutdown::new(), Shutdown::new());
        leaving.leaving.cancel();
        draining.drain.cancel();
        now.now.cancel();
        let steps = |it: &Shutdown| [it.leaving.is_cancelled(), it.drain.is_cancelled(), it.now.is_cancelled()];
        assert_eq!(steps(&leaving), [true, false, false]);
        assert_eq!(steps(&draining), [true, true, false]);
        assert_eq!(steps(&now), [true, true, true]);
    }
}
