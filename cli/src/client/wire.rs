//! What is read of the manager's answers. Fields nobody here looks at are passed over, so a newer manager does not
//! frighten an older terminal.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jobbers_common::lifecycle::Status;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A refusal (`application/problem+json`).
#[derive(Debug, Deserialize)]
pub struct Problem {
    /// A stable word.
    pub code: String,
    /// What kind of problem it is.
    pub title: Option<String>,
    /// What happened this time.
    pub detail: Option<String>,
}

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
    pub completed_at: Option<Timestamp>,
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

/// A dead letter.
#[derive(Debug, Deserialize)]
pub struct DeadLetter {
    /// The task.
    pub task_id: String,
    /// Its queue.
    pub queue: String,
    /// What was run.
    pub task_name: String,
    /// Which version of it.
    pub task_version: u32,
    /// How it ended.
    pub status: String,
    /// When.
    pub failed_at: Timestamp,
    /// After how many attempts.
    pub attempt: u32,
    /// Its last error.
    pub error: String,
    /// What has become of it.
    pub state: String,
    /// When it was sent again.
    pub resubmitted_at: Option<Timestamp>,
    /// By which operation.
    pub operation: Option<String>,
}

/// A page of dead letters.
#[derive(Debug, Deserialize)]
pub struct DeadLetterPage {
    /// The letters.
    pub dead_letters: Vec<DeadLetter>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// A dead letter with its task.
#[derive(Debug, Deserialize)]
pub struct WholeDeadLetter {
    /// The letter.
    #[serde(flatten)]
    pub entry: DeadLetter,
    /// The task.
    pub task: Task,
}

/// Every failure of a task.
#[derive(Debug, Deserialize)]
pub struct FailureHistory {
    /// The oldest first.
    pub failures: Vec<AttemptError>,
}

/// Dead letters by cause.
#[derive(Debug, Deserialize)]
pub struct DeadLetterStats {
    /// The largest group first.
    pub groups: Vec<DeadLetterGroup>,
}

/// Dead letters of one cause.
#[derive(Debug, Deserialize)]
pub struct DeadLetterGroup {
    /// Their queue.
    pub queue: String,
    /// Their task.
    pub task_name: String,
    /// Its version.
    pub task_version: u32,
    /// What their errors have in common.
    pub fingerprint: String,
    /// How many.
    pub count: u64,
    /// When the first failed.
    pub first_seen: Timestamp,
    /// When the last failed.
    pub last_seen: Timestamp,
}

/// What a change of dead letters would do, or did.
#[derive(Debug, Deserialize)]
pub struct DeadLetterChange {
    /// How many match.
    pub matched: u64,
    /// How many are, or would be, changed.
    pub changed: u64,
}

/// An operation that sends dead letters again.
#[derive(Debug, Deserialize)]
pub struct ResubmitOperation {
    /// Its id.
    pub id: String,
    /// `running`, `cancelling`, `cancelled` or `done`.
    pub state: String,
    /// How many tasks it has.
    pub total: u64,
    /// How many are not sent yet.
    pub pending: u64,
    /// How many were sent again.
    pub resubmitted: u64,
    /// What became of its tasks, as far as they are told.
    pub tasks: Vec<ResubmittedTask>,
}

/// A task of an operation.
#[derive(Debug, Deserialize)]
pub struct ResubmittedTask {
    /// The task.
    pub task_id: String,
    /// What became of it.
    pub outcome: String,
    /// More about that.
    pub detail: Option<String>,
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
    pub next: Option<String>,
}

/// A submitted task as it stands.
#[derive(Debug, Deserialize)]
pub struct Submitted {
    /// Its identity.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// Where it stands.
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
    /// What is the matter.
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
    /// Tasks that run; their workers have been told.
    pub requested: u64,
    /// Tasks that were over before.
    pub already_over: u64,
    /// Tasks that do not exist.
    pub unknown: u64,
    /// One by one.
    pub tasks: Vec<CancelledTask>,
}

/// What a cancel did to one task.
#[derive(Debug, Deserialize)]
pub struct CancelledTask {
    /// Its id.
    pub id: String,
    /// `cancelled`, `requested`, `already_over` or `unknown`.
    pub outcome: String,
    /// Where it stands now.
    pub status: Option<String>,
}

/// A page of running tasks.
#[derive(Debug, Deserialize)]
pub struct ActivePage {
    /// Longest running first.
    pub tasks: Vec<ActiveTask>,
    /// Where the next page begins.
    pub next: Option<String>,
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
    pub next: Option<String>,
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

/// All queues.
#[derive(Debug, Deserialize)]
pub struct Queues {
    /// In the order of their names.
    pub queues: Vec<Queue>,
}

/// A queue.
#[derive(Debug, Deserialize)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// Whether it gives nothing out.
    pub paused: bool,
    /// At most this many of its tasks run in one worker at a time.
    pub max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time.
    pub max_concurrent: Option<u32>,
    /// At most so many of its tasks start in so much time.
    pub rate_limit: Option<Rate>,
    /// At most so many tasks are taken in in so much time.
    pub submit_rate_limit: Option<Rate>,
    /// At most this many of its tasks wait.
    pub max_length: Option<u64>,
    /// Which parameter gives a task its concurrency key.
    pub key_parameter: Option<String>,
    /// At most this many of its tasks of one key run at a time.
    pub max_concurrent_per_key: Option<u32>,
    /// At most so many of its tasks of one key start in so much time.
    pub rate_limit_per_key: Option<Rate>,
    /// What its tasks of these names may do.
    #[serde(default)]
    pub task_limits: BTreeMap<String, TaskLimits>,
    /// At most so many bytes of parameters wait in it.
    pub max_bytes: Option<u64>,
    /// As many do now, where that is limited.
    pub waiting_bytes: Option<u64>,
    /// How long finished tasks are kept.
    pub retention: Retention,
    /// How long workers give a task back that none of them knows.
    pub patience: String,
    /// Whether it refuses what no live worker can run.
    #[serde(default)]
    pub strict: bool,
    /// Tasks per status.
    #[serde(default)]
    pub tasks: BTreeMap<String, u64>,
    /// For how many seconds the task that has been ready longest has been so.
    pub oldest_ready_age: Option<f64>,
    /// Tasks ever taken in.
    pub accepted: u64,
    /// Tasks deleted since.
    pub removed: u64,
}

/// What the tasks of one name may do in a queue.
#[derive(Debug, Deserialize)]
pub struct TaskLimits {
    /// At most this many run at a time.
    pub max_concurrent: Option<u32>,
    /// At most so many start in so much time.
    pub rate_limit: Option<Rate>,
}

/// A rate.
#[derive(Debug, Deserialize)]
pub struct Rate {
    /// How many tasks start in each period.
    pub tasks: u32,
    /// The period.
    pub per: String,
}

/// How long, and how many, finished tasks are kept.
#[derive(Debug, Deserialize)]
pub struct Retention {
    /// Kept this long after they were over.
    pub age: String,
    /// At most this many.
    pub count: u64,
}

/// What a purge or a deletion removed.
#[derive(Debug, Deserialize)]
pub struct Purged {
    /// Tasks deleted.
    pub removed: u64,
    /// Whether there may be more.
    pub more: bool,
}

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
