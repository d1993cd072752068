//! How long to leave a store alone that did not answer, and what to ask of it first.
//!
//! A call whose answer is lost may have been carried out. If it claimed, tasks are leased without a worker, and each
//! counts a crash. So after a failure the worker claims only once the store has answered a call without a claim.

use std::time::{Duration, Instant};

use jobbers_common::engine::Error;

const FIRST: Duration = Duration::from_millis(100);
/// Short enough that work continues within seconds of the store's return.
const LONGEST: Duration = Duration::from_secs(2);

/// Whether a single record touched by a call may be the reason that the whole call is refused.
pub(crate) const fn blames_a_record(error: &Error) -> bool {
    matches!(error, Error::Invalid(_) | Error::Corrupt(_))
}

/// Failed calls since the last successful claim.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    failures: u32,
    retry_at: Option<Instant>,
    /// Whether no call was answered since the last failure.
    is_silent: bool,
}

impl Outage {
    /// Whether the store should be left alone for now.
    pub(crate) fn is_on(&self) -> bool {
        self.retry_at.is_some_and(|at| at > Instant::now())
    }

    /// Whether the store must answer a call without a claim before the worker claims again.
    pub(crate) const fn forbids_claims(&self) -> bool {
        self.is_silent
    }

    /// When the next call may be made, if that is in the future.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.retry_at.filter(|at| *at > Instant::now())
    }

    /// Notes a failure: the next call waits, twice as long each time, with jitter so that many workers do not return at
    /// once.
    pub(crate) fn note(&mut self, error: &Error, now: Instant) {
        if self.failures == 0 {
            tracing::warn!(%error, "the store does not answer; tasks go on and what finished is kept");
        } else {
            tracing::debug!(%error, failures = self.failures, "the store still does not answer");
        }
        let delay = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.is_silent = true;
        self.retry_at = Some(now + delay.mul_f64(rand::random_range(0.5..=1.0)));
    }

    /// Notes an answer to a call without a claim. If the claim that follows fails again, the wait still grows.
    pub(crate) fn answered(&mut self) {
        if self.is_silent {
            (self.is_silent, self.retry_at) = (false, None);
        } else {
            self.over();
        }
    }

    /// Notes an answer to a normal call.
    pub(crate) fn over(&mut self) {
        if self.failures > 0 {
            tracing::info!(failures = self.failures, "the store answers again");
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_and_stays_within_two_seconds() {
        let mut outage = Outage::default();
        let now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..40 {
            outage.note(&Error::unavailable("gone"), now);
            waits.push(outage.retry_at.unwrap() - now);
        }
        assert!(waits[0] <= FIRST && waits[0] >= FIRST / 2);
        assert!(waits.iter().all(|wait| *wait <= LONGEST));
        assert!(waits[39] >= LONGEST / 2);
        outage.over();
        assert!(!outage.is_on());
    }

    #[test]
    fn a_store_that_answers_but_hands_out_no_tasks_is_asked_for_them_more_and_more_rarely() {
        let mut outage = Outage::default();
        let now = Instant::now();
        for _ in 0..40 {
            outage.note(&Error::unavailable("no claims"), now);
            assert!(outage.forbids_claims());
            outage.answered();
            assert!(!outage.forbids_claims() && !outage.is_on());
        }
        outage.note(&Error::unavailable("no claims"), now);
        assert!(outage.retry_at.unwrap() - now >= LONGEST / 2);
    }
}
