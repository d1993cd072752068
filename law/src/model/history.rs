//! The history: everything that happened, by queue and slot.

use jobbers_common::{
    history::{Grain, History, Slot, Times},
    lifecycle::{Move, Status},
    name::QueueName,
    time::Timestamp,
};

use super::state::State;

impl State {
    /// Counts a task that a queue accepts.
    pub(super) fn accept(&mut self, queue: &QueueName, now: Timestamp) {
        self.counters.entry(queue.clone()).or_default().0 += 1;
        self.note(queue, now, |slot| slot.counts.accepted += 1);
    }

    /// Counts a move of a task within its queue.
    pub(super) fn note_move(&mut self, queue: &QueueName, event: Move, to: Status, now: Timestamp) {
        self.note(queue, now, |slot| slot.counts.count_move(event, to));
    }

    /// Counts how long a task that starts has been ready.
    pub(super) fn note_waited(&mut self, queue: &QueueName, since: Timestamp, now: Timestamp) {
        self.note(queue, now, |slot| slot.waited.0[Times::bucket_between(since, now)] += 1);
    }

    /// Counts how long an attempt had run when it was settled.
    pub(super) fn note_ran(&mut self, queue: &QueueName, since: Timestamp, now: Timestamp) {
        self.note(queue, now, |slot| slot.ran.0[Times::bucket_between(since, now)] += 1);
    }

    fn note(&mut self, queue: &QueueName, now: Timestamp, change: impl Fn(&mut Slot)) {
        for by in [Grain::Minute, Grain::Hour] {
            let number = by.number_at(now);
            let slots = self.history.entry((queue.clone(), by)).or_default();
            change(slots.entry(number).or_insert_with(|| Slot::empty(by.begin_of(number))));
        }
    }

    pub(super) fn forget_history(&mut self, queue: &QueueName) {
        self.history.retain(|(of, _), _| of != queue);
    }

    pub(super) fn history(&self, queues: &[QueueName], by: Grain, now: Timestamp) -> History {
        let slots_of = |queue: &QueueName| {
            let Some(slots) = self.history.get(&(queue.clone(), by)) else { return Vec::new() };
            let kept = slots.range(by.first_kept(now)..=by.number_at(now)).map(|(_, slot)| *slot);
            kept.map(|slot| {
                if by == Grain::Hour { slot } else { Slot { at: slot.at, counts: slot.counts, ..Slot::default() } }
            })
            .filter(|slot| *slot != Slot::empty(slot.at))
            .collect()
        };
        History { now, queues: queues.iter().map(slots_of).collect() }
    }
}
