//! The store's clock.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use jobbers_common::time::{Clock, Timestamp, micros};
use parking_lot::Mutex;
use tracing::warn;

/// By how much the system's clock must be behind the last written time to cause a warning, in microseconds.
const WORTH_A_WORD: i64 = 1_000_000;

/// The system's clock, or a clock for tests. The system's clock may be set back, but the store's time never goes back:
/// not in this process, and not behind the time that any process has written. It also never stops: until the system's
/// clock has caught up, time advances from there at its usual pace, so that leases end and tasks become due.
#[derive(Debug)]
pub(super) struct StoreClock {
    given: Option<Arc<dyn Clock>>,
    latest: Mutex<Latest>,
}

/// The latest known time, when it was known, and whether it was ahead of the system's clock.
#[derive(Debug, Clone, Copy)]
struct Latest {
    time: i64,
    at: Instant,
    is_ahead: bool,
}

impl Latest {
    /// The present time.
    fn now(self) -> i64 {
        self.time.saturating_add(micros(self.at.elapsed()))
    }
}

impl StoreClock {
    pub(super) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self { given, latest: Mutex::new(Latest { time: 0, at: Instant::now(), is_ahead: false }) }
    }

    /// The present time, given the latest time written to the store.
    pub(super) fn now_since(&self, written: i64) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, micros);
        let mut latest = self.latest.lock();
        let known = if latest.is_ahead { latest.now() } else { latest.time };
        let time = known.max(written);
        let is_ahead = time > system;
        if is_ahead && !latest.is_ahead && time - system > WORTH_A_WORD {
            let seconds = (time - system) / 1_000_000;
            warn!(
                seconds,
                "the system's clock is behind the time the store was last written by; the store's time goes on"
            );
        }
        *latest = Latest { time: time.max(system), at: Instant::now(), is_ahead };
        Timestamp::from_micros(latest.time)
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
}
