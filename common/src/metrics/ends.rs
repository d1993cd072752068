//! Counts ends of tasks that no attempt of the process brought about: expired leases that it took back, whichever process
//! that is, and tasks that are dropped because no live worker knows them, or because they expired.

use std::collections::HashSet;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Meter},
};
use parking_lot::Mutex;

use super::{
    attribute::{MOST_NAMES, OTHER},
    catalogue::{LEASES_RECLAIMED, TASKS_DEAD_LETTERED, TASKS_EXPIRED, TASKS_PROCESSED},
};
use crate::{
    engine::{LostTask, Reclaimed},
    lifecycle::Status,
    name::{QueueName, TaskName},
};

/// The counters.
#[derive(Debug)]
pub struct Ends {
    reclaimed: Counter<u64>,
    processed: Counter<u64>,
    dead_lettered: Counter<u64>,
    expired: Counter<u64>,
    /// Pairs of queue and task that are counted under their own names. Clients make names up without end.
    named: Mutex<HashSet<(QueueName, TaskName)>>,
}

impl Ends {
    /// On a meter of the caller's.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        Self {
            reclaimed: LEASES_RECLAIMED.counter(meter),
            processed: TASKS_PROCESSED.counter(meter),
            dead_lettered: TASKS_DEAD_LETTERED.counter(meter),
            expired: TASKS_EXPIRED.counter(meter),
            named: Mutex::default(),
        }
    }

    /// Expired leases were taken back.
    pub fn reclaimed(&self, reclaimed: &Reclaimed) {
        let Reclaimed { requeued, ended } = reclaimed;
        if reclaimed.total() == 0 {
            return;
        }
        let (failed, cancelled) = (reclaimed.count(Status::Failed), reclaimed.count(Status::Cancelled));
        for (outcome, leases) in [("requeued", *requeued), ("failed", failed), ("cancelled", cancelled)] {
            self.reclaimed.add(leases, &[KeyValue::new("outcome", outcome)]);
        }
        self.lost(ended);
    }

    /// A claim dropped tasks that had expired.
    pub fn expired(&self, tasks: &[LostTask]) {
        for task in tasks {
            self.expired.add(1, &self.names_of(&task.queue, &task.name));
        }
        self.lost(tasks);
    }

    /// The store ended tasks itself.
    fn lost(&self, tasks: &[LostTask]) {
        for task in tasks {
            self.ended(&task.queue, &task.name, task.status);
            if task.dead_letter {
                let [queue, name] = self.names_of(&task.queue, &task.name);
                self.dead_lettered.add(1, &[queue, name, KeyValue::new("version", i64::from(task.version))]);
            }
        }
    }

    /// A task ended at a status.
    pub fn ended(&self, queue: &QueueName, name: &TaskName, status: Status) {
        let [queue, name] = self.names_of(queue, name);
        self.processed.add(1, &[queue, name, KeyValue::new("status", status.as_str())]);
    }

    /// The attributes `queue` and `task` of a task; past the bound those of all others.
    pub fn names_of(&self, queue: &QueueName, name: &TaskName) -> [KeyValue; 2] {
        let pair = (queue.clone(), name.clone());
        let mut named = self.named.lock();
        let is_named = named.contains(&pair) || named.len() < MOST_NAMES && named.insert(pair);
        let [queue, name] = if is_named { [queue.as_str(), name.as_str()] } else { [OTHER, OTHER] };
        [KeyValue::new("queue", queue.to_owned()), KeyValue::new("task", name.to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::global;

    use super::*;

    #[test]
    fn names_past_the_bound_are_all_one() {
        let ends = Ends::new(&global::meter("test"));
        let queue = QueueName::new("default").unwrap();
        let of = |n: usize| {
            let [_, task] = ends.names_of(&queue, &TaskName::new(format!("task-{n}")).unwrap());
            task.value.to_string()
        };
        assert_eq!((of(0), of(MOST_NAMES - 1)), ("task-0".to_owned(), format!("task-{}", MOST_NAMES - 1)));
        (0..MOST_NAMES).for_each(|n| drop(of(n)));
        assert_eq!((of(MOST_NAMES), of(7)), (OTHER.to_owned(), "task-7".to_owned()));
    }
}
