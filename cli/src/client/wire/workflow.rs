//! Workflows, as far as they are shown.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Page;

/// A run of a workflow.
#[derive(Debug, Deserialize)]
pub struct Workflow {
    /// Its id.
    pub id: String,
    /// What it is a run of.
    pub name: Option<String>,
    /// Where it is.
    pub state: String,
    /// 1, and one more with each retry.
    pub attempt: u32,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many of them are over.
    pub over: usize,
    /// Why the store does not take more of it in now.
    pub refusal: Option<String>,
    /// Why it failed although no node did.
    pub failure: Option<String>,
    /// When it was created.
    pub created_at: String,
}

impl Workflow {
    /// Whether all its nodes are over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "completed" | "failed" | "cancelled")
    }
}

/// A run with its graph.
#[derive(Debug, Deserialize)]
pub struct WorkflowGraph {
    /// The run.
    #[serde(flatten)]
    pub run: Workflow,
    /// How many nodes there are by status.
    pub progress: BTreeMap<String, usize>,
    /// Its nodes, each after those that it depends on.
    pub graph: Vec<Node>,
}

/// A node of a workflow.
#[derive(Debug, Deserialize)]
pub struct Node {
    /// Its name.
    pub id: String,
    /// The status of its task.
    pub status: String,
    /// Whether it was not needed.
    pub skipped: bool,
    /// The nodes it waits for.
    #[serde(default)]
    pub depends_on: Vec<Edge>,
}

/// A node that is waited for.
#[derive(Debug, Deserialize)]
pub struct Edge {
    /// Its name.
    pub id: String,
    /// What its end means.
    pub policy: String,
}

/// A page of runs.
#[derive(Debug, Deserialize)]
pub struct Workflows {
    /// The runs.
    pub workflows: Vec<Workflow>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for Workflows {
    type Item = Workflow;

    fn turned(self) -> (Vec<Workflow>, Option<String>) {
        (self.workflows, self.next_cursor)
    }
}
