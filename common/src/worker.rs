//! What the store knows of a running worker.

pub mod registry;
pub mod task_kind;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    name::{QueueName, RoleName, TaskId, TaskName, WorkerId},
    time::Timestamp,
    values::duration,
    worker::registry::CatalogueId,
};

/// In place of the tasks that a worker can run: it can run any.
pub const ANY_TASK: &str = "*";

/// Whether a worker takes on tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerState {
    /// It claims tasks.
    Running,
    /// It finishes what it runs and claims nothing more.
    Draining,
}

/// A worker's word about itself, renewed with its leases. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its id, new at each start.
    pub id: WorkerId,
    /// The host it runs on.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Its role.
    pub role: RoleName,
    /// The queues it serves, in order.
    pub queues: Vec<QueueName>,
    /// How many tasks it runs at a time at most.
    pub slots: u32,
    /// How many it runs now.
    pub running: u32,
    /// Whether it takes on tasks.
    pub state: WorkerState,
    /// `name@version` of every task it can run, or [`ANY_TASK`].
    pub tasks: Vec<String>,
    /// How many it has settled since it started.
    pub settled: u64,
    /// The digest of its [`crate::worker::registry::Catalogue`], once the store has that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<CatalogueId>,
    /// While it drains: what it still runs, the first hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<TaskId>,
    /// While it drains: for how long already.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub draining_for: Option<Duration>,
    /// While it drains: how long until it has nothing left to run, at the latest. `None` if unknown: a task
    /// without a timeout.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub done_within: Option<Duration>,
    /// Threads it has written off and that are still held, the longest first: at most a hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hung_threads: Vec<HeldThread>,
    /// Its threads for blocking tasks. `None` if it has no blocking task or does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking: Option<BlockingThreads>,
}

impl WorkerReport {
    /// Whether it can run any task, as a worker that names none over HTTP.
    #[must_use]
    pub fn takes_any(&self) -> bool {
        self.tasks.iter().any(|task| task == ANY_TASK)
    }
}

/// A worker's threads for blocking tasks, without those it has written off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockingThreads {
    /// How many there are: so many blocking tasks run at a time at most.
    pub threads: u32,
    /// `name@version` of every blocking task it can run.
    pub tasks: Vec<String>,
    /// How many threads run a task.
    pub busy: u32,
    /// How many blocking tasks it has claimed that wait for a thread.
    pub waiting: u32,
    /// The threads that run a task, the longest first: at most a hundred.
    pub held: Vec<HeldThread>,
}

/// A thread that a blocking task holds. If the worker has written it off, the task's attempt is over, but its function did
/// not return within its grace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldThread {
    /// The task.
    pub id: TaskId,
    /// Its queue.
    pub queue: QueueName,
    /// Its name.
    pub name: TaskName,
    /// Which of its attempts holds the thread.
    pub attempt: u32,
    /// For how long, when it was reported.
    #[serde(with = "duration::text")]
    pub held_for: Duration,
}

/// A registered worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredWorker {
    /// What it said last.
    pub report: WorkerReport,
    /// When it registered first.
    pub started_at: Timestamp,
    /// When it was heard of last.
    pub seen_at: Timestamp,
    /// When it is forgotten unless it is heard of again.
    pub expires_at: Timestamp,
}
