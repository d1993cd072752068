//! What a schedule starts: a task, or a workflow.

use serde::{Deserialize, Serialize};

use crate::{
    name::{ScheduleName, TaskId, WorkflowId, WorkflowName},
    submission::template::TaskTemplate,
    time::Timestamp,
    workflow::{Run, Workflow},
};

/// What each slot of a schedule starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most schedules start a task, and a schedule has one target")]
pub enum Target {
    /// A task, which is submitted.
    Task(TaskTemplate),
    /// A workflow, of which a run begins.
    Workflow(WorkflowTemplate),
}

/// The workflow that a schedule starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowTemplate {
    /// What its runs are runs of; `None` for the schedule's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkflowName>,
    /// Its tasks, and which of them waits for which.
    pub graph: Workflow,
}

impl WorkflowTemplate {
    /// A run of it, which any manager begins to submit at `begins_at`.
    #[must_use]
    pub fn run(
        &self,
        id: WorkflowId,
        schedule: &ScheduleName,
        digest: u64,
        now: Timestamp,
        begins_at: Timestamp,
    ) -> Run {
        let name = self.name.clone().or_else(|| WorkflowName::new(schedule).ok());
        Run { next_at: Some(begins_at), ..Run::new(id, name, &self.graph, digest, now) }
    }
}

/// What a schedule started, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunId {
    /// A task.
    Task(TaskId),
    /// A run of a workflow.
    Workflow(WorkflowId),
}
