//! Rate limits: how many tasks may be claimed now, and when to ask again.
//!
//! The generic cell rate algorithm (ITU-T I.371). The only state is one point in time, the *mark*, at which all tasks
//! claimed so far would have had their turn. It uses integers throughout, so that every engine counts alike; the Redis
//! engine's copy is `scripts/lib/limits.lua`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    limits::{MAX_RATE_PERIOD, MAX_RATE_TASKS},
    time::{Timestamp, micros},
    values::duration,
};

/// The default part of a period whose tasks may start at once after a quiet time.
const DEFAULT_BURST: Duration = Duration::from_millis(100);

/// A caller that waits for a rate asks no more often than this, if that costs no task its time.
const WORTH_ASKING: Duration = Duration::from_millis(10);

/// A number of tasks per period, evenly spread. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// How many tasks may start in each period, 1 to 100,000.
    pub tasks: u32,
    /// The period, 1 ms to one day.
    #[serde(with = "duration::text")]
    pub per: Duration,
    /// How many may start at once after a quiet time, 1 to 100,000; `None`: as many as are due in a tenth of a second,
    /// at least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
}

impl RateLimit {
    /// Checks the bounds.
    ///
    /// # Errors
    /// What is out of them, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        if !(1..=MAX_RATE_TASKS).contains(&self.tasks) {
            return Err(format!(
                "a rate is 1 to {MAX_RATE_TASKS} tasks in a period; to hold tasks back, pause the queue"
            ));
        }
        if !(Duration::from_millis(1)..=MAX_RATE_PERIOD).contains(&self.per) {
            return Err("the period of a rate is 1ms to 1d".to_owned());
        }
        if self.burst.is_some_and(|burst| !(1..=MAX_RATE_TASKS).contains(&burst)) {
            return Err(format!("a burst is 1 to {MAX_RATE_TASKS} tasks"));
        }
        Ok(())
    }

    /// How many tasks may start at once.
    #[must_use]
    pub fn burst(&self) -> u32 {
        let due = u128::from(self.tasks) * DEFAULT_BURST.as_micros() / self.per.as_micros().max(1);
        self.burst.unwrap_or_else(|| u32::try_from(due).unwrap_or(MAX_RATE_TASKS).clamp(1, MAX_RATE_TASKS))
    }

    /// How many tasks may start now, at most as many as a burst.
    #[must_use]
    pub fn allowed(&self, mark: Timestamp, now: Timestamp) -> usize {
        usize::try_from((self.most() - self.debt(mark, now)) / self.period()).unwrap_or(0)
    }

    /// The mark after `started` tasks have started now.
    #[must_use]
    pub fn mark_after(&self, mark: Timestamp, now: Timestamp, started: usize) -> Timestamp {
        let started = i64::try_from(started).unwrap_or(i64::MAX);
        let mark = self.standing(mark, now);
        Timestamp::from_micros(mark.as_micros() + started.saturating_mul(self.period()) / i64::from(self.tasks))
    }

    /// How long until half a burst may start, or `wanted` if that is less, so that a caller gets a batch and does not
    /// ask for each task.
    #[must_use]
    pub fn wait(&self, mark: Timestamp, now: Timestamp, wanted: usize) -> Duration {
        let batch = usize::try_from(self.burst() / 2).unwrap_or(0).min(wanted).max(1);
        let lacking = self.debt(mark, now) + i64::try_from(batch).unwrap_or(0) * self.period() - self.most();
        let tasks = i64::from(self.tasks);
        Duration::from_micros(u64::try_from((lacking + tasks - 1) / tasks).unwrap_or(0))
    }

    /// How long until it is worth asking for a few tasks: those due within 10 ms, no more than half a burst, at least
    /// one. A slow rate is waited for task by task, a fast one by batches.
    #[must_use]
    pub fn next_wait(&self, mark: Timestamp, now: Timestamp) -> Duration {
        let few = u128::from(self.tasks) * WORTH_ASKING.as_micros() / self.per.as_micros().max(1);
        self.wait_for_all(mark, now, usize::try_from(few.min(u128::from(self.burst() / 2)).max(1)).unwrap_or(1))
    }

    /// How long until `wanted` tasks may start, which must not exceed a burst.
    #[must_use]
    pub fn wait_for_all(&self, mark: Timestamp, now: Timestamp, wanted: usize) -> Duration {
        let lacking = self.debt(mark, now) + i64::try_from(wanted).unwrap_or(0) * self.period() - self.most();
        let tasks = i64::from(self.tasks);
        Duration::from_micros(u64::try_from((lacking + tasks - 1) / tasks).unwrap_or(0))
    }

    /// A period in microseconds: what one task costs, in units of which `tasks` are paid back each microsecond.
    fn period(&self) -> i64 {
        micros(self.per).max(1)
    }

    /// What a whole burst costs.
    fn most(&self) -> i64 {
        i64::from(self.burst()) * self.period()
    }

    /// The mark, or the current time if the mark has passed. A mark further ahead than a burst reaches was set under a
    /// slower rate, or before the clock went back: it does not count.
    fn standing(&self, mark: Timestamp, now: Timestamp) -> Timestamp {
        let reach = self.most() / i64::from(self.tasks);
        if micros(mark.since(now)) > reach { now } else { mark.max(now) }
    }

    /// What is not paid back yet.
    fn debt(&self, mark: Timestamp, now: Timestamp) -> i64 {
        micros(self.standing(mark, now).since(now)) * i64::from(self.tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(tasks: u32, per: Duration) -> RateLimit {
        RateLimit { tasks, per, burst: None }
    }

    /// How many tasks start in `span` if a caller claims all it can each time it is worth it.
    fn started_in(rate: &RateLimit, span: Duration) -> usize {
        let (start, mut mark, mut started) = (Timestamp::from_micros(1_700_000_000_000_000), Timestamp::default(), 0);
        let mut now = start;
        while now < start.after(span) {
            let allowed = rate.allowed(mark, now);
            mark = rate.mark_after(mark, now, allowed);
            started += allowed;
            let wait = rate.wait(mark, now, 1_000);
            assert!(wait > Duration::ZERO || rate.allowed(mark, now) > 0, "nobody asks in vain");
            now = now.after(wait);
        }
        started
    }

    #[test]
    fn as_many_start_as_the_rate_says() {
        for (tasks, per, span, expected) in [
            (50, Duration::from_secs(1), Duration::from_secs(20), 1_000),
            (3, Duration::from_secs(1), Duration::from_secs(100), 300),
            (7, Duration::from_millis(10), Duration::from_secs(10), 7_000),
            (100_000, Duration::from_secs(1), Duration::from_secs(10), 1_000_000),
            (1, Duration::from_secs(3_600), Duration::from_secs(10 * 3_600), 10),
        ] {
            let rate = rate(tasks, per);
            let burst = usize::try_from(rate.burst()).unwrap();
            let started = started_in(&rate, span);
            assert!((expected..=expected + burst).contains(&started), "{rate:?}: {started}, not {expected}");
        }
    }

    #[test]
    fn a_quiet_time_saves_up_a_burst_and_no_more() {
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        assert_eq!(rate(50, Duration::from_secs(1)).allowed(Timestamp::default(), now), 5);
        assert_eq!(rate(10, Duration::from_secs(60)).allowed(Timestamp::default(), now), 1);
        let bursting = RateLimit { burst: Some(100), ..rate(10, Duration::from_secs(60)) };
        assert_eq!(bursting.allowed(Timestamp::default(), now), 100);
    }

    #[test]
    fn a_faster_rate_holds_at_once() {
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let slow = rate(1, Duration::from_secs(86_400));
        let mark = slow.mark_after(Timestamp::default(), now, 1);
        let fast = rate(50, Duration::from_secs(1));
        assert_eq!(fast.allowed(mark, now), 5);
        let mark = fast.mark_after(mark, now, 5);
        assert_eq!((fast.allowed(mark, now), fast.wait(mark, now, 1)), (0, Duration::from_millis(20)));
    }

    #[test]
    fn bounds_are_held_and_no_number_overflows() {
        let most = RateLimit { tasks: MAX_RATE_TASKS, per: MAX_RATE_PERIOD, burst: Some(MAX_RATE_TASKS) };
        most.validate().unwrap();
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let allowed = most.allowed(Timestamp::default(), now);
        assert_eq!(allowed, 100_000);
        let mark = most.mark_after(Timestamp::default(), now, allowed);
        assert_eq!((most.allowed(mark, now), most.wait(mark, now, 1)), (0, Duration::from_micros(864_000)));
        for bad in [
            rate(0, Duration::from_secs(1)),
            rate(1, Duration::ZERO),
            rate(1, Duration::from_secs(86_401)),
            rate(MAX_RATE_TASKS + 1, Duration::from_secs(1)),
            RateLimit { burst: Some(0), ..rate(1, Duration::from_secs(1)) },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }
}
