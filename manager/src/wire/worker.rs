//! Workers and the store's health, out.

use jobbers_common::{
    engine::Health,
    name::{QueueName, RoleName, TaskId, TaskName, WorkerId},
    time::Timestamp,
    worker::{HungThread, RegisteredWorker, WorkerReport, WorkerState},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::value::{NameDoc, Rfc3339};

/// A worker that was heard of lately.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Worker)]
pub struct WorkerView<'a> {
    /// Its id, new at each start.
    #[schema(value_type = NameDoc)]
    id: &'a WorkerId,
    /// The host it runs on.
    host: &'a str,
    /// Its process id there.
    pid: u32,
    /// The version of the program.
    version: &'a str,
    /// Its role.
    #[schema(value_type = NameDoc)]
    role: &'a RoleName,
    /// The queues it serves, in order.
    #[schema(value_type = Vec<NameDoc>)]
    queues: &'a [QueueName],
    /// How many tasks it runs at a time at most.
    slots: u32,
    /// How many it runs now.
    running: u32,
    /// `running`, or `draining`: it finishes what it runs and claims nothing more.
    state: &'static str,
    /// `name@version` of every task it can run.
    tasks: &'a [String],
    /// How many it has settled since it started.
    settled: u64,
    /// Since when it drains by request.
    #[serde(skip_serializing_if = "Option::is_none")]
    draining_since: Option<Rfc3339>,
    /// While it drains: what it still runs, the first hundred.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(value_type = Vec<NameDoc>)]
    left: &'a [TaskId],
    /// While it drains: when it has nothing left to run, at the latest; absent when a task without a timeout runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_by: Option<Rfc3339>,
    /// Threads that blocking tasks hold although their attempts are over, the longest first: at most a hundred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hung_threads: Vec<HungThreadView<'a>>,
    /// When it was first heard of.
    started_at: Rfc3339,
    /// When it was last heard of.
    seen_at: Rfc3339,
    /// When it is forgotten unless it is heard of again.
    expires_at: Rfc3339,
}

/// A thread of a worker that a blocking task holds although its attempt is over.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HungThread)]
pub struct HungThreadView<'a> {
    /// The task.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// Which of its attempts holds the thread.
    attempt: u32,
    /// Since when.
    since: Rfc3339,
}

impl<'a> HungThreadView<'a> {
    fn new(thread: &'a HungThread, worker: &RegisteredWorker) -> Self {
        let HungThread { id, queue, name, attempt, .. } = thread;
        Self { id, name, queue, attempt: *attempt, since: held_since(thread, worker).into() }
    }
}

/// Since when a thread is held, by the store's clock.
pub(crate) fn held_since(thread: &HungThread, worker: &RegisteredWorker) -> Timestamp {
    worker.seen_at.before(thread.held_for)
}

impl<'a> WorkerView<'a> {
    pub(crate) fn new(worker: &'a RegisteredWorker, draining_since: Option<&Timestamp>) -> Self {
        let report = &worker.report;
        Self {
            id: &report.id,
            host: &report.host,
            pid: report.pid,
            version: &report.version,
            role: &report.role,
            queues: &report.queues,
            slots: report.slots,
            running: report.running,
            state: match report.state {
                WorkerState::Running => "running",
                WorkerState::Draining => "draining",
            },
            tasks: &report.tasks,
            settled: report.settled,
            draining_since: draining_since.copied().map(Rfc3339),
            left: &report.left,
            done_by: report.done_within.map(|left| worker.seen_at.after(left).into()),
            hung_threads: report.hung_threads.iter().map(|thread| HungThreadView::new(thread, worker)).collect(),
            started_at: worker.started_at.into(),
            seen_at: worker.seen_at.into(),
            expires_at: worker.expires_at.into(),
        }
    }
}

/// All workers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Workers)]
pub struct WorkerListView<'a> {
    /// In the order of their ids.
    pub(crate) workers: Vec<WorkerView<'a>>,
}

/// Which workers: all that is said must fit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerSelection {
    /// On this host.
    #[serde(default)]
    host: Option<String>,
    /// Of this version of the program.
    #[serde(default)]
    version: Option<String>,
    /// Of this role.
    #[serde(default)]
    #[schema(value_type = Option<NameDoc>)]
    role: Option<RoleName>,
}

impl WorkerSelection {
    pub(crate) const fn is_empty(&self) -> bool {
        self.host.is_none() && self.version.is_none() && self.role.is_none()
    }

    pub(crate) fn matches(&self, report: &WorkerReport) -> bool {
        self.host.as_ref().is_none_or(|host| *host == report.host)
            && self.version.as_ref().is_none_or(|version| *version == report.version)
            && self.role.as_ref().is_none_or(|role| *role == report.role)
    }
}

/// The workers that got the request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SteeredWorkers)]
pub struct SteeredView {
    /// Their ids.
    #[schema(value_type = Vec<NameDoc>)]
    pub(crate) workers: Vec<WorkerId>,
}

/// That the process is alive.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Live)]
pub struct LiveView {
    /// `live`.
    pub(crate) status: &'static str,
}

/// Whether the manager can do its work, and what its store promises.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ready)]
pub struct ReadyView {
    /// Always `ready`.
    status: &'static str,
    /// The manager's version.
    version: &'static str,
    /// For how long it has been running, in seconds.
    uptime: f64,
    /// The kind of store.
    engine: &'static str,
    /// The store's absolute address, without a login.
    store: String,
    /// What survives what.
    durability: String,
    /// What an operator should mend.
    warnings: Vec<String>,
    /// Dead letters that wait in the store to be archived.
    outbox: u64,
    /// Pruned tasks that are remembered because their clients chose their ids.
    tombstones: u64,
    /// The store's present.
    now: Rfc3339,
}

impl ReadyView {
    pub(crate) fn new(health: Health, uptime: f64) -> Self {
        Self {
            status: "ready",
            version: env!("CARGO_PKG_VERSION"),
            uptime,
            engine: health.engine,
            store: health.store,
            durability: health.durability,
            warnings: health.warnings,
            outbox: health.outbox,
            tombstones: health.tombstones.count,
            now: health.now.into(),
        }
    }
}
