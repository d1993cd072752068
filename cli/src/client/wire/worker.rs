//! Workers.

use jiff::Timestamp;
use serde::Deserialize;

/// All workers.
#[derive(Debug, Deserialize)]
pub struct Workers {
    /// In the order of their ids.
    pub workers: Vec<Worker>,
}

/// A worker that is alive.
#[derive(Debug, Deserialize)]
pub struct Worker {
    /// Its identity.
    pub id: String,
    /// The host it runs on.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// Its role.
    pub role: String,
    /// The queues it serves.
    pub queues: Vec<String>,
    /// How many tasks it runs at a time at most.
    pub slots: u32,
    /// How many it runs now.
    pub running: u32,
    /// Whether it takes on tasks.
    pub state: String,
    /// What it has settled since it started.
    pub settled: u64,
    /// When it was first heard of.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
    /// Since when it has been told to drain.
    pub draining_since: Option<Timestamp>,
    /// While it drains: when it has nothing left to run, at the latest.
    pub done_by: Option<Timestamp>,
}

/// The workers that were told to drain or to claim again.
#[derive(Debug, Deserialize)]
pub struct Steered {
    /// Their ids.
    pub workers: Vec<String>,
}
