//! Numbers and statuses of tasks, for monitoring.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::QueueStats,
    lifecycle::Status,
    name::{QueueName, TaskId},
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    value::{Asked, NameDoc, StatusDoc, TaskIdDoc},
};

/// What to count, and which tasks to look up.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusesRequest {
    /// Queues whose tasks are counted, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<NameDoc>, max_items = 100)]
    pub queues: Vec<Asked<QueueName>>,
    /// Tasks to look up, at most 1,000. One that can't be an id is answered as unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<TaskIdDoc>, max_items = 1000)]
    pub ids: Vec<Asked<TaskId>>,
    /// Only tasks of these statuses. Default: all, and also tasks that do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<StatusDoc>)]
    pub status: Vec<Status>,
}

/// The tasks of a queue in numbers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = QueueCount)]
pub struct QueueCountView {
    /// The queue.
    #[schema(value_type = String)]
    pub queue: Asked<QueueName>,
    /// Whether it exists.
    pub exists: bool,
    /// Tasks per status; a status without tasks is absent.
    #[schema(value_type = BTreeMap<StatusDoc, u64>)]
    pub tasks: BTreeMap<Status, u64>,
    /// All of them.
    pub total: u64,
}

/// The status of a task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskStatus)]
pub struct TaskStatusView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// Its status; `null` if it does not exist.
    #[schema(value_type = Option<StatusDoc>)]
    pub status: Option<Status>,
}

/// Numbers and statuses.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskStatuses)]
pub struct StatusesView {
    /// Per queue, in the order asked.
    pub queues: Vec<QueueCountView>,
    /// Per task, in the order asked.
    pub tasks: Vec<TaskStatusView>,
    /// How many of these tasks have each status.
    #[schema(value_type = BTreeMap<StatusDoc, u64>)]
    pub count: BTreeMap<Status, u64>,
}

impl StatusesView {
    /// The numbers of queues, `None` for one that does not exist, and the statuses of those tasks whose ids are legal, each
    /// restricted to `only` unless that is empty.
    pub fn new(
        queues: &[(Asked<QueueName>, Option<QueueStats>)],
        ids: &[Asked<TaskId>],
        found: &[Option<Status>],
        only: &[Status],
    ) -> Self {
        let wants = |status: &Status| only.is_empty() || only.contains(status);
        let queue = |(name, stats): &(Asked<QueueName>, Option<QueueStats>)| {
            let counts = stats.iter().flat_map(|stats| &stats.tasks).filter(|(status, _)| wants(status));
            let tasks: BTreeMap<_, _> = counts.map(|(status, count)| (*status, *count)).collect();
            QueueCountView { queue: name.clone(), exists: stats.is_some(), total: tasks.values().sum(), tasks }
        };
        let asked = Asked::with_answers(ids, found, &None).map(|(id, status)| TaskStatusView { id, status });
        let tasks: Vec<_> = asked.filter(|task| task.status.as_ref().map_or(only.is_empty(), wants)).collect();
        let mut count = BTreeMap::new();
        for status in tasks.iter().filter_map(|task| task.status) {
            *count.entry(status).or_insert(0) += 1;
        }
        Self { queues: queues.iter().map(queue).collect(), tasks, count }
    }
}
