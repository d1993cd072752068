//! Limits how many blocking tasks a worker claims: those that its thread pool runs, and a short queue before the pool.
//!
//! A task that waits here for a thread could run on another worker, and it holds a lease and a slot of its queue's
//! `max_concurrent`. A queue as long as the pool is wide keeps every thread busy while the worker claims more. Short tasks
//! would empty it within one round trip, so it may hold as many as the pool runs within a second.

use std::time::Duration;

use jobbers_common::limits::MAX_BATCH;

/// How much running time the queue may hold.
const SOON: Duration = Duration::from_secs(1);
/// The weight of the latest run in the moving average.
const WEIGHT: f64 = 0.125;

/// The blocking tasks of a worker: running, or waiting for a thread.
#[derive(Debug)]
pub(crate) struct BlockingQueue {
    /// The number of threads.
    width: usize,
    inside: usize,
    /// The number of tasks that calls under way may return.
    asked: usize,
    /// The average running time of a blocking task, in seconds.
    mean: Option<f64>,
}

impl BlockingQueue {
    pub(crate) const fn new(width: usize) -> Self {
        Self { width, inside: 0, asked: 0, mean: None }
    }

    /// How many more tasks may be claimed.
    pub(crate) fn room(&self) -> usize {
        self.most().saturating_sub(self.inside + self.asked)
    }

    /// Whether the queue is full, regardless of tasks on their way.
    pub(crate) fn is_full(&self) -> bool {
        self.inside >= self.most()
    }

    /// Counts tasks as on their way.
    pub(crate) const fn ask(&mut self, tasks: usize) {
        self.asked += tasks;
    }

    /// Stops counting tasks as on their way: they have arrived, or will not.
    pub(crate) const fn answered(&mut self, tasks: usize) {
        self.asked -= tasks;
    }

    /// Adds a task if there is room; tasks on their way are not considered.
    pub(crate) fn enter(&mut self) -> bool {
        let enters = self.inside < self.most();
        self.inside += usize::from(enters);
        enters
    }

    /// Removes a task after it ran for this long; zero if it never began.
    pub(crate) fn leave(&mut self, ran: Duration) {
        self.inside -= 1;
        if !ran.is_zero() {
            let ran = ran.as_secs_f64();
            self.mean = Some(self.mean.map_or(ran, |mean| mean + (ran - mean) * WEIGHT));
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of tasks, between 1 and a thousand"
    )]
    fn most(&self) -> usize {
        let rounds = self.mean.map_or(1.0, |mean| (SOON.as_secs_f64() / mean).clamp(1.0, MAX_BATCH as f64));
        self.width.saturating_add(self.width.saturating_mul(rounds as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_as_long_as_the_pool_is_wide() {
        let mut queue = BlockingQueue::new(2);
        queue.ask(3);
        assert_eq!(queue.room(), 1);
        queue.answered(3);
        assert!((0..4).all(|_| queue.enter()) && !queue.enter());
        assert_eq!(queue.room(), 0);
        queue.leave(Duration::ZERO);
        assert_eq!(queue.room(), 1, "a task that never began does not change the average");
    }

    #[test]
    fn short_tasks_make_it_longer_and_long_ones_shorter() {
        let mut queue = BlockingQueue::new(2);
        let mut run = |millis| {
            queue.enter();
            queue.leave(Duration::from_millis(millis));
            queue.room()
        };
        assert_eq!(run(10), 2 + 200);
        assert_eq!(run(10_000), 4);
        assert!((0..40).map(|_| run(10)).last().unwrap() > 100);
        assert!((0..200).all(|_| run(1) <= 2 + 2 * MAX_BATCH));
    }
}
