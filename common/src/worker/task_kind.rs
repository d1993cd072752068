//! What workers know tasks by: a name and a version. And who knows a kind of task that a worker does not.
//!
//! A worker that is handed a task it does not know leaves tasks of this kind to others as long as another live worker of
//! the queue knows it: its claims refuse the kind ([`crate::engine::Refusal`]). Stores set refused tasks aside behind a gate
//! of their kind ([`TaskKind::gate_code`]). When no live worker of the queue knows the kind, the worker is handed a few of these
//! tasks now and then, so that the queue's patience with unknown tasks is judged ([`crate::engine::Outcome::Unknown`]). It gives
//! them back with a delay ([`unknown_delay`]), and refuses the kind for a moment ([`UNKNOWN_RESTS`]): so all others stay in
//! their queue, and a worker that knows the kind finds them as soon as it starts.

use std::{fmt, time::Duration};

use crate::{
    name::{QueueName, TaskName, WorkerId},
    task::{ClaimedTask, Task},
    worker::{RegisteredWorker, WorkerReport, WorkerState},
};

/// A kind of task: every worker that knows it runs it by the same name and version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskKind {
    /// Its name.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
}

impl TaskKind {
    /// The gate behind which stores set tasks of this kind aside: `?`, then the kind. Gates of suspects (`!`) sort before
    /// these, gates of limits ([`crate::queue::gate::Gate::code`]) after them.
    #[must_use]
    pub fn gate_code(&self) -> String {
        format!("?{self}")
    }

    /// Whether a task is of this kind.
    #[must_use]
    pub fn includes(&self, task: &Task) -> bool {
        self.name == task.name && self.version == task.version
    }

    /// Whether a worker can run tasks of this kind.
    #[must_use]
    pub fn is_known_to(&self, report: &WorkerReport) -> bool {
        report.takes_any() || report.tasks.contains(&self.to_string())
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// The bounds of the delay of a task that no live worker knows.
pub const UNKNOWN_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long a worker refuses a kind that no live worker knows after it gave tasks of this kind back.
pub const UNKNOWN_RESTS: Duration = Duration::from_secs(1);
/// The share of the time a task has waited that it is delayed by: one in this number.
const SHARE_OF_WAIT: u32 = 100;

/// How long a task that no live worker knows is not handed out again: a hundredth of the time it has waited, from 1 s to 30 s.
/// So a worker that knows it and starts late gets it soon.
#[must_use]
pub fn unknown_delay(task: &ClaimedTask) -> Duration {
    let (shortest, longest) = UNKNOWN_DELAYS;
    (task.started_at.since(task.ready_at) / SHARE_OF_WAIT).clamp(shortest, longest)
}

/// Whether a live worker other than `worker` claims from `queue` and knows `kind`. One that drains claims nothing more.
#[must_use]
pub fn is_known_elsewhere(workers: &[RegisteredWorker], worker: &WorkerId, queue: &QueueName, kind: &TaskKind) -> bool {
    workers.iter().map(|known| &known.report).any(|report| {
        report.id != *worker
            && report.state == WorkerState::Running
            && report.queues.contains(queue)
            && kind.is_known_to(report)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{name::RoleName, queue::gate::Gate, time::Timestamp, worker::ANY_TASK};

    fn kind(version: u32) -> TaskKind {
        TaskKind { name: TaskName::new("mine").unwrap(), version }
    }

    fn registered(id: &str, state: WorkerState) -> RegisteredWorker {
        let report = WorkerReport {
            id: WorkerId::new(id).unwrap(),
            host: "here".to_owned(),
            pid: 1,
            version: "1".to_owned(),
            role: RoleName::new("default").unwrap(),
            queues: vec![QueueName::new("default").unwrap()],
            slots: 1,
            running: 0,
            state,
            tasks: vec!["mine@1".to_owned()],
            settled: 0,
            catalogue: None,
            left: Vec::new(),
            draining_for: None,
            done_within: None,
            hung_threads: Vec::new(),
            blocking: None,
        };
        let now = Timestamp::from_micros(1);
        RegisteredWorker { report, started_at: now, seen_at: now, expires_at: now }
    }

    #[test]
    fn a_kind_is_known_elsewhere_by_another_worker_that_claims_from_the_queue() {
        let (me, other) = (WorkerId::new("me").unwrap(), WorkerId::new("other").unwrap());
        let (default, mail) = (QueueName::new("default").unwrap(), QueueName::new("mail").unwrap());
        let workers = [registered("other", WorkerState::Running)];
        assert!(is_known_elsewhere(&workers, &me, &default, &kind(1)));
        assert!(!is_known_elsewhere(&workers, &other, &default, &kind(1)), "itself");
        assert!(!is_known_elsewhere(&workers, &me, &mail, &kind(1)), "another queue");
        assert!(!is_known_elsewhere(&workers, &me, &default, &kind(2)), "another version");
        let mut any = registered("other", WorkerState::Running);
        any.report.tasks = vec![ANY_TASK.to_owned()];
        assert!(is_known_elsewhere(&[any], &me, &default, &kind(2)), "it takes any");
        let draining = [registered("other", WorkerState::Draining)];
        assert!(!is_known_elsewhere(&draining, &me, &default, &kind(1)), "it claims nothing more");
    }

    #[test]
    fn gates_of_kinds_sort_between_suspects_and_limits() {
        let (key, name) = (crate::queue::gate::ConcurrencyKey::new("!").unwrap(), TaskName::new("mine").unwrap());
        for limit in [Gate::Key(key), Gate::Task(name)] {
            assert!(kind(1).gate_code() < limit.code());
        }
        assert!(*"!" < *kind(1).gate_code());
        assert_eq!((kind(7).gate_code().as_str(), Gate::parse("?mine@7")), ("?mine@7", None));
    }
}
