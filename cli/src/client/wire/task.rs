//! Tasks, looked at.

use jiff::Timestamp;
use jobbers_common::lifecycle::Status;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A task.
#[derive(Debug, Clone, Deserialize)]
pub struct Task {
    /// Its identity.
    pub id: String,
    /// What is run.
    pub name: String,
    /// Which version of it.
    pub version: u32,
    /// Its queue.
    pub queue: String,
    /// Its rank in the queue.
    pub priority: u8,
    /// Where it stands.
    pub status: String,
    /// What its submission changed of the task's policy.
    #[serde(default)]
    pub policy: serde_json::Map<String, serde_json::Value>,
    /// Its attempts.
    pub attempt: u32,
    /// Its lost leases.
    #[serde(default)]
    pub crashes: u32,
    /// When the store took it.
    pub submitted_at: Timestamp,
    /// When it became, or becomes, due.
    pub ready_at: Timestamp,
    /// When its latest attempt started.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
    /// Who ran it last, or runs it.
    pub worker: Option<String>,
    /// Whether somebody asked for it to be cancelled.
    #[serde(default)]
    pub cancel_requested: bool,
    /// How far it is.
    pub progress: Option<Progress>,
    /// What it was given.
    pub parameters: Option<Box<RawValue>>,
    /// What it answered.
    pub result: Option<Box<RawValue>>,
    /// Of what it is to be the only one.
    pub unique: Option<Unique>,
    /// Whose it is, for limits by key.
    pub concurrency_key: Option<String>,
    /// Its failed attempts.
    #[serde(default)]
    pub errors: Vec<AttemptError>,
}

/// Of what a task is to be the only one.
#[derive(Debug, Clone, Deserialize)]
pub struct Unique {
    /// The key, among tasks of its name.
    pub key: String,
}

impl Task {
    /// Whether it is over. A status this program does not know counts as live.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.status.parse::<Status>().is_ok_and(Status::is_finished)
    }
}

/// How far a task says it is.
#[derive(Debug, Clone, Deserialize)]
pub struct Progress {
    /// 0 to 1.
    pub fraction: f64,
    /// A word to the reader.
    #[serde(default)]
    pub message: String,
}

/// One failed attempt.
#[derive(Debug, Clone, Deserialize)]
pub struct AttemptError {
    /// When.
    pub at: Timestamp,
    /// Which.
    pub attempt: u32,
    /// Who ran it.
    pub worker: String,
    /// What kind of failure.
    pub kind: String,
    /// What sort of error it was, if the task said so.
    pub error_kind: Option<String>,
    /// What it said.
    pub message: String,
}

/// Why a task stands where it does.
#[derive(Debug, Deserialize)]
pub struct Explanation {
    /// Its identity.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// Where it stands.
    pub status: String,
    /// What it waits for.
    pub reasons: Vec<Reason>,
}

/// One of the things a task waits for.
#[derive(Debug, Deserialize)]
pub struct Reason {
    /// Which, for programs.
    pub code: String,
    /// The same in a sentence.
    pub message: String,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// The tasks that hold what it waits for.
    #[serde(default)]
    pub tasks: Vec<String>,
}

/// A page of tasks.
#[derive(Debug, Deserialize)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
    /// How many tasks a search by parameters looked at.
    pub scanned: Option<u64>,
    /// Whether the search ended before the page was full.
    #[serde(default)]
    pub gave_up: bool,
}

/// A page of running tasks.
#[derive(Debug, Deserialize)]
pub struct ActivePage {
    /// Longest running first.
    pub tasks: Vec<ActiveTask>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// A running task.
#[derive(Debug, Deserialize)]
pub struct ActiveTask {
    /// Its identity.
    pub id: String,
    /// What runs.
    pub name: String,
    /// Which version of it.
    pub version: u32,
    /// Its queue.
    pub queue: String,
    /// Who runs it.
    pub worker: Option<String>,
    /// Which attempt.
    pub attempt: u32,
    /// For how long, in seconds.
    pub running_for: f64,
    /// How far it is.
    pub progress: Option<Progress>,
    /// Whether somebody asked for it to be cancelled.
    pub cancel_requested: bool,
}

/// A page of tasks whose time lies ahead.
#[derive(Debug, Deserialize)]
pub struct ScheduledPage {
    /// Next due first.
    pub tasks: Vec<ScheduledTask>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// A task whose time lies ahead.
#[derive(Debug, Deserialize)]
pub struct ScheduledTask {
    /// Its identity.
    pub id: String,
    /// What will run.
    pub name: String,
    /// Which version of it.
    pub version: u32,
    /// Its queue.
    pub queue: String,
    /// Its rank in the queue.
    pub priority: u8,
    /// Its attempts so far.
    pub attempt: u32,
    /// When it is due.
    pub ready_at: Timestamp,
}
