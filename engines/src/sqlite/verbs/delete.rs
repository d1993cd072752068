//! Deletes tasks by their ids. What their successors see is in `dependency.rs`.

use std::collections::HashSet;

use jobbers_common::{
    dependency::End,
    engine::{Result, TaskDeletion},
    lifecycle::Status,
    name::TaskId,
};

use crate::sqlite::{
    follow::dependency::ends,
    kernel::{
        find::{Found, find},
        removal::{self, Doomed},
        step::Step,
    },
};

/// Deletes tasks by their ids, unless they run: as many as one step may, from the first on, and at least one. Returns an answer
/// for each of these.
pub(crate) fn tasks(step: &mut Step<'_>, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
    let ids = &ids[..ends::count_ids_in_bounds(step, ids)?];
    let (mut doomed, mut answers, mut seen) = (Vec::new(), Vec::with_capacity(ids.len()), HashSet::new());
    for id in ids {
        let found = if seen.insert(id) { find(step, id)? } else { None };
        answers.push(match found {
            None => TaskDeletion::Unknown,
            Some(found) if found.status == Status::Started => TaskDeletion::Running,
            Some(Found { key, queue, status, .. }) => {
                doomed.push(Doomed { key, queue, status });
                step.note_finished(id.clone());
                TaskDeletion::Deleted
            }
        });
    }
    ends::note_withdrawn(step, &doomed, End::Deleted { cascade })?;
    removal::remove(step, &doomed)?;
    Ok(answers)
}
