//! Lists and counts.

use std::{cmp::Reverse, collections::BTreeMap, ops::Bound};

use jobbers_common::{
    dependency::Dependencies,
    engine::{Error, ListRequest, Page, Probation, QueueListRequest, QueuePage, QueuePlace, QueueStats, Result},
    lifecycle::Status,
    name::{QueueName, TaskId},
    task::Task,
    time::Timestamp,
};

use super::state::{State, Stored};

/// A task's place in a list: section, queue, order within, id.
type ListPosition = (u8, String, i64, String);

fn place(stored: &Stored) -> ListPosition {
    let task = &stored.task;
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let (section, order) = match task.status {
        Status::Started => (0, task.lease.as_ref().map_or(0, |lease| signed(lease.fence.0))),
        Status::Submitted => (1, i64::from(9 - task.priority.get()) * 1_000_000_000 + signed(stored.position)),
        Status::Scheduled => (2, task.ready_at.as_micros()),
        Status::Waiting => (3, signed(stored.position)),
        _ => return (4, String::new(), -signed(task.revision), String::new()),
    };
    (section, task.queue.to_string(), order, task.id.to_string())
}

impl State {
    pub(super) fn list(&self, request: &ListRequest) -> Result<Page> {
        let after: Option<ListPosition> = match &request.cursor {
            None => None,
            Some(text) => Some(
                serde_json::from_str(text)
                    .map_err(|_| Error::Invalid("this cursor is not from this store".to_owned()))?,
            ),
        };
        let mut found: BTreeMap<ListPosition, &Task> = self
            .tasks
            .values()
            .filter(|stored| request.filter.matches(&stored.task))
            .map(|stored| (place(stored), &stored.task))
            .collect();
        if let Some(after) = after {
            found = found.split_off(&after);
            found.remove(&after);
        }
        let next = (found.len() > request.limit)
            .then(|| found.keys().nth(request.limit - 1).map(|place| serde_json::json!(place).to_string()))
            .flatten();
        let slim = |task: &Task| {
            let dependencies =
                task.dependencies.clone().map(|it| Box::new(Dependencies { external: Vec::new(), ..*it }));
            Task { parameters: None, checkpoint: None, result: None, errors: Vec::new(), dependencies, ..task.clone() }
        };
        Ok(Page { tasks: found.into_values().take(request.limit).map(slim).collect(), next })
    }

    pub(super) fn place(&self, id: &TaskId, now: Timestamp) -> Option<QueuePlace> {
        let order = |stored: &Stored| (Reverse(stored.task.priority.get()), stored.position);
        let wanted = self.tasks.get(id).filter(|stored| stored.task.status == Status::Submitted)?;
        let queue = &wanted.task.queue;
        let is_ready = |other: &&Stored| other.task.status == Status::Submitted && other.task.queue == *queue;
        let ahead = self.tasks.values().filter(is_ready).filter(|other| order(other) < order(wanted)).count() as u64;
        let rate = self.rate_of(queue).filter(|(rate, mark)| rate.allowed(*mark, now) == 0);
        let rate_wait = rate.map(|(rate, mark)| rate.wait(mark, now, 1));
        let runs = |other: &&Stored| other.task.status == Status::Started && other.task.queue == *queue;
        let running = self.tasks.values().filter(runs).map(|other| &other.task);
        let running = running.map(|task| (task.id.clone(), task.suspicion, task.started_at.unwrap_or_default()));
        let is_suspect = wanted.task.suspicion.is_suspect();
        let probations = if is_suspect { Probation::named(running, now) } else { Vec::new() };
        Some(QueuePlace { ahead, rate_wait, held_back: self.shut_gates(id, now), probations })
    }

    pub(super) fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        if self.queues.contains(queue) { Ok(self.stats_of(queue)) } else { Err(Error::UnknownQueue(queue.clone())) }
    }

    pub(super) fn list_queues(&self, request: &QueueListRequest) -> QueuePage {
        let first = request.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut names = self.queues.range::<QueueName, _>((first, Bound::Unbounded));
        let queues: Vec<QueueStats> = names.by_ref().take(request.limit).map(|name| self.stats_of(name)).collect();
        let next = names.next().and(queues.last()).map(|last| last.queue.clone());
        QueuePage { queues, next }
    }

    fn stats_of(&self, queue: &QueueName) -> QueueStats {
        let (mut tasks, mut suspects) = (BTreeMap::new(), 0);
        let mut front: BTreeMap<u8, &Stored> = BTreeMap::new();
        for stored in self.tasks.values().filter(|stored| stored.task.queue == *queue) {
            *tasks.entry(stored.task.status).or_default() += 1;
            if stored.task.status == Status::Submitted {
                suspects += u64::from(stored.task.suspicion.is_suspect());
                let first = front.entry(stored.task.priority.get()).or_insert(stored);
                if stored.position < first.position {
                    *first = stored;
                }
            }
        }
        let (accepted, removed) = self.counters.get(queue).copied().unwrap_or_default();
        let oldest_ready_at = front.values().map(|stored| stored.task.ready_at).min();
        let is_sized = self.config.queues.get(queue).is_some_and(|config| config.max_bytes.is_some());
        let waiting_bytes = is_sized.then(|| self.waiting_bytes(queue));
        QueueStats { queue: queue.clone(), tasks, suspects, oldest_ready_at, accepted, removed, waiting_bytes }
    }
}
