//! Numbers and statuses of tasks, for monitoring.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::QueueStats,
    lifecycle::Status,
    name::{QueueName, TaskId},
};
use serde::{Deserialize, Serialize};

use super::value::{NameDoc, StatusDoc};
use crate::openapi::ToSchema;

/// What to count, and which tasks to look up.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusesRequest {
    /// Queues whose tasks are counted, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<NameDoc>, max_items = 100)]
    pub queues: Vec<QueueName>,
    /// Tasks to look up, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<NameDoc>, max_items = 1000)]
    pub ids: Vec<TaskId>,
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
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
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
    #[schema(value_type = NameDoc)]
    pub id: TaskId,
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
    /// The numbers of queues, and the statuses of tasks, each restricted to `only` unless that is empty.
    pub fn new(stats: &[QueueStats], ids: &[TaskId], found: &[Option<Status>], only: &[Status]) -> Self {
        let wants = |status: &Status| only.is_empty() || only.contains(status);
        let queue = |stats: &QueueStats| {
            let tasks: BTreeMap<_, _> = stats
                .tasks
                .iter()
                .filter(|(status, _)| wants(status))
                .map(|(status, count)| (*status, *count))
                .collect();
            QueueCountView { queue: stats.queue.clone(), total: tasks.values().sum(), tasks }
        };
        let asked = ids.iter().zip(found).map(|(id, status)| TaskStatusView { id: id.clone(), status: *status });
        let tasks: Vec<_> = asked.filter(|task| task.status.as_ref().map_or(only.is_empty(), wants)).collect();
        let mut count = BTreeMap::new();
        for status in tasks.iter().filter_map(|task| task.status) {
            *count.entry(status).or_insert(0) += 1;
        }
        Self { queues: stats.iter().map(queue).collect(), tasks, count }
    }
}
