//! The store's present.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::SystemTime,
};

use jobbers_common::time::{Clock, Timestamp, micros};

/// A clock for tests, or the system's. The system's may be set back; the store's time never goes back for that: not in
/// this process, and not behind what any process has written by.
#[derive(Debug)]
pub(super) struct StoreClock {
    given: Option<Arc<dyn Clock>>,
    latest: AtomicI64,
}

impl StoreClock {
    pub(super) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self { given, latest: AtomicI64::new(0) }
    }

    /// The present.
    pub(super) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, micros);
        Timestamp::from_micros(self.latest.fetch_max(system, Ordering::Relaxed).max(system))
    }

    /// The present, given the latest time the store was written by.
    pub(super) fn now_since(&self, written: i64) -> Timestamp {
        self.latest.fetch_max(written, Ordering::Relaxed);
        self.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_is_never_before_what_was_written() {
        let clock = StoreClock::new(None);
        let ahead = clock.now().as_micros() + 60_000_000;
        assert_eq!(clock.now_since(ahead).as_micros(), ahead);
        assert_eq!(clock.now().as_micros(), ahead);
    }
}
