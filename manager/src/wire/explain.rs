//! Why a task does not run now, in codes and in words.

use jobbers_common::{name::TaskId, task::Task, time::Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::value::{NameDoc, Rfc3339, StatusDoc};

/// Why a task has its status.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Explanation)]
pub struct ExplainView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    pub(crate) id: &'a TaskId,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub(crate) queue: &'a str,
    /// Its status.
    #[schema(value_type = StatusDoc)]
    pub(crate) status: &'static str,
    /// How many tasks of its queue are claimed before it; only while it is submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ahead: Option<u64>,
    /// Until when its first attempt must begin, if it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Rfc3339>,
    /// Everything that keeps it from running; never empty.
    pub(crate) reasons: Vec<Reason>,
}

/// One of the things a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reason {
    /// Which, for programs.
    pub(crate) code: ReasonCode,
    /// The same in a sentence.
    pub(crate) message: String,
    /// Until when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Rfc3339>,
    /// Since when, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Rfc3339>,
    /// The tasks that hold what it waits for: at most ten of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<NameDoc>)]
    pub(crate) tasks: Vec<TaskId>,
}

/// What a task waits for. A code never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
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
}

impl Reason {
    pub(crate) fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), until: None, since: None, tasks: Vec::new() }
    }

    pub(crate) fn until(self, at: Timestamp) -> Self {
        Self { until: Some(Rfc3339(at)), ..self }
    }

    pub(crate) fn since(self, at: Timestamp) -> Self {
        Self { since: Some(Rfc3339(at)), ..self }
    }

    pub(crate) fn held_by(self, tasks: Vec<TaskId>) -> Self {
        Self { tasks, ..self }
    }
}

impl<'a> ExplainView<'a> {
    pub(crate) fn new(task: &'a Task, ahead: Option<u64>, reasons: Vec<Reason>) -> Self {
        let expires_at = task.expires_at().map(Rfc3339);
        Self { id: &task.id, queue: task.queue.as_str(), status: task.status.as_str(), ahead, expires_at, reasons }
    }
}
