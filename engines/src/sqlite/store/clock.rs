//! The store's clock.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use jobbers_common::time::{Clock, Timestamp, micros};
use parking_lot::Mutex;
use tracing::warn;

/// By how much the system's clock must differ from the store's time to cause a warning, in microseconds.
const WORTH_A_WORD: i64 = 1_000_000;
/// By how much the system's clock may be ahead of the time that passed, in microseconds, besides [`DRIFT`]: more is a
/// jump.
const JUMP: i64 = 1_000_000;
/// The part of the time that passed by which a clock that is being corrected runs fast.
const DRIFT: i64 = 1_000;
/// A jump ahead is believed once it has lasted this long.
const BELIEVED_AFTER: Duration = Duration::from_secs(10);

/// The system's clock, or a clock for tests.
///
/// The system's clock may be set back, but the store's time never goes back: not in this process, and not behind the time
/// that any process has written. It also never stops: until the system's clock has caught up, time advances from there at
/// its usual pace, so that leases end and tasks become due.
///
/// The system's clock may be set ahead by mistake, and what is written by a time ahead can't be undone: leases end and
/// delayed tasks run. So a jump ahead is followed only once it has lasted for [`BELIEVED_AFTER`]; until then time
/// advances at its usual pace.
#[derive(Debug)]
pub(crate) struct StoreClock {
    given: Option<Arc<dyn Clock>>,
    latest: Mutex<(LatestTime, Instant)>,
}

/// The latest known time.
#[derive(Debug, Clone, Copy, Default)]
struct LatestTime {
    /// In microseconds; 0 before the first.
    time: i64,
    /// Whether it was ahead of the system's clock.
    is_ahead: bool,
    /// For how long the system's clock has been ahead by a jump.
    jumped_for: Option<Duration>,
}

impl LatestTime {
    /// The time after `elapsed`, by what the system's clock says now and the latest time that was written.
    fn advance(self, elapsed: Duration, system: i64, written: i64) -> Self {
        let passed = micros(elapsed);
        let expected = self.time.saturating_add(passed);
        let is_jump = self.time > 0 && system > expected.max(written).saturating_add(JUMP + passed / DRIFT);
        let jumped_for = is_jump.then(|| self.jumped_for.map_or(Duration::ZERO, |jumped| jumped + elapsed));
        let is_believed = jumped_for.is_none_or(|jumped| jumped >= BELIEVED_AFTER);
        let known = if self.is_ahead || !is_believed { expected } else { self.time };
        let time = known.max(written);
        if !is_believed {
            return Self { time, is_ahead: false, jumped_for };
        }
        Self { time: time.max(system), is_ahead: time > system, jumped_for: None }
    }

    /// Logs what changed.
    fn explain(self, before: Self, system: i64) {
        let seconds = (self.time - system) / 1_000_000;
        if self.is_ahead && !before.is_ahead && self.time - system > WORTH_A_WORD {
            warn!(
                seconds,
                "the system's clock is behind the time the store was last written by; the store's time goes on"
            );
        }
        if self.jumped_for.is_some() && before.jumped_for.is_none() {
            warn!(
                seconds = -seconds,
                "the system's clock was set ahead; the store follows if it stays so for 10 seconds"
            );
        }
    }
}

impl StoreClock {
    pub(crate) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self { given, latest: Mutex::new((LatestTime::default(), Instant::now())) }
    }

    /// The present time, given the latest time written to the store.
    pub(crate) fn now_since(&self, written: i64) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, micros);
        let mut latest = self.latest.lock();
        let (before, at) = *latest;
        let now = Instant::now();
        let after = before.advance(now.saturating_duration_since(at), system, written);
        after.explain(before, system);
        *latest = (after, now);
        Timestamp::from_micros(after.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    #[test]
    fn the_present_is_never_before_what_was_written() {
        let clock = StoreClock::new(None);
        let ahead = clock.now_since(0).as_micros() + HOUR;
        assert!(clock.now_since(ahead).as_micros() >= ahead);
        assert!(clock.now_since(0).as_micros() >= ahead);
    }

    #[test]
    fn time_goes_on_while_the_systems_clock_is_behind() {
        let clock = StoreClock::new(None);
        let ahead = clock.now_since(clock.now_since(0).as_micros() + HOUR);
        let later = std::iter::repeat_with(|| clock.now_since(0)).find(|now| *now > ahead);
        let step = later.map(|later| later.since(ahead));
        assert!(step.is_some_and(|step| micros(step) < HOUR / 2), "{step:?} later at once");
    }

    /// A clock that was read every second; `ahead` says by how many seconds the system's was ahead each time.
    fn run(ahead: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let mut latest = LatestTime::default();
        let mut system = HOUR;
        let of = |ahead: i64| {
            system += 1_000_000;
            latest = latest.advance(Duration::from_secs(1), system + ahead * 1_000_000, 0);
            (latest.time - system) / 1_000_000
        };
        ahead.into_iter().map(of).collect()
    }

    #[test]
    fn a_jump_ahead_that_does_not_last_is_not_followed() {
        assert_eq!(run([0, 600, 600, 600, 0, 0, 600, 0]), [0; 8]);
    }

    #[test]
    fn a_jump_ahead_that_lasts_is_followed_and_time_goes_on_before() {
        let times = run(std::iter::once(0).chain([600; 14]));
        let (before, after) = times.split_at(11);
        assert!(before.iter().all(|ahead| *ahead == 0), "{times:?}");
        assert!(after.iter().all(|ahead| *ahead == 600), "{times:?}");
    }

    #[test]
    fn a_clock_that_is_set_back_after_a_jump_that_lasted_does_not_stop_the_time() {
        let times = run([600; 12].into_iter().chain([0; 5]));
        assert!(times.iter().all(|ahead| (599..=600).contains(ahead)), "{times:?}");
    }

    #[test]
    fn what_another_process_wrote_is_followed_at_once() {
        let latest = LatestTime::default().advance(Duration::ZERO, HOUR, 0);
        assert_eq!(latest.advance(Duration::from_secs(1), HOUR, 2 * HOUR).time, 2 * HOUR);
        // A clock that is slowly corrected makes no jump, however long nothing asked for the time.
        let late = latest.advance(Duration::from_secs(3_600), 2 * HOUR + 3_000_000, 0);
        assert_eq!((late.time, late.jumped_for), (2 * HOUR + 3_000_000, None));
    }
}
