//! Workers and the store's health, out.

use jobbers_common::{
    engine::Health,
    name::{QueueName, RoleName, WorkerId},
    worker::{RegisteredWorker, WorkerState},
};
use serde::Serialize;
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
    /// When it was first heard of.
    started_at: Rfc3339,
    /// When it was last heard of.
    seen_at: Rfc3339,
    /// When it is forgotten unless it is heard of again.
    expires_at: Rfc3339,
}

impl<'a> From<&'a RegisteredWorker> for WorkerView<'a> {
    fn from(worker: &'a RegisteredWorker) -> Self {
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
    /// What survives what.
    durability: String,
    /// What an operator should mend.
    warnings: Vec<String>,
    /// Dead letters that wait in the store to be archived.
    outbox: u64,
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
            durability: health.durability,
            warnings: health.warnings,
            outbox: health.outbox,
            now: health.now.into(),
        }
    }
}
