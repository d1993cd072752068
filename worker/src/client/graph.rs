//! The graph of a canvas, and how its nodes get their names.
//!
//! A node is known by a random mark until the whole canvas is there. Then it gets a name: the id of its submission, or the name of
//! its task, with a number where several nodes would have that. A parameter that refers to the result of a node holds the node's
//! mark until then; a node depends on those it refers to.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use jobbers_common::{dependency::DependencyPolicy, limits::MAX_NODE_NAME_BYTES, payload::Payload};

use crate::{
    client::{SubmitError, submission::Submission},
    payload::encoding::Raw,
};

/// What a mark begins with in parameters; its digits and a colon follow.
const MARK: &str = "jobbers:result-of:";
const MARK_DIGITS: usize = 16;

/// A submission whose result no task reads by type.
pub(crate) type AnySubmission = Submission<Raw>;

/// A node of a canvas that has no name yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeMark(u64);

impl NodeMark {
    /// The mark as parameters hold it. Random, so that no other text is taken for it.
    pub(crate) fn text(self) -> String {
        format!("{MARK}{:0MARK_DIGITS$x}:", self.0)
    }
}

/// A node that is waited for, and what its end means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    pub(crate) on: NodeMark,
    pub(crate) policy: DependencyPolicy,
}

impl Waits {
    pub(crate) const fn completed(on: NodeMark) -> Self {
        Self { on, policy: DependencyPolicy::AbortSuccessors }
    }
}

#[derive(Debug)]
struct Marked {
    mark: NodeMark,
    submission: AnySubmission,
    waits: Vec<Waits>,
}

/// Nodes, each after those that it waits for.
#[derive(Debug, Default)]
pub(crate) struct Graph(Vec<Marked>);

/// A node with its name.
#[derive(Debug)]
pub(crate) struct CanvasNode {
    pub(crate) name: String,
    /// What it runs, without an id and dependencies.
    pub(crate) submission: AnySubmission,
    /// The names of the nodes it waits for.
    pub(crate) depends_on: Vec<(String, DependencyPolicy)>,
}

impl Graph {
    /// A graph of one node.
    pub(crate) fn of(submission: AnySubmission) -> (Self, NodeMark) {
        let mark = NodeMark(rand::random());
        (Self(vec![Marked { mark, submission, waits: Vec::new() }]), mark)
    }

    /// Adds another graph, whose heads wait for nodes of this one.
    pub(crate) fn add(&mut self, other: Self, heads: &[NodeMark], waits: &[Waits]) {
        let heads: HashSet<&NodeMark> = heads.iter().collect();
        self.0.extend(other.0.into_iter().map(|mut node| {
            if heads.contains(&node.mark) {
                node.waits.splice(0..0, waits.iter().copied());
            }
            node
        }));
    }

    /// Names the nodes, and answers them with the name of one of them.
    ///
    /// # Errors
    /// [`SubmitError::Invalid`] for a submission that can't be a node, or a parameter that refers to a node of another canvas.
    pub(crate) fn name_all(self, last: NodeMark) -> Result<(Vec<CanvasNode>, String), SubmitError> {
        let names = self.names();
        let name_of = |mark: &NodeMark| names.get(mark).cloned().unwrap_or_default();
        let mut nodes = Vec::with_capacity(self.0.len());
        for Marked { mark, submission, mut waits } in self.0 {
            let name = name_of(&mark);
            let (submission, parameters) = submission.into_node(&name)?;
            let (parameters, referred) = resolve(parameters, &names, &name)?;
            for on in referred {
                if waits.iter().all(|waits| waits.on != on) {
                    waits.push(Waits::completed(on));
                }
            }
            let depends_on = waits.iter().map(|waits| (name_of(&waits.on), waits.policy)).collect();
            nodes.push(CanvasNode { name, submission: submission.with_parameters(parameters), depends_on });
        }
        Ok((nodes, name_of(&last)))
    }

    fn names(&self) -> HashMap<NodeMark, String> {
        let mut taken: HashSet<String> = self.0.iter().filter_map(|node| node.submission.chosen_id()).collect();
        let mut counts: HashMap<String, usize> = HashMap::new();
        let unnamed = || self.0.iter().filter(|node| node.submission.chosen_id().is_none());
        unnamed().for_each(|node| *counts.entry(base(&node.submission)).or_default() += 1);
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut names = HashMap::with_capacity(self.0.len());
        for node in &self.0 {
            let name = node.submission.chosen_id().unwrap_or_else(|| {
                let base = base(&node.submission);
                if counts.get(&base) == Some(&1) && taken.insert(base.clone()) {
                    return base;
                }
                let number = numbers.entry(base.clone()).or_default();
                loop {
                    *number += 1;
                    let name = format!("{base}-{number}");
                    if taken.insert(name.clone()) {
                        return name;
                    }
                }
            });
            names.insert(node.mark, name);
        }
        names
    }
}

/// How the name of a node begins: its task's name, with room for a number.
fn base(submission: &AnySubmission) -> String {
    submission.task_name().replace('/', ".").chars().take(MAX_NODE_NAME_BYTES - 8).collect()
}

/// Parameters with the names of nodes in place of their marks, and these nodes.
fn resolve(
    parameters: Payload,
    names: &HashMap<NodeMark, String>,
    of: &str,
) -> Result<(Payload, Vec<NodeMark>), SubmitError> {
    let Some(text) = std::str::from_utf8(&parameters.bytes).ok().filter(|text| text.contains(MARK)) else {
        return Ok((parameters, Vec::new()));
    };
    let (mut resolved, mut referred, mut rest) = (String::with_capacity(text.len()), Vec::new(), text);
    while let Some((before, after)) = rest.split_once(MARK) {
        resolved.push_str(before);
        let digits = after.get(..MARK_DIGITS).filter(|_| after[MARK_DIGITS..].starts_with(':'));
        let mark = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(NodeMark);
        let Some((mark, name)) = mark.and_then(|mark| Some((mark, names.get(&mark)?))) else {
            let rule = format!("a parameter of {of} is the result of a task that is not part of the same canvas");
            return Err(SubmitError::Invalid(rule));
        };
        resolved.push_str(name);
        referred.push(mark);
        rest = &after[MARK_DIGITS + 1..];
    }
    resolved.push_str(rest);
    Ok((Payload { bytes: Bytes::from(resolved), ..parameters }, referred))
}
