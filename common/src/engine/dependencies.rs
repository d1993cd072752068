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
    hash::Hash,
};

use serde::{Deserialize, Serialize};

pub use crate::dependency::refused::{AddRefusal, RefusedDependency};
use crate::{
    dependency::policy::DependencyPolicy,
    error::{Error, Result},
    lifecycle::Status,
    limits::MAX_ADDED_DEPENDENCIES,
    name::TaskId,
};

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
pub enum CircleSearch<K> {
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
) -> Result<CircleSearch<K>> {
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
                    return Ok(CircleSearch::Circle(way));
                }
                Some(None) => {}
                None => {
                    let found = next(&task, left)?;
                    let Some(rest) = left.checked_sub(found.len()) else { return Ok(CircleSearch::TooMany) };
                    left = rest;
                    seen.insert(task.clone(), Some(way.len()));
                    way.push(task);
                    open.push(found);
                }
            }
        }
    }
    Ok(CircleSearch::Clear)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(edges: &[(u32, u32)], starts: &[u32], limit: usize) -> CircleSearch<u32> {
        let next = |task: &u32, _| Ok(edges.iter().filter(|(from, _)| from == task).map(|(_, to)| *to).collect());
        find_circle(starts.iter().copied(), limit, next).unwrap()
    }

    #[test]
    fn a_circle_is_found_from_any_task_that_leads_to_it() {
        let edges = [(1, 2), (2, 3), (3, 4), (4, 2), (5, 6), (1, 6)];
        for start in [1, 2, 3, 4] {
            let CircleSearch::Circle(way) = search(&edges, &[start], 100) else { panic!("from {start}") };
            assert_eq!((way.len(), way.first()), (4, way.last()));
            assert!(way.windows(2).all(|pair| edges.contains(&(pair[0], pair[1]))), "{way:?}");
        }
        assert_eq!(search(&edges, &[5, 6], 100), CircleSearch::Clear);
        assert_eq!(search(&[(1, 1)], &[1], 100), CircleSearch::Circle(vec![1, 1]));
    }

    #[test]
    fn ways_that_meet_again_are_no_circle() {
        assert_eq!(search(&[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)], &[1, 2, 3], 100), CircleSearch::Clear);
    }

    #[test]
    fn a_search_ends_at_its_limit() {
        let chain: Vec<(u32, u32)> = (0..50).map(|n| (n, n + 1)).collect();
        assert_eq!(search(&chain, &[0], 50), CircleSearch::Clear);
        assert_eq!(search(&chain, &[0], 49), CircleSearch::TooMany);
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
