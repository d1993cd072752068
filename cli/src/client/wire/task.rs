//! Tasks, looked at.

use jiff::Timestamp;
use jobbers_common::{label::Labels, lifecycle::Status};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A task.
#[derive(Debug, Clone, Deserialize)]
pub struct Task {
    /// Its identity.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its queue.
    pub queue: String,
    /// Its rank in the queue.
    pub priority: u8,
    /// Its status.
    pub status: String,
    /// What its submission changed of the task's policy.
    #[serde(default)]
    pub policy: serde_json::Map<String, serde_json::Value>,
    /// Its attempts.
    pub attempt: u32,
    /// Its lost leases.
    #[serde(default)]
    pub crashes: u32,
    /// When the store accepted it.
    pub submitted_at: Timestamp,
    /// When it became, or becomes, due.
    pub ready_at: Timestamp,
    /// Until when its first attempt must begin.
    pub expires_at: Option<Timestamp>,
    /// When its latest attempt started.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
    /// The worker that runs it or ran it last.
    pub worker: Option<String>,
    /// Whether its cancel was requested.
    #[serde(default)]
    pub cancel_requested: bool,
    /// Its progress.
    pub progress: Option<Progress>,
    /// Its parameters.
    pub parameters: Option<Box<RawValue>>,
    /// Its result.
    pub result: Option<Box<RawValue>>,
    /// Its uniqueness constraint.
    pub unique: Option<Unique>,
    /// Its concurrency key.
    pub concurrency_key: Option<String>,
    /// Its labels.
    #[serde(default)]
    pub labels: Labels,
    /// Its failed attempts.
    #[serde(default)]
    pub errors: Vec<AttemptError>,
    /// What it waits or waited for.
    #[serde(default)]
    pub dependencies: Dependencies,
}

/// What a task waits for.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Dependencies {
    /// Its signals from outside.
    #[serde(default)]
    pub external: Vec<ExternalSignal>,
}

/// A signal from outside.
#[derive(Debug, Clone, Deserialize)]
pub struct ExternalSignal {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: String,
    /// How long it may take.
    pub timeout: Option<String>,
    /// Until when it must come, once that is known.
    pub due: Option<Timestamp>,
    /// When it came or timed out, or when the task ended without it.
    pub at: Option<Timestamp>,
}

/// A uniqueness constraint.
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

/// The progress that a task reported.
#[derive(Debug, Clone, Deserialize)]
pub struct Progress {
    /// 0 to 1.
    pub fraction: f64,
    /// A message for the reader.
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
    /// The worker that ran it.
    pub worker: String,
    /// What kind of failure.
    pub kind: String,
    /// The kind of error, if the task set one.
    pub error_kind: Option<String>,
    /// Its message.
    pub message: String,
}

/// Why a task has its status.
#[derive(Debug, Deserialize)]
pub struct Explanation {
    /// Its identity.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// Its status.
    pub status: String,
    /// Until when its first attempt must begin.
    pub expires_at: Option<Timestamp>,
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
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its queue.
    pub queue: String,
    /// The worker that runs it.
    pub worker: Option<String>,
    /// Which attempt.
    pub attempt: u32,
    /// For how long, in seconds.
    pub running_for: f64,
    /// Its progress.
    pub progress: Option<Progress>,
    /// Whether its cancel was requested.
    pub cancel_requested: bool,
}

/// A page of tasks whose time is in the future.
#[derive(Debug, Deserialize)]
pub struct ScheduledPage {
    /// Next due first.
    pub tasks: Vec<ScheduledTask>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// A task whose time is in the future.
#[derive(Debug, Deserialize)]
pub struct ScheduledTask {
    /// Its identity.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
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
