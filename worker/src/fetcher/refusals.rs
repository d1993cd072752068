//! Handles calls that the store did not answer or refused.
//!
//! One failed call does not discard the work of tasks: a settlement is kept as long as its lease, and given up only
//! when the store rejects that very settlement as invalid. A store that is away, full, or refuses everything (a revoked
//! login, a server that became a node of a cluster) is an outage, whatever the error: an operator can repair it without
//! restarting workers. If one record causes the failure, the other settlements of the call are sent without it.

use std::time::Instant;

use jobbers_common::engine::Error;

use super::{Fetcher, call::Call, settling::Settling};
use crate::liveness::outage::blames_a_record;

impl Fetcher {
    /// Keeps the settlements of a failed call.
    pub(super) fn refused(&mut self, call: Call, error: &Error) {
        self.demand.woken = true;
        let now = Instant::now();
        // If the call also claims, a claimed task may be the cause.
        if !blames_a_record(error) || call.claims() || call.settling.is_empty() {
            if call.is_alone {
                call.settling.into_iter().for_each(|one| self.unsettled.aside.put(one, now));
            } else {
                self.unsettled.put_back(call.settling);
            }
            self.outage.note(error, now);
            return;
        }
        if call.settling.len() > 1 {
            // Halve the batch until the one is found.
            self.unsettled.narrow(call.settling.len());
            tracing::debug!(tasks = call.settling.len(), %error, "the store can't settle these together");
            self.unsettled.put_back(call.settling);
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
        self.unsettled.aside.put(one, now);
    }
}
