//! The leases this worker holds: of running attempts, and of those whose settlement is not confirmed yet.

use std::{collections::HashSet, sync::Arc};

use jobbers_common::{name::TaskId, policy::TaskPolicy, task::ClaimedTask, worker::HeldThread};
use parking_lot::Mutex;
use slab::Slab;

use crate::attempts::{
    attempt::{Attempt, SharedState, TakenAt},
    meters::pair::Pair,
};

/// The leases held: a few per slot, or a few hundred of short tasks, so a walk over all of them is cheap.
#[derive(Debug, Default)]
pub(crate) struct HeldLeases(Mutex<Slab<Arc<Attempt>>>);

impl HeldLeases {
    /// Adds a batch.
    pub(crate) fn admit(
        &self,
        tasks: impl IntoIterator<Item = (ClaimedTask, TaskPolicy, Arc<Pair>)>,
        shared: &Arc<SharedState>,
        taken: TakenAt,
    ) -> Vec<Arc<Attempt>> {
        let mut held = self.0.lock();
        let admit = |(task, policy, pair)| {
            let entry = held.vacant_entry();
            let attempt = Attempt::new(task, policy, Some(pair), Arc::clone(shared), entry.key(), taken);
            entry.insert(Arc::clone(&attempt));
            attempt
        };
        tasks.into_iter().map(admit).collect()
    }

    /// Removes the leases of these attempts: they are settled or lost.
    pub(crate) fn release<'a>(&self, attempts: impl IntoIterator<Item = &'a Arc<Attempt>>) {
        let mut held = self.0.lock();
        for attempt in attempts {
            held.try_remove(attempt.place);
        }
    }

    /// All that are held now.
    pub(crate) fn all(&self) -> Vec<Arc<Attempt>> {
        self.0.lock().iter().map(|(_, attempt)| Arc::clone(attempt)).collect()
    }

    /// The threads that blocking tasks hold, and how many tasks wait for one.
    pub(crate) fn threads(&self) -> (Vec<HeldThread>, usize) {
        let attempts = self.all();
        let held = attempts.iter().filter(|attempt| attempt.holds_thread()).map(|attempt| attempt.thread()).collect();
        (held, attempts.iter().filter(|attempt| attempt.waits_for_thread()).count())
    }

    /// Those of the given tasks.
    pub(crate) fn of(&self, ids: &[TaskId]) -> Vec<Arc<Attempt>> {
        if ids.is_empty() {
            return Vec::new();
        }
        let ids: HashSet<&TaskId> = ids.iter().collect();
        let held = self.0.lock();
        held.iter()
            .filter(|(_, attempt)| ids.contains(&attempt.task.id))
            .map(|(_, attempt)| Arc::clone(attempt))
            .collect()
    }
}
