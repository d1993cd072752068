//! The ways in which a task stops waiting: it is released, aborted, or deleted; a spontaneous one ends where another is released.
//! One that does not wait stays as it is.

use jobbers_common::{
    dependency::{End, EndedPredecessor},
    engine::Result,
    lifecycle::{Move, Status},
    name::TaskId,
};
use rusqlite::OptionalExtension;

use super::ends::note_withdrawn;
use crate::sqlite::{
    kernel::{
        chore::Chore,
        find::Found,
        moves::{self, TaskEnding},
        removal::{self, Doomed},
        row,
        step::Step,
    },
    sql,
    store::error::OrStore,
};

/// What must be known of a waiting task before it moves on.
struct WaitingTask {
    id: TaskId,
    queue: i64,
    has_large_parameters: bool,
}

fn find_waiting(step: &Step<'_>, key: i64) -> Result<Option<WaitingTask>> {
    let mut statement = step.prepare(sql::FIND_WAITING)?;
    let mut rows = statement.query([key]).or_store()?;
    let Some(row) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = row::Columns::of(row);
    let (id, queue) = (columns.name("id", TaskId::new)?, columns.take("queue")?);
    Ok(Some(WaitingTask { id, queue, has_large_parameters: columns.take("has_large_parameters")? }))
}

/// Aborts a task; `by`: the predecessor because of which, if it is one.
pub(super) fn abort(step: &mut Step<'_>, key: i64, by: Option<&EndedPredecessor>) -> Result<()> {
    let Some(WaitingTask { id, queue, has_large_parameters }) = find_waiting(step, key)? else { return Ok(()) };
    if let Some(EndedPredecessor { id: predecessor, status }) = by {
        step.prepare(sql::NOTE_ABORTED_BY)?.execute((key, predecessor.as_str(), status.code())).or_store()?;
    }
    moves::end(step, &id, &Found::waiting(key, queue, has_large_parameters), &TaskEnding::ABORTED)
}

/// A task joins the end of its queue, or waits for its time. A spontaneous one ends.
pub(super) fn release(step: &mut Step<'_>, key: i64) -> Result<()> {
    let (revision, now) = (step.next_revision(), step.now_micros());
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("queue")?, row.get("status")?, row.get("ready_at")?));
    let released = step.prepare(sql::RELEASE_TASK)?.query_row((key, revision, now), read).optional().or_store()?;
    let Some((queue, status, ready_at)) = released else { return end_spontaneous(step, key) };
    let to = row::status(status)?;
    if to == Status::Scheduled {
        step.note_due(Chore::Promote, queue, ready_at);
    }
    step.note_moved(key, queue, Status::Waiting, Move::Signal, to)
}

fn end_spontaneous(step: &mut Step<'_>, key: i64) -> Result<()> {
    let Some(WaitingTask { id, queue, has_large_parameters }) = find_waiting(step, key)? else { return Ok(()) };
    moves::end(step, &id, &Found::waiting(key, queue, has_large_parameters), &TaskEnding::SPONTANEOUS)
}

/// Deletes a task whose last open edge came from a deleted one.
pub(super) fn delete(step: &mut Step<'_>, key: i64) -> Result<()> {
    let Some(WaitingTask { id, queue, .. }) = find_waiting(step, key)? else { return Ok(()) };
    let doomed = [Doomed { key, queue, status: Status::Waiting }];
    note_withdrawn(step, &doomed, End::Deleted { cascade: true })?;
    removal::remove(step, &doomed)?;
    step.note_finished(id);
    Ok(())
}
