//! Writes flowcharts.

use std::fmt::Write as _;

use super::{
    is_passed_over,
    label::{encode_entities, label_of},
};
use crate::{
    lifecycle::Status,
    workflow::{DependencyPolicy, Workflow},
};

/// Writes a workflow as a flowchart; `statuses` are those of its nodes, in their order, or none. Retries, timeouts and the like
/// are not in it.
#[must_use]
pub fn write(workflow: &Workflow, statuses: &[Status]) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (place, node) in workflow.nodes().iter().enumerate() {
        let label = encode_entities(&label_of(&node.task));
        let status = statuses.get(place);
        let shown = status.map_or_else(String::new, |status| format!("{{{status}}}"));
        let class = status.map_or_else(String::new, |status| format!(":::{status}"));
        writeln!(text, "    {}[\"{label}{shown}\"]{class}", shown_name(workflow, place)).ok();
    }
    for (place, node) in workflow.nodes().iter().enumerate() {
        for edge in &node.depends_on {
            let arrow = match edge.policy {
                DependencyPolicy::AbortSuccessors => "-->",
                DependencyPolicy::RunOnError => "-.->",
                DependencyPolicy::RunWithFailures => "==>",
            };
            let (on, name) = (shown_name(workflow, edge.on as usize), shown_name(workflow, place));
            writeln!(text, "    {on} {arrow} {name}").ok();
        }
    }
    for status in Status::ALL.into_iter().filter(|status| statuses.contains(status)) {
        writeln!(text, "    classDef {status} {}", style(status)).ok();
    }
    text
}

/// A node's name where a flowchart can say it, else one made of its place.
fn shown_name(workflow: &Workflow, place: usize) -> String {
    let name = workflow.nodes()[place].name.as_str();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let has_arrow = name.contains("--") || name.contains("-.") || name.ends_with('-');
    if name.chars().all(is_part) && !has_arrow && !is_passed_over(name) {
        return name.to_owned();
    }
    format!("node-{place}")
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
