//! The buffer for attempts that have ended, until the fetcher settles them.
//!
//! One buffer for all, with a signal when it stops being empty: a thousand tasks that end together wake the fetcher
//! once.

use std::sync::Arc;

use jobbers_common::engine::Outcome;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::attempt::Attempt;

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) attempt: Arc<Attempt>,
    /// Its outcome; `None` if its lease is lost, so that nothing is to be settled.
    pub(crate) outcome: Option<Outcome>,
}

/// The ended attempts not collected yet.
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

    /// Collects all of them into an empty `into`, whose allocation is reused.
    pub(crate) fn swap(&self, into: &mut Vec<Ended>) {
        std::mem::swap(&mut *self.ended.lock(), into);
    }

    /// Waits until the buffer is not empty. Dropping the future is safe.
    pub(crate) async fn wait(&self) {
        self.signal.notified().await;
    }
}
