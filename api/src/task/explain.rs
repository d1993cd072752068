//! Why a task does not run now, in codes and in words.

use std::fmt;

use jobbers_common::{
    lifecycle::Status,
    name::{QueueName, TaskId, WorkerId},
    task::Task,
    time::Timestamp,
    worker::WorkerReport,
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    value::{NameDoc, Rfc3339, StatusDoc, TaskIdDoc},
};

/// Why a task has its status.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Explanation)]
pub struct ExplainView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: String,
    /// The address of the store that holds it, without a login, as in `GET /health/ready`. Only workers that opened this
    /// store can run the task.
    #[serde(default)]
    #[schema(required = true)]
    pub store: String,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
    /// How many tasks of its queue are claimed before it; only while it is submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Until when its first attempt must begin, if it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// Everything that keeps it from running; never empty.
    pub reasons: Vec<Reason>,
}

/// Why a queue does not move.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = QueueExplanation)]
pub struct QueueExplainView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// How many of its tasks run.
    pub running: u64,
    /// How many are ready.
    pub ready: u64,
    /// How many are scheduled, or wait for other tasks or for signals.
    pub later: u64,
    /// Since when the task that is ready longest is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ready_at: Option<Rfc3339>,
    /// The minute in which a task of it started last; absent if none did in the last two hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_start_at: Option<Rfc3339>,
    /// The task that is claimed next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TaskIdDoc>)]
    pub next: Option<TaskId>,
    /// Everything that keeps that task from running, or why there is none; never empty.
    pub reasons: Vec<Reason>,
}

/// One of the things a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reason {
    /// Which, for programs.
    pub code: ReasonCode,
    /// The same in a sentence.
    pub message: String,
    /// Until when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Rfc3339>,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Rfc3339>,
    /// The tasks that hold what it waits for: at most ten of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<TaskIdDoc>)]
    pub tasks: Vec<TaskId>,
    /// If no live worker can run it: the live workers that serve its queue, or those of the store if none serves it. At most
    /// ten of them, in the order of their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerPlace>,
    /// How many such workers are not named.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub further_workers: usize,
}

/// Where a live worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerPlace {
    /// Its id.
    #[schema(value_type = NameDoc)]
    pub id: WorkerId,
    /// The host it runs on.
    pub host: String,
}

impl From<&WorkerReport> for WorkerPlace {
    fn from(worker: &WorkerReport) -> Self {
        Self { id: worker.id.clone(), host: worker.host.clone() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What a task waits for. A code never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// It is over.
    Over,
    /// It runs.
    Running,
    /// It waits for other tasks.
    WaitsForTasks,
    /// It waits for signals from outside, and for no task.
    WaitsForSignals,
    /// Its first attempt did not begin in time: a worker that asks for it drops it.
    Expired,
    /// Its time is in the future.
    NotDue,
    /// Its queue is paused.
    QueuePaused,
    /// As many tasks of its queue run as may.
    MaxConcurrent,
    /// Its queue's rate lets no further task start yet.
    RateLimited,
    /// As many tasks of its key run in its queue as may.
    MaxConcurrentPerKey,
    /// The rate of its key lets no further task start yet.
    RateLimitedPerKey,
    /// As many tasks of its name run in its queue as may.
    MaxConcurrentPerTask,
    /// The rate of its name lets no further task start yet.
    RateLimitedPerTask,
    /// It is a suspect: it was lost with its worker twice or more in a row. A worker starts few such tasks at a time, and those in
    /// `tasks` are on probation; `until` says when the first of these probations ends, and `since` when the task was lost last.
    Suspect,
    /// No role serves its queue.
    NoRoleForQueue,
    /// No live worker serves its queue.
    NoWorkerForQueue,
    /// Workers serve its queue, and none of them can run this task.
    NoWorkerForTask,
    /// Every worker that could run it takes nothing on.
    WorkersDraining,
    /// Every worker that could run it is full.
    WorkersBusy,
    /// It is a blocking task, and every thread for blocking tasks is busy: of the worker that has claimed it, or of each
    /// worker that could.
    WaitsForThread,
    /// Every worker that could run it runs as many tasks of its queue as one worker may.
    MaxPerWorker,
    /// Every worker that could run it has other queues to empty first, by the strict order of its role.
    EarlierQueues,
    /// Other tasks of its queue come first.
    BehindOthers,
    /// The function of one of its earlier attempts has not returned and holds a thread of its worker.
    HoldsThread,
    /// Nothing keeps it from running: it is claimed next.
    Next,
    /// Of a queue: none of its tasks is ready. `until` says when the first scheduled one is due.
    NothingReady,
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Reason {
    /// A reason with a code and a sentence.
    pub fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            until: None,
            since: None,
            tasks: Vec::new(),
            workers: Vec::new(),
            further_workers: 0,
        }
    }

    /// The same, until this time.
    pub fn until(self, at: Timestamp) -> Self {
        Self { until: Some(Rfc3339(at)), ..self }
    }

    /// The same, since this time.
    pub fn since(self, at: Timestamp) -> Self {
        Self { since: Some(Rfc3339(at)), ..self }
    }

    /// The same, with the tasks that hold what it waits for.
    pub fn held_by(self, tasks: Vec<TaskId>) -> Self {
        Self { tasks, ..self }
    }

    /// The same, with the live workers that can't run it. Names the first `most` of them.
    pub fn with_workers<'a>(self, workers: impl Iterator<Item = &'a WorkerReport>, most: usize) -> Self {
        let mut workers: Vec<WorkerPlace> = workers.map(WorkerPlace::from).collect();
        workers.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        let further_workers = workers.len().saturating_sub(most);
        workers.truncate(most);
        Self { workers, further_workers, ..self }
    }
}

impl ExplainView {
    /// Why this task of this store has its status.
    pub fn new(task: &Task, store: String, ahead: Option<u64>, reasons: Vec<Reason>) -> Self {
        let (id, queue, expires_at) = (task.id.clone(), task.queue.as_str().into(), task.expires_at().map(Rfc3339));
        Self { id, queue, store, status: task.status, ahead, expires_at, reasons }
    }
}
