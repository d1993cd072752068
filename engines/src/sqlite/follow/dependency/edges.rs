//! Edges, as they are stored.

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy, EndedPredecessor},
    engine::Result,
    lifecycle::Status,
    name::TaskId,
};

use crate::sqlite::{
    kernel::{
        find::{Found, find},
        step::Step,
    },
    sql,
    store::error::{OrStore, corrupt},
};

pub(super) fn policy(code: u8) -> Result<DependencyPolicy> {
    DependencyPolicy::from_code(code).ok_or_else(|| corrupt("a dependency's policy", code))
}

/// What the edges of a task come to.
pub(super) struct PutEdges {
    /// How many predecessors are over.
    pub(super) signals: i64,
    /// The first of them that aborts the task.
    pub(super) aborted_by: Option<EndedPredecessor>,
}

/// Stores the edges of a task, by its key and its position, whose predecessors are not over. `gone` returns the end of one that
/// is not stored; `is_another` whether a stored task took the place of the one that the edge names.
pub(super) fn put_edges(
    step: &Step<'_>,
    (key, since): (i64, i64),
    depends_on: &[Dependency],
    gone: impl Fn(&TaskId) -> Result<Status>,
    is_another: impl Fn(&Found) -> Result<bool>,
) -> Result<PutEdges> {
    let mut edges = PutEdges { signals: 0, aborted_by: None };
    for Dependency { on, policy } in depends_on {
        let end = match find(step, on)? {
            Some(found) if is_another(&found)? => Status::Aborted,
            Some(found) if !found.status.is_finished() => {
                step.prepare(sql::INSERT_DEPENDENCY)?.execute((found.key, since, key, policy.code())).or_store()?;
                step.prepare(sql::LINK_TASK)?.execute([found.key]).or_store()?;
                continue;
            }
            Some(found) => found.status,
            None => gone(on)?,
        };
        edges.signals += 1;
        if policy.aborts(end) && edges.aborted_by.is_none() {
            edges.aborted_by = Some(EndedPredecessor { id: on.clone(), status: end });
        }
    }
    Ok(edges)
}
