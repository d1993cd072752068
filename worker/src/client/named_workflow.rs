//! A workflow with names for its nodes, as it is sent.

use jobbers_common::{
    name::{WorkflowId, WorkflowName},
    submission::draft::TaskDraft,
};

/// A workflow with names for its nodes.
#[derive(Debug)]
pub(super) struct NamedWorkflow {
    pub(super) id: WorkflowId,
    pub(super) name: Option<WorkflowName>,
    /// Each as a task: its id is the node's name, and its dependencies are names of nodes.
    pub(super) nodes: Vec<TaskDraft>,
}
