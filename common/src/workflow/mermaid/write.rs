//! Writes flowcharts.

use std::{collections::HashSet, fmt::Write as _};

use super::{entities, label, prologue::may_set_direction, words};
use crate::{
    lifecycle::Status,
    policy::PolicyOverrides,
    task::{Priority, metadata::Metadata},
    workflow::{DependencyPolicy, Node, TaskTemplate, Workflow},
};

/// Most nodes that the note on what is left out names.
const MAX_NAMED: usize = 10;

/// Writes a workflow as a flowchart; `statuses` are those of its nodes, in their order, or none. What a label can't say, such
/// as retries and timeouts, is not in it, and a comment names the nodes that have such settings. Of sensitive tasks no parameters
/// are in it.
#[must_use]
pub fn write(workflow: &Workflow, statuses: &[Status]) -> String {
    write_hiding(workflow, statuses, |_| false)
}

/// The same without the parameters of these tasks.
pub fn write_hiding(workflow: &Workflow, statuses: &[Status], hides: impl Fn(&TaskTemplate) -> bool) -> String {
    let nodes = workflow.nodes();
    let ids = ids(nodes);
    let mut text = "flowchart TD\n".to_owned();
    for ((place, node), id) in nodes.iter().enumerate().zip(&ids) {
        let name = (*id != node.name.as_str()).then_some(&node.name);
        let label = entities::encode(&label::write(&node.task, hides(&node.task), name));
        let status = statuses.get(place);
        let shown = status.map_or_else(String::new, |status| format!("{{{status}}}"));
        let class = status.map_or_else(String::new, |status| format!(":::{status}"));
        writeln!(text, "    {id}[\"{label}{shown}\"]{class}").ok();
    }
    for (node, id) in nodes.iter().zip(&ids) {
        for edge in &node.depends_on {
            let arrow = match edge.policy {
                DependencyPolicy::AbortSuccessors => "-->",
                DependencyPolicy::RunOnError => "-.->",
                DependencyPolicy::RunWithFailures => "==>",
            };
            writeln!(text, "    {} {arrow} {id}", ids[edge.on as usize]).ok();
        }
    }
    for status in Status::ALL.into_iter().filter(|status| statuses.contains(status)) {
        writeln!(text, "    classDef {status} {}", style(status)).ok();
    }
    text + &left_out(nodes)
}

/// What each node is called in the flowchart: its name where Mermaid reads it as one, else one made of its place.
fn ids(nodes: &[Node]) -> Vec<String> {
    let names: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let id = |(place, node): (usize, &Node)| {
        let name = node.name.as_str();
        if words::name_len(name) == Ok(name.len()) && !words::is_kept(name) && !may_set_direction(name) {
            return name.to_owned();
        }
        let mut id = format!("n{place}");
        while names.contains(id.as_str()) {
            id.push('_');
        }
        id
    };
    nodes.iter().enumerate().map(id).collect()
}

/// A comment on the nodes of which the flowchart does not say all.
fn left_out(nodes: &[Node]) -> String {
    let has_more = |task: &TaskTemplate| {
        let TaskTemplate { priority, default_queue, concurrency_key, metadata, overrides, .. } = task;
        default_queue.is_some()
            || *priority != Priority::DEFAULT
            || concurrency_key.is_some()
            || *metadata != Metadata::default()
            || *overrides != PolicyOverrides::default()
    };
    let mut names: Vec<&str> =
        nodes.iter().filter(|node| has_more(&node.task)).map(|node| node.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("    %% not in this chart: the priorities, policies, keys and labels of {}{more}\n", names.join(", "))
}

const fn style(status: Status) -> &'static str {
    match status {
        Status::Completed => "fill:#d7f5dd,stroke:#2e7d32",
        Status::Started => "fill:#dbeafe,stroke:#1d4ed8",
        Status::Failed | Status::Stalled | Status::Dropped => "fill:#fde2e1,stroke:#b71c1c",
        Status::Aborted | Status::Cancelled => "fill:#eeeeee,stroke:#757575",
        Status::Waiting | Status::Scheduled | Status::Submitted => "fill:#fff8e1,stroke:#b28704",
    }
}
