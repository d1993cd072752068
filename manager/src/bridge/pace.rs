//! How many tasks a bridge takes at a time: fewer and later while a queue takes none.

use std::time::{Duration, Instant};

/// Most tasks that are taken at once.
const MOST: usize = 100;
/// The first and the longest pause.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// After a refusal one task is taken as a probe, then twice as many each time.
#[derive(Debug)]
pub(super) struct IntakePace {
    batch: usize,
    pause: Duration,
    until: Option<Instant>,
}

impl Default for IntakePace {
    fn default() -> Self {
        Self { batch: MOST, pause: Duration::ZERO, until: None }
    }
}

impl IntakePace {
    /// How many tasks to take now.
    pub(super) fn batch(&self) -> usize {
        if self.left().is_some() { 0 } else { self.batch }
    }

    /// What is left of the pause.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// A queue took in what was brought.
    pub(super) fn accepted(&mut self) {
        *self = Self { batch: (self.batch * 2).min(MOST), ..Self::default() };
    }

    /// A queue took nothing in, and may after this time. Returns whether it is the first refusal in a row.
    pub(super) fn refused(&mut self, retry_after: Option<Duration>) -> bool {
        let (first, longest) = PAUSES;
        let pause = (self.pause * 2).clamp(first, longest);
        let until = Instant::now() + retry_after.unwrap_or_default().max(pause);
        let is_first = self.pause.is_zero();
        *self = Self { batch: 1, pause, until: Some(until) };
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_makes_a_pause_and_small_steps_after_it() {
        let mut pace = IntakePace::default();
        assert_eq!((pace.batch(), pace.left()), (MOST, None));
        let hour = Duration::from_secs(3_600);
        assert!(pace.refused(Some(hour)) && !pace.refused(Some(hour)));
        assert!(pace.batch() == 0 && pace.left().is_some_and(|left| left > hour / 2));
        pace.until = None;
        let batches: Vec<usize> = (0..9)
            .map(|_| {
                let batch = pace.batch();
                pace.accepted();
                batch
            })
            .collect();
        assert_eq!(batches, [1, 2, 4, 8, 16, 32, 64, 100, 100]);
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let mut pace = IntakePace::default();
        let pauses: Vec<u128> = (0..7)
            .map(|_| {
                pace.refused(None);
                pace.pause.as_millis()
            })
            .collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
        pace.accepted();
        pace.refused(None);
        assert_eq!(pace.pause.as_millis(), 100, "what was accepted ends the growth");
    }
}
