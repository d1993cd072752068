//! Where attempts go when they have ended, until the fetcher settles them.
//!
//! One buffer for all, with a signal for the first in it: a thousand tasks that end together wake the fetcher once.

use std::sync::Arc;

use jobbers_common::engine::Outcome;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::attempt::Attempt;

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) attempt: Arc<Attempt>,
    /// How; `None` when its lease is lost, so that there is nothing to settle.
    pub(crate) outcome: Option<Outcome>,
}

/// The ended attempts nobody has collected yet.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    ended: Mutex<Vec<Ended>>,
    signal: Notify,
}

impl Finished {
    /// Adds one.
    pub(crate) fn push(&self, ended: Ended) {
        let mut buffer = self.ended.lock();
        buffer.push(ended);
        let first = buffer.len() == 1;
        drop(buffer);
        if first {
            self.signal.notify_one();
        }
    }

    /// Collects all there are, into an empty `into` whose room is used again.
    pub(crate) fn swap(&self, into: &mut Vec<Ended>) {
        std::mem::swap(&mut *self.ended.lock(), into);
    }

    /// Waits until there is something to collect. Dropping it is safe.
    pub(crate) async fn wait(&self) {
        self.signal.notified().await;
    }
}
