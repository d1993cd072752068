//! Workflows: graphs of tasks that are submitted, watched and kept as one run.
//!
//! A run's nodes are ordinary tasks with ids of their own, `<run>/<node>`, whose edges are dependencies
//! ([`crate::dependency`]): the store runs them, and nothing else schedules. What a run adds is a record: its definition
//! ([`Workflow`]), and how far it is ([`Run`]), which any manager moves on by compare-and-set
//! ([`crate::engine::workflows`]).
//!
//! Start reading at [`Workflow::new`], then [`Run`].

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    dependency::{Dependency, DependencyPolicy, signal},
    lifecycle::Status,
    limits::{MAX_DEPENDENCIES, MAX_NODE_NAME_BYTES, MAX_WORKFLOW_EDGES, MAX_WORKFLOW_ID_BYTES, MAX_WORKFLOW_NODES},
    name::{NodeName, TaskId, WorkflowId},
    submission::template::TaskTemplate,
};

pub mod mermaid;
mod piece;
mod run;

pub use self::{
    piece::Piece,
    run::{Ends, PAUSES, Run, RunState, SUBMITTER_ALONE},
};

/// A node as a client gives it: its edges name other nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNode {
    /// Its name within the workflow.
    pub name: NodeName,
    /// What it runs.
    pub task: TaskTemplate,
    /// The nodes it waits for, and what the end of each means.
    pub depends_on: Vec<(NodeName, DependencyPolicy)>,
}

/// An edge to a node, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The place of the predecessor among the nodes: always before that of the successor.
    pub on: u32,
    /// What its end means.
    #[serde(default)]
    pub policy: DependencyPolicy,
}

/// A node of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name within the workflow.
    pub name: NodeName,
    /// What it runs.
    pub task: TaskTemplate,
    /// The nodes it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Edge>,
}

/// A graph of tasks, each after those that it depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    nodes: Vec<Node>,
}

/// What makes no sense about a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct WorkflowError {
    /// Where, as a JSON pointer into `{"nodes": […]}`.
    pub pointer: String,
    /// What is wrong.
    pub rule: String,
}

fn wrong(pointer: impl Into<String>, rule: impl Into<String>) -> WorkflowError {
    WorkflowError { pointer: pointer.into(), rule: rule.into() }
}

impl Workflow {
    /// Checks a graph and sorts its nodes, so that each comes after those that it depends on; otherwise they keep their
    /// order.
    ///
    /// # Errors
    /// The first thing that is wrong, and where: no nodes or too many, a name that is taken or too long, an edge to a node
    /// that does not exist or to itself, an edge given twice, too many edges or signals, a cycle.
    pub fn new(nodes: Vec<NewNode>) -> Result<Self, WorkflowError> {
        check_bounds(&nodes)?;
        let places = places_of(&nodes)?;
        let mut edges = Vec::with_capacity(nodes.len());
        for (place, node) in nodes.iter().enumerate() {
            edges.push(edges_of(place, node, &places)?);
        }
        let order = sort(&edges).map_err(|cycle| {
            let names: Vec<&str> = cycle.iter().map(|place| nodes[*place].name.as_str()).collect();
            let pointer = format!("/nodes/{}/depends_on", cycle.first().copied().unwrap_or_default());
            wrong(pointer, format!("these nodes would wait for each other: {}", names.join(" -> ")))
        })?;
        let mut new_places = vec![0_u32; nodes.len()];
        for (new, old) in (0_u32..).zip(&order) {
            new_places[*old] = new;
        }
        let mut nodes: Vec<Option<NewNode>> = nodes.into_iter().map(Some).collect();
        let sorted = order.iter().filter_map(|old| {
            let NewNode { name, task, .. } = nodes[*old].take()?;
            let moved = |(on, policy): &(usize, DependencyPolicy)| Edge { on: new_places[*on], policy: *policy };
            Some(Node { name, task, depends_on: edges[*old].iter().map(moved).collect() })
        });
        Ok(Self { nodes: sorted.collect() })
    }

    /// Its nodes, each after those that it depends on.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many nodes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no nodes, which no workflow that was checked has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The tasks that the task of a node waits for in a run, if all of them run in it.
    #[must_use]
    pub fn dependencies(&self, run: &WorkflowId, node: &Node) -> Vec<Dependency> {
        node.depends_on.iter().filter_map(|edge| self.dependency(run, edge)).collect()
    }

    /// An edge, as the dependency of a task in a run.
    #[must_use]
    pub fn dependency(&self, run: &WorkflowId, edge: &Edge) -> Option<Dependency> {
        let on = self.nodes.get(edge.on as usize)?;
        Some(Dependency { on: node_task_id(run, &on.name), policy: edge.policy })
    }

    /// Whether what was stored holds together: every edge leads to an earlier node.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.nodes.iter().enumerate().all(|(place, node)| node.depends_on.iter().all(|edge| (edge.on as usize) < place))
    }

    /// Which aborted nodes were merely not needed: each edge that aborted one of them led to an error handler whose
    /// predecessor completed, or to a node that was not needed itself.
    #[must_use]
    pub fn skipped(&self, ends: &Ends) -> Vec<bool> {
        let mut skipped = vec![false; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            if ends.get(place) != Some(Status::Aborted) {
                continue;
            }
            let aborting = node
                .depends_on
                .iter()
                .filter(|edge| ends.get(edge.on as usize).is_some_and(|end| edge.policy.aborts(end)));
            let mut reasons = aborting.map(|edge| {
                let end = ends.get(edge.on as usize);
                skipped[edge.on as usize]
                    || end == Some(Status::Completed) && edge.policy == DependencyPolicy::RunOnError
            });
            skipped[place] = reasons.next().is_some_and(|first| first && reasons.all(|reason| reason));
        }
        skipped
    }

    /// How a run ended whose nodes ended so.
    #[must_use]
    pub fn outcome(&self, ends: &Ends, cancel_requested: bool) -> RunState {
        let skipped = self.skipped(ends);
        let (mut failed, mut cancelled) = (false, false);
        for (place, is_skipped) in skipped.iter().enumerate() {
            match ends.get(place) {
                Some(Status::Cancelled) => cancelled = true,
                Some(Status::Completed) | None => {}
                Some(_) => failed |= !is_skipped,
            }
        }
        match (failed, cancelled) {
            (_, true) if cancel_requested => RunState::Cancelled,
            (true, _) => RunState::Failed,
            (false, true) => RunState::Cancelled,
            (false, false) => RunState::Completed,
        }
    }

    /// Which nodes of a run that is over are run again by a retry: those that neither completed nor were skipped, and those
    /// of which a predecessor runs again, because its end may be another one then; unless the end of a node that stays as it
    /// is would abort them at once.
    #[must_use]
    pub fn to_retry(&self, ends: &Ends) -> Vec<bool> {
        let skipped = self.skipped(ends);
        let mut again = vec![false; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            let runs_again = |edge: &&Edge| again[edge.on as usize];
            let is_aborted_at_once = node
                .depends_on
                .iter()
                .filter(|edge| !runs_again(edge))
                .any(|edge| ends.get(edge.on as usize).is_some_and(|end| edge.policy.aborts(end)));
            let is_left = ends.get(place) != Some(Status::Completed) && !skipped[place];
            again[place] = !is_aborted_at_once && (is_left || node.depends_on.iter().any(|edge| runs_again(&edge)));
        }
        again
    }
}

fn check_bounds(nodes: &[NewNode]) -> Result<(), WorkflowError> {
    if nodes.is_empty() {
        return Err(wrong("/nodes", "a workflow has at least one node"));
    }
    if nodes.len() > MAX_WORKFLOW_NODES {
        let rule = format!("a workflow has at most {MAX_WORKFLOW_NODES} nodes, not {}", nodes.len());
        return Err(wrong("/nodes", rule));
    }
    let edges: usize = nodes.iter().map(|node| node.depends_on.len()).sum();
    if edges > MAX_WORKFLOW_EDGES {
        return Err(wrong("/nodes", format!("a workflow has at most {MAX_WORKFLOW_EDGES} edges, not {edges}")));
    }
    Ok(())
}

fn places_of(nodes: &[NewNode]) -> Result<HashMap<&NodeName, usize>, WorkflowError> {
    let mut places = HashMap::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        let pointer = || format!("/nodes/{place}/id");
        let name = node.name.as_str();
        if name.len() > MAX_NODE_NAME_BYTES || name.contains('/') {
            let rule = format!("node {name:?} is not named well: at most {MAX_NODE_NAME_BYTES} characters without /");
            return Err(wrong(pointer(), rule));
        }
        if let Some(first) = places.insert(&node.name, place) {
            return Err(wrong(pointer(), format!("node {name} is there twice: /nodes/{first} has this name too")));
        }
    }
    Ok(places)
}

fn edges_of(
    place: usize,
    node: &NewNode,
    places: &HashMap<&NodeName, usize>,
) -> Result<Vec<(usize, DependencyPolicy)>, WorkflowError> {
    let count = node.depends_on.len();
    if count > MAX_DEPENDENCIES {
        let rule = format!("node {} depends on {count} nodes; the most are {MAX_DEPENDENCIES}", node.name);
        return Err(wrong(format!("/nodes/{place}/depends_on"), rule));
    }
    signal::validate(&node.task.signals)
        .map_err(|rule| wrong(format!("/nodes/{place}/signals"), format!("node {}: {rule}", node.name)))?;
    let mut seen = HashSet::with_capacity(count);
    let mut edges = Vec::with_capacity(count);
    for (index, (on, policy)) in node.depends_on.iter().enumerate() {
        let pointer = || format!("/nodes/{place}/depends_on/{index}");
        let Some(predecessor) = places.get(on) else {
            return Err(wrong(pointer(), format!("node {} depends on node {on}, which does not exist", node.name)));
        };
        if *predecessor == place {
            return Err(wrong(pointer(), format!("node {on} depends on itself")));
        }
        if !seen.insert(predecessor) {
            return Err(wrong(pointer(), format!("node {} names its dependency on {on} twice", node.name)));
        }
        edges.push((*predecessor, *policy));
    }
    Ok(edges)
}

/// The places in an order in which each node comes after its predecessors, otherwise as they are; or a cycle, each before
/// the one that depends on it and the first again at the end. The work grows with the edges.
fn sort(edges: &[Vec<(usize, DependencyPolicy)>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut left: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut successors = vec![Vec::new(); edges.len()];
    for (place, predecessors) in edges.iter().enumerate() {
        predecessors.iter().for_each(|(predecessor, _)| successors[*predecessor].push(place));
    }
    let mut free: BTreeSet<usize> = (0..edges.len()).filter(|place| left[*place] == 0).collect();
    let mut order = Vec::with_capacity(edges.len());
    while let Some(place) = free.pop_first() {
        order.push(place);
        for successor in &successors[place] {
            left[*successor] -= 1;
            if left[*successor] == 0 {
                free.insert(*successor);
            }
        }
    }
    let Some(start) = left.iter().position(|count| *count > 0) else { return Ok(order) };
    // Each of those that are left waits for another one of them: walking back from any comes to a cycle.
    let mut path = vec![start];
    loop {
        let last = path.last().copied().unwrap_or(start);
        let next = edges[last].iter().map(|(on, _)| *on).find(|on| left[*on] > 0).unwrap_or(start);
        if let Some(from) = path.iter().position(|place| *place == next) {
            let mut cycle: Vec<usize> = path[from..].iter().rev().copied().collect();
            cycle.extend(cycle.first().copied());
            return Err(cycle);
        }
        path.push(next);
    }
}

/// The id of the task of a node.
///
/// # Panics
/// Never: both names are short, and legal.
#[must_use]
pub fn node_task_id(run: &WorkflowId, node: &NodeName) -> TaskId {
    #[expect(clippy::expect_used, reason = "two legal names, short enough together")]
    TaskId::new(format!("{run}/{node}")).expect("a legal task id")
}

/// The run and the node that a task's id speaks of, if it has the form of one. Whether there is such a run is for the store
/// to say.
#[must_use]
pub fn run_of(id: &TaskId) -> Option<(WorkflowId, NodeName)> {
    let (run, node) = id.as_str().rsplit_once('/')?;
    Some((WorkflowId::new(run).ok().filter(|_| run.len() <= MAX_WORKFLOW_ID_BYTES)?, NodeName::new(node).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::name::TaskName;

    fn node(name: &str, on: &[(&str, DependencyPolicy)]) -> NewNode {
        NewNode {
            name: NodeName::new(name).unwrap(),
            task: TaskTemplate::new(TaskName::new("echo").unwrap(), RawValue::from_string("{}".to_owned()).unwrap()),
            depends_on: on.iter().map(|(on, policy)| (NodeName::new(*on).unwrap(), *policy)).collect(),
        }
    }

    fn plain(name: &str, on: &[&str]) -> NewNode {
        node(name, &on.iter().map(|on| (*on, DependencyPolicy::AbortSuccessors)).collect::<Vec<_>>())
    }

    #[test]
    fn nodes_are_sorted_after_their_predecessors_and_otherwise_keep_their_order() {
        let workflow =
            Workflow::new(vec![plain("d", &["b", "c"]), plain("b", &["a"]), plain("a", &[]), plain("c", &["a"])])
                .unwrap();
        let names: Vec<&str> = workflow.nodes().iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert!(workflow.is_sorted());
        let on: Vec<u32> = workflow.nodes()[3].depends_on.iter().map(|edge| edge.on).collect();
        assert_eq!(on, [1, 2]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (nodes, pointer, rule) in [
            (vec![], "/nodes", "at least one node"),
            (vec![plain("a", &[]), plain("a", &[])], "/nodes/1/id", "node a is there twice"),
            (vec![plain("a/b", &[])], "/nodes/0/id", "without /"),
            (vec![plain("a", &[]), plain("b", &["a", "x"])], "/nodes/1/depends_on/1", "node x, which does not exist"),
            (vec![plain("a", &["a"])], "/nodes/0/depends_on/0", "depends on itself"),
            (vec![plain("a", &[]), plain("b", &["a", "a"])], "/nodes/1/depends_on/1", "twice"),
            (
                vec![plain("x", &[]), plain("a", &["x", "c"]), plain("b", &["a"]), plain("c", &["b"])],
                "/nodes/2/depends_on",
                "wait for each other: b -> c -> a -> b",
            ),
        ] {
            let error = Workflow::new(nodes).unwrap_err();
            assert!(error.rule.contains(rule), "{error}");
            assert_eq!(error.pointer, pointer, "{error}");
        }
    }

    #[test]
    fn bounds_are_held() {
        let many = |count: usize| (0..count).map(|n| plain(&format!("n{n}"), &[])).collect::<Vec<_>>();
        assert!(Workflow::new(many(MAX_WORKFLOW_NODES)).is_ok());
        let error = Workflow::new(many(MAX_WORKFLOW_NODES + 1)).unwrap_err();
        assert!(error.rule.contains("at most 10000 nodes, not 10001"), "{error}");
        let mut wide = many(MAX_WORKFLOW_NODES - 1);
        let on: Vec<(NodeName, DependencyPolicy)> =
            wide.iter().map(|node| (node.name.clone(), DependencyPolicy::default())).collect();
        wide.push(NewNode { depends_on: on, ..plain("all", &[]) });
        assert!(Workflow::new(wide.clone()).is_ok(), "a node may wait for all others");
        let on = (0..=MAX_DEPENDENCIES).map(|_| (wide[0].name.clone(), DependencyPolicy::default())).collect();
        wide[9_999].depends_on = on;
        assert!(Workflow::new(wide).unwrap_err().rule.contains("the most are 10000"));
    }

    fn ends(of: &[Status]) -> Ends {
        let mut ends = Ends::none(of.len());
        of.iter().enumerate().for_each(|(place, end)| ends.set(place, Some(*end)));
        ends
    }

    #[test]
    fn a_handler_that_nothing_needed_fails_no_run() {
        use DependencyPolicy::{AbortSuccessors, RunOnError};
        use Status::{Aborted, Cancelled, Completed, Failed};
        let workflow = Workflow::new(vec![
            node("work", &[]),
            node("after", &[("work", AbortSuccessors)]),
            node("handler", &[("work", RunOnError)]),
            node("tidy", &[("handler", AbortSuccessors)]),
        ])
        .unwrap();
        let quiet = ends(&[Completed, Completed, Aborted, Aborted]);
        assert_eq!(workflow.skipped(&quiet), [false, false, true, true]);
        assert_eq!(workflow.outcome(&quiet, false), RunState::Completed);
        assert_eq!(workflow.to_retry(&quiet), [false; 4]);
        let handled = ends(&[Failed, Aborted, Completed, Completed]);
        assert_eq!(workflow.outcome(&handled, false), RunState::Failed);
        assert_eq!(workflow.to_retry(&handled), [true; 4], "what ran after a node that runs again runs again");
        let cancelled = ends(&[Failed, Cancelled, Completed, Completed]);
        assert_eq!(workflow.outcome(&cancelled, true), RunState::Cancelled);
        assert_eq!(workflow.outcome(&cancelled, false), RunState::Failed);
    }

    /// A handler waits for two nodes, and a clean-up runs after all of them.
    #[test]
    fn a_retry_runs_what_comes_after_a_node_that_runs_again() {
        use DependencyPolicy::{AbortSuccessors, RunOnError, RunWithFailures};
        use Status::{Aborted, Completed, Failed};
        let workflow = Workflow::new(vec![
            node("a", &[]),
            node("b", &[]),
            node("alarm", &[("a", RunOnError)]),
            node("page", &[("alarm", AbortSuccessors)]),
            node("both", &[("a", RunOnError), ("b", RunOnError)]),
            node("tidy", &[("a", RunWithFailures), ("b", RunWithFailures)]),
            node("quiet", &[("alarm", RunOnError)]),
            node("alone", &[("b", AbortSuccessors)]),
        ])
        .unwrap();
        let first = ends(&[Failed, Completed, Completed, Completed, Aborted, Completed, Aborted, Completed]);
        assert_eq!(workflow.skipped(&first), [false, false, false, false, true, false, true, false]);
        // `both` would be aborted at once by `b`, which stays; `quiet` was not needed, but its alarm may fail this time.
        assert_eq!(workflow.to_retry(&first), [true, false, true, true, false, true, true, false]);
    }

    #[test]
    fn a_task_s_id_leads_to_its_run() {
        let (run, name) = (WorkflowId::new("nightly/2026").unwrap(), NodeName::new("load").unwrap());
        let id = node_task_id(&run, &name);
        assert_eq!(run_of(&id), Some((run, name)));
        assert_eq!(run_of(&TaskId::new("alone").unwrap()), None);
    }
}
