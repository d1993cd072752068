//! Decides when a call is due, what it settles and what it claims.

use std::{sync::Arc, time::Instant};

use jobbers_common::{engine::Refusal, limits::MAX_REFUSALS_PER_CLAIM};

use super::{Fetcher, call::Ask, settling::Settling};
use crate::{fetcher::claim_planner::Room, threads::queue::BlockingQueue};

impl Fetcher {
    /// Makes the calls that are due.
    pub(super) fn launch(&mut self) {
        let now = Instant::now();
        self.demand.woken |= self.unknown.follow_on(now) || self.demand.ends_leaving(now);
        self.ask_for_blocking_again();
        if self.may_retry()
            && let Some(one) = self.unsettled.aside.take(now)
        {
            self.send(vec![one], true, Ask::default());
        }
        while let Some(room) = self.next_call() {
            self.call(room);
        }
    }

    /// How many tasks the next call claims, if one is due now.
    ///
    /// Without a call under way, one is due as soon as there is anything to settle, claim or maintain. With another
    /// call under way, only when a whole batch can be claimed: settlements that join the next call arrive sooner than
    /// by a call of their own.
    fn next_call(&self) -> Option<usize> {
        if self.calls.are_most() || self.outage.is_on() {
            return None;
        }
        let (room, hungry) = (self.room(), self.demand.hungry);
        let due = if self.calls.is_empty() {
            self.unsettled.has_waiting() || self.demand.woken || hungry && room > 0
        } else {
            hungry && room >= self.slots.batch()
        };
        due.then_some(room)
    }

    /// Whether a settlement that was put aside may be retried: the store answers and does nothing else for this worker.
    pub(super) fn may_retry(&self) -> bool {
        self.calls.is_empty() && !self.outage.is_on() && !self.outage.forbids_claims()
    }

    /// How many tasks may be claimed now.
    pub(super) fn room(&self) -> usize {
        let may_claim = self.life.claims()
            && self.parts.planner.version != 0
            && !self.outage.forbids_claims()
            && !self.unsettled.is_searching()
            // Until it is known which workers know these, a further claim would return more of their kind.
            && !self.unknown.has_undecided();
        if may_claim { self.slots.room(self.calls.asked()) } else { 0 }
    }

    fn call(&mut self, room: usize) {
        let settling = self.unsettled.take_batch();
        let ask = self.ask(room);
        // If every queue is at its limit, nothing can be claimed until a task ends.
        self.demand.hungry &= room == 0 || ask.room > 0;
        if settling.is_empty() && ask.room == 0 && !self.demand.woken {
            return;
        }
        self.demand.woken = false;
        self.send(settling, false, ask);
    }

    fn send(&mut self, settling: Vec<Settling>, is_alone: bool, ask: Ask) {
        if let Some(queue) = &mut self.slots.blocking {
            queue.ask(ask.blocking);
        }
        self.calls.send(Arc::clone(&self.parts.engine), &self.parts.shared, settling, is_alone, ask);
    }

    /// The request of the next claim, if it may return `room` tasks.
    fn ask(&mut self, room: usize) -> Ask {
        if room == 0 {
            return Ask::default();
        }
        let left = self.unknown.left_to_others(Instant::now());
        if !left.is_empty() {
            // Tasks due there are left to the other workers; the end of their head start wakes this worker.
            self.demand.next_due = None;
        }
        let at_once = self.slots.free(self.calls.asked()).min(room);
        let mut refused = self.unknown.refusals();
        let refuses_blocking = self.refuse_blocking(&mut refused);
        self.demand.refuses_blocking = refuses_blocking;
        let room_for = Room {
            most: room,
            at_once,
            blocking: self.slots.blocking.as_ref().map(BlockingQueue::room),
            refuses_blocking,
        };
        let queues = self.parts.planner.ask(room_for, &left);
        let (blocking, room) = match refuses_blocking {
            true => (0, if queues.is_empty() { 0 } else { room }),
            false => self.parts.planner.count_blocking(&queues, room),
        };
        let is_partial = !self.calls.is_empty() && queues.len() < self.parts.planner.count();
        Ask { queues, room, blocking, refused, is_partial }
    }

    /// While the blocking queue takes no task, claims refuse the kinds of blocking tasks. These wait at their places,
    /// and the other tasks of their queues are claimed. Returns whether it refuses.
    fn refuse_blocking(&self, refused: &mut Vec<Refusal>) -> bool {
        let is_full = self.slots.blocking.as_ref().is_some_and(BlockingQueue::is_full);
        let has_room_for = MAX_REFUSALS_PER_CLAIM.saturating_sub(refused.len());
        let Some(kinds) = self.parts.planner.refusals(has_room_for).filter(|_| is_full) else { return false };
        refused.extend(kinds);
        true
    }

    /// Asks for blocking tasks again once the blocking queue has room: while their kinds are refused, no answer
    /// mentions them.
    fn ask_for_blocking_again(&mut self) {
        if self.demand.refuses_blocking && self.slots.blocking.as_ref().is_some_and(|queue| !queue.is_full()) {
            self.demand.refuses_blocking = false;
            self.demand.hungry = true;
        }
    }
}
