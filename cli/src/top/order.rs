//! The order of the lists. One order is chosen for all of them, and means in each what its rows have.

use std::cmp::Reverse;

use jobbers_api::{queue::QueueView, task::view::TaskView, worker::WorkerView};
use jobbers_common::lifecycle::Status;

use super::{
    navigation::ListTab,
    snapshot::{Inside, Snapshot, count},
};

/// An order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// What needs a look first.
    Trouble,
    /// By name.
    Name,
    /// What is largest first.
    Size,
}

impl RowOrder {
    /// The one that follows.
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Trouble => Self::Name,
            Self::Name => Self::Size,
            Self::Size => Self::Trouble,
        }
    }

    /// What it means for a list, in words.
    pub(crate) const fn of(self, list: ListTab) -> &'static str {
        match (self, list) {
            (Self::Trouble, ListTab::Queues) => "by trouble",
            (Self::Trouble, ListTab::Workers) => "the draining and the fullest first",
            (Self::Trouble, ListTab::Failures) => "the latest first",
            (Self::Trouble, ListTab::Tasks) => "the longest first",
            (Self::Name, _) => "by name",
            (Self::Size, ListTab::Queues) => "by size",
            (Self::Size, ListTab::Workers) => "by settled tasks",
            (Self::Size, ListTab::Failures | ListTab::Tasks) => "by attempts",
        }
    }

    /// Puts all lists of a picture in order.
    pub(crate) fn arrange(self, snapshot: &mut Snapshot) {
        self.arrange_queues(&mut snapshot.queues);
        self.arrange_workers(&mut snapshot.workers);
        self.arrange_tasks(&mut snapshot.failures, |task| (false, Reverse(task.finished_at)));
        if let Some(Inside::Tasks(tasks, _)) = &mut snapshot.inside {
            // Those that run come before those that wait.
            self.arrange_tasks(tasks, |task| {
                let runs = task.status == Status::Started;
                (!runs, task.started_at.filter(|_| runs).unwrap_or(task.ready_at))
            });
        }
    }

    fn arrange_queues(self, queues: &mut [QueueView]) {
        queues.sort_by(|a, b| a.name.cmp(&b.name));
        match self {
            Self::Name => {}
            Self::Size => queues.sort_by_key(|queue| Reverse(count(queue, Status::Submitted))),
            Self::Trouble => queues.sort_by(|a, b| {
                let age = |queue: &QueueView| queue.oldest_ready_age.unwrap_or(-1.0);
                age(b).total_cmp(&age(a))
            }),
        }
    }

    fn arrange_workers(self, workers: &mut [WorkerView]) {
        workers.sort_by(|a, b| a.id.cmp(&b.id));
        match self {
            Self::Name => {}
            Self::Size => workers.sort_by_key(|worker| Reverse(worker.settled)),
            Self::Trouble => workers.sort_by_key(|worker| {
                let busy = u64::from(worker.running) * 1_000 / u64::from(worker.slots.max(1));
                (worker.state == "running", Reverse(busy))
            }),
        }
    }

    fn arrange_tasks<K: Ord>(self, tasks: &mut [TaskView], trouble: impl Fn(&TaskView) -> K) {
        tasks.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        match self {
            Self::Name => {}
            Self::Size => tasks.sort_by_key(|task| Reverse(task.attempt)),
            Self::Trouble => tasks.sort_by_key(trouble),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;
    use crate::top::{
        state::tests::{look, queue},
        view::tests::{failed, worker},
    };

    /// The rows of all lists in this order: queues, workers, failures, and the tasks inside a queue.
    fn rows(order: RowOrder) -> [String; 4] {
        let queues = vec![queue("c", 9, 5, None), queue("a", 9, 1, Some(3.0)), queue("b", 9, 2, Some(60.0))];
        let mut snapshot = look(Instant::now(), queues);
        let draining = worker();
        let of = |id: &str, running, settled| WorkerView {
            id: id.parse().unwrap(),
            state: "running".into(),
            running,
            settled,
            ..draining.clone()
        };
        snapshot.workers = vec![of("w-3", 1, 9), of("w-2", 60, 1), draining.clone()];
        let at = |seconds: u8| serde_json::from_value(json!(format!("2026-01-01T00:00:{seconds:02}Z"))).unwrap();
        let task = |id: &str, name: &str, attempt, seconds| TaskView {
            id: id.parse().unwrap(),
            name: name.parse().unwrap(),
            attempt,
            ready_at: at(seconds),
            started_at: Some(at(seconds)),
            finished_at: Some(at(seconds)),
            ..failed("no")
        };
        snapshot.failures = vec![task("x", "send", 1, 5), task("y", "copy", 3, 9), task("z", "send", 2, 7)];
        let waiting = TaskView { status: Status::Submitted, ..task("w", "send", 0, 1) };
        let runs = |task: TaskView| TaskView { status: Status::Started, ..task };
        let inside = vec![waiting, runs(task("s", "send", 1, 8)), runs(task("r", "copy", 2, 4))];
        snapshot.inside = Some(Inside::Tasks(inside, false));
        order.arrange(&mut snapshot);
        let Some(Inside::Tasks(inside, _)) = snapshot.inside else { panic!("they are still there") };
        let ids = |tasks: &[TaskView]| tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(" ");
        [
            snapshot.queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(" "),
            snapshot.workers.iter().map(|worker| worker.id.as_str()).collect::<Vec<_>>().join(" "),
            ids(&snapshot.failures),
            ids(&inside),
        ]
    }

    #[test]
    fn each_list_has_its_order() {
        assert_eq!(rows(RowOrder::Trouble), ["b a c", "w-1 w-2 w-3", "y z x", "r s w"]);
        assert_eq!(rows(RowOrder::Name), ["a b c", "w-1 w-2 w-3", "y x z", "r s w"]);
        assert_eq!(rows(RowOrder::Size), ["c b a", "w-1 w-3 w-2", "y z x", "r s w"]);
    }

    #[test]
    fn the_orders_follow_each_other_in_a_circle() {
        let order = RowOrder::Trouble;
        assert_eq!(
            [order.next(), order.next().next(), order.next().next().next()],
            [RowOrder::Name, RowOrder::Size, order]
        );
    }
}
