//! Workflows: requests and answers as JSON.

use std::collections::BTreeMap;

use jobbers_common::{
    dependency::DependencyPolicy,
    engine::TaskTimes,
    lifecycle::Status,
    limits::{MAX_WORKFLOW_ID_BYTES, MAX_WORKFLOW_NODES},
    name::{NodeName, QueueName, TaskId, TaskName, WorkflowId, WorkflowName},
    submission::template::TaskTemplate,
    time::Timestamp,
    workflow::{
        NewNode, Run, RunState, Workflow, WorkflowError,
        mermaid::{self, Place},
        node_task_id,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    task::{request::TaskRequest, sensitive::shown_of, warning::WarningView},
    value::{AnyJsonDoc, DependencyPolicyDoc, NameDoc, Rfc3339, RunStateDoc, StatusDoc, TaskIdDoc},
};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result, invalid},
    wire::json,
};

/// A graph of tasks to run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WorkflowRequest)]
pub struct WorkflowRequest<'a> {
    /// The run's id, at most 64 characters: the ids of its tasks begin with it. Sending the same id with the same body again
    /// changes nothing. Default: a new ULID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub id: Option<WorkflowId>,
    /// What it is a run of. Many runs may have one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>, example = "nightly")]
    pub name: Option<WorkflowName>,
    /// 1 to 10,000 tasks as for `POST /tasks`, in any order. `id` is the node's name within the workflow, at most 63
    /// characters without `/`; `depends_on` names other nodes. Without `delay`, `run_at`, `on_conflict`, unique keys and
    /// `parameters_content_type`.
    #[serde(borrow, default, deserialize_with = "json::few_objects::<_, _, MAX_WORKFLOW_NODES>")]
    #[schema(max_items = 10000)]
    pub nodes: Vec<TaskRequest<'a>>,
    /// The nodes as a Mermaid flowchart, in place of `nodes`. A node's label is a task's name with `@version`,
    /// `@version:queue` and `(key=value, …)`, all but the name optional, and ` on NAME` for a signal that it waits for; `-->` waits for a completion, `-.->` for a failure, `==>` for any end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "flowchart TD\n  extract[\"etl.extract(day=1)\"] --> load[\"etl.load\"]")]
    pub mermaid: Option<String>,
}

/// The run of a flowchart that is a whole body.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FlowchartParams {
    /// The run's id, as in a JSON body. Only beside a flowchart.
    #[param(value_type = Option<NameDoc>)]
    id: Option<WorkflowId>,
    /// What it is a run of, as in a JSON body. Only beside a flowchart.
    #[param(value_type = Option<NameDoc>)]
    name: Option<WorkflowName>,
}

impl FlowchartParams {
    /// Whether it says nothing.
    pub const fn is_empty(&self) -> bool {
        self.id.is_none() && self.name.is_none()
    }

    /// The request of a flowchart.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for what is no text.
    pub fn request(self, body: &[u8]) -> Result<WorkflowRequest<'static>> {
        let text = std::str::from_utf8(body).map_err(|_| invalid("mermaid", "is no UTF-8 text"))?;
        Ok(WorkflowRequest { id: self.id, name: self.name, nodes: Vec::new(), mermaid: Some(text.to_owned()) })
    }
}

/// The nodes of a request, and where each is in its flowchart.
#[derive(Debug)]
pub struct Nodes {
    /// The nodes.
    pub nodes: Vec<NewNode>,
    places: Vec<Place>,
}

impl Nodes {
    /// A problem with one of them as its sender sees it: with a line and a column where they came as a flowchart.
    pub fn locate(places: &[Place], problem: Problem) -> Problem {
        let pointer = problem.pointer().unwrap_or_default().to_owned();
        let index = pointer.strip_prefix("/nodes/").and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
        match index.and_then(|index| places.get(index)) {
            Some(place) => problem.with_place(place).at("/mermaid"),
            None if places.is_empty() => problem,
            None => problem.at("/mermaid"),
        }
    }

    /// Where they are in their flowchart.
    pub fn places(&self) -> Vec<Place> {
        self.places.clone()
    }
}

impl WorkflowRequest<'_> {
    /// Its nodes, each checked for itself.
    ///
    /// # Errors
    /// The first problem, with its place.
    pub fn nodes(self) -> Result<Nodes> {
        if let Some(text) = &self.mermaid {
            if !self.nodes.is_empty() {
                return Err(invalid("mermaid", "stands in the place of nodes: say one of them"));
            }
            let flowchart =
                mermaid::read(text).map_err(|error| invalid("mermaid", format!("can't be read: {error}")))?;
            return Ok(Nodes { nodes: flowchart.nodes, places: flowchart.places });
        }
        if self.nodes.len() > MAX_WORKFLOW_NODES {
            let detail = format!("a workflow has at most {MAX_WORKFLOW_NODES} nodes");
            return Err(Problem::new(Code::InvalidRequest, detail).at("/nodes"));
        }
        let read = |(place, task)| node(task).map_err(|problem| at_node(problem, place));
        let nodes = self.nodes.into_iter().enumerate().map(read).collect::<Result<_>>()?;
        Ok(Nodes { nodes, places: Vec::new() })
    }
}

/// The same problem, seen from the whole workflow.
pub fn at_node(problem: Problem, place: usize) -> Problem {
    let pointer = format!("/nodes/{place}{}", problem.pointer().unwrap_or_default());
    problem.at(pointer)
}

/// The problem of a graph that makes no sense.
pub fn problem_of(error: &WorkflowError) -> Problem {
    Problem::new(Code::InvalidRequest, error.rule.clone()).at(error.pointer.clone())
}

fn node(mut task: TaskRequest<'_>) -> Result<NewNode> {
    let Some(id) = task.id.take() else { return Err(invalid("id", "is missing: it is the node's name")) };
    let name = NodeName::new(id.as_str()).map_err(|error| invalid("id", error))?;
    let mut depends_on = Vec::with_capacity(task.depends_on.len());
    for edge in task.depends_on() {
        let on = NodeName::new(edge.on.as_str()).map_err(|error| invalid("depends_on", error))?;
        depends_on.push((on, edge.policy));
    }
    let refused = [
        ("delay", task.delay.is_some(), "is not for nodes: they start when those before them have ended"),
        ("run_at", task.run_at.is_some(), "is not for nodes: they start when those before them have ended"),
        ("on_conflict", task.on_conflict.is_some(), "is not for nodes: their ids are those of the run"),
        ("parameters_content_type", task.parameters_content_type.is_some(), "is not for nodes: send JSON"),
        ("to_signal", !task.to_signal.is_empty(), "is not for nodes: those that wait say so in depends_on"),
        ("total_dependencies", task.total_dependencies.is_some(), "is not for nodes: depends_on says it"),
        ("unique_key", task.unique_key.is_some(), "is not for nodes: what has dependencies has no unique key"),
    ];
    Ok(NewNode { name, task: task.template(&refused)?, depends_on })
}

/// Checks the id that a client chose for a run.
///
/// # Errors
/// [`Code::InvalidRequest`].
pub fn check_id(id: &WorkflowId) -> Result<()> {
    if id.as_str().len() > MAX_WORKFLOW_ID_BYTES {
        return Err(invalid("id", format!("is at most {MAX_WORKFLOW_ID_BYTES} characters")));
    }
    super::check_reachable(id.as_str(), "id")
}

/// A run of a workflow.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Workflow)]
pub struct WorkflowView {
    /// Its id.
    #[schema(value_type = NameDoc)]
    pub id: WorkflowId,
    /// What it is a run of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub name: Option<WorkflowName>,
    /// Where it is.
    #[schema(value_type = RunStateDoc)]
    pub state: RunState,
    /// 1, and one more with each retry.
    pub attempt: u32,
    /// How many nodes it has.
    pub nodes: u32,
    /// How many of them are known to be over.
    pub over: usize,
    /// Whether it is being cancelled, or was.
    pub cancel_requested: bool,
    /// Why the store does not take more of its tasks in now; it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Why the store refused some of its tasks for good: it failed for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// When it was created.
    pub created_at: Rfc3339,
    /// When its latest attempt began.
    pub started_at: Rfc3339,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Rfc3339>,
    /// What may be wrong with its tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningView>,
}

impl WorkflowView {
    /// A run, and what may be wrong with its tasks.
    pub fn new(run: &Run, warnings: Vec<WarningView>) -> Self {
        Self {
            id: run.id.clone(),
            name: run.name.clone(),
            state: run.state,
            attempt: run.attempt,
            nodes: run.nodes,
            over: run.ends.count_over(),
            cancel_requested: run.cancel_requested,
            refusal: run.refusal.clone().filter(|_| run.failure.is_none()),
            failure: run.failure.as_deref().map(str::to_owned),
            created_at: Rfc3339(run.created_at),
            started_at: Rfc3339(run.started_at),
            finished_at: run.finished_at.map(Rfc3339),
            warnings,
        }
    }
}

/// A run with its graph.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkflowGraph)]
pub struct WorkflowGraphView {
    /// The run.
    #[serde(flatten)]
    pub run: WorkflowView,
    /// How many nodes there are by status. A node whose task is not submitted yet is `waiting`.
    #[schema(value_type = BTreeMap<String, usize>)]
    pub progress: BTreeMap<Status, usize>,
    /// Its nodes, each after those that it depends on.
    pub graph: Vec<NodeView>,
}

/// A node of a workflow.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkflowNode)]
pub struct NodeView {
    /// Its name within the workflow.
    #[schema(value_type = NameDoc)]
    pub id: NodeName,
    /// The id of its task.
    #[schema(value_type = TaskIdDoc)]
    pub task: TaskId,
    /// What is run.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Which version of it.
    pub version: u32,
    /// The queue it goes to; absent where the routing rules decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// What it is given. Left out if it is sensitive: `POST /tasks/{id}/reveal` of its task shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub parameters: Option<Box<RawValue>>,
    /// Present and true for a sensitive task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
    /// The status of its task; of one that was pruned, how it ended.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
    /// When its task was last claimed; absent if that is not known: it has not run yet, or was pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Rfc3339>,
    /// When its task was over; absent if it is not, or was pruned and is not remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Rfc3339>,
    /// Whether it was aborted because it was not needed: what it was to handle did not fail.
    pub skipped: bool,
    /// Whether it ends by itself once it waits for nothing: no worker runs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spontaneous: bool,
    /// The nodes it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<EdgeView>,
}

/// A node that is waited for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkflowEdge)]
pub struct EdgeView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub id: NodeName,
    /// What its end means.
    #[schema(value_type = DependencyPolicyDoc)]
    pub policy: DependencyPolicy,
}

impl EdgeView {
    /// A node that is waited for, and what its end means.
    pub const fn new(id: NodeName, policy: DependencyPolicy) -> Self {
        Self { id, policy }
    }
}

impl WorkflowGraphView {
    /// A run with its graph, and the statuses and times of its nodes, in their order.
    pub fn new(run: &Run, workflow: &Workflow, statuses: &[Status], times: &[TaskTimes]) -> Self {
        let skipped = workflow.skipped(&run.ends);
        let mut progress = BTreeMap::new();
        statuses.iter().for_each(|status| *progress.entry(*status).or_default() += 1);
        let name_of = |on: u32| workflow.nodes()[on as usize].name.clone();
        let node = |(place, status): (usize, &Status)| {
            let node = &workflow.nodes()[place];
            let (started_at, finished_at) = times.get(place).map_or((None, None), |times| known_at(*status, times));
            let TaskTemplate { name, version, queue, is_spontaneous, metadata, .. } = &node.task;
            NodeView {
                id: node.name.clone(),
                task: node_task_id(&run.id, &node.name),
                name: name.clone(),
                version: *version,
                queue: queue.clone(),
                parameters: shown_of(&node.task),
                sensitive: metadata.is_sensitive(),
                status: *status,
                started_at,
                finished_at,
                skipped: skipped[place],
                spontaneous: *is_spontaneous,
                depends_on: node
                    .depends_on
                    .iter()
                    .map(|edge| EdgeView { id: name_of(edge.on), policy: edge.policy })
                    .collect(),
            }
        };
        let graph = statuses.iter().enumerate().map(node).collect();
        Self { run: WorkflowView::new(run, Vec::new()), progress, graph }
    }

    /// The same without what tasks are given whose authors call them sensitive.
    #[must_use]
    pub fn hiding_where(mut self, is_sensitive: impl Fn(&TaskName, u32) -> bool) -> Self {
        for node in self.graph.iter_mut().filter(|node| is_sensitive(&node.name, node.version)) {
            (node.parameters, node.sensitive) = (None, true);
        }
        self
    }
}

/// The times of a task that say something of it at a status that was read a moment before.
fn known_at(status: Status, times: &TaskTimes) -> (Option<Rfc3339>, Option<Rfc3339>) {
    // The task of an earlier attempt of the run, until another takes its place.
    let is_of_this_attempt = status != Status::Waiting;
    (
        times.started_at.filter(|_| is_of_this_attempt).map(Rfc3339),
        times.finished_at.filter(|_| status.is_finished()).map(Rfc3339),
    )
}

/// A page of runs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkflowList)]
pub struct WorkflowListView {
    /// The latest first, without their graphs.
    pub workflows: Vec<WorkflowView>,
    /// Where the next page begins; absent when this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which runs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkflowListParams {
    /// In this state.
    #[param(value_type = Option<RunStateDoc>)]
    pub state: Option<RunState>,
    /// Of this name. One request looks at a bounded number of runs, so a page may be short and still have a successor.
    #[param(value_type = Option<NameDoc>)]
    pub name: Option<WorkflowName>,
    /// At most this many.
    #[serde(default = "default_page")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

const fn default_page() -> usize {
    100
}

/// How to show a run.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkflowParams {
    /// `json` (the default), or `mermaid`: a flowchart with the states of its nodes.
    #[serde(default)]
    #[param(inline)]
    pub format: Format,
}

/// In which form a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// A Mermaid flowchart.
    Mermaid,
}

/// A place in the list of runs, as a cursor.
pub fn cursor_of(run: &Run) -> String {
    format!("{}~{}", run.created_at.as_micros(), run.id)
}

/// The place that a cursor names.
///
/// # Errors
/// [`Code::InvalidParameter`] for what is no cursor.
pub fn place_of(cursor: &str) -> Result<(Timestamp, WorkflowId)> {
    let place = cursor
        .split_once('~')
        .and_then(|(at, id)| Some((Timestamp::from_micros(at.parse().ok()?), WorkflowId::new(id).ok()?)));
    place.ok_or_else(|| Problem::new(Code::InvalidParameter, "this cursor is not from this manager"))
}
