//! The overview: what runs and waits in all queues together, and what needs an operator.

use std::collections::BTreeMap;

use jobbers_common::{lifecycle::Status, name::QueueName};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    value::{NameDoc, Rfc3339, StatusDoc},
};

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
