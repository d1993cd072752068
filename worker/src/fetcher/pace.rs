//! How short this worker's tasks are, and so how many it holds concurrently.
//!
//! A call to the store costs as much as several dozen short tasks. If calls were tied to slots, a worker whose tasks
//! take microseconds would spend most of its time on calls. So it holds more tasks than it runs: as many as its slots
//! get through within a few milliseconds, and no more than [`MOST_HELD`].
//!
//! Only tasks far below a millisecond count as short. The moving average decides, and one long task among hundreds
//! moves it past the bound. So a worker with long or mixed tasks claims no more than it can start at once, and so does
//! one that has not run a few hundred tasks yet.

use std::time::Duration;

/// The most tasks held because they are short. This number fills a call: twice as many gain a twentieth.
const MOST_HELD: usize = 256;
/// The longest average run of tasks that count as short.
const SHORT: Duration = Duration::from_micros(100);
/// The slots should get through the tasks held ahead within this time.
const AHEAD: Duration = Duration::from_millis(5);
/// The weight of the latest run in the moving average.
const WEIGHT: f64 = 1.0 / 64.0;
/// The average before anything is known, in seconds: some 600 short runs lead from here to [`SHORT`].
const UNKNOWN: f64 = 1.0;

/// The running time of tasks.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The moving average, in seconds.
    mean: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { mean: UNKNOWN }
    }
}

impl Pace {
    /// Adds a task that ran for this long.
    pub(crate) fn ran(&mut self, ran: Duration) {
        self.mean += (ran.as_secs_f64() - self.mean) * WEIGHT;
    }

    /// Forgets the measurements, because tasks of another kind have come.
    pub(crate) const fn forget(&mut self) {
        self.mean = UNKNOWN;
    }

    /// How many tasks a worker with this number of slots may hold.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "numbers of tasks; a quotient beyond every bound becomes the greatest number"
    )]
    pub(crate) fn most_held(&self, slots: usize) -> usize {
        if self.mean > SHORT.as_secs_f64() {
            return slots;
        }
        let ahead = (slots as f64 * AHEAD.as_secs_f64() / self.mean) as usize;
        slots.saturating_add(ahead).min(MOST_HELD).max(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(runs: usize, micros: u64) -> Pace {
        let mut pace = Pace::default();
        (0..runs).for_each(|_| pace.ran(Duration::from_micros(micros)));
        pace
    }

    #[test]
    fn nothing_is_held_ahead_before_hundreds_of_short_runs() {
        assert_eq!(after(0, 0).most_held(64), 64);
        assert_eq!(after(500, 1).most_held(64), 64);
        assert_eq!(after(1_000, 1).most_held(64), MOST_HELD);
    }

    #[test]
    fn tasks_that_are_not_far_below_a_millisecond_are_claimed_as_they_can_start() {
        for micros in [200, 1_000, 1_000_000] {
            assert_eq!(after(10_000, micros).most_held(64), 64);
        }
        let mut mixed = after(1_000, 1);
        mixed.ran(Duration::from_millis(10));
        assert_eq!(mixed.most_held(64), 64, "one long task among many short ones");
    }

    #[test]
    fn no_more_is_held_than_the_slots_soon_get_through() {
        for (slots, ahead) in [(1, 100), (2, 200)] {
            let held = after(10_000, 50).most_held(slots);
            assert!((slots + ahead - 1..=slots + ahead).contains(&held), "{held}");
        }
        assert_eq!(after(10_000, 0).most_held(1), MOST_HELD);
        assert_eq!(after(10_000, 0).most_held(1_000), 1_000, "many slots are enough by themselves");
    }

    #[test]
    fn what_was_measured_can_be_forgotten() {
        let mut pace = after(10_000, 1);
        pace.forget();
        assert_eq!(pace.most_held(64), 64);
    }
}
