//! What is sent: submissions that have been checked, alone and as the nodes of a workflow.

use jobbers_common::{
    dependency::Dependency,
    gate::ConcurrencyKey,
    metadata::Metadata,
    name::{QueueName, TaskId, TaskName, WorkflowId, WorkflowName},
    payload::Payload,
    policy::{CrashPolicy, PolicyOverrides},
    signal::AwaitedSignal,
    task::{Priority, Start},
    unique::Unique,
};

/// A submission that has been checked.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) id: TaskId,
    pub(super) name: TaskName,
    pub(super) version: u32,
    pub(super) queue: Option<QueueName>,
    pub(super) priority: Priority,
    pub(super) parameters: Payload,
    pub(super) start: Start,
    pub(super) overrides: PolicyOverrides,
    /// The author's policy for workers that vanish.
    pub(super) on_crash: CrashPolicy,
    pub(super) unique: Option<Unique>,
    pub(super) concurrency_key: Option<ConcurrencyKey>,
    pub(super) metadata: Metadata,
    pub(super) depends_on: Vec<Dependency>,
    pub(super) signals: Vec<AwaitedSignal>,
    pub(super) is_spontaneous: bool,
}

/// A workflow with names for its nodes.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) id: WorkflowId,
    pub(super) name: Option<WorkflowName>,
    /// Each as a task: its id is the node's name, and its dependencies are names of nodes.
    pub(super) nodes: Vec<Checked>,
}
