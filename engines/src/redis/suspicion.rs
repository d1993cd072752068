//! What a lane's calls find of the server: that it is away, why, and that a connection is dead without having broken.
//!
//! A machine that loses its power, or a network that drops a connection from its tables, ends no connection: whatever is
//! sent is waited for. The system would notice by and by ([`super::address`] has it look often); a call that nobody
//! answers notices at once, and looks whether a new connection fares better.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::Error;
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout},
};
use tracing::warn;

use super::connection::{Lane, leave, try_out};

/// For how long nothing was answered when calls that were given up by their callers are a reason to look. Far above what
/// an answer takes, below what a worker waits for the renewal of a lease.
const SUSPICIOUS: Duration = Duration::from_secs(1);
/// How long the connection in use may take for a word when a new one was just answered.
const WORD_WITHIN: Duration = Duration::from_secs(1);

/// What calls have found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Since when the server is away.
    pub(super) down_since: Option<Instant>,
    /// Since when calls were given up by their callers, and none was answered.
    unanswered_since: Option<Instant>,
    /// Why it can't be connected to, as far as it says so; only what time alone does not mend.
    pub(super) obstacle: Option<Error>,
    is_looking: bool,
}

impl Findings {
    /// The server has answered.
    pub(super) fn note_answer(&mut self) {
        self.unanswered_since = None;
        if self.down_since.take().is_some() {
            self.obstacle = None;
        }
    }
}

/// A look under way, of which there is one at a time. It ends with its runtime at the latest.
struct Looking(Arc<Mutex<Findings>>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.lock().is_looking = false;
    }
}

impl Lane {
    /// Notes that a caller has given up.
    pub(super) fn note_given_up(&self, start: Instant, connected: u64) {
        let since = *self.findings.lock().unanswered_since.get_or_insert(start);
        if since.elapsed() >= SUSPICIOUS {
            self.look(connected);
        }
    }

    /// Connects once more, in the background, to learn why nothing is answered. If that works while the connection in use
    /// stays silent, that one is left.
    pub(super) fn look(&self, connected: u64) {
        // Nothing can be done where there is no runtime any more.
        let Ok(runtime) = Handle::try_current() else { return };
        let (mut manager, in_use) = self.connection();
        if in_use != connected || std::mem::replace(&mut self.findings.lock().is_looking, true) {
            return;
        }
        let looking = Looking(Arc::clone(&self.findings));
        let (client, departures) = (self.client.clone(), Arc::clone(&self.departures));
        runtime.spawn(async move {
            let found = try_out(&client).await;
            if found.is_ok() {
                let ping = redis::cmd("PING");
                let word = timeout(WORD_WITHIN, ping.exec_async(&mut manager)).await;
                if word.is_err() && leave(&departures, connected) {
                    warn!("a connection to the server was dead; a new one takes its place");
                }
            }
            let mut findings = looking.0.lock();
            match found {
                Ok(()) => {
                    findings.note_answer();
                    findings.obstacle = None;
                }
                Err(error @ Error::Config(_)) => {
                    if findings.obstacle.as_ref() != Some(&error) {
                        warn!(%error, "no connection to the server");
                    }
                    findings.obstacle = Some(error);
                }
                Err(_) => findings.obstacle = None,
            }
        });
    }
}
