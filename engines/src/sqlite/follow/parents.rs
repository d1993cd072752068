//! Predecessors of tasks, and how they ended, for the tasks that waited for them.

use jobbers_common::{
    dependency::Dependency,
    engine::{Parent, Parents, ParentsRequest, Result, parents::result_bytes},
    lifecycle::Status,
    name::TaskId,
    payload::Payload,
};

use rusqlite::OptionalExtension;

use crate::sqlite::{
    kernel::{
        row::{self, Columns},
        step::Step,
        view::View,
    },
    sql,
    store::error::OrStore,
};

/// Stores the predecessors of a new task, which holds them from now on.
pub(crate) fn put(step: &Step<'_>, key: i64, depends_on: &[Dependency]) -> Result<()> {
    restore(step, key, 0, depends_on.iter().map(|edge| &edge.on))
}

/// Stores predecessors that a task holds, from a place on.
pub(crate) fn restore<'a>(
    step: &Step<'_>,
    key: i64,
    first: i64,
    parents: impl Iterator<Item = &'a TaskId>,
) -> Result<()> {
    let mut insert = step.prepare(sql::INSERT_PARENT)?;
    for (place, parent) in (first..).zip(parents) {
        insert.execute((key, place, parent.as_str())).or_store()?;
    }
    Ok(())
}

/// Adds a predecessor to those of a task that has not started. Those of an earlier life of the task are forgotten.
pub(crate) fn add(step: &Step<'_>, key: i64, parent: &TaskId) -> Result<()> {
    let last: Option<i64> = step.prepare(sql::LAST_PARENT)?.query_row([key], |row| row.get(0)).or_store()?;
    if last.is_none() {
        step.prepare(sql::DELETE_PARENTS)?.execute([key]).or_store()?;
    }
    restore(step, key, last.map_or(0, |last| last + 1), std::iter::once(parent))
}

/// Tasks are about to be deleted, given as a JSON array of keys: they hold their predecessors no longer.
fn release(step: &Step<'_>, keys: &str) -> Result<()> {
    if step.prepare(sql::RELEASE_PARENTS)?.execute([keys]).or_store()? > 0 {
        step.prepare(sql::DELETE_RELEASED)?.execute([keys]).or_store()?;
    }
    Ok(())
}

/// How many predecessors a task let go, and whether it still holds others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Released {
    pub(crate) count: usize,
    pub(crate) has_more: bool,
}

/// Lets up to `limit` predecessors of a task go, if the task is over.
pub(crate) fn release_some(step: &Step<'_>, key: i64, limit: usize) -> Result<Released> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("first")?, row.get("last")?, row.get("is_any_kept")?));
    let held: Option<(i64, i64, bool)> =
        step.prepare(sql::HELD_PARENTS)?.query_row([key], read).optional().or_store()?;
    let Some((first, last, is_any_kept)) = held else { return Ok(Released::default()) };
    let end = first + sql::count(limit);
    let mut count = 0;
    if limit > 0 {
        count = step.prepare(sql::RELEASE_SOME_PARENTS)?.execute((key, first, end)).or_store()?;
        if is_any_kept {
            step.prepare(sql::DELETE_SOME_RELEASED)?.execute((key, first, end)).or_store()?;
        }
    }
    Ok(Released { count, has_more: end <= last })
}

/// Tasks are about to be deleted: keeps how those ended that other tasks hold.
pub(crate) fn note_removed(step: &Step<'_>, keys: &str) -> Result<()> {
    release(step, keys)?;
    step.prepare(sql::KEEP_RESULTS)?.execute([keys]).or_store()?;
    Ok(())
}

/// The predecessors that a task holds.
pub(crate) fn held_by(view: &View<'_>, id: &TaskId) -> Result<Vec<TaskId>> {
    ids_of(view, id, true)
}

fn ids_of(view: &View<'_>, id: &TaskId, held_only: bool) -> Result<Vec<TaskId>> {
    let mut statement = view.prepare(sql::PARENTS_OF)?;
    let mut rows = statement.query((id.as_str(), held_only)).or_store()?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        ids.push(Columns::of(row).name("predecessor", TaskId::new)?);
    }
    Ok(ids)
}

/// Reads predecessors of a task.
pub(crate) fn read(view: &View<'_>, request: &ParentsRequest) -> Result<Parents> {
    let ids = ids_of(view, &request.of, false)?;
    let (mut parents, mut bytes) = (Vec::new(), 0);
    for id in &ids[request.places(&ids)] {
        let (status, result) = find(view, id)?.unzip();
        let result: Option<Payload> = result.flatten();
        let more = result_bytes(result.as_ref());
        if !request.has_room(parents.len(), bytes, more) {
            break;
        }
        bytes += more;
        parents.push(Parent { id: id.clone(), status, result });
    }
    Ok(Parents { total: ids.len(), parents })
}

fn find(view: &View<'_>, id: &TaskId) -> Result<Option<(Status, Option<Payload>)>> {
    let mut statement = view.prepare(sql::FIND_PARENT)?;
    let mut rows = statement.query((id.as_str(), view.now.as_micros())).or_store()?;
    let Some(row) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    Ok(Some((row::status(columns.take("status")?)?, columns.payload("result_type", "result")?)))
}
