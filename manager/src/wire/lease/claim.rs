//! A claim of tasks over HTTP, and its answer.

use std::time::Duration;

use jobbers_common::{
    duration,
    engine::Parents,
    label::Labels,
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM, MAX_WAIT},
    name::{QueueName, TaskId, TaskName, WorkerId},
    task::ClaimedTask,
    task_kind::TaskKind,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::lease_or_default;
use crate::{
    problem::{Code, Problem, Result},
    wire::{
        check_reachable,
        parents::ParentsView,
        task_request::invalid,
        task_view::{Checkpoint, Parameters, PolicyView},
        value::{DurationDoc, NameDoc, Rfc3339},
    },
};

/// Most kinds of tasks that one worker names.
const MOST_TASKS: usize = 1_000;

/// A wish for tasks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// The worker's name, as lists show it. Each process takes one of its own, new at each start.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// The queues to ask, first to last.
    #[schema(value_type = Vec<NameDoc>, min_items = 1, max_items = 256)]
    pub queues: Vec<QueueName>,
    /// The tasks that the worker knows, as `name@version`; without a version, version 1. It is then given no others.
    /// Without this it is given any.
    #[serde(default)]
    #[schema(max_items = 1000, example = json!(["resize@1"]))]
    tasks: Option<Vec<String>>,
    /// At most this many tasks.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1000, default = 1)]
    pub limit: usize,
    /// How long the leases last unless they are extended: 1s to 1d. The default is 30s.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    lease: Option<Duration>,
    /// Answer when there are tasks, at the latest after this long, at most 60s. Default: answer at once.
    #[serde(default, with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    wait: Option<Duration>,
    /// Whether each task comes with the results of the tasks it waited for: the first of them, up to 256 KiB for a task and
    /// 4 MiB in all. `GET /tasks/{id}/predecessors` has the others.
    #[serde(default)]
    #[schema(required = false, default = false)]
    pub predecessors: bool,
}

const fn one() -> usize {
    1
}

impl LeaseRequest {
    /// Checks its bounds.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for a value out of its bounds.
    pub(crate) fn check(&self) -> Result<()> {
        check_reachable(self.worker.as_str(), "worker")?;
        if self.queues.is_empty() || self.queues.len() > MAX_QUEUES_PER_CLAIM {
            return Err(invalid("queues", format!("names 1 to {MAX_QUEUES_PER_CLAIM} queues")));
        }
        if !(1..=MAX_BATCH).contains(&self.limit) {
            return Err(invalid("limit", format!("is 1 to {MAX_BATCH}, not {}", self.limit)));
        }
        Ok(())
    }

    /// How long the leases last.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] out of its bounds.
    pub(crate) fn lease(&self) -> Result<Duration> {
        lease_or_default(self.lease)
    }

    /// How long to wait for tasks.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] over [`MAX_WAIT`].
    pub(crate) fn wait(&self) -> Result<Duration> {
        match self.wait.unwrap_or_default() {
            wait if wait <= MAX_WAIT => Ok(wait),
            wait => Err(invalid(
                "wait",
                format!("is at most {}, not {}", duration::format(MAX_WAIT), duration::format(wait)),
            )),
        }
    }

    /// The tasks the worker knows, if it names them.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for what is no `name@version`, and for too many or none.
    pub(crate) fn tasks(&self) -> Result<Option<Vec<TaskKind>>> {
        let Some(tasks) = &self.tasks else { return Ok(None) };
        if !(1..=MOST_TASKS).contains(&tasks.len()) {
            return Err(invalid("tasks", format!("names 1 to {MOST_TASKS} tasks, or is left out")));
        }
        let kinds = tasks.iter().enumerate().map(|(at, text)| {
            read_kind(text).ok_or_else(|| {
                let detail = format!("{text:?} is no name@version, such as resize@1");
                Problem::new(Code::InvalidRequest, detail).at(format!("/tasks/{at}"))
            })
        });
        kinds.collect::<Result<_>>().map(Some)
    }
}

fn read_kind(text: &str) -> Option<TaskKind> {
    let (name, version) = text.split_once('@').unwrap_or((text, "1"));
    let version = version.bytes().all(|byte| byte.is_ascii_digit()).then(|| version.parse().ok())??;
    Some(TaskKind { name: TaskName::new(name).ok()?, version })
}

/// The tasks that were leased.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeasedTasks)]
pub struct LeasesView<'a> {
    /// The tasks, in the order of claiming. None if the wait ended first.
    pub(crate) leases: Vec<LeasedTaskView<'a>>,
    /// Tasks of this worker with a cancel request: all of them, each time, until they are returned.
    #[schema(value_type = Vec<NameDoc>)]
    pub(crate) cancel_requested: &'a [TaskId],
    /// Whether the worker is to drain: it is given nothing more until it is resumed.
    pub(crate) draining: bool,
}

/// A leased task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeasedTask)]
pub struct LeasedTaskView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Names this lease when it is extended and returned.
    token: String,
    /// Grows with each claim of any task. Give it to what the task writes to, so that it can refuse an earlier claim.
    fence: u64,
    /// When the lease ends unless it is extended.
    expires_at: Rfc3339,
    /// What to run.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its version.
    version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// 0 to 9.
    priority: u8,
    /// Its labels, if it has any.
    #[serde(skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    labels: &'a Labels,
    /// Its parameters.
    #[serde(flatten)]
    parameters: Parameters<'a>,
    /// This attempt's number, 1 for the first.
    attempt: u32,
    /// Leases lost so far.
    crashes: u32,
    /// What an earlier attempt left for this one.
    #[serde(flatten)]
    checkpoint: Checkpoint<'a>,
    /// The submission's policy. The worker must keep time limits itself.
    policy: PolicyView<'a>,
    /// When the store accepted it.
    submitted_at: Rfc3339,
    /// When it became due.
    ready_at: Rfc3339,
    /// When this attempt started: the claim.
    started_at: Rfc3339,
    /// The W3C trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    /// The tasks it waited for, if the request asked for them and there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    predecessors: Option<ParentsView<'a>>,
}

impl<'a> LeasedTaskView<'a> {
    pub(crate) fn new(task: &'a ClaimedTask, lease: Duration, parents: Option<&'a Parents>) -> Self {
        let expires_at: Timestamp = task.started_at.after(lease);
        Self {
            id: &task.id,
            token: task.fence.to_string(),
            fence: task.fence.0,
            expires_at: expires_at.into(),
            name: &task.name,
            version: task.version,
            queue: &task.queue,
            priority: task.priority.get(),
            labels: &task.labels,
            parameters: Some(&task.parameters).into(),
            attempt: task.attempt,
            crashes: task.crashes,
            checkpoint: task.checkpoint.as_ref().into(),
            policy: (&task.overrides).into(),
            submitted_at: task.submitted_at.into(),
            ready_at: task.ready_at.into(),
            started_at: task.started_at.into(),
            traceparent: task.trace.as_deref(),
            predecessors: parents.filter(|parents| parents.total > 0).map(|parents| ParentsView::new(parents, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_task_is_a_name_and_a_version() {
        let read = |text| read_kind(text).map(|kind| kind.to_string());
        assert_eq!(read("resize@2").as_deref(), Some("resize@2"));
        assert_eq!(read("resize").as_deref(), Some("resize@1"));
        for text in ["", "@1", "a b@1", "a@", "a@x", "a@-1", "a@+1", "a@1@2", "a@4294967296"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
