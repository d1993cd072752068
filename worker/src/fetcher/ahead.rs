//! Claiming ahead: how many tasks the worker holds, and what happens to those that wait.
//!
//! A worker holds as many tasks as it has slots, and more only if tasks are far shorter than a call (`pace.rs`). The
//! store counts all of them as started, so waiting tasks are withheld from other workers. This is bounded in three
//! ways. The worker holds no more than its slots get through in a few milliseconds. It gives waiting tasks back as soon
//! as it stops, and when one has waited for a small share of its lease, which means that tasks of another kind have
//! come. And it does not claim ahead blocking tasks or queues whose starts the store limits. A task that is given back
//! keeps its place, and no attempt is counted.
//!
//! A task's time in its queue ends with its claim, and its execution time begins with its function. The milliseconds
//! here are in neither, only in the latency from end to end.

use std::time::{Duration, Instant};

use jobbers_common::limits::MAX_BATCH;

use super::Fetcher;

/// The longest that a task waits for a lane, whatever its lease.
const LONGEST_PATIENCE: Duration = Duration::from_secs(1);

impl Fetcher {
    /// How many tasks the worker may hold. A worker that ends after a number of tasks holds only those it can start.
    pub(super) fn most_held(&self) -> usize {
        if self.parts.ttl.is_some() { self.parts.slots } else { self.pace.most_held(self.parts.slots) }
    }

    /// The most tasks one call claims: half of what may be held.
    pub(super) fn batch(&self) -> usize {
        self.most_held().div_ceil(2).min(MAX_BATCH)
    }

    /// Attempts that do not wait for a lane.
    pub(super) fn running(&self) -> usize {
        self.held.saturating_sub(self.lanes.waiting())
    }

    /// When the task that has waited longest for a lane is overdue.
    pub(super) fn overdue_at(&self) -> Option<Instant> {
        let patience = (self.parts.shared.lease / 256).min(LONGEST_PATIENCE);
        self.lanes.oldest().map(|taken| taken + patience)
    }

    /// Gives back tasks that have waited too long for a lane, for a worker that has a free one.
    pub(super) fn give_back_overdue(&mut self) {
        if self.overdue_at().is_some_and(|at| at <= Instant::now()) {
            self.pace.forget();
            let tasks = self.lanes.give_back();
            tracing::debug!(tasks, "what runs takes longer than what ran before; giving back what waits");
        }
    }
}
