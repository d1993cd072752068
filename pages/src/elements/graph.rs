//! A workflow drawn as a graph: a column for each layer, a box for each node, an arrow for each dependency.
//!
//! A node is one column to the right of the last node that it waits for. Within a column, nodes are in the order of the
//! middle of those that they wait for, which keeps most arrows from crossing.

use std::collections::HashMap;

use jobbers_api::workflow::NodeView;
use jobbers_common::{dependency::DependencyPolicy, lifecycle::Status, time::Timestamp};
use maud::{Markup, html};

use super::words::{short, to};

/// The width of a box, in pixels.
const WIDTH: usize = 188;
/// Its height.
const HEIGHT: usize = 42;
/// The room between two columns.
const ACROSS: usize = 62;
/// The room between two boxes of a column.
const DOWN: usize = 14;
/// The room around all of them.
const EDGE: usize = 8;
/// Most letters of a name in a box.
const LETTERS: usize = 22;
/// Letters of the line below it: the status, how long it took, and as much of the name of the task as fits.
const SUB_LETTERS: usize = 24;
/// What joins the two halves of that line.
const JOINT: &str = " · ";

/// Where a node is, in columns and in boxes of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GridCell {
    column: usize,
    row: usize,
}

impl GridCell {
    const fn left(self) -> usize {
        EDGE + self.column * (WIDTH + ACROSS)
    }

    const fn top(self) -> usize {
        EDGE + self.row * (HEIGHT + DOWN)
    }
}

/// The places of nodes, each of which comes after those that it waits for.
fn cells(nodes: &[NodeView]) -> Vec<GridCell> {
    let by_name: HashMap<&str, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let mut columns: Vec<Vec<usize>> = Vec::new();
    let mut found = vec![GridCell { column: 0, row: 0 }; nodes.len()];
    let waits_for = |node: &NodeView| -> Vec<usize> {
        node.depends_on.iter().filter_map(|edge| by_name.get(edge.id.as_str()).copied()).collect()
    };
    for (at, node) in nodes.iter().enumerate() {
        let column =
            waits_for(node).into_iter().filter(|on| *on < at).map(|on| found[on].column + 1).max().unwrap_or(0);
        found[at].column = column;
        if columns.len() <= column {
            columns.resize_with(column + 1, Vec::new);
        }
        columns[column].push(at);
    }
    for column in &mut columns {
        // Columns to the left have their order already.
        let middle = |at: &usize| {
            let on = waits_for(&nodes[*at]);
            let rows: usize = on.iter().map(|on| found[*on].row).sum();
            // In thousandths of a row.
            rows * 1_000 / on.len().max(1)
        };
        column.sort_by_key(middle);
        for (row, at) in column.iter().enumerate() {
            found[*at].row = row;
        }
    }
    found
}

/// The graph as a picture, whose boxes lead to the nodes' tasks.
pub(crate) fn draw(nodes: &[NodeView], now: Timestamp) -> Markup {
    let cells = cells(nodes);
    let at: HashMap<&str, GridCell> = nodes.iter().zip(&cells).map(|(node, cell)| (node.id.as_str(), *cell)).collect();
    let columns = cells.iter().map(|cell| cell.column + 1).max().unwrap_or(0);
    let rows = cells.iter().map(|cell| cell.row + 1).max().unwrap_or(0);
    let (width, height) = (2 * EDGE + columns * (WIDTH + ACROSS), 2 * EDGE + rows * (HEIGHT + DOWN));
    html! {
        div.graph tabindex="0" role="group" aria-label="The graph of the workflow" {
            svg width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) {
                @for (node, to) in nodes.iter().zip(&cells) {
                    @for edge in &node.depends_on {
                        @if let Some(from) = at.get(edge.id.as_str()) {
                            path.dashed[edge.policy != DependencyPolicy::AbortSuccessors] d=(arrow(*from, *to)) {}
                        }
                    }
                }
                @for (node, cell) in nodes.iter().zip(&cells) { (drawn(node, *cell, now)) }
            }
        }
    }
}

/// A line from the right of one box to the left of another, with a point.
fn arrow(from: GridCell, to: GridCell) -> String {
    let (x1, y1) = (from.left() + WIDTH, from.top() + HEIGHT / 2);
    let (x2, y2) = (to.left(), to.top() + HEIGHT / 2);
    let bend = ACROSS / 2;
    format!("M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}m-6 -4l6 4l-6 4", x1 + bend, x2.saturating_sub(bend))
}

/// How long the latest attempt of a node's task took, or has run by now.
pub(crate) fn took(node: &NodeView, now: Timestamp) -> Option<String> {
    let started_at = node.started_at?.0;
    match node.finished_at {
        Some(at) => Some(short(at.0.since(started_at))),
        None => (node.status == Status::Started).then(|| short(now.since(started_at))),
    }
}

fn drawn(node: &NodeView, cell: GridCell, now: Timestamp) -> Markup {
    let cut = |text: &str| match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let (x, y) = (cell.left(), cell.top());
    let word = if node.skipped { "not needed" } else { node.status.as_str() };
    let stands = match took(node, now) {
        Some(took) if node.finished_at.is_none() => format!("{word} {took} ago"),
        Some(took) => format!("{word} in {took}"),
        None => word.to_owned(),
    };
    let room = SUB_LETTERS.saturating_sub(stands.chars().count() + JOINT.chars().count());
    html! {
        a href=(to("task", &[("id", node.task.as_str())])) {
            g class=(tone(node)) {
                title { (node.id) ": " (node.name) ", " (stands) }
                rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="5" {}
                text x=(x + 9) y=(y + 17) { (cut(node.id.as_str())) }
                text.sub x=(x + 9) y=(y + 33) {
                    (stands)
                    @if room > 3 { (JOINT) (node.name.as_str().chars().take(room).collect::<String>()) }
                }
            }
        }
    }
}

const fn tone(node: &NodeView) -> &'static str {
    match node.status {
        _ if node.skipped => "idle",
        Status::Completed | Status::Started => "good",
        Status::Failed | Status::Stalled | Status::Dropped => "bad",
        Status::Aborted | Status::Cancelled => "warn",
        Status::Waiting | Status::Scheduled | Status::Submitted => "idle",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(id: &str, on: &[&str]) -> NodeView {
        let edges: Vec<_> = on.iter().map(|on| json!({"id": on, "policy": "abort_successors"})).collect();
        let node = json!({
            "id": id, "task": format!("run/{id}"), "name": "t", "version": 1, "parameters": null, "status": "waiting",
            "skipped": false, "depends_on": edges,
        });
        serde_json::from_str(&node.to_string()).unwrap()
    }

    #[test]
    fn a_node_is_right_of_all_it_waits_for_and_no_two_share_a_place() {
        let nodes = [node("a", &[]), node("b", &[]), node("c", &["b"]), node("d", &["a"]), node("e", &["a", "c"])];
        let found = cells(&nodes);
        assert_eq!(found.iter().map(|cell| cell.column).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
        assert!(found[3].row < found[2].row, "d waits for the upper of the two: {found:?}");
        let mut all: Vec<_> = found.iter().map(|cell| (cell.column, cell.row)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), nodes.len());
    }
}
