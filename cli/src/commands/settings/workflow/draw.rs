//! A workflow's graph in the terminal: layer by layer, a node a line.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use jobbers_api::workflow::{EdgeView, NodeView, WorkflowGraphView};
use jobbers_common::{dependency::DependencyPolicy, lifecycle::Status};

use crate::terminal::when::{age, between, span};

/// Nodes of a layer that get a line each; of the others the statuses are counted.
const LINES_A_LAYER: usize = 12;
/// Characters of a line.
const WIDTH: usize = 80;

/// Draws it.
pub(super) fn draw(WorkflowGraphView { run, progress, graph }: &WorkflowGraphView) -> String {
    let mut text = format!("workflow {}", run.id);
    if let Some(name) = &run.name {
        write!(text, " ({name})").ok();
    }
    write!(text, ": {}, {} of {} nodes are over", run.state, run.over, run.nodes).ok();
    match run.finished_at {
        Some(at) => writeln!(text, ", took {}", span(between(run.started_at, at))),
        None => writeln!(text, ", for {}", age(run.started_at)),
    }
    .ok();
    let counts: Vec<String> = progress.iter().map(|(status, nodes)| format!("{nodes} {status}")).collect();
    writeln!(text, "{}", counts.join(", ")).ok();
    let reason = [("refused for now", &run.refusal), ("refused", &run.failure)];
    for (what, reason) in reason.into_iter().filter_map(|(what, reason)| Some((what, reason.as_ref()?))) {
        writeln!(text, "{what}: {reason}").ok();
    }
    for (depth, layer) in layers(graph).iter().enumerate() {
        writeln!(text, "{}", if depth == 0 { "" } else { "  │" }).ok();
        let width =
            layer.iter().take(LINES_A_LAYER).map(|node| node.id.as_str().chars().count()).max().unwrap_or(0).min(30);
        for node in layer.iter().take(LINES_A_LAYER) {
            writeln!(text, "{}", cut(&line(node, width))).ok();
        }
        if let Some(others) = layer.get(LINES_A_LAYER..).filter(|others| !others.is_empty()) {
            writeln!(text, "{}", cut(&format!("  … {} more: {}", others.len(), counted(others)))).ok();
        }
    }
    text
}

/// The nodes by the longest way to them.
fn layers(graph: &[NodeView]) -> Vec<Vec<&NodeView>> {
    let mut depths: HashMap<&str, usize> = HashMap::with_capacity(graph.len());
    let mut layers: Vec<Vec<&NodeView>> = Vec::new();
    for node in graph {
        let before = node.depends_on.iter().filter_map(|edge| depths.get(edge.id.as_str()));
        let depth = before.max().map_or(0, |depth| depth + 1);
        depths.insert(node.id.as_str(), depth);
        if layers.len() <= depth {
            layers.resize_with(depth + 1, Vec::new);
        }
        layers[depth].push(node);
    }
    layers
}

fn line(node: &NodeView, width: usize) -> String {
    let mark = match node.status {
        Status::Completed => '✓',
        Status::Started => '▶',
        Status::Failed | Status::Stalled | Status::Dropped => '✗',
        Status::Aborted | Status::Cancelled => '–',
        Status::Waiting | Status::Scheduled | Status::Submitted => '·',
    };
    let status = if node.skipped { "skipped" } else { node.status.as_str() };
    let mut line = format!("  {mark} {:width$}  {status:9}", node.id.as_str());
    match (node.started_at, node.finished_at) {
        (Some(from), Some(to)) => write!(line, "  took {}", span(between(from, to))).ok(),
        (Some(from), None) if node.status == Status::Started => write!(line, "  for {}", age(from)).ok(),
        _ => None,
    };
    let after = |edge: &EdgeView| match edge.policy {
        DependencyPolicy::RunOnError => format!("a failure of {}", edge.id),
        DependencyPolicy::RunWithFailures => format!("any end of {}", edge.id),
        DependencyPolicy::AbortSuccessors => edge.id.to_string(),
    };
    let after: Vec<String> = node.depends_on.iter().map(after).collect();
    if !after.is_empty() {
        write!(line, "  after {}", after.join(", ")).ok();
    }
    line
}

fn counted(nodes: &[&NodeView]) -> String {
    let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
    nodes.iter().for_each(|node| *counts.entry(node.status).or_default() += 1);
    counts.iter().map(|(status, nodes)| format!("{nodes} {status}")).collect::<Vec<_>>().join(", ")
}

fn cut(line: &str) -> String {
    let line = line.trim_end();
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_drawn_in_layers_within_80_columns() {
        let wide = (0..14).map(|n| format!(r#"{{"id": "m{n}", "status": "waiting", "skipped": false, "task": "w/m{n}", "name": "t", "version": 1, "parameters": {{}}, "depends_on": [{{"id": "a", "policy": "abort_successors"}}]}}"#));
        let all: Vec<String> = (0..14).map(|n| format!(r#"{{"id": "m{n}", "policy": "run_with_failures"}}"#)).collect();
        let nodes: Vec<String> = [r#"{"id": "a", "status": "completed", "started_at": "2026-11-23T01:00:00Z", "finished_at": "2026-11-23T01:02:05Z", "skipped": false, "task": "w/a", "name": "t", "version": 1, "parameters": {}}"#.to_owned()]
            .into_iter()
            .chain(wide)
            .chain([format!(
                r#"{{"id": "end", "status": "aborted", "skipped": true, "task": "w/end", "name": "t", "version": 1, "parameters": {{}}, "depends_on": [{}]}}"#,
                all.join(",")
            )])
            .collect();
        let graph: WorkflowGraphView = serde_json::from_str(&format!(
            r#"{{"id": "w", "name": "nightly", "state": "running", "attempt": 1, "nodes": 16, "over": 1,
                "created_at": "2026-11-23T01:00:00Z", "started_at": "2026-11-23T01:00:00Z", "cancel_requested": false, "progress": {{"completed": 1, "waiting": 15}}, "graph": [{}]}}"#,
            nodes.join(",")
        ))
        .unwrap();
        let drawn = draw(&graph);
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].starts_with("workflow w (nightly): running, 1 of 16 nodes are over, for "), "{drawn}");
        assert_eq!(lines[3], "  ✓ a  completed  took 2m 5s");
        assert_eq!(lines[4], "  │");
        assert_eq!(lines[5], "  · m0   waiting    after a");
        assert_eq!(lines[17], "  … 2 more: 2 waiting");
        assert!(lines[19].starts_with("  – end  skipped    after any end of m0"), "{drawn}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{drawn}");
    }
}
