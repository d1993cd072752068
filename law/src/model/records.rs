//! What the model keeps beside its tasks: keys, predecessors, edges, the signals that are on their way, and the history.

use std::collections::BTreeMap;

use jobbers_common::{
    dependency::{DependencyPolicy, End},
    history::{Grain, Slot},
    name::{QueueName, TaskId},
    time::Timestamp,
};

/// What happened in each queue, by the numbers of the slots.
pub(super) type Slots = BTreeMap<(QueueName, Grain), BTreeMap<i64, Slot>>;

/// The task that took a key last. Whether it holds it, its record says.
#[derive(Debug, Clone)]
pub(super) struct KeyHolder {
    pub(super) task: TaskId,
    /// `None`: without end.
    pub(super) until: Option<Timestamp>,
    /// The latest submission that it has become, by id and fingerprint.
    pub(super) last_word: Option<(TaskId, u128)>,
}

/// The predecessors of a task.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// Their ids, as the submission named them.
    pub(super) ids: Vec<TaskId>,
    /// Whether the task still holds their results: it is not over.
    pub(super) is_holding: bool,
}

impl Held {
    pub(super) const fn new(ids: Vec<TaskId>) -> Self {
        Self { ids, is_holding: true }
    }
}

/// An edge without a signal.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenEdge {
    pub(super) policy: DependencyPolicy,
    /// The revision with which it was made.
    pub(super) since: u64,
}

/// The end of a predecessor on its way to a successor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Signal {
    /// When the edge was made, so that one that was made later is another.
    pub(super) since: u64,
    pub(super) on: TaskId,
    pub(super) successor: TaskId,
    pub(super) end: End,
}
