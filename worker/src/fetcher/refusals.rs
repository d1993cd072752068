//! Handles calls that the store did not answer or refused.
//!
//! One failed call does not discard the work of tasks: a settlement is kept as long as its lease, and given up only
//! when the store rejects that very settlement as invalid. A store that is away, full, or refuses everything (a revoked
//! login, a server that became a node of a cluster) is an outage, whatever the error: an operator can repair it without
//! restarting workers. If one record causes the failure, the other settlements of the call are sent without it.

use std::time::{Duration, Instant};

use jobbers_common::{engine::Error, limits::MAX_BATCH};

use super::{Fetcher, Settling, calls::Call};
use crate::outage::blames_a_record;

/// How often a settlement that the store could not accept is retried.
const EVERY: Duration = Duration::from_secs(2);

/// Settlements that an available store could not accept; each is retried alone.
#[derive(Debug, Default)]
pub(super) struct Aside {
    settling: Vec<Settling>,
    retry_at: Option<Instant>,
}

impl Aside {
    pub(super) const fn len(&self) -> usize {
        self.settling.len()
    }

    /// When the next one is retried, if there are any.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.settling.is_empty())
    }

    /// The next one, if it is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Settling> {
        self.retry_at().filter(|at| *at <= now).map(|_| self.settling.remove(0))
    }

    /// One was settled after all, so the others need not wait.
    pub(super) const fn hurry(&mut self, now: Instant) {
        self.retry_at = Some(now);
    }

    fn put(&mut self, one: Settling, now: Instant) {
        self.settling.push(one);
        self.retry_at = Some(now + EVERY);
    }
}

impl Fetcher {
    /// Keeps the settlements of a failed call.
    pub(super) fn refused(&mut self, call: Call, error: &Error) {
        self.woken = true;
        let now = Instant::now();
        // If the call also claims, a claimed task may be the cause.
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
            // Halve the batch until the one is found.
            self.settle_limit = call.settling.len() / 2;
            tracing::debug!(tasks = call.settling.len(), %error, "the store can't settle these together");
            self.unsettled.splice(..0, call.settling);
            return;
        }
        for one in call.settling {
            self.refused_alone(one, error, call.is_alone, now);
        }
    }

    /// Handles the refusal of a single settlement, which must be its own fault.
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

    /// After calls that were answered, allows larger batches of settlements again.
    pub(super) fn settle_more(&mut self) {
        self.settle_limit = match self.unsettled.is_empty() {
            true => MAX_BATCH,
            false => (self.settle_limit * 2).min(MAX_BATCH),
        };
    }
}
