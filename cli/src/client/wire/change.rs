//! The results of submissions and cancels.

use serde::Deserialize;

/// A submitted task.
#[derive(Debug, Deserialize)]
pub struct Submitted {
    /// Its identity.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// Its status.
    pub status: String,
    /// Whether a task was stored; false when it was there already.
    pub created: bool,
    /// Whether the task that holds its unique key has become what it says.
    #[serde(default)]
    pub updated: bool,
    /// What may be wrong with it.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// Something about a submission that may not be what its sender wants.
#[derive(Debug, Deserialize)]
pub struct Warning {
    /// The problem.
    pub detail: String,
}

/// A batch of them.
#[derive(Debug, Deserialize)]
pub struct SubmittedBatch {
    /// In the order they were sent.
    pub tasks: Vec<Submitted>,
}

/// What a cancel did.
#[derive(Debug, Deserialize)]
pub struct CancelAnswer {
    /// Tasks that are cancelled now.
    pub cancelled: u64,
    /// Running tasks whose workers have been notified.
    pub requested: u64,
    /// Tasks that were over before.
    pub already_over: u64,
    /// Tasks that do not exist.
    pub unknown: u64,
    /// One by one.
    pub tasks: Vec<CancelledTask>,
}

/// What a deletion did.
#[derive(Debug, Deserialize)]
pub struct DeleteAnswer {
    /// Tasks that run, and stay.
    pub running: u64,
    /// Tasks that do not exist.
    pub unknown: u64,
    /// One by one.
    pub tasks: Vec<DeletedTask>,
}

/// What a deletion did to one task.
#[derive(Debug, Deserialize)]
pub struct DeletedTask {
    /// Its id.
    pub id: String,
    /// `deleted`, `running` or `unknown`.
    pub outcome: String,
}

/// What a cancel did to one task.
#[derive(Debug, Deserialize)]
pub struct CancelledTask {
    /// Its id.
    pub id: String,
    /// `cancelled`, `requested`, `already_over` or `unknown`.
    pub outcome: String,
    /// Its status now.
    pub status: Option<String>,
}
