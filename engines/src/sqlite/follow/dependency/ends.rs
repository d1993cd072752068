//! Ends that are still to be signalled, and how many dependencies one step may end.

use jobbers_common::{dependency::End, engine::Result, lifecycle::Status, limits::MAX_DEPENDENCIES, name::TaskId};
use rusqlite::OptionalExtension;

use crate::sqlite::{
    kernel::{
        find::find,
        ledger::EndedTask,
        removal::{Doomed, json_array},
        row,
        step::{Step, TaskEnd},
    },
    sql,
    store::error::OrStore,
};

/// An end, from the edges that are not signalled yet.
fn ended(step: &Step<'_>, key: i64, id: TaskId, before: i64, end: End) -> Result<EndedTask> {
    let from = step.prepare(sql::SIGNALLED_BEFORE)?.query_row([key], |row| row.get(0)).or_store()?;
    Ok(EndedTask { key, id, from, before, end })
}

/// Notes the end of a linked task, which has just received this revision.
pub(crate) fn note_end(step: &mut Step<'_>, end: &TaskEnd<'_>) -> Result<()> {
    let TaskEnd { id, key, from, to, revision, .. } = *end;
    if from == Status::Waiting {
        step.prepare(sql::DELETE_DEPENDENCIES)?.execute([key]).or_store()?;
        step.prepare(sql::DROP_SIGNALS)?.execute((key, step.now_micros())).or_store()?;
    }
    let ended = ended(step, key, id.clone(), revision, End::Over(to))?;
    step.ledger.ended.push(ended);
    Ok(())
}

/// Notes tasks that are about to be removed before their end. Their successors see `end`.
pub(crate) fn note_withdrawn(step: &mut Step<'_>, doomed: &[Doomed], end: impl Into<End>) -> Result<()> {
    if doomed.iter().all(|task| task.status.is_finished()) {
        return Ok(());
    }
    let (keys, end) = (json_array(doomed.iter().map(|task| task.key)), end.into());
    let mut statement = step.prepare(sql::LINKED_TASKS)?;
    let mut rows = statement.query([keys]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (key, id) = (columns.take("key")?, columns.name("id", TaskId::new)?);
        let before = step.next_revision();
        let ended = ended(step, key, id, before, end)?;
        step.ledger.ended.push(ended);
    }
    Ok(())
}

/// How many of these tasks one step ends or removes, from the first on: as many as have together no more dependencies than one
/// task may have, and at least one. Their edges and the lists of their predecessors go in the same step.
pub(crate) fn count_in_bounds(step: &Step<'_>, keys: impl Iterator<Item = i64>) -> Result<usize> {
    let mut total = step.prepare(sql::COUNT_DEPENDENCIES)?;
    let (mut count, mut sum) = (0, 0);
    for key in keys {
        let more: Option<i64> = total.query_row([key], |row| row.get(0)).optional().or_store()?;
        sum += more.unwrap_or_default();
        if count > 0 && sum > sql::count(MAX_DEPENDENCIES) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// How many of these tasks one step may delete or cancel, from the first on.
pub(crate) fn count_ids_in_bounds(step: &Step<'_>, ids: &[TaskId]) -> Result<usize> {
    if ids.len() == 1 || !step.prepare(sql::ANY_DEPENDENT)?.exists([]).or_store()? {
        return Ok(ids.len());
    }
    let mut keys = Vec::with_capacity(ids.len());
    for id in ids {
        // A key that does not exist has no dependencies.
        keys.push(find(step, id)?.map_or(0, |found| found.key));
    }
    count_in_bounds(step, keys.into_iter())
}

/// Tasks that waited for `from` wait for `to`, which replaces it.
pub(crate) fn pass_on(step: &Step<'_>, from: i64, to: i64) -> Result<()> {
    if step.prepare(sql::PASS_SUCCESSORS_ON)?.execute((from, to)).or_store()? > 0 {
        step.prepare(sql::LINK_TASK)?.execute([to]).or_store()?;
    }
    Ok(())
}

/// Counts dependencies of a task that are signalled, and others whose tasks were deleted. Returns how many are left.
pub(super) fn count_ends(step: &Step<'_>, task: i64, signals: usize, deleted: usize) -> Result<Option<u32>> {
    let mut count = step.prepare(sql::COUNT_ENDS)?;
    let numbers = (task, sql::count(signals), sql::count(deleted));
    count.query_row(numbers, |row| row.get(0)).optional().or_store()
}
