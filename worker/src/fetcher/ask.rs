//! What a claim requests: how many tasks of which queues, and which kinds it refuses.

use std::time::Instant;

use jobbers_common::{
    engine::{QueueClaim, Refusal},
    limits::MAX_REFUSALS_PER_CLAIM,
};

use super::Fetcher;
use crate::{blocking_queue::BlockingQueue, claim_planner::Room};

/// The request of a call.
#[derive(Default)]
pub(super) struct Ask {
    pub(super) queues: Vec<QueueClaim>,
    /// How many tasks in all.
    pub(super) room: usize,
    /// How many of them may be blocking ones.
    pub(super) blocking: usize,
    /// The kinds of tasks it does not take.
    pub(super) refused: Vec<Refusal>,
}

impl Fetcher {
    /// The request of the next claim, if it may return `room` tasks.
    pub(super) fn ask(&mut self, room: usize) -> Ask {
        if room == 0 {
            return Ask::default();
        }
        let left = self.unknown.left_to_others(Instant::now());
        if !left.is_empty() {
            // Tasks due there are left to the other workers; the end of their head start wakes this worker.
            self.next_due = None;
        }
        let at_once = self.parts.slots.saturating_sub(self.held + self.asked).min(room);
        let mut refused = self.unknown.refusals();
        self.refuses_blocking = self.refuse_blocking(&mut refused);
        let refuses_blocking = self.refuses_blocking;
        let room_for = Room {
            most: room,
            at_once,
            blocking: self.blocking_queue.as_ref().map(BlockingQueue::room),
            refuses_blocking,
        };
        let queues = self.parts.planner.ask(room_for, &left);
        let (blocking, room) = match refuses_blocking {
            true => (0, if queues.is_empty() { 0 } else { room }),
            false => self.parts.planner.count_blocking(&queues, room),
        };
        Ask { queues, room, blocking, refused }
    }

    /// While the blocking queue takes no task, claims refuse the kinds of blocking tasks. These wait at their places,
    /// and the other tasks of their queues are claimed. Returns whether it refuses.
    fn refuse_blocking(&self, refused: &mut Vec<Refusal>) -> bool {
        let is_full = self.blocking_queue.as_ref().is_some_and(BlockingQueue::is_full);
        let has_room_for = MAX_REFUSALS_PER_CLAIM.saturating_sub(refused.len());
        let Some(kinds) = self.parts.planner.refusals(has_room_for).filter(|_| is_full) else { return false };
        refused.extend(kinds);
        true
    }

    /// Asks for blocking tasks again once the blocking queue has room: while their kinds are refused, no answer
    /// mentions them.
    pub(super) fn ask_for_blocking_again(&mut self) {
        if self.refuses_blocking && self.blocking_queue.as_ref().is_some_and(|queue| !queue.is_full()) {
            self.refuses_blocking = false;
            self.hungry = true;
        }
    }
}
