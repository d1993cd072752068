//! Edges between tasks that are stored already.
//!
//! A submission can't make a circle with stored tasks, because it only names tasks that exist. An added edge can: then
//! its tasks would wait for ever. So the call that adds edges first looks for a circle in the graph as it would be, in the
//! same atomic step that stores them. Two callers whose edges close a circle only together come one after the other in
//! every store, and the second finds the edge of the first: it is refused.
//!
//! The search ([`find_circle`]) is exact. Only edges without a signal count: a task whose end has come, or that runs,
//! waits for none. A new circle contains a new edge, so it passes through a task that receives one; following the
//! successors of these tasks finds it, and so does following the predecessors of the tasks that they are to wait for.
//! One of the two usually ends at once: a task that was just submitted has no successors, and a task that does not wait
//! has no predecessors. A store tries both, each over at most [`MAX_EDGES_CHECKED`] edges, so that its step stays short.
//! If neither comes to its end, the call is refused ([`AddRefusal::TooManyToCheck`]) and nothing is assumed.
//!
//! [`MAX_EDGES_CHECKED`]: crate::limits::MAX_EDGES_CHECKED

use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::Hash,
};

use serde::{Deserialize, Serialize};

use super::DependencyPolicy;
use crate::{
    engine::error::{Error, Result},
    lifecycle::Status,
    limits::{MAX_ADDED_DEPENDENCIES, MAX_DEPENDENCIES},
    name::TaskId,
};

/// Tasks of a circle that a message names at most.
const MAX_CIRCLE_SHOWN: usize = 20;

/// An edge to add: `run` waits for the end of `after` too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDependency {
    /// The task that waits.
    pub run: TaskId,
    /// The task that it waits for.
    pub after: TaskId,
    /// What its end means.
    #[serde(default)]
    pub policy: DependencyPolicy,
}

/// Why an edge can't be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddRefusal {
    /// `run` does not exist.
    UnknownRun,
    /// `run` is running or over.
    RunStarted(Status),
    /// `run` has a unique key: a submission with the same key may change it, and would not know its dependencies.
    RunIsUnique,
    /// `after` is neither stored nor remembered.
    UnknownAfter,
    /// `after` is over.
    AfterOver(Status),
    /// The edge exists, with this policy.
    OtherPolicy(DependencyPolicy),
    /// `run` would have too many dependencies.
    TooMany,
    /// These tasks would wait for each other, each for the one before it; the first is the last.
    Circle(Vec<TaskId>),
    /// Too many edges would have to be checked for a circle.
    TooManyToCheck,
}

/// An edge that can't be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDependency {
    /// The task that was to wait.
    pub run: TaskId,
    /// The task that it was to wait for.
    pub after: TaskId,
    /// Why it does not.
    pub why: AddRefusal,
}

impl RefusedDependency {
    /// The reason as a stable word.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.why {
            AddRefusal::UnknownRun => "unknown_task",
            AddRefusal::RunStarted(Status::Started) => "task_started",
            AddRefusal::RunStarted(_) => "task_over",
            AddRefusal::RunIsUnique => "task_has_unique_key",
            AddRefusal::UnknownAfter => "unknown_predecessor",
            AddRefusal::AfterOver(_) => "predecessor_over",
            AddRefusal::OtherPolicy(_) => "dependency_exists",
            AddRefusal::TooMany => "too_many_dependencies",
            AddRefusal::Circle(_) => "circular_dependency",
            AddRefusal::TooManyToCheck => "too_many_to_check",
        }
    }
}

impl fmt::Display for RefusedDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, after, why } = self;
        match why {
            AddRefusal::UnknownRun => write!(f, "task {run} does not exist"),
            AddRefusal::RunStarted(Status::Started) => write!(f, "task {run} is running, so it waits for no task"),
            AddRefusal::RunStarted(status) => write!(f, "task {run} is over ({status}), so it waits for no task"),
            AddRefusal::RunIsUnique => write!(f, "task {run} has a unique key, so it waits for no task"),
            AddRefusal::UnknownAfter => write!(f, "task {run} can't wait for task {after}, which does not exist"),
            AddRefusal::AfterOver(end) => write!(f, "task {run} can't wait for task {after}, which is over ({end})"),
            AddRefusal::OtherPolicy(policy) => {
                write!(f, "task {run} waits for task {after} already, with the policy {}", policy.as_str())
            }
            AddRefusal::TooMany => {
                write!(f, "task {run} would have more than {MAX_DEPENDENCIES} dependencies, which is the most")
            }
            AddRefusal::Circle(tasks) => {
                let shown: Vec<&str> = tasks.iter().take(MAX_CIRCLE_SHOWN).map(TaskId::as_str).collect();
                let more = if tasks.len() > shown.len() { " -> …" } else { "" };
                write!(f, "these tasks would wait for each other: {}{more}", shown.join(" -> "))
            }
            AddRefusal::TooManyToCheck => write!(
                f,
                "whether tasks {run} and {after} would wait for each other takes too many dependencies to check; name \
                 the dependency when the task is submitted"
            ),
        }
    }
}

impl NewDependency {
    /// The error for this edge.
    #[must_use]
    pub fn refused(&self, why: AddRefusal) -> Error {
        let Self { run, after, .. } = self;
        Error::DependencyRefused(Box::new(RefusedDependency { run: run.clone(), after: after.clone(), why }))
    }

    /// What the states of its tasks say about an edge. `run`: its status, and whether it has a unique key; `after`: its
    /// status, also if it is only remembered.
    ///
    /// # Errors
    /// [`Error::DependencyRefused`].
    pub fn check_states(&self, run: Option<(Status, bool)>, after: Option<Status>) -> Result<()> {
        let why = match (run, after) {
            (None, _) => AddRefusal::UnknownRun,
            (Some((status, _)), _) if status == Status::Started || status.is_finished() => {
                AddRefusal::RunStarted(status)
            }
            (Some((_, true)), _) => AddRefusal::RunIsUnique,
            (_, None) => AddRefusal::UnknownAfter,
            (_, Some(end)) if end.is_finished() => AddRefusal::AfterOver(end),
            _ => return Ok(()),
        };
        Err(self.refused(why))
    }

    /// Compares an edge with a stored one of the same tasks.
    ///
    /// # Errors
    /// [`Error::DependencyRefused`].
    pub fn check_stored(&self, policy: DependencyPolicy) -> Result<()> {
        if policy == self.policy { Ok(()) } else { Err(self.refused(AddRefusal::OtherPolicy(policy))) }
    }
}

/// Checks the bounds of a call that adds edges.
///
/// # Errors
/// [`Error::Invalid`], and [`Error::DependencyRefused`] for a task that is to wait for itself.
pub fn validate_new(edges: &[NewDependency]) -> Result<()> {
    if edges.is_empty() || edges.len() > MAX_ADDED_DEPENDENCIES {
        return Err(Error::Invalid(format!(
            "a call adds 1 to {MAX_ADDED_DEPENDENCIES} dependencies, not {}",
            edges.len()
        )));
    }
    let mut seen = HashSet::with_capacity(edges.len());
    for edge in edges {
        if edge.run == edge.after {
            return Err(edge.refused(AddRefusal::Circle(vec![edge.run.clone(), edge.run.clone()])));
        }
        if !seen.insert((&edge.run, &edge.after)) {
            return Err(Error::Invalid(format!("the dependency of {} on {} is named twice", edge.run, edge.after)));
        }
    }
    Ok(())
}

/// What a search for a circle found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Search<K> {
    /// None of the tasks that are reached waits for itself.
    Clear,
    /// This way leads back to its first task, which is also its last.
    Circle(Vec<K>),
    /// It met more edges than it may.
    TooMany,
}

/// Follows edges depth first from `starts`, over at most `limit` of them. `next` returns the tasks to which the edges of
/// a task lead; more than the given number need not be all.
///
/// # Errors
/// Those of `next`.
pub fn find_circle<K: Clone + Eq + Hash>(
    starts: impl IntoIterator<Item = K>,
    limit: usize,
    mut next: impl FnMut(&K, usize) -> Result<Vec<K>>,
) -> Result<Search<K>> {
    let mut left = limit;
    // By task: its place on the way, or none once nothing is left to follow from it.
    let mut seen = HashMap::<K, Option<usize>>::new();
    for start in starts {
        let (mut way, mut open) = (Vec::new(), vec![vec![start]]);
        while let Some(branches) = open.last_mut() {
            let Some(task) = branches.pop() else {
                open.pop();
                if let Some(done) = way.pop() {
                    seen.insert(done, None);
                }
                continue;
            };
            match seen.get(&task) {
                Some(Some(place)) => {
                    way.drain(..*place);
                    way.push(task);
                    return Ok(Search::Circle(way));
                }
                Some(None) => {}
                None => {
                    let found = next(&task, left)?;
                    let Some(rest) = left.checked_sub(found.len()) else { return Ok(Search::TooMany) };
                    left = rest;
                    seen.insert(task.clone(), Some(way.len()));
                    way.push(task);
                    open.push(found);
                }
            }
        }
    }
    Ok(Search::Clear)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(edges: &[(u32, u32)], starts: &[u32], limit: usize) -> Search<u32> {
        let next = |task: &u32, _| Ok(edges.iter().filter(|(from, _)| from == task).map(|(_, to)| *to).collect());
        find_circle(starts.iter().copied(), limit, next).unwrap()
    }

    #[test]
    fn a_circle_is_found_from_any_task_that_leads_to_it() {
        let edges = [(1, 2), (2, 3), (3, 4), (4, 2), (5, 6), (1, 6)];
        for start in [1, 2, 3, 4] {
            let Search::Circle(way) = search(&edges, &[start], 100) else { panic!("from {start}") };
            assert_eq!((way.len(), way.first()), (4, way.last()));
            assert!(way.windows(2).all(|pair| edges.contains(&(pair[0], pair[1]))), "{way:?}");
        }
        assert_eq!(search(&edges, &[5, 6], 100), Search::Clear);
        assert_eq!(search(&[(1, 1)], &[1], 100), Search::Circle(vec![1, 1]));
    }

    #[test]
    fn ways_that_meet_again_are_no_circle() {
        assert_eq!(search(&[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)], &[1, 2, 3], 100), Search::Clear);
    }

    #[test]
    fn a_search_ends_at_its_limit() {
        let chain: Vec<(u32, u32)> = (0..50).map(|n| (n, n + 1)).collect();
        assert_eq!(search(&chain, &[0], 50), Search::Clear);
        assert_eq!(search(&chain, &[0], 49), Search::TooMany);
    }

    #[test]
    fn bounds_are_held() {
        let edge = |run: &str, after: &str| NewDependency {
            run: TaskId::new(run).unwrap(),
            after: TaskId::new(after).unwrap(),
            policy: DependencyPolicy::default(),
        };
        assert!(matches!(validate_new(&[]), Err(Error::Invalid(_))));
        let many: Vec<_> = (0..=MAX_ADDED_DEPENDENCIES).map(|n| edge("a", &format!("p{n}"))).collect();
        assert!(matches!(validate_new(&many), Err(Error::Invalid(_))));
        assert_eq!(validate_new(&many[1..]), Ok(()));
        assert!(matches!(validate_new(&[edge("a", "b"), edge("a", "b")]), Err(Error::Invalid(_))));
        let error = validate_new(&[edge("a", "a")]).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            ("circular_dependency", "these tasks would wait for each other: a -> a")
        );
    }
}
