//! Notices when the writer can't complete its transactions. A process that was frozen while it held the file's lock
//! blocks every other writer, and only the waiting shows it.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Since when the writer has been trying.
#[derive(Debug, Default)]
pub(crate) struct Stall(Mutex<Option<Instant>>);

impl Stall {
    /// A transaction is about to begin.
    pub(crate) fn begin(&self) {
        self.0.lock().get_or_insert_with(Instant::now);
    }

    /// A transaction ended, so it had the lock.
    pub(crate) fn end(&self) {
        *self.0.lock() = None;
    }

    /// Whether none has completed for this long.
    pub(crate) fn lasts(&self, at_least: Duration) -> bool {
        self.0.lock().is_some_and(|since| since.elapsed() >= at_least)
    }
}
