//! What is done about a call that the store did not answer, or refused.
//!
//! What tasks have done is not thrown away for the sake of one call: a settlement is kept while its lease can be, and given
//! up only when the store calls that very settlement invalid. A store that is away, full, or refuses everything (a login
//! that was revoked, a server that became a node of a cluster) is an outage, whatever the error: an operator can mend it
//! without restarting workers. Where one record is to blame, the others of the call are settled without it.

use std::time::{Duration, Instant};

use jobbers_common::{engine::Error, limits::MAX_BATCH};

use super::{Fetcher, Settling, calls::Call};
use crate::outage::blames_a_record;

/// How often a settlement that the store could not take is tried again.
const EVERY: Duration = Duration::from_secs(2);

/// Settlements the store could not take, though it is there: each is tried again by itself.
#[derive(Debug, Default)]
pub(super) struct Aside {
    settling: Vec<Settling>,
    retry_at: Option<Instant>,
}

impl Aside {
    pub(super) const fn len(&self) -> usize {
        self.settling.len()
    }

    /// When the next is to be tried, if there are any.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.settling.is_empty())
    }

    /// The next, if it is time.
    pub(super) fn take(&mut self, now: Instant) -> Option<Settling> {
        self.retry_at().filter(|at| *at <= now).map(|_| self.settling.remove(0))
    }

    /// One could be settled after all: the others need not wait.
    pub(super) const fn hurry(&mut self, now: Instant) {
        self.retry_at = Some(now);
    }

    fn put(&mut self, one: Settling, now: Instant) {
        self.settling.push(one);
        self.retry_at = Some(now + EVERY);
    }
}

impl Fetcher {
    /// Keeps what a failed call was to settle.
    pub(super) fn refused(&mut self, call: Call, error: &Error) {
        self.woken = true;
        let now = Instant::now();
        // With a claim in the call it may be what was claimed.
        if !blames_a_record(error) || call.claims() || call.settling.is_empty() {
            if call.is_alone {
                call.settling.into_iter().for_each(|one| self.aside.put(one, now));
            } else {
                self.unsettled.splice(..0, call.settling);
            }
            self.outage.note(error, now);
            return;
        }
        if call.settling.len() > 1 {
            // Half of them at a time, until the one is found.
            self.settle_limit = call.settling.len() / 2;
            tracing::debug!(tasks = call.settling.len(), %error, "the store can't settle these together");
            self.unsettled.splice(..0, call.settling);
            return;
        }
        for one in call.settling {
            self.refused_alone(one, error, call.is_alone, now);
        }
    }

    /// A settlement that nothing but itself can be the reason for.
    fn refused_alone(&mut self, one: Settling, error: &Error, again: bool, now: Instant) {
        let is_held = one.attempt.as_ref().is_some_and(|attempt| attempt.lease_ends() > now);
        if matches!(error, Error::Invalid(_)) || !is_held {
            tracing::error!(id = %one.id, %error, "the store refuses to settle this task; giving it up");
            self.parts.leases.release(one.attempt.as_ref());
            return;
        }
        if !again {
            tracing::error!(id = %one.id, %error, "the store can't settle this task; trying again while its lease holds");
        }
        self.aside.put(one, now);
    }

    /// After calls that were answered, again as many settlements in one as there are.
    pub(super) fn settle_more(&mut self) {
        self.settle_limit = match self.unsettled.is_empty() {
            true => MAX_BATCH,
            false => (self.settle_limit * 2).min(MAX_BATCH),
        };
    }
}
