//! The buffer for attempts that have ended, until the fetcher settles them.
//!
//! One buffer for all, with a signal when it stops being empty: a thousand tasks that end together wake the fetcher
//! once.

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The ended attempts not collected yet.
#[derive(Debug)]
pub(crate) struct EndedAttempts<T> {
    ended: Mutex<Vec<T>>,
    signal: Notify,
}

impl<T> Default for EndedAttempts<T> {
    fn default() -> Self {
        Self { ended: Mutex::default(), signal: Notify::new() }
    }
}

impl<T> EndedAttempts<T> {
    /// Adds one.
    pub(crate) fn push(&self, ended: T) {
        let mut buffer = self.ended.lock();
        buffer.push(ended);
        let first = buffer.len() == 1;
        drop(buffer);
        if first {
            self.signal.notify_one();
        }
    }

    /// Collects all of them into an empty `into`, whose allocation is reused.
    pub(crate) fn swap(&self, into: &mut Vec<T>) {
        std::mem::swap(&mut *self.ended.lock(), into);
    }

    /// Waits until the buffer is not empty. Dropping the future is safe.
    pub(crate) async fn wait(&self) {
        self.signal.notified().await;
    }
}
