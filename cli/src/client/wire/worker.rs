//! Workers.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

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
    /// Whether it claims tasks.
    pub state: String,
    /// What it has settled since it started.
    pub settled: u64,
    /// When it registered first.
    pub started_at: Timestamp,
    /// When it registered last.
    pub seen_at: Timestamp,
    /// Since when it drains by request.
    pub draining_since: Option<Timestamp>,
    /// While it drains: when it has nothing left to run, at the latest.
    pub done_by: Option<Timestamp>,
    /// Threads that blocking tasks hold although their attempts are over, the longest first.
    #[serde(default)]
    pub hung_threads: Vec<HungThread>,
}

/// A thread of a worker that a blocking task holds although its attempt is over.
#[derive(Debug, Deserialize)]
pub struct HungThread {
    /// The task.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its queue.
    pub queue: String,
    /// Which of its attempts holds the thread.
    pub attempt: u32,
    /// Since when.
    pub since: Timestamp,
}

/// Everything that live workers can run.
#[derive(Debug, Deserialize)]
pub struct RegisteredTasks {
    /// In the order of names and versions.
    pub tasks: Vec<RegisteredTask>,
}

/// A version of a task that live workers can run.
#[derive(Debug, Deserialize)]
pub struct RegisteredTask {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its author's description.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its parameters.
    pub parameters: Option<Value>,
    /// How often its workers may vanish before it is failed.
    pub max_crashes: Option<u32>,
    /// Whether it is kept when it fails for good.
    pub dead_letter: Option<String>,
    /// How many live workers can run it.
    pub workers: u32,
    /// The queues from which these claim.
    pub queues: Vec<String>,
    /// Their roles; empty from a manager that does not name them.
    #[serde(default)]
    pub roles: Vec<String>,
}

/// The workers that got the request to drain or to resume.
#[derive(Debug, Deserialize)]
pub struct Steered {
    /// Their ids.
    pub workers: Vec<String>,
}
