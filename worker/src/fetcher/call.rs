//! One call to the store: what it settles, what it claims, and its answer.

use std::time::Instant;

use jobbers_common::engine::{CycleReply, QueueClaim, Refusal, Result};

use super::settling::Settling;

/// What a call claims: how many tasks of which queues, and which kinds it refuses.
#[derive(Default)]
pub(super) struct Ask {
    pub(super) queues: Vec<QueueClaim>,
    /// How many tasks in all.
    pub(super) room: usize,
    /// How many of them may be blocking ones.
    pub(super) blocking: usize,
    /// The kinds of tasks it does not take.
    pub(super) refused: Vec<Refusal>,
    /// Whether it leaves out queues while another call is under way, which may ask them.
    pub(super) is_partial: bool,
}

/// A call to the store.
pub(super) struct Call {
    pub(super) settling: Vec<Settling>,
    /// Whether it retries a settlement that could not be made before.
    pub(super) is_alone: bool,
    pub(super) ask: Ask,
    pub(super) sent: Instant,
}

impl Call {
    /// Whether it asked for tasks.
    pub(super) const fn claims(&self) -> bool {
        self.ask.room > 0
    }
}

/// The result of a call.
pub(super) struct CallResult {
    pub(super) call: Call,
    pub(super) result: Result<CycleReply>,
}
