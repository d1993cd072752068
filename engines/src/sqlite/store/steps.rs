//! Steps of SQLite's virtual machine: a measure of work that other processes can't change.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the steps that transactions take, in hundreds. For tests.
#[derive(Debug, Default)]
pub struct StepCounter {
    /// Since the last commit of any connection.
    since_commit: AtomicU64,
    most: AtomicU64,
}

impl StepCounter {
    /// Starts counting again.
    pub fn reset(&self) {
        self.since_commit.store(0, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }

    /// The hundreds of steps of the longest transaction. Reads count towards the transaction after them.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed).max(self.since_commit.load(Ordering::Relaxed))
    }

    pub(crate) fn note_hundred(&self) {
        self.since_commit.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_commit(&self) {
        self.most.fetch_max(self.since_commit.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}
