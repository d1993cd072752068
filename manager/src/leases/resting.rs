//! Kinds of tasks that rest, because no live worker knows them.
//!
//! A claim for an HTTP worker that is handed a task of such a kind gives it back, and the next claims refuse the kind for a
//! moment: the other tasks of the kind stay in their queue at their places, so that a worker that knows it finds them at once.

use std::{
    collections::{BTreeSet, HashMap},
    time::Instant,
};

use jobbers_common::{
    engine::Refusal,
    limits::MAX_REFUSALS_PER_CLAIM,
    name::QueueName,
    worker::task_kind::{TaskKind, UNKNOWN_RESTS},
};
use parking_lot::Mutex;

/// Until when kinds rest, by queue.
#[derive(Debug, Default)]
pub(crate) struct Resting(Mutex<HashMap<(QueueName, TaskKind), Instant>>);

impl Resting {
    /// A task of a kind that no live worker knows was handed out.
    pub(crate) fn rest(&self, queue: &QueueName, kind: TaskKind, now: Instant) {
        let mut resting = self.0.lock();
        resting.retain(|_, until| *until > now);
        resting.insert((queue.clone(), kind), now + UNKNOWN_RESTS);
    }

    /// Adds the kinds that rest to what a claim from these queues refuses, but those that its worker knows, as many as a claim
    /// may refuse.
    pub(crate) fn add_refusals(
        &self,
        queues: &[QueueName],
        own: &BTreeSet<TaskKind>,
        refused: &mut Vec<Refusal>,
        now: Instant,
    ) {
        for ((queue, kind), until) in self.0.lock().iter() {
            let refusal = Refusal { queue: queue.clone(), kind: kind.clone() };
            let is_new = *until > now && queues.contains(queue) && !own.contains(kind) && !refused.contains(&refusal);
            if is_new && refused.len() < MAX_REFUSALS_PER_CLAIM {
                refused.push(refusal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::name::TaskName;

    use super::*;

    #[test]
    fn a_kind_rests_for_a_moment_in_its_queue_and_not_for_a_worker_that_knows_it() {
        let kind = |name: &str| TaskKind { name: TaskName::new(name).unwrap(), version: 1 };
        let (mail, other) = (QueueName::new("mail").unwrap(), QueueName::new("other").unwrap());
        let (resting, now) = (Resting::default(), Instant::now());
        resting.rest(&mail, kind("new"), now);
        let refused = |queue: &QueueName, own: &[TaskKind], at| {
            let mut refused = Vec::new();
            resting.add_refusals(std::slice::from_ref(queue), &own.iter().cloned().collect(), &mut refused, at);
            refused.len()
        };
        assert_eq!(refused(&mail, &[], now), 1);
        assert_eq!((refused(&other, &[], now), refused(&mail, &[kind("new")], now)), (0, 0));
        assert_eq!(refused(&mail, &[], now + UNKNOWN_RESTS), 0);
    }
}
