//! The overview: what runs and waits in all queues together, and what needs an operator.

use std::{cmp::Reverse, collections::BTreeMap};

use jobbers_common::{engine::QueueStats, lifecycle::Status, name::QueueName, queue::QueueConfig};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    queue::QueueView,
    value::{NameDoc, Rfc3339, StatusDoc},
};

/// How many of the busiest queues an overview has.
const BUSIEST: usize = 12;

/// All queues and workers in numbers, and what needs an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Overview)]
pub struct OverviewView {
    /// When it was read, by the store's clock.
    pub now: Rfc3339,
    /// How many queues there are.
    pub queues: u64,
    /// Tasks per status, of all queues; a status without tasks is absent.
    #[schema(value_type = BTreeMap<StatusDoc, u64>)]
    pub tasks: BTreeMap<Status, u64>,
    /// When the task that has been ready longest became so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ready_at: Option<Rfc3339>,
    /// How many workers are alive.
    pub workers: u64,
    /// How many tasks these run at a time at most.
    pub slots: u64,
    /// What needs an operator, the worst first: at most a hundred.
    pub needs: Vec<NeedView>,
    /// How many more there are.
    pub more_needs: u64,
    /// The queues whose oldest ready task has waited longest; then those with the most tasks that are not over. At most twelve.
    /// A manager of an earlier version names none.
    #[serde(default)]
    #[schema(required = true)]
    pub busiest: Vec<BusyQueueView>,
}

/// A queue in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BusyQueue)]
pub struct BusyQueueView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: QueueName,
    /// Whether it gives nothing out.
    pub paused: bool,
    /// At most this many of its tasks run at a time; absent is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// Tasks per status; a status without tasks is absent.
    #[schema(value_type = BTreeMap<StatusDoc, u64>)]
    pub tasks: BTreeMap<Status, u64>,
    /// Suspects among its ready tasks.
    pub suspects: u64,
    /// When the task that has been ready longest became so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ready_at: Option<Rfc3339>,
}

impl BusyQueueView {
    /// A queue with these settings and numbers.
    pub fn new(config: &QueueConfig, stats: &QueueStats) -> Self {
        Self {
            name: config.name.clone(),
            paused: config.paused,
            max_concurrent: config.max_concurrent,
            tasks: stats.tasks.iter().map(|(status, count)| (*status, *count)).collect(),
            suspects: stats.suspects,
            oldest_ready_at: stats.oldest_ready_at.map(Rfc3339),
        }
    }

    /// How many of its tasks have one of these statuses.
    #[must_use]
    pub fn count(&self, statuses: &[Status]) -> u64 {
        statuses.iter().filter_map(|status| self.tasks.get(status)).sum()
    }

    /// Leaves only the busiest, in their order.
    pub fn keep_busiest(queues: &mut Vec<Self>) {
        let live = |queue: &Self| -> u64 {
            queue.tasks.iter().filter(|(status, _)| !status.is_finished()).map(|(_, count)| count).sum()
        };
        queues.sort_by_cached_key(|queue| {
            let oldest = queue.oldest_ready_at.map(|at| at.0);
            (oldest.is_none(), oldest, Reverse(live(queue)), queue.name.clone())
        });
        queues.truncate(BUSIEST);
    }
}

impl From<&QueueView> for BusyQueueView {
    fn from(queue: &QueueView) -> Self {
        Self {
            name: queue.name.clone(),
            paused: queue.paused,
            max_concurrent: queue.max_concurrent,
            tasks: queue.tasks.clone(),
            suspects: queue.suspects,
            oldest_ready_at: queue.oldest_ready_at,
        }
    }
}

/// What kind of thing needs an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedCode {
    /// Tasks are ready, and no worker is alive.
    NoWorker,
    /// Blocking tasks hold threads of workers although their attempts are over.
    HungThreads,
    /// A queue with ready tasks is paused.
    QueuePaused,
    /// As many tasks of a queue run as may, and others have waited for half a minute.
    QueueAtLimit,
    /// Ready tasks of a queue were lost with their workers twice or more in a row.
    Suspects,
    /// Tasks of a queue have been ready for a minute.
    QueueLate,
}

/// One thing that needs an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Need)]
pub struct NeedView {
    /// Its kind.
    pub code: NeedCode,
    /// A sentence for people.
    pub detail: String,
    /// Its queue, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// The command that helps, or shows more.
    pub command: String,
}
