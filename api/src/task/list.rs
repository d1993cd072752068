//! Lists of tasks as JSON, and the query parameters that restrict them.

use std::{str::FromStr, time::Duration};

use jobbers_common::{
    engine::TaskFilter,
    lifecycle::Status,
    limits::MAX_WAIT,
    name::{QueueName, TaskId, TaskName, WorkerId},
    task::{
        Task,
        label::{Label, Labels},
    },
    time::Timestamp,
    values::duration,
};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    condition::Condition,
    selection::TaskAct,
    sensitive,
    view::{ProgressView, TaskView},
};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{Commas, DurationDoc, IncludeDoc, NameDoc, Rfc3339, StatusDoc, TaskIdDoc, seconds, version_if_any},
};

/// Which tasks to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// With one of these statuses: repeated, or separated by commas.
    #[serde(default)]
    #[param(value_type = Vec<StatusDoc>)]
    pub status: Vec<Commas<Status>>,
    /// In this queue.
    #[param(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// Of this name.
    #[param(value_type = Option<NameDoc>)]
    pub name: Option<TaskName>,
    /// Of this version.
    #[serde(default, deserialize_with = "version_if_any")]
    pub version: Option<u32>,
    /// With this label, `NAME=VALUE`; repeated, with all of them.
    #[serde(default, deserialize_with = "labels")]
    #[param(value_type = Vec<String>, example = json!(["team=billing"]))]
    pub label: Labels,
    /// Run, now or last, by this worker.
    #[param(value_type = Option<NameDoc>)]
    pub worker: Option<WorkerId>,
    /// Submitted at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub submitted_after: Option<Rfc3339>,
    /// Submitted before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub submitted_before: Option<Rfc3339>,
    /// Finished at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub finished_after: Option<Rfc3339>,
    /// Finished before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub finished_before: Option<Rfc3339>,
    /// Whose latest error contains this text; `A` to `Z` match in upper or lower case. Messages of sensitive tasks' functions
    /// never match.
    pub error: Option<String>,
    /// Holding this value in their parameters; repeated, all have to hold. A completed task matches by
    /// what it kept (`keep_parameters` of its queue), and sensitive tasks are not searched. One request looks at a bounded number of tasks; if that ends the search, the answer says `gave_up` and where to continue.
    #[serde(default, rename = "where")]
    #[param(rename = "where", inline)]
    pub conditions: Vec<Condition>,
    /// Shown with these: repeated, or separated by commas. The page may then be shorter than `limit`.
    #[serde(default)]
    #[param(value_type = Vec<IncludeDoc>, inline)]
    pub include: Vec<Commas<Include>>,
    /// At most this many.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 1000, default = 50)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl ListParams {
    /// What is shown of each task beyond what lists show anyway.
    pub fn included(&self) -> Included {
        let has = |what: Include| self.include.iter().any(|some| some.0.contains(&what));
        Included { parameters: has(Include::Parameters), result: has(Include::Result), errors: has(Include::Errors) }
    }

    /// The filter they spell.
    #[must_use]
    pub fn filter(&self) -> TaskFilter {
        TaskFilter {
            statuses: self.status.iter().flat_map(|some| some.0.iter().copied()).collect(),
            queue: self.queue.clone(),
            name: self.name.clone(),
            version: self.version,
            version_from: None,
            version_to: None,
            labels: self.label.clone(),
            worker: self.worker.clone(),
            submitted_after: self.submitted_after.map(|at| at.0),
            submitted_before: self.submitted_before.map(|at| at.0),
            finished_after: self.finished_after.map(|at| at.0),
            finished_before: self.finished_before.map(|at| at.0),
            error: self.error.clone(),
        }
    }
}

/// What of a task a list shows only when it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// Its parameters.
    Parameters,
    /// The result of the function.
    Result,
    /// Its failed attempts.
    Errors,
}

/// What a list shows of each task beyond what lists show anyway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Included {
    /// Their parameters.
    pub parameters: bool,
    /// Their results.
    pub result: bool,
    /// Their failed attempts.
    pub errors: bool,
}

impl FromStr for Include {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "parameters" => Ok(Self::Parameters),
            "result" => Ok(Self::Result),
            "errors" => Ok(Self::Errors),
            _ => Err(format!("{text:?} can't be included: name parameters, result or errors")),
        }
    }
}

/// Which running tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ActiveParams {
    /// In this queue.
    #[param(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// Whether their cancel is requested: with `true`, those that still run.
    pub cancel_requested: Option<bool>,
    /// At most this many.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 1000, default = 50)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Which page of the tasks of one status.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// In this queue.
    #[param(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// At most this many.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 1000, default = 50)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// How long to wait for the end of a task.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitParams {
    /// Answer when the task is over, at the latest after this long; at most 60s.
    #[serde(default, with = "duration::text::option")]
    #[param(value_type = Option<DurationDoc>)]
    wait: Option<Duration>,
}

impl WaitParams {
    /// How long to wait; `default` if not set.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] over [`MAX_WAIT`].
    pub fn or(&self, default: Duration) -> Result<Duration> {
        let wait = self.wait.unwrap_or(default);
        if wait > MAX_WAIT {
            let detail = format!("wait is at most {}, not {}", duration::format(MAX_WAIT), duration::format(wait));
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok(wait)
    }
}

/// Labels, each as `NAME=VALUE`.
fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Labels, D::Error> {
    let mut labels = Labels::default();
    for label in Vec::<Label>::deserialize(deserializer)? {
        labels.add(label).map_err(de::Error::custom)?;
    }
    Ok(labels)
}

const fn default_limit() -> usize {
    50
}

/// A filter in a body: what matches all that is said.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = TaskFilter)]
pub struct FilterRequest {
    /// With one of these statuses.
    #[schema(value_type = Vec<StatusDoc>)]
    pub status: Vec<Status>,
    /// In this queue.
    #[schema(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// Of this name.
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<TaskName>,
    /// Of this version.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "version_if_any")]
    pub version: Option<u32>,
    /// With these labels, and perhaps others.
    #[schema(value_type = HashMap<String, String>)]
    pub labels: Labels,
    /// Run by this worker.
    #[schema(value_type = Option<NameDoc>)]
    pub worker: Option<WorkerId>,
    /// Submitted at or after this time.
    pub submitted_after: Option<Rfc3339>,
    /// Submitted before this time.
    pub submitted_before: Option<Rfc3339>,
    /// Finished at or after this time.
    pub finished_after: Option<Rfc3339>,
    /// Finished before this time.
    pub finished_before: Option<Rfc3339>,
    /// Whose latest error contains this text; `A` to `Z` match in upper or lower case. Messages of sensitive tasks' functions
    /// never match.
    pub error: Option<String>,
}

impl FilterRequest {
    /// The filter, for tasks to which this can be done.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] when it restricts nothing or asks for a status to which this can't be done.
    pub fn for_act(&self, act: TaskAct) -> Result<TaskFilter> {
        if self.error.as_deref() == Some("") {
            let detail = "an empty error restricts nothing; leave it out".to_owned();
            return Err(Problem::new(Code::InvalidRequest, detail).at("/filter/error"));
        }
        let mut filter = TaskFilter {
            statuses: self.status.clone(),
            queue: self.queue.clone(),
            name: self.name.clone(),
            version: self.version,
            version_from: None,
            version_to: None,
            labels: self.labels.clone(),
            worker: self.worker.clone(),
            submitted_after: self.submitted_after.map(|at| at.0),
            submitted_before: self.submitted_before.map(|at| at.0),
            finished_after: self.finished_after.map(|at| at.0),
            finished_before: self.finished_before.map(|at| at.0),
            error: self.error.clone(),
        };
        if filter == TaskFilter::default() {
            return Err(misused("the filter must restrict something; to empty a queue, purge it".to_owned()));
        }
        act.restrict(&mut filter.statuses, self.finished_after.is_some() || self.finished_before.is_some())
            .map_err(misused)?;
        Ok(filter)
    }
}

fn misused(detail: String) -> Problem {
    Problem::new(Code::InvalidRequest, detail).at("/filter")
}

/// A page of tasks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskPage)]
pub struct TaskPageView {
    /// The tasks, without parameters, result and errors unless these are asked for.
    pub tasks: Vec<TaskView>,
    /// How many tasks match in all, where that is counted: on the first page of a list by queue and status, of one queue
    /// or of up to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Of a search by `where`: how many tasks were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned: Option<u64>,
    /// Present and true when the search ended before the page was full, because it had looked at as many tasks as one
    /// request may. Go on with the cursor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub gave_up: bool,
}

/// A page of running tasks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ActiveTaskPage)]
pub struct ActivePageView {
    /// The tasks, longest running first.
    pub tasks: Vec<ActiveTaskView>,
    /// How many tasks match in all, where that is counted: on the first page of a list by queue and status, of one queue
    /// or of up to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A running task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ActiveTask)]
pub struct ActiveTaskView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// The worker that runs it.
    #[schema(value_type = Option<NameDoc>)]
    pub worker: Option<WorkerId>,
    /// Which attempt, 1 for the first.
    pub attempt: u32,
    /// When its worker claimed it. Its function may have begun later.
    pub started_at: Option<Rfc3339>,
    /// How long ago that was, in seconds.
    pub running_for: f64,
    /// Its latest heartbeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_at: Option<Rfc3339>,
    /// When its lease ends unless renewed.
    pub lease_expires_at: Option<Rfc3339>,
    /// Its reported progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressView>,
    /// Present and true for a sensitive task: the message of its progress is empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
    /// Whether its cancel is requested.
    pub cancel_requested: bool,
}

impl ActiveTaskView {
    /// A running task at this time of the store.
    pub fn new(task: &Task, now: Timestamp) -> Self {
        Self {
            id: task.id.clone(),
            name: task.name.clone(),
            version: task.version,
            queue: task.queue.clone(),
            worker: task.worker.clone(),
            attempt: task.attempt,
            started_at: task.started_at.map(Rfc3339),
            running_for: task.started_at.map_or(0.0, |at| seconds(now.since(at))),
            heartbeat_at: task.heartbeat_at.map(Rfc3339),
            lease_expires_at: task.lease.as_ref().map(|lease| lease.expires_at.into()),
            progress: sensitive::progress_of(task).as_ref().map(ProgressView::from),
            sensitive: task.metadata.is_sensitive(),
            cancel_requested: task.cancel_requested,
        }
    }
}

/// A page of tasks whose time is in the future.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduledTaskPage)]
pub struct ScheduledPageView {
    /// The tasks, next due first.
    pub tasks: Vec<ScheduledTaskView>,
    /// How many tasks match in all, where that is counted: on the first page of a list by queue and status, of one queue
    /// or of up to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A task whose time is in the future: a delayed submission, or a retry that waits.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ScheduledTask)]
pub struct ScheduledTaskView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// 0 to 9; higher is claimed first.
    pub priority: u8,
    /// Attempts so far.
    pub attempt: u32,
    /// When the store accepted it.
    pub submitted_at: Rfc3339,
    /// When it is due.
    pub ready_at: Rfc3339,
    /// In how many seconds that is.
    pub due_in: f64,
}

impl ScheduledTaskView {
    /// A scheduled task at this time of the store.
    pub fn new(task: &Task, now: Timestamp) -> Self {
        Self {
            id: task.id.clone(),
            name: task.name.clone(),
            version: task.version,
            queue: task.queue.clone(),
            priority: task.priority.get(),
            attempt: task.attempt,
            submitted_at: task.submitted_at.into(),
            ready_at: task.ready_at.into(),
            due_in: seconds(task.ready_at.since(now)),
        }
    }
}
