//! Tests whether a connection is dead although it never broke.
//!
//! When a machine loses its power, or a network drops a connection from its tables, no connection ends: calls wait for an
//! answer. The operating system notices after a while ([`super::address`] has it check often). A call that gets no answer
//! notices at once, and tests whether a new connection works.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::Error;
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    time::{Instant, timeout},
};
use tracing::warn;

use super::{
    connection::{Lane, leave, try_out},
    connection_health::ConnectionHealth,
};

/// Silence after which a call that its caller gave up starts a test connection. Far above the time of an answer, and
/// below the time a worker waits for the renewal of a lease.
const SUSPICIOUS: Duration = Duration::from_secs(1);
/// How long the connection in use may take to answer a ping after a new one was answered.
const WORD_WITHIN: Duration = Duration::from_secs(1);

/// The test under way; at most one runs at a time. It ends with its runtime at the latest.
struct Looking(Arc<Mutex<ConnectionHealth>>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.lock().is_looking = false;
    }
}

impl Lane {
    /// Notes that a caller gave its call up.
    pub(crate) fn note_given_up(&self, start: Instant, connected: u64) {
        let since = *self.health.lock().unanswered_since.get_or_insert(start);
        if since.elapsed() >= SUSPICIOUS {
            self.look(connected);
        }
    }

    /// Opens a test connection in the background to learn why calls get no answer. If it works while the connection in use
    /// stays silent, all lanes leave the one in use.
    pub(crate) fn look(&self, connected: u64) {
        // Without a runtime no test can run.
        let Ok(runtime) = Handle::try_current() else { return };
        let (mut manager, in_use) = self.connection();
        if in_use != connected || std::mem::replace(&mut self.health.lock().is_looking, true) {
            return;
        }
        let looking = Looking(Arc::clone(&self.health));
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
            let mut health = looking.0.lock();
            match found {
                Ok(()) => {
                    health.note_answer();
                    health.obstacle = None;
                }
                Err(error @ Error::Config(_)) => {
                    if health.obstacle.as_ref() != Some(&error) {
                        warn!(%error, "no connection to the server");
                    }
                    health.obstacle = Some(error);
                }
                Err(_) => health.obstacle = None,
            }
        });
    }
}
