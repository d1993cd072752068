//! A claim of tasks over HTTP, and its answer.

use std::time::Duration;

use jobbers_common::{
    engine::Parents,
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM, MAX_WAIT},
    name::{QueueName, TaskId, TaskName, WorkerId},
    queue::gate::ConcurrencyKey,
    task::{ClaimedTask, label::Labels},
    time::Timestamp,
    values::duration,
    worker::task_kind::TaskKind,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::lease_or_default;
use crate::{
    check_reachable,
    openapi::ToSchema,
    problem::{Code, Problem, Result, invalid},
    task::{parents::ParentsView, view::PolicyView},
    value::{AnyJsonDoc, DurationDoc, NameDoc, Rfc3339, TaskIdDoc},
    wire::payload::shown,
};

/// Most kinds of tasks that one worker names.
const MOST_TASKS: usize = 1_000;

/// A wish for tasks.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// The worker's name, as lists show it. Each process takes one of its own, new at each start.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// Which version of your program it is, for the list of workers: up to 64 visible ASCII characters. Default: `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64, pattern = "^[!-~]+$", example = "resizer-1.4.2")]
    pub version: Option<String>,
    /// The queues to ask, first to last. Those that do not exist are named in the answer; a request of which none exists is refused.
    #[schema(value_type = Vec<NameDoc>, min_items = 1, max_items = 1024)]
    pub queues: Vec<QueueName>,
    /// The tasks that the worker knows, as `name@version`; without a version, version 1. It is then given no others.
    /// Without this it is given any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000, example = json!(["resize@1"]))]
    pub tasks: Option<Vec<String>>,
    /// At most this many tasks.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1000, default = 1)]
    pub limit: usize,
    /// How long the leases last unless they are extended: 1s to 1d. The default is 30s.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub lease: Option<Duration>,
    /// Answer when there are tasks, at the latest after this long, at most 60s. Default: answer at once.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub wait: Option<Duration>,
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
    pub fn check(&self) -> Result<()> {
        check_reachable(self.worker.as_str(), "worker")?;
        let is_visible = |version: &str| version.bytes().all(|byte| byte.is_ascii_graphic());
        if self.version.as_ref().is_some_and(|it| !(1..=64).contains(&it.len()) || !is_visible(it)) {
            return Err(invalid("version", "is 1 to 64 visible ASCII characters"));
        }
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
    pub fn lease(&self) -> Result<Duration> {
        lease_or_default(self.lease)
    }

    /// How long to wait for tasks.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] over [`MAX_WAIT`].
    pub fn wait(&self) -> Result<Duration> {
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
    pub fn tasks(&self) -> Result<Option<Vec<TaskKind>>> {
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
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = LeasedTasks)]
pub struct LeasesView {
    /// The tasks, in the order of claiming. None if the wait ended first.
    pub leases: Vec<LeasedTaskView>,
    /// Tasks of this worker with a cancel request: all of them, each time, until they are returned.
    #[schema(value_type = Vec<TaskIdDoc>)]
    pub cancel_requested: Vec<TaskId>,
    /// Whether the worker is to drain: it is given nothing more until it is resumed.
    pub draining: bool,
    /// Queues of the request that do not exist. The others were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<NameDoc>, required = false)]
    pub unknown_queues: Vec<QueueName>,
}

/// A leased task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = LeasedTask)]
pub struct LeasedTaskView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Names this lease when it is extended and returned.
    pub token: String,
    /// Grows with each claim of any task. Give it to what the task writes to, so that it can refuse an earlier claim.
    pub fence: u64,
    /// When the lease ends unless it is extended.
    pub expires_at: Rfc3339,
    /// What to run.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// 0 to 9.
    pub priority: u8,
    /// The key it is limited by, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Its labels, if it has any.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    pub labels: Labels,
    /// Its parameters: the JSON, or base64 text if the content type is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::payload::present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub parameters: Option<Box<RawValue>>,
    /// Only when they are not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_content_type: Option<String>,
    /// This attempt's number, 1 for the first.
    pub attempt: u32,
    /// Leases lost so far.
    pub crashes: u32,
    /// What an earlier attempt left for this one: the JSON, or base64 text if the content type is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::payload::present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub checkpoint: Option<Box<RawValue>>,
    /// Only when it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_content_type: Option<String>,
    /// The submission's policy. The worker must keep time limits itself.
    pub policy: PolicyView,
    /// When the store accepted it.
    pub submitted_at: Rfc3339,
    /// When it became due.
    pub ready_at: Rfc3339,
    /// When this attempt started: the claim.
    pub started_at: Rfc3339,
    /// The W3C trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The tasks it waited for, if the request asked for them and there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predecessors: Option<ParentsView>,
}

impl LeasedTaskView {
    /// A task that was claimed for this long, with its predecessors if they are asked for.
    pub fn new(task: &ClaimedTask, lease: Duration, parents: Option<&Parents>) -> Self {
        let (parameters, parameters_content_type) = shown(Some(&task.parameters));
        let (checkpoint, checkpoint_content_type) = shown(task.checkpoint.as_ref());
        let expires_at: Timestamp = task.started_at.after(lease);
        Self {
            id: task.id.clone(),
            token: task.fence.to_string(),
            fence: task.fence.0,
            expires_at: expires_at.into(),
            name: task.name.clone(),
            version: task.version,
            queue: task.queue.clone(),
            priority: task.priority.get(),
            labels: task.metadata.labels.clone(),
            concurrency_key: task.concurrency_key.clone(),
            parameters,
            parameters_content_type,
            attempt: task.attempt,
            crashes: task.crashes,
            checkpoint,
            checkpoint_content_type,
            policy: (&task.overrides).into(),
            submitted_at: task.submitted_at.into(),
            ready_at: task.ready_at.into(),
            started_at: task.started_at.into(),
            traceparent: task.trace.as_deref().map(str::to_owned),
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
