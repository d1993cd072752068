//! How many blocking tasks to take on: those the pool runs, and a line before it that it gets through soon.
//!
//! A task that waits here for a thread could run elsewhere: it holds a lease, and a place of its queue's `max_concurrent`.
//! A line as long as the pool is wide keeps every thread busy while more is asked for; where tasks are short, so that one
//! round trip would empty it, it may be as long as the pool gets through within a second.

use std::time::Duration;

use jobbers_common::limits::MAX_BATCH;

/// What the pool is to get through before more is taken on.
const SOON: Duration = Duration::from_secs(1);
/// The weight of one more run in the mean.
const WEIGHT: f64 = 0.125;

/// The blocking tasks of a worker: what runs, and what waits for a thread.
#[derive(Debug)]
pub(crate) struct Line {
    /// How many run at a time.
    width: usize,
    inside: usize,
    /// What calls under way may bring.
    asked: usize,
    /// How long such a task runs, in seconds.
    mean: Option<f64>,
}

impl Line {
    pub(crate) const fn new(width: usize) -> Self {
        Self { width, inside: 0, asked: 0, mean: None }
    }

    /// How many more may be taken on.
    pub(crate) fn room(&self) -> usize {
        self.most().saturating_sub(self.inside + self.asked)
    }

    /// Whether no further one enters, whatever is on its way.
    pub(crate) fn is_full(&self) -> bool {
        self.inside >= self.most()
    }

    /// Counts tasks as on their way.
    pub(crate) const fn ask(&mut self, tasks: usize) {
        self.asked += tasks;
    }

    /// Counts tasks as on their way no longer: they are there, or will not come.
    pub(crate) const fn answered(&mut self, tasks: usize) {
        self.asked -= tasks;
    }

    /// Takes a task in, if there is room for it; what is on its way is not waited for.
    pub(crate) fn enter(&mut self) -> bool {
        let enters = self.inside < self.most();
        self.inside += usize::from(enters);
        enters
    }

    /// A task has left, after it ran for this long: zero if it never began.
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
    fn the_line_is_as_long_as_the_pool_is_wide() {
        let mut line = Line::new(2);
        line.ask(3);
        assert_eq!(line.room(), 1);
        line.answered(3);
        assert!((0..4).all(|_| line.enter()) && !line.enter());
        assert_eq!(line.room(), 0);
        line.leave(Duration::ZERO);
        assert_eq!(line.room(), 1, "one that never began says nothing about how long they run");
    }

    #[test]
    fn it_is_longer_where_tasks_are_short_and_shrinks_when_they_are_not() {
        let mut line = Line::new(2);
        let mut run = |millis| {
            line.enter();
            line.leave(Duration::from_millis(millis));
            line.room()
        };
        assert_eq!(run(10), 2 + 200);
        assert_eq!(run(10_000), 4);
        assert!((0..40).map(|_| run(10)).last().unwrap() > 100);
        assert!((0..200).all(|_| run(1) <= 2 + 2 * MAX_BATCH));
    }
}
