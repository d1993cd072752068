//! Where the server remembers the latest cycles of each worker, so that one that is sent again is not carried out twice.

use std::collections::HashMap;

use jobbers_common::name::WorkerId;
use parking_lot::Mutex;

/// Where the server remembers the cycles of each worker of this process.
#[derive(Debug, Default)]
pub(crate) struct Cycles(Mutex<HashMap<WorkerId, SlotNumbers>>);

/// Numbers of places: the free ones, and the next unused one.
#[derive(Debug, Default)]
pub(crate) struct SlotNumbers {
    free: Vec<u64>,
    next: u64,
}

impl SlotNumbers {
    /// Takes a place.
    pub(crate) fn take(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Gives a place back.
    pub(crate) fn give_back(&mut self, place: u64) {
        self.free.push(place);
    }
}

impl Cycles {
    /// Takes a place that no other cycle has, however many come and go while this one is repeated. [`CycleSlot::release`]
    /// gives it back when the cycle was answered. A cycle that was given up keeps it, because the server may still run
    /// that cycle; the server forgets places by itself.
    pub(crate) fn take_slot(&self, worker: &WorkerId) -> CycleSlot<'_> {
        let mut of_workers = self.0.lock();
        let number = of_workers.entry(worker.clone()).or_default().take();
        CycleSlot { cycles: self, worker: worker.clone(), number }
    }

    /// A worker that is gone.
    pub(crate) fn forget(&self, worker: &WorkerId) {
        self.0.lock().remove(worker);
    }
}

/// Where one cycle is remembered.
pub(crate) struct CycleSlot<'a> {
    cycles: &'a Cycles,
    worker: WorkerId,
    pub(crate) number: u64,
}

impl CycleSlot<'_> {
    /// Gives it back: the cycle's result is not needed again.
    pub(crate) fn release(self) {
        if let Some(slots) = self.cycles.0.lock().get_mut(&self.worker) {
            slots.give_back(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_keeps_its_place_while_others_come_and_go_and_one_that_was_given_up_for_good() {
        let cycles = Cycles::default();
        let worker = WorkerId::new("w1").unwrap();
        let repeated = cycles.take_slot(&worker);
        let mut used = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let slot = cycles.take_slot(&worker);
            used.insert(slot.number);
            slot.release();
        }
        assert!(!used.contains(&repeated.number));
        assert_eq!(used.len(), 1, "places are used again: {used:?}");
        let given_up = repeated.number;
        drop(repeated);
        let (one, other) = (cycles.take_slot(&worker), cycles.take_slot(&worker));
        assert!(![one.number, other.number].contains(&given_up) && one.number != other.number);
        cycles.forget(&worker);
        one.release();
    }
}
