//! Slots, and the tasks that are held ahead of them: how many, and what happens to those that wait.
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

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::limits::MAX_BATCH;

use crate::{
    attempts::attempt::Attempt, execution::lanes::Lanes, fetcher::pace::Pace, tasks::task_fn::AnyTask,
    threads::queue::BlockingQueue,
};

/// The longest that a task waits for a lane, whatever its lease.
const LONGEST_PATIENCE: Duration = Duration::from_secs(1);

/// The slots of a worker and the attempts in and ahead of them.
pub(super) struct WorkerSlots {
    count: usize,
    /// Tasks left until a clean exit; `None` without a limit.
    left: Option<u64>,
    /// How long a task that waits for a lane is kept.
    patience: Duration,
    /// Attempts that run or wait for a lane.
    pub(super) held: usize,
    pub(super) lanes: Arc<Lanes>,
    pub(super) pace: Pace,
    /// The blocking tasks it holds; `None` if the program has no blocking task.
    pub(super) blocking: Option<BlockingQueue>,
}

impl WorkerSlots {
    pub(super) fn new(count: usize, left: Option<u64>, lease: Duration, blocking: Option<BlockingQueue>) -> Self {
        let patience = (lease / 256).min(LONGEST_PATIENCE);
        Self { count, left, patience, held: 0, lanes: Lanes::new(count), pace: Pace::default(), blocking }
    }

    /// How many tasks the worker may hold. A worker that ends after a number of tasks holds only those it can start.
    fn most_held(&self) -> usize {
        if self.left.is_some() { self.count } else { self.pace.most_held(self.count) }
    }

    /// The most tasks one call claims: half of what may be held.
    pub(super) fn batch(&self) -> usize {
        self.most_held().div_ceil(2).min(MAX_BATCH)
    }

    /// How many tasks one more call may claim, while others ask for `asked`.
    pub(super) fn room(&self, asked: usize) -> usize {
        let free = self.most_held().saturating_sub(self.held + asked);
        let left = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        free.min(self.batch()).min(left.saturating_sub(asked))
    }

    /// How many of them would start at once.
    pub(super) const fn free(&self, asked: usize) -> usize {
        self.count.saturating_sub(self.held + asked)
    }

    /// Attempts that do not wait for a lane.
    pub(super) fn running(&self) -> usize {
        self.held.saturating_sub(self.lanes.waiting())
    }

    /// Whether the worker has begun as many tasks as it is to run.
    pub(super) const fn are_used_up(&self) -> bool {
        matches!(self.left, Some(0))
    }

    /// Counts attempts that begin.
    pub(super) fn begin(&mut self, attempts: usize) {
        self.held += attempts;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(attempts as u64);
        }
    }

    /// Counts an attempt as ended.
    pub(super) fn leave(&mut self, attempt: &Attempt) {
        self.held -= 1;
        if let Some(queue) = self.blocking.as_mut().filter(|_| attempt.is_blocking()) {
            queue.leave(attempt.ran());
        }
    }

    /// Whether a task may begin here; if so, takes its slot. A blocking task that would wait long for a thread may not.
    pub(super) fn enter(&mut self, function: &dyn AnyTask) -> bool {
        !function.is_blocking() || self.blocking.as_mut().is_none_or(BlockingQueue::enter)
    }

    /// When the task that has waited longest for a lane is overdue.
    pub(super) fn overdue_at(&self) -> Option<Instant> {
        self.lanes.oldest().map(|taken| taken + self.patience)
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
