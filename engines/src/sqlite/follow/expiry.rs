//! Tasks that expire: a claim drops those whose first attempt it would begin too late.

use jobbers_common::{
    engine::{LostTask, Result},
    name::{TaskId, WorkerId},
    task::AttemptFailure,
    time::Timestamp,
};
use jobbers_sqlite_file::columns;
use rusqlite::Row;

use crate::sqlite::{
    kernel::{
        failures::note_failure,
        find::find,
        moves::{self, TaskEnding},
        record, row,
        step::Step,
    },
    sql,
    store::error::{OrStore, corrupt},
};

/// After how many dropped tasks a claim stops.
pub(crate) const MAX_EXPIRED: usize = 250;

/// Where a statement returns what [`is_late`] reads.
pub(crate) const fn columns_of(statement: &str) -> [usize; 3] {
    columns(statement, ["overrides", "ready_at", "started_at"])
}

/// Whether a ready task has expired, from [`columns_of`] its statement. Most often a task has no overrides, and no other
/// column is read. Overrides that can't be read hold no task back.
pub(crate) fn is_late(row: &Row<'_>, columns: [usize; 3], now: Timestamp) -> Result<bool> {
    let [overrides, ready_at, started_at] = columns;
    let overrides = row.get_ref(overrides).or_store()?.as_str_or_null().unwrap_or_default();
    if !overrides.is_some_and(|text| text.contains("expires_in")) {
        return Ok(false);
    }
    let (ready_at, started_at): (i64, Option<i64>) = (row.get(ready_at).or_store()?, row.get(started_at).or_store()?);
    let said = row::overrides(overrides).ok().and_then(|overrides| overrides.expires_in);
    let late = said.filter(|_| started_at.is_none());
    Ok(late.is_some_and(|late| Timestamp::from_micros(ready_at).after(late) <= now))
}

/// Drops a ready task that has expired, which `worker` asked for.
pub(crate) fn drop_task(step: &mut Step<'_>, key: i64, worker: &WorkerId) -> Result<LostTask> {
    let id: String = step.prepare(sql::TASK_ID)?.query_row([key], |row| row.get(0)).or_store()?;
    let id = TaskId::new(id).map_err(|error| corrupt("a task's id", error))?;
    let mut found = find(step, &id)?.ok_or_else(|| corrupt("the index of ready tasks", &id))?;
    // The attempt that the worker would have begun.
    (found.attempt, found.worker) = (1, Some(worker.clone()));
    note_failure(step, &found, &AttemptFailure::expired())?;
    let dead_letter = found.overrides()?.keeps_poison();
    moves::end(step, &id, &found, &TaskEnding::expired(dead_letter))?;
    record::lost(step, key)
}
