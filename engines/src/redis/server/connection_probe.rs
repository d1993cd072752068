//! Tests whether a connection is dead although it never broke.
//!
//! When a machine loses its power, or a network drops a connection from its tables, no connection ends: calls wait for an
//! answer. The operating system notices after a while ([`super::address`] has it check often). A call that gets no answer
//! notices at once, and tests whether a new connection works.
//!
//! The same test finds the primary of a store that can move. It goes on until it has found one.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::Error;
use parking_lot::Mutex;
use redis::{Client, aio::ConnectionManager};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};
use tracing::{info, warn};

use super::{
    connection::{FIRST_PAUSE, LONGEST_PAUSE, Lane, SUSPICIOUS},
    connection_health::ConnectionHealth,
    primary::{Primary, node::place_of},
};

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
    /// stays silent, all lanes leave the one in use. They also do if the primary is another server now.
    pub(crate) fn look(&self, connected: u64) {
        // Without a runtime no test can run.
        let Ok(runtime) = Handle::try_current() else { return };
        let (manager, in_use) = self.connection();
        if in_use != connected || std::mem::replace(&mut self.health.lock().is_looking, true) {
            return;
        }
        let looking = Looking(Arc::clone(&self.health));
        let primary = Arc::downgrade(&self.primary);
        runtime.spawn(async move {
            let mut pause = FIRST_PAUSE;
            while let Some(primary) = primary.upgrade()
                && primary.departures() == connected
            {
                let found = primary.find().await;
                if let Ok(client) = &found {
                    leave_unless_it_works(&primary, connected, client, manager.clone()).await;
                }
                let is_over = found.is_ok() || !primary.can_move();
                looking.note(found.map(drop), primary.can_move());
                drop(primary);
                if is_over {
                    return;
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
    }
}

/// Leaves the connection in use if the primary is at another address now, or if it stays silent.
async fn leave_unless_it_works(primary: &Primary, connected: u64, client: &Client, mut in_use: ConnectionManager) {
    let (found, before) = (place_of(client), place_of(&primary.lead().client));
    if found != before {
        if primary.leave_for(connected, client) {
            info!(primary = %client.get_connection_info().addr(), "the store has another primary now");
        }
        return;
    }
    let ping = redis::cmd("PING");
    let word = timeout(WORD_WITHIN, ping.exec_async(&mut in_use)).await;
    // Where the store stays, a connection that broke is restored by itself.
    let is_dead = word.as_ref().map_or(true, |word| word.is_err() && primary.can_move());
    if is_dead && primary.leave_for(connected, client) {
        warn!("a connection to the server was dead; a new one takes its place");
    }
}

impl Looking {
    /// Notes what a test found. Reasons that pass by themselves are reported only where the store can move: the servers
    /// that were asked know more than a call that was not answered.
    fn note(&self, found: Result<(), Error>, can_move: bool) {
        let mut health = self.0.lock();
        match found {
            Ok(()) => {
                health.note_answer();
                health.obstacle = None;
            }
            Err(error) if can_move || matches!(error, Error::Config(_)) => {
                if health.obstacle.as_ref() != Some(&error) {
                    warn!(%error, "no connection to the server");
                }
                health.obstacle = Some(error);
            }
            Err(_) => health.obstacle = None,
        }
    }
}
