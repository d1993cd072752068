//! Workers and the store's health: answers as JSON.

pub mod registry;

use jobbers_common::{
    engine::Health,
    name::{QueueName, RoleName, TaskId, TaskName, WorkerId},
    time::Timestamp,
    worker::{HeldThread, RegisteredWorker, WorkerReport, WorkerState},
};
use serde::{Deserialize, Serialize};

use super::value::{NameDoc, Rfc3339, TaskIdDoc, Word};
use crate::openapi::ToSchema;

/// A worker that was heard of lately.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Worker)]
pub struct WorkerView {
    /// Its id, new at each start.
    #[schema(value_type = NameDoc)]
    pub id: WorkerId,
    /// The host it runs on.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Its role.
    #[schema(value_type = NameDoc)]
    pub role: RoleName,
    /// The queues it serves, in order.
    #[schema(value_type = Vec<NameDoc>)]
    pub queues: Vec<QueueName>,
    /// How many tasks it runs at a time at most.
    pub slots: u32,
    /// How many it runs now.
    pub running: u32,
    /// `running`, or `draining`: it finishes what it runs and claims nothing more.
    #[schema(value_type = String)]
    pub state: Word,
    /// `name@version` of every task it can run.
    pub tasks: Vec<String>,
    /// How many it has settled since it started.
    pub settled: u64,
    /// Since when it drains by request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draining_since: Option<Rfc3339>,
    /// While it drains: what it still runs, the first hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<TaskIdDoc>)]
    pub left: Vec<TaskId>,
    /// While it drains: when it has nothing left to run, at the latest; absent when a task without a timeout runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_by: Option<Rfc3339>,
    /// Threads that blocking tasks hold although their attempts are over, the longest first: at most a hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hung_threads: Vec<HeldThreadView>,
    /// Its threads for blocking tasks. Absent if it has no blocking task or does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<BlockingThreadsView>,
    /// When it was first heard of.
    pub started_at: Rfc3339,
    /// When it was last heard of.
    pub seen_at: Rfc3339,
    /// When it is forgotten unless it is heard of again.
    pub expires_at: Rfc3339,
}

/// A worker's threads for blocking tasks, without those that it has written off.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = BlockingThreads)]
pub struct BlockingThreadsView {
    /// How many there are: so many blocking tasks run at a time at most.
    pub threads: u32,
    /// How many threads run a task.
    pub busy: u32,
    /// How many blocking tasks it has claimed that wait for a thread.
    pub waiting: u32,
    /// The threads that run a task, the longest first: at most a hundred.
    pub held: Vec<HeldThreadView>,
}

/// A thread of a worker that a blocking task holds.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = HeldThread)]
pub struct HeldThreadView {
    /// The task.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// Which of its attempts holds the thread.
    pub attempt: u32,
    /// Since when.
    pub since: Rfc3339,
}

impl HeldThreadView {
    fn all(threads: &[HeldThread], worker: &RegisteredWorker) -> Vec<Self> {
        threads.iter().map(|thread| Self::new(thread, worker)).collect()
    }

    fn new(thread: &HeldThread, worker: &RegisteredWorker) -> Self {
        let HeldThread { id, queue, name, attempt, .. } = thread;
        Self {
            id: id.clone(),
            name: name.clone(),
            queue: queue.clone(),
            attempt: *attempt,
            since: held_since(thread, worker).into(),
        }
    }
}

/// Since when a thread is held, by the store's clock.
pub fn held_since(thread: &HeldThread, worker: &RegisteredWorker) -> Timestamp {
    worker.seen_at.before(thread.held_for)
}

impl WorkerView {
    /// A worker, and since when it drains by request.
    pub fn new(worker: &RegisteredWorker, draining_since: Option<&Timestamp>) -> Self {
        let report = &worker.report;
        Self {
            id: report.id.clone(),
            host: report.host.clone(),
            pid: report.pid,
            version: report.version.clone(),
            role: report.role.clone(),
            queues: report.queues.clone(),
            slots: report.slots,
            running: report.running,
            state: match report.state {
                WorkerState::Running => "running".into(),
                WorkerState::Draining => "draining".into(),
            },
            tasks: report.tasks.clone(),
            settled: report.settled,
            draining_since: draining_since.copied().map(Rfc3339),
            left: report.left.clone(),
            done_by: report.done_within.map(|left| worker.seen_at.after(left).into()),
            hung_threads: HeldThreadView::all(&report.hung_threads, worker),
            blocking: report.blocking.as_ref().map(|blocking| BlockingThreadsView {
                threads: blocking.threads,
                busy: blocking.busy,
                waiting: blocking.waiting,
                held: HeldThreadView::all(&blocking.held, worker),
            }),
            started_at: worker.started_at.into(),
            seen_at: worker.seen_at.into(),
            expires_at: worker.expires_at.into(),
        }
    }
}

/// All workers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Workers)]
pub struct WorkerListView {
    /// In the order of their ids.
    pub workers: Vec<WorkerView>,
}

/// Which workers: all that is said must fit.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerSelection {
    /// On this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Of this version of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Of this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub role: Option<RoleName>,
}

impl WorkerSelection {
    /// Whether it says nothing.
    pub const fn is_empty(&self) -> bool {
        self.host.is_none() && self.version.is_none() && self.role.is_none()
    }

    /// Whether it means this worker.
    pub fn matches(&self, report: &WorkerReport) -> bool {
        self.host.as_ref().is_none_or(|host| *host == report.host)
            && self.version.as_ref().is_none_or(|version| *version == report.version)
            && self.role.as_ref().is_none_or(|role| *role == report.role)
    }
}

/// The workers that got the request.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SteeredWorkers)]
pub struct SteeredView {
    /// Their ids.
    #[schema(value_type = Vec<NameDoc>)]
    pub workers: Vec<WorkerId>,
}

/// That the process is alive.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Live)]
pub struct LiveView {
    /// `live`.
    #[schema(value_type = String)]
    pub status: Word,
}

/// Whether the manager can do its work, and what its store promises. A client without a key is shown the status alone, if the
/// store has keys.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Ready)]
pub struct ReadyView {
    /// Always `ready`.
    #[schema(value_type = String)]
    pub status: Word,
    /// The manager's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub version: Option<Word>,
    /// For how long it has been running, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<f64>,
    /// The kind of store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub engine: Option<Word>,
    /// The store's absolute address, without a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// What carries it, with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What survives what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// What an operator should mend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    /// Those of the warnings that say where the manager serves other machines unprotected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub insecure: Vec<String>,
    /// Dead letters that wait in the store to be archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outbox: Option<u64>,
    /// Pruned tasks that are remembered because their clients chose their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tombstones: Option<u64>,
    /// The name of the access key that the request came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in_as: Option<String>,
    /// The store's present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Rfc3339>,
}

impl ReadyView {
    /// A manager that has been running for this many seconds.
    pub fn new(health: Health, uptime: f64) -> Self {
        Self {
            status: "ready".into(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            uptime: Some(uptime),
            engine: Some(health.engine.into()),
            store: Some(health.store),
            server: Some(health.server),
            durability: Some(health.durability),
            warnings: Some(health.warnings),
            insecure: Vec::new(),
            outbox: Some(health.outbox),
            tombstones: Some(health.tombstones.count),
            signed_in_as: None,
            now: Some(health.now.into()),
        }
    }

    /// What a client without a key is shown.
    pub fn without_details() -> Self {
        Self {
            status: "ready".into(),
            version: None,
            uptime: None,
            engine: None,
            store: None,
            server: None,
            durability: None,
            warnings: None,
            insecure: Vec::new(),
            outbox: None,
            tombstones: None,
            signed_in_as: None,
            now: None,
        }
    }
}
