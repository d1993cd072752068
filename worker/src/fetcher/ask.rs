//! What a claim asks for: how many tasks of which queues, and which kinds it refuses.

use std::time::Instant;

use jobbers_common::{
    engine::{QueueClaim, Refusal},
    limits::MAX_REFUSALS_PER_CLAIM,
};

use super::Fetcher;
use crate::{intake::Room, line::Line};

/// What a call asks for.
#[derive(Default)]
pub(super) struct Ask {
    pub(super) queues: Vec<QueueClaim>,
    /// How many tasks in all.
    pub(super) room: usize,
    /// How many of them may be blocking ones.
    pub(super) to_line: usize,
    /// The kinds of tasks it does not take.
    pub(super) refused: Vec<Refusal>,
}

impl Fetcher {
    /// What the next claim asks for, if it may bring `room` tasks.
    pub(super) fn ask(&mut self, room: usize) -> Ask {
        if room == 0 {
            return Ask::default();
        }
        let left = self.unknown.left_to_others(Instant::now());
        if !left.is_empty() {
            // What falls due there is for the others; the end of their head start wakes this worker.
            self.next_due = None;
        }
        let at_once = self.parts.slots.saturating_sub(self.held + self.asked).min(room);
        let mut refused = self.unknown.refusals();
        self.refuses_blocking = self.refuse_blocking(&mut refused);
        let refuses_blocking = self.refuses_blocking;
        let room_for = Room { most: room, at_once, line: self.line.as_ref().map(Line::room), refuses_blocking };
        let queues = self.parts.intake.ask(room_for, &left);
        let (to_line, room) = match refuses_blocking {
            true => (0, if queues.is_empty() { 0 } else { room }),
            false => self.parts.intake.weigh(&queues, room),
        };
        Ask { queues, room, to_line, refused }
    }

    /// While the line takes no blocking task, claims refuse their kinds: tasks of these kinds wait at their places, and the
    /// others of their queues are claimed. Answers whether it does so.
    fn refuse_blocking(&self, refused: &mut Vec<Refusal>) -> bool {
        let is_full = self.line.as_ref().is_some_and(Line::is_full);
        let has_room_for = MAX_REFUSALS_PER_CLAIM.saturating_sub(refused.len());
        let Some(kinds) = self.parts.intake.refusals(has_room_for).filter(|_| is_full) else { return false };
        refused.extend(kinds);
        true
    }

    /// Asks for blocking tasks again once the line takes some: their kinds were refused, so no answer spoke of them.
    pub(super) fn ask_for_blocking_again(&mut self) {
        if self.refuses_blocking && self.line.as_ref().is_some_and(|line| !line.is_full()) {
            self.refuses_blocking = false;
            self.hungry = true;
        }
    }
}
