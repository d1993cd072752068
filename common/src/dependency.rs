//! Dependencies: which tasks a task waits for, and what the end of each of them does to it.
//!
//! A submission names the predecessors of its task, each with a policy. The task is `waiting` until every one of its
//! edges is signalled; then it becomes `submitted` or `scheduled`, once. An edge is signalled by the end of its
//! predecessor, and [`consequence`] decides what follows for the successor: the model and both engines go by it.
//!
//! - Signals are a set and no count: an edge that was signalled is gone, so nothing can signal it twice.
//! - A predecessor that is over when its successor is submitted signals at once, by its end. So does one that was pruned
//!   and is remembered ([`crate::tombstone`]).
//! - A predecessor that is purged counts as cancelled, and one that another submission replaces counts as aborted. The edges
//!   of one that is deleted are removed ([`End::Deleted`]).
//! - Edges between stored tasks may be added ([`added`]).
//! - A spontaneous task ends as completed in the step in which it would be released, so no worker runs it.
//! - A task that is over stays over: sending a predecessor again revives no successor that was aborted.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    lifecycle::{Move, Status},
    limits::{DEPENDENCIES_A_STEP, MAX_BATCH_DEPENDENCIES, MAX_DEPENDENCIES},
    name::TaskId,
    signal::{self, ExternalSignal, SignalState},
    task::{NewTask, Start},
};

pub mod added;
pub(crate) mod policy;
pub(crate) mod refused;

pub use self::policy::DependencyPolicy;

/// What the successors of a task see when it ends or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It is over with this status, or counts as such.
    Over(Status),
    /// It was deleted before its end: its edges are removed, and do not count among the dependencies of its successors.
    Deleted {
        /// Whether a successor that then waits for no other task is deleted too, and so on; else it is released.
        cascade: bool,
    },
}

impl End {
    const DELETED: u8 = 10;
    const DELETED_CASCADE: u8 = 11;

    /// The stored number; that of the status for an end.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Over(status) => status.code(),
            Self::Deleted { cascade: false } => Self::DELETED,
            Self::Deleted { cascade: true } => Self::DELETED_CASCADE,
        }
    }

    /// The end of a stored number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            Self::DELETED => Some(Self::Deleted { cascade: false }),
            Self::DELETED_CASCADE => Some(Self::Deleted { cascade: true }),
            code => Status::from_code(code).map(Self::Over),
        }
    }
}

impl From<Status> for End {
    fn from(status: Status) -> Self {
        Self::Over(status)
    }
}

/// An edge: the task whose end is waited for, and what that end means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dependency {
    /// The predecessor.
    pub on: TaskId,
    /// What its end means.
    #[serde(default)]
    pub policy: DependencyPolicy,
}

/// A predecessor that has ended, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EndedPredecessor {
    /// Its id.
    pub id: TaskId,
    /// How it ended.
    pub status: Status,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dependencies {
    /// How many edges it was submitted with, or received later.
    pub total: u32,
    /// How many of them are signalled. Edges that were not when the task ended no longer count.
    pub signals: u32,
    /// The edges to tasks that are not: the first 100 by the ids of their predecessors. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Dependency>,
    /// Whether the task ends by itself, as completed, once all are signalled.
    #[serde(default, rename = "spontaneous", skip_serializing_if = "std::ops::Not::not")]
    pub is_spontaneous: bool,
    /// The signals from outside that it was submitted with, by their names; `total` counts them too. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalSignal>,
    /// The predecessor whose end aborted the task, if one did; the first of several that ended in the same step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_by: Option<EndedPredecessor>,
}

impl Dependencies {
    /// How many signals from outside are still waited for.
    #[must_use]
    pub fn open_signals(&self) -> usize {
        self.external.iter().filter(|signal| signal.state == SignalState::Waiting).count()
    }
}

/// What the end of a predecessor, `end`, does to a waiting successor that has `left` other edges without a signal. `None`:
/// it waits on.
#[must_use]
pub const fn consequence(policy: DependencyPolicy, end: Status, left: u32) -> Option<Move> {
    if policy.aborts(end) {
        return Some(Move::Abort);
    }
    if left == 0 { Some(Move::Signal) } else { None }
}

/// The tasks of a submission whose dependencies are linked in pieces, after the step that stores it: those that come when it has
/// linked as many as it may. Until then the others of a task count, so it waits.
pub fn linked_later(tasks: &[NewTask]) -> impl Iterator<Item = bool> + '_ {
    let mut linked = 0;
    tasks.iter().map(move |task| {
        let is_later = !task.depends_on.is_empty() && linked + task.depends_on.len() > DEPENDENCIES_A_STEP;
        linked += if is_later { 0 } else { task.depends_on.len() };
        is_later
    })
}

/// Checks the dependencies of a batch: their bounds, and that no task waits for itself, be it through others.
///
/// # Errors
/// What is wrong, with the ids of the tasks.
pub fn validate(tasks: &[NewTask]) -> Result<(), String> {
    let total: usize = tasks.iter().map(|task| task.depends_on.len()).sum();
    if !tasks.iter().any(NewTask::is_linked) {
        return Ok(());
    }
    tasks.iter().try_for_each(validate_one)?;
    if total > MAX_BATCH_DEPENDENCIES {
        return Err(format!(
            "a batch has at most {MAX_BATCH_DEPENDENCIES} dependencies, not {total}; send smaller ones"
        ));
    }
    if let Some(task) = tasks.iter().find(|task| task.unique.is_some()) {
        return Err(format!("task {} has a unique key: a batch has unique keys or dependencies, not both", task.id));
    }
    match find_cycle(tasks) {
        Some(cycle) => {
            let path: Vec<&str> = cycle.into_iter().map(TaskId::as_str).collect();
            Err(format!("these tasks would wait for each other: {}", path.join(" -> ")))
        }
        None => Ok(()),
    }
}

fn validate_one(task: &NewTask) -> Result<(), String> {
    let count = task.depends_on.len();
    if count > MAX_DEPENDENCIES {
        return Err(format!("task {} depends on {count} tasks; the most are {MAX_DEPENDENCIES}", task.id));
    }
    if task.is_spontaneous && task.start != Start::Now {
        return Err(format!(
            "task {} is spontaneous: it ends with its predecessors, and has no time of its own",
            task.id
        ));
    }
    let mut seen = HashSet::with_capacity(count);
    for Dependency { on, .. } in &task.depends_on {
        if *on == task.id {
            return Err(format!("task {on} depends on itself"));
        }
        if !seen.insert(on) {
            return Err(format!("task {} names its dependency on {on} twice", task.id));
        }
    }
    signal::validate(&task.signals).map_err(|rule| format!("task {}: {rule}", task.id))
}

/// A cycle among the tasks of a batch, each before the one that depends on it. The work grows with the edges.
fn find_cycle(tasks: &[NewTask]) -> Option<Vec<&TaskId>> {
    let places: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let within = |place: usize| tasks[place].depends_on.iter().filter_map(|edge| places.get(&edge.on).copied());
    let mut left: Vec<usize> = (0..tasks.len()).map(|place| within(place).count()).collect();
    let mut successors = vec![Vec::new(); tasks.len()];
    for place in 0..tasks.len() {
        within(place).for_each(|predecessor| successors[predecessor].push(place));
    }
    let mut free: Vec<usize> = (0..tasks.len()).filter(|place| left[*place] == 0).collect();
    while let Some(place) = free.pop() {
        for successor in &successors[place] {
            left[*successor] -= 1;
            if left[*successor] == 0 {
                free.push(*successor);
            }
        }
    }
    // Each of those that are left waits for another one of them: walking back from any comes to a cycle.
    let mut path = vec![(0..tasks.len()).find(|place| left[*place] > 0)?];
    loop {
        let next = within(*path.last()?).find(|place| left[*place] > 0)?;
        if let Some(start) = path.iter().position(|place| *place == next) {
            let mut cycle: Vec<&TaskId> = path[start..].iter().rev().map(|place| &tasks[*place].id).collect();
            cycle.push(cycle.first()?);
            return Some(cycle);
        }
        path.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lifecycle::is_legal,
        name::{QueueName, TaskName},
        payload::Payload,
    };

    fn task(id: &str, on: &[&str]) -> NewTask {
        let name = TaskName::new("echo").unwrap();
        let new = NewTask::new(TaskId::new(id).unwrap(), name, QueueName::new("default").unwrap(), Payload::json("1"));
        let edge = |id: &&str| Dependency { on: TaskId::new(*id).unwrap(), policy: DependencyPolicy::default() };
        NewTask { depends_on: on.iter().map(edge).collect(), ..new }
    }

    #[test]
    fn ends_read_back_from_their_numbers() {
        let deleted = [false, true].map(|cascade| End::Deleted { cascade });
        for end in Status::ALL.map(End::from).into_iter().chain(deleted) {
            assert_eq!(End::from_code(end.code()), Some(end));
        }
        assert_eq!(End::from_code(12), None);
    }

    #[test]
    fn what_follows_is_a_move_of_a_waiting_task() {
        for policy in DependencyPolicy::ALL {
            assert_eq!(DependencyPolicy::from_code(policy.code()), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.as_str());
            for end in Status::ALL.into_iter().filter(|status| status.is_finished()) {
                let (last, other) = (consequence(policy, end, 0), consequence(policy, end, 1));
                if policy.aborts(end) {
                    assert_eq!((last, other), (Some(Move::Abort), Some(Move::Abort)));
                    assert!(is_legal(Status::Waiting, Move::Abort, Status::Aborted));
                } else {
                    assert_eq!((last, other), (Some(Move::Signal), None));
                    assert!(is_legal(Status::Waiting, Move::Signal, Status::Submitted));
                }
            }
        }
        assert_eq!(DependencyPolicy::from_code(3), None);
    }

    #[test]
    fn a_cycle_is_found_and_named() {
        for (tasks, expected) in [
            (vec![task("a", &["a"])], "task a depends on itself"),
            (vec![task("a", &["b", "b"])], "task a names its dependency on b twice"),
            (vec![task("a", &["b"]), task("b", &["a"])], "wait for each other: b -> a -> b"),
            (
                vec![task("x", &[]), task("a", &["x", "c"]), task("b", &["a"]), task("c", &["b"]), task("y", &["c"])],
                "wait for each other: b -> c -> a -> b",
            ),
        ] {
            let problem = validate(&tasks).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_graph_without_a_cycle_is_taken_in_any_order() {
        let diamond = [task("d", &["b", "c"]), task("b", &["a"]), task("a", &["stored"]), task("c", &["a"])];
        assert_eq!(validate(&diamond), Ok(()));
        assert_eq!(validate(&[]), Ok(()));
    }

    #[test]
    fn a_step_links_no_more_than_it_may() {
        let names: Vec<String> = (0..=DEPENDENCIES_A_STEP).map(|n| format!("p{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let tasks = [300, 0, 250, 200, 1, 501].map(|edges| task(&format!("t{edges}"), &names[..edges]));
        assert_eq!(linked_later(&tasks).collect::<Vec<_>>(), [false, false, true, false, true, true]);
    }

    #[test]
    fn bounds_are_held() {
        let names: Vec<String> = (0..=MAX_DEPENDENCIES).map(|n| format!("p{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(validate(&[task("a", &names[1..])]), Ok(()));
        assert!(validate(&[task("a", &names)]).unwrap_err().contains("depends on 10001 tasks"));
        let many: Vec<NewTask> = (0..6).map(|n| task(&format!("t{n}"), &names[..2_000])).collect();
        assert_eq!(validate(&many[..5]), Ok(()));
        assert!(validate(&many).unwrap_err().contains("at most 10000"));
        let unique = crate::unique::Unique::new(crate::unique::UniqueKey::new("k").unwrap());
        let both = NewTask { unique: Some(Box::new(unique)), ..task("a", &["b"]) };
        assert!(validate(&[both]).unwrap_err().contains("not both"));
        let barrier = NewTask { is_spontaneous: true, ..task("a", &["b"]) };
        assert_eq!(validate(std::slice::from_ref(&barrier)), Ok(()));
        let late = NewTask { start: Start::After(std::time::Duration::from_secs(1)), ..barrier };
        assert!(validate(&[late]).unwrap_err().contains("has no time of its own"));
    }
}
