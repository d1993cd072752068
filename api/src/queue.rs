//! Queues: requests and answers as JSON.

pub mod history;
pub mod role;
pub mod route;

use std::{collections::BTreeMap, time::Duration};

use jobbers_common::{
    engine::{Error, QueueStats},
    lifecycle::Status,
    name::{QueueName, TaskName},
    queue::{DEFAULT_KEEP_PARAMETERS, DEFAULT_PATIENCE, QueueConfig, Retention, gate::GateLimits, rate::RateLimit},
    time::Timestamp,
    values::duration,
};
use serde::{Deserialize, Serialize};

use super::value::{DurationDoc, NameDoc, Rfc3339, StatusDoc, seconds};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::Result,
    wire::json,
};

/// A queue's settings. Absent fields have their defaults, also when a queue is replaced.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QueueSettings)]
pub struct QueueRequest {
    /// Its name. Optional with PUT; the path contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<QueueName>,
    /// A paused queue takes submissions and gives nothing out.
    #[serde(default)]
    pub paused: bool,
    /// At most this many of its tasks run in one worker process at a time. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time, in all workers together. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_concurrent: Option<u32>,
    /// How many of its tasks may start per period, in all workers together. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub rate_limit: Option<RateLimitSettings>,
    /// How many tasks it accepts per period; more are refused with 429, the whole batch. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub submit_rate_limit: Option<RateLimitSettings>,
    /// At most this many of its tasks wait, are scheduled or submitted; more are refused with 429, and a batch of more than that with
    /// 422. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_length: Option<u64>,
    /// Which parameter gives a task its concurrency key, where its submission names none: a top-level field of the
    /// parameters by its name, or any other value by a JSON pointer. Default: none, and such tasks have no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256, example = "/order/customer")]
    pub key_parameter: Option<String>,
    /// At most this many of its tasks of one concurrency key run at a time, in all workers together. Those over it wait, and
    /// let those of other keys pass. A task without a key has no such limit. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_concurrent_per_key: Option<u32>,
    /// How many of its tasks of one concurrency key may start per period. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub rate_limit_per_key: Option<RateLimitSettings>,
    /// The same by the tasks' names, whatever their version and key. At most 100 names, each with a limit at least.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "json::named_objects")]
    #[schema(value_type = BTreeMap<NameDoc, TaskLimitSettings>)]
    pub task_limits: BTreeMap<TaskName, TaskLimitSettings>,
    /// How many bytes of parameters may wait in it, of the tasks that `max_length` counts; more are refused with 429.
    /// Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_bytes: Option<u64>,
    /// How long finished tasks are kept.
    #[serde(default, deserialize_with = "json::object")]
    pub retention: RetentionRequest,
    /// Parameters of at most this many bytes stay with their task after it completed, as long as it is kept. 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 2048)]
    pub keep_parameters: Option<u64>,
    /// How long workers give back a task that none of them knows, until it is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>, default = "1d")]
    pub patience: Option<Duration>,
    /// A strict queue refuses a submission that no live worker could run, where others only warn.
    #[serde(default)]
    pub strict: bool,
}

/// A rate: `tasks` in each period, evenly spread.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RateLimit)]
pub struct RateLimitSettings {
    /// How many tasks start, or are accepted, in each period.
    #[schema(minimum = 1, maximum = 100_000)]
    pub tasks: u32,
    /// The period, 1 ms to one day.
    #[serde(with = "duration::text")]
    #[schema(value_type = DurationDoc)]
    pub per: Duration,
    /// How many may do so at once after a quiet time. Default: what is due in a tenth of a second, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000)]
    pub burst: Option<u32>,
}

impl From<RateLimitSettings> for RateLimit {
    fn from(RateLimitSettings { tasks, per, burst }: RateLimitSettings) -> Self {
        Self { tasks, per, burst }
    }
}

impl From<RateLimit> for RateLimitSettings {
    fn from(RateLimit { tasks, per, burst }: RateLimit) -> Self {
        Self { tasks, per, burst }
    }
}

/// What the tasks of one name may do in a queue.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TaskLimits)]
pub struct TaskLimitSettings {
    /// At most this many run at a time. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_concurrent: Option<u32>,
    /// How many may start per period. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub rate_limit: Option<RateLimitSettings>,
}

impl From<TaskLimitSettings> for GateLimits {
    fn from(TaskLimitSettings { max_concurrent, rate_limit }: TaskLimitSettings) -> Self {
        Self { max_concurrent, rate_limit: rate_limit.map(RateLimit::from) }
    }
}

impl From<GateLimits> for TaskLimitSettings {
    fn from(GateLimits { max_concurrent, rate_limit }: GateLimits) -> Self {
        Self { max_concurrent, rate_limit: rate_limit.map(RateLimitSettings::from) }
    }
}

/// How long, and how many, finished tasks are kept.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RetentionSettings)]
pub struct RetentionRequest {
    /// Kept this long after they were over.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>, default = "1d")]
    pub age: Option<Duration>,
    /// At most this many, the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = 100_000)]
    pub count: Option<u64>,
}

impl QueueRequest {
    /// The queue they describe. `path` is the name in the path, if there is one.
    ///
    /// # Errors
    /// [`crate::problem::Code::InvalidRequest`] when no name is given, or two, or a limit of 0.
    pub fn config(self, path: Option<QueueName>) -> Result<QueueConfig> {
        let name = super::one_name(path, self.name)?;
        let default = Retention::default();
        let queue = QueueConfig {
            name,
            paused: self.paused,
            max_per_worker: self.max_per_worker,
            max_concurrent: self.max_concurrent,
            rate_limit: self.rate_limit.map(RateLimit::from),
            submit_rate_limit: self.submit_rate_limit.map(RateLimit::from),
            max_length: self.max_length,
            key_parameter: self.key_parameter,
            max_concurrent_per_key: self.max_concurrent_per_key,
            rate_limit_per_key: self.rate_limit_per_key.map(RateLimit::from),
            task_limits: self.task_limits.into_iter().map(|(name, limits)| (name, limits.into())).collect(),
            max_bytes: self.max_bytes,
            retention: Retention {
                age: self.retention.age.unwrap_or(default.age),
                count: self.retention.count.unwrap_or(default.count),
            },
            keep_parameters: self.keep_parameters.unwrap_or(DEFAULT_KEEP_PARAMETERS),
            patience: self.patience.unwrap_or(DEFAULT_PATIENCE),
            strict: self.strict,
        };
        queue.validate().map_err(Error::Invalid)?;
        Ok(queue)
    }
}

/// A queue: its settings and its numbers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Queue)]
pub struct QueueView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: QueueName,
    /// Whether it gives nothing out.
    pub paused: bool,
    /// At most this many of its tasks run in one worker process at a time; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// How many of its tasks may start per period; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitSettings>,
    /// How many tasks it accepts per period; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submit_rate_limit: Option<RateLimitSettings>,
    /// At most this many of its tasks wait, are scheduled or submitted; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// Which parameter gives a task its concurrency key, where its submission names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_parameter: Option<String>,
    /// At most this many of its tasks of one concurrency key run at a time; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent_per_key: Option<u32>,
    /// How many of its tasks of one concurrency key may start per period; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit_per_key: Option<RateLimitSettings>,
    /// What its tasks of these names may do; absent is no limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<NameDoc, TaskLimitSettings>)]
    pub task_limits: BTreeMap<TaskName, TaskLimitSettings>,
    /// How many bytes of parameters may wait in it; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// How long finished tasks are kept.
    pub retention: RetentionView,
    /// Parameters of at most this many bytes stay with their task after it completed. A manager of an earlier version keeps none.
    #[serde(default)]
    #[schema(required = true)]
    pub keep_parameters: u64,
    /// How long workers give back a task that none of them knows, until it is dropped.
    #[schema(value_type = DurationDoc)]
    pub patience: String,
    /// Whether it refuses a submission that no live worker could run.
    pub strict: bool,
    /// Tasks per status; a status without tasks is absent.
    #[schema(value_type = BTreeMap<StatusDoc, u64>)]
    pub tasks: BTreeMap<Status, u64>,
    /// Suspects among its ready tasks: each was lost with its worker twice or more in a row, and a worker starts few of them at a
    /// time. Absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub suspects: u64,
    /// When the task that has been ready longest became so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ready_at: Option<Rfc3339>,
    /// How long that has been, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ready_age: Option<f64>,
    /// Tasks ever accepted.
    pub accepted: u64,
    /// Tasks deleted since: pruned, purged or replaced.
    pub removed: u64,
    /// Bytes of parameters that wait in it; absent without a `max_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_bytes: Option<u64>,
}

/// How long, and how many, finished tasks are kept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Retention)]
pub struct RetentionView {
    /// Kept this long after they were over.
    #[schema(value_type = DurationDoc)]
    pub age: String,
    /// At most this many, the newest.
    pub count: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl QueueView {
    /// A queue with these settings and numbers.
    pub fn new(config: &QueueConfig, stats: &QueueStats, now: Timestamp) -> Self {
        Self {
            name: config.name.clone(),
            paused: config.paused,
            max_per_worker: config.max_per_worker,
            max_concurrent: config.max_concurrent,
            rate_limit: config.rate_limit.map(RateLimitSettings::from),
            submit_rate_limit: config.submit_rate_limit.map(RateLimitSettings::from),
            max_length: config.max_length,
            key_parameter: config.key_parameter.as_deref().map(str::to_owned),
            max_concurrent_per_key: config.max_concurrent_per_key,
            rate_limit_per_key: config.rate_limit_per_key.map(RateLimitSettings::from),
            task_limits: config.task_limits.iter().map(|(name, limits)| (name.clone(), (*limits).into())).collect(),
            max_bytes: config.max_bytes,
            retention: RetentionView { age: duration::format(config.retention.age), count: config.retention.count },
            keep_parameters: config.keep_parameters,
            patience: duration::format(config.patience),
            strict: config.strict,
            tasks: stats.tasks.iter().map(|(status, count)| (*status, *count)).collect(),
            suspects: stats.suspects,
            oldest_ready_at: stats.oldest_ready_at.map(Rfc3339),
            oldest_ready_age: stats.oldest_ready_at.map(|at| seconds(now.since(at))),
            accepted: stats.accepted,
            removed: stats.removed,
            waiting_bytes: stats.waiting_bytes,
        }
    }
}

/// A page of the queues.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Queues)]
pub struct QueueListView {
    /// In the order of their names.
    pub queues: Vec<QueueView>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page of the queues.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QueueListParams {
    /// At most this many.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    #[param(value_type = Option<String>)]
    pub cursor: Option<QueueName>,
}

const fn default_page() -> usize {
    100
}

/// How a queue is deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteParams {
    /// Delete the tasks in it too. Not beside `move_to`.
    #[serde(default)]
    pub force: bool,
    /// Move the tasks in it that wait, are scheduled or submitted to this queue.
    #[param(value_type = Option<NameDoc>)]
    pub move_to: Option<QueueName>,
}

/// What a purge or a deletion removed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Purged)]
pub struct PurgedView {
    /// How many tasks were deleted.
    pub removed: u64,
    /// Whether more may be left: call again.
    pub more: bool,
}
