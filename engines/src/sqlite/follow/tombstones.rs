//! Tombstones: what is remembered of pruned tasks whose clients chose their ids.

use jobbers_common::{
    engine::Result,
    name::{QueueName, TaskId},
    task::tombstone::{Tombstone, TombstoneHealth},
    time::{Timestamp, micros},
};
use rusqlite::{Connection, OptionalExtension};

use crate::sqlite::{
    kernel::{finished::Finished, removal, row, step::Step},
    sql,
    store::error::{OrStore, corrupt},
};

/// How many tombstones one call deletes: as many as a call that prunes may add.
const MAX_SWEPT: u64 = 1_000;

/// The tombstone of a task.
pub(crate) fn find(conn: &Connection, id: &TaskId, now: Timestamp) -> Result<Option<Tombstone>> {
    let mut statement = conn.prepare_cached(sql::FIND_TOMBSTONE).or_store()?;
    let mut rows = statement.query((id.as_str(), now.as_micros())).or_store()?;
    let Some(row) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = row::Columns::of(row);
    Ok(Some(Tombstone {
        id: id.clone(),
        queue: columns.name("queue", QueueName::new)?,
        status: row::status(columns.take("status")?)?,
        finished_at: columns.time("finished_at")?,
        forget_at: columns.time("forget_at")?,
        fingerprint: u128::from_be_bytes(columns.take("fingerprint")?),
    }))
}

/// Forgets an id that is stored again. Returns whether it was remembered.
pub(crate) fn forget(step: &Step<'_>, id: &str) -> Result<bool> {
    let forgotten = step.prepare(sql::DELETE_TOMBSTONE)?.execute([id]).or_store()?;
    note(step, -sql::count(forgotten), None)?;
    Ok(forgotten > 0)
}

/// Remembers finished tasks that are about to be deleted, if their clients chose their ids.
pub(crate) fn bury(step: &Step<'_>, doomed: &[Finished]) -> Result<()> {
    let keys = removal::json_array(doomed.iter().map(|task| task.key));
    let is_any_chosen: bool = step.prepare(sql::ANY_CHOSEN)?.query_row([&keys], |row| row.get(0)).or_store()?;
    if !is_any_chosen {
        return Ok(());
    }
    let age = micros(step.tombstones.age);
    let cleared = step.prepare(sql::CLEAR_TOMBSTONES)?.execute([&keys]).or_store()?;
    let put = step.prepare(sql::PUT_TOMBSTONES)?.execute((&keys, age, step.now_micros())).or_store()?;
    note(step, sql::count(put) - sql::count(cleared), None)
}

/// Deletes expired tombstones, and the oldest ones beyond the limit.
pub(crate) fn sweep(step: &Step<'_>) -> Result<()> {
    let TombstoneHealth { count, .. } = health(step.conn)?;
    if count == 0 {
        return Ok(());
    }
    let mut sweep = step.prepare(sql::SWEEP_TOMBSTONES)?;
    let swept = sweep.execute((step.now_micros(), MAX_SWEPT.cast_signed())).or_store()?;
    let surplus = (count - swept as u64).saturating_sub(step.tombstones.count).min(MAX_SWEPT);
    let cut = match surplus {
        0 => 0,
        surplus => step.prepare(sql::CUT_TOMBSTONES)?.execute([surplus.cast_signed()]).or_store()?,
    };
    note(step, -sql::count(swept + cut), (cut > 0).then_some(step.now))
}

fn note(step: &Step<'_>, change: i64, cut_at: Option<Timestamp>) -> Result<()> {
    if change != 0 {
        step.prepare(sql::NOTE_TOMBSTONES)?.execute((change, cut_at.map(Timestamp::as_micros))).or_store()?;
    }
    Ok(())
}

/// The tombstones in numbers.
pub(crate) fn health(conn: &Connection) -> Result<TombstoneHealth> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("count")?, row.get("cut_at")?));
    let counted = conn.prepare_cached(sql::COUNT_TOMBSTONES).or_store()?.query_row([], read).optional().or_store()?;
    let (count, cut_at): (i64, Option<i64>) = counted.ok_or_else(|| corrupt("the count of tombstones", "gone"))?;
    Ok(TombstoneHealth { count: count.unsigned_abs(), cut_at: cut_at.map(Timestamp::from_micros) })
}
