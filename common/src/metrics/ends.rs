//! Counts ends of tasks that no attempt of the process brought about: expired leases that it took back, whichever process
//! that is, and tasks that are dropped because no live worker knows them, or because they expired.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Meter},
};

use super::{
    attribute::{MOST_NAMES, OTHER},
    catalogue::{LEASES_RECLAIMED, TASKS_DEAD_LETTERED, TASKS_EXPIRED, TASKS_PROCESSED},
};
use crate::{
    engine::{LostTask, Reclaimed},
    lifecycle::Status,
    name::{QueueName, TaskName},
};

/// The most tasks, by queue, name and version, whose counters start at 0. They leave names for those that end.
const MOST_BEGUN: usize = MOST_NAMES / 2;

/// The counters.
#[derive(Debug)]
pub struct EndCounters {
    reclaimed: Counter<u64>,
    processed: Counter<u64>,
    dead_lettered: Counter<u64>,
    expired: Counter<u64>,
    /// Pairs of queue and task that are counted under their own names. Clients make names up without end.
    named: Mutex<HashSet<(QueueName, TaskName)>>,
    /// Tasks whose counters started at 0.
    begun: Mutex<HashSet<(QueueName, TaskName, u32)>>,
}

impl EndCounters {
    /// On a meter of the caller's.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        let reclaimed = LEASES_RECLAIMED.counter(meter);
        for outcome in ["requeued", "failed", "cancelled"] {
            reclaimed.add(0, &[KeyValue::new("outcome", outcome)]);
        }
        Self {
            reclaimed,
            processed: TASKS_PROCESSED.counter(meter),
            dead_lettered: TASKS_DEAD_LETTERED.counter(meter),
            expired: TASKS_EXPIRED.counter(meter),
            named: Mutex::default(),
            begun: Mutex::default(),
        }
    }

    /// Starts the counters of a task that may end badly at 0, so that its first ends appear as a step and not as a
    /// series that begins with them, in which no alert can see a rise. Returns whether it did so, which is once a task.
    pub fn begin(&self, queue: &QueueName, name: &TaskName, version: u32) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.len() >= MOST_BEGUN || !begun.insert((queue.clone(), name.clone(), version)) {
            return false;
        }
        drop(begun);
        let names = self.names_of(queue, name);
        self.expired.add(0, &names);
        let [queue, name] = names;
        for status in [Status::Failed, Status::Dropped] {
            self.processed.add(0, &[queue.clone(), name.clone(), KeyValue::new("status", status.as_str())]);
        }
        self.dead_lettered.add(0, &[queue, name, KeyValue::new("version", i64::from(version))]);
        true
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

    /// Tasks ended without an attempt of this process.
    pub fn lost(&self, tasks: &[LostTask]) {
        for LostTask { queue, name, version, status, dead_letter } in tasks {
            let [queue, name] = self.names_of(queue, name);
            let status = KeyValue::new("status", status.as_str());
            self.processed.add(1, &[queue.clone(), name.clone(), status]);
            if *dead_letter {
                self.dead_lettered.add(1, &[queue, name, KeyValue::new("version", i64::from(*version))]);
            }
        }
    }

    /// The attributes `queue` and `task` of a task; past the bound those of all others.
    pub fn names_of(&self, queue: &QueueName, name: &TaskName) -> [KeyValue; 2] {
        let pair = (queue.clone(), name.clone());
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
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
        let ends = EndCounters::new(&global::meter("test"));
        let queue = QueueName::new("default").unwrap();
        let of = |n: usize| {
            let [_, task] = ends.names_of(&queue, &TaskName::new(format!("task-{n}")).unwrap());
            task.value.to_string()
        };
        assert_eq!((of(0), of(MOST_NAMES - 1)), ("task-0".to_owned(), format!("task-{}", MOST_NAMES - 1)));
        (0..MOST_NAMES).for_each(|n| drop(of(n)));
        assert_eq!((of(MOST_NAMES), of(7)), (OTHER.to_owned(), "task-7".to_owned()));
    }

    #[test]
    fn counters_start_at_0_once_a_task_and_leave_names_for_others() {
        let ends = EndCounters::new(&global::meter("test"));
        let queue = QueueName::new("default").unwrap();
        let begin = |n: usize, version| ends.begin(&queue, &TaskName::new(format!("task-{n}")).unwrap(), version);
        assert!(begin(0, 1) && !begin(0, 1) && begin(0, 2));
        assert!((1..MOST_BEGUN - 1).all(|n| begin(n, 1)));
        assert!(!begin(MOST_BEGUN, 1));
        let [_, task] = ends.names_of(&queue, &TaskName::new("one-more").unwrap());
        assert_eq!(task.value.to_string(), "one-more");
    }
}
