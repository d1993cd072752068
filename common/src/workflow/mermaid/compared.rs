//! The reader against Mermaid's own parser: equal, or refused with what to write instead.
//!
//! `compared/charts.jsonl` says how Mermaid reads some thousand charts; `compared/make.mjs` makes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Flowchart, label, read};
use crate::{dependency::DependencyPolicy, workflow::TaskTemplate};

/// A chart, and how Mermaid reads it.
#[derive(Debug, Deserialize)]
struct Chart {
    chart: String,
    /// Whether all its syntax is to be read.
    everyday: bool,
    nodes: Vec<(String, String)>,
    edges: Vec<(String, String, String)>,
}

type Graph = (BTreeMap<String, TaskTemplate>, BTreeSet<(String, String, DependencyPolicy)>);

impl Chart {
    fn all() -> Vec<Self> {
        let lines = include_str!("compared/charts.jsonl").lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The graph that Mermaid's reading is here; `None` if it has a meaning in no workflow.
    fn graph(&self) -> Option<Graph> {
        let task = |(id, label): &(String, String)| Some((id.clone(), label::read(label.trim()).ok()?.task));
        let edge = |(from, arrow, to): &(String, String, String)| {
            let policy = match arrow.as_str() {
                "-->" => DependencyPolicy::AbortSuccessors,
                "-.->" => DependencyPolicy::RunOnError,
                "==>" => DependencyPolicy::RunWithFailures,
                _ => return None,
            };
            Some((from.clone(), to.clone(), policy))
        };
        let drawn = self.edges.iter().filter(|(_, arrow, _)| arrow != "~~~");
        Some((self.nodes.iter().map(task).collect::<Option<_>>()?, drawn.map(edge).collect::<Option<_>>()?))
    }
}

fn graph_of(flowchart: Flowchart) -> Graph {
    let edges = flowchart
        .nodes
        .iter()
        .flat_map(|node| node.depends_on.iter().map(|(on, policy)| (on.to_string(), node.name.to_string(), *policy)));
    let edges = edges.collect();
    (flowchart.nodes.into_iter().map(|node| (node.name.to_string(), node.task)).collect(), edges)
}

#[test]
fn a_flowchart_is_read_as_mermaid_reads_it_or_refused() {
    let (mut is_read, mut refused, mut wrong) = (0, 0, Vec::new());
    for chart in Chart::all() {
        match read(&chart.chart) {
            Ok(flowchart) => {
                is_read += 1;
                let (found, expected) = (graph_of(flowchart), chart.graph());
                if Some(&found) != expected.as_ref() {
                    wrong.push(format!("{:?} is read as\n{found:?}, and by Mermaid as\n{expected:?}", chart.chart));
                }
            }
            Err(error) if chart.everyday => wrong.push(format!("{:?} is refused: {error}", chart.chart)),
            Err(error) => {
                refused += 1;
                assert!(error.rule.len() < 300 && error.rule.contains(' '), "{error}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), is_read + refused, wrong[..wrong.len().min(20)].join("\n"));
    assert!(is_read > 600 && refused > 100, "{is_read} charts were read and {refused} refused");
}
