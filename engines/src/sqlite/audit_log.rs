//! Logged changes, until an archive has them.

use jobbers_common::{
    engine::{Error, LoggedChange, LoggedChanges, LoggedKey, Result},
    limits::{LOGGED_CHANGES_BYTES, MAX_LOGGED_CHANGES},
    name::ChangeId,
};
use rusqlite::Connection;

use super::{
    kernel::{row::Columns, step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// Logs a change, unless it is logged.
pub(super) fn begin(step: &mut Step<'_>, id: &ChangeId, record: &str) -> Result<()> {
    if is_logged(step.conn, id)? {
        return Ok(());
    }
    if count(step.conn)? >= MAX_LOGGED_CHANGES as u64 {
        return Err(Error::AuditLogFull { max: MAX_LOGGED_CHANGES });
    }
    let number = step.next_revision();
    step.prepare(sql::LOG_CHANGE)?.execute((number, id.as_str(), step.now_micros(), record)).or_store()?;
    Ok(())
}

/// Notes the outcome of a change. Returns whether it is logged.
pub(super) fn end(step: &Step<'_>, id: &ChangeId, outcome: &str) -> Result<bool> {
    let noted = step.prepare(sql::LOG_OUTCOME)?.execute((id.as_str(), outcome)).or_store()?;
    Ok(noted > 0 || is_logged(step.conn, id)?)
}

/// Changes after a number, in the order in which they were logged.
pub(super) fn read(view: &View<'_>, after: u64, limit: usize) -> Result<LoggedChanges> {
    let mut statement = view.prepare(sql::LOGGED_CHANGES)?;
    let mut rows = statement.query((i64::try_from(after).unwrap_or(i64::MAX), sql::count(limit))).or_store()?;
    let (mut changes, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next().or_store()? {
        let mut columns = Columns::of(row);
        let change = LoggedChange {
            number: columns.take::<i64>("number")?.unsigned_abs(),
            id: columns.name("id", ChangeId::new)?,
            begun_at: columns.time("begun_at")?,
            record: columns.take("record")?,
            outcome: columns.take("outcome")?,
        };
        bytes += change.record.len() + change.outcome.as_ref().map_or(0, String::len);
        if !changes.is_empty() && bytes > LOGGED_CHANGES_BYTES {
            break;
        }
        changes.push(change);
    }
    Ok(LoggedChanges { now: view.now, changes, total: count(view.conn)? })
}

/// Deletes changes that are as they were read.
pub(super) fn forget(step: &Step<'_>, keys: &[LoggedKey]) -> Result<()> {
    for LoggedKey { id, has_outcome } in keys {
        step.prepare(sql::FORGET_LOGGED)?.execute((id.as_str(), has_outcome)).or_store()?;
    }
    Ok(())
}

fn is_logged(conn: &Connection, id: &ChangeId) -> Result<bool> {
    let mut statement = conn.prepare_cached(sql::IS_LOGGED).or_store()?;
    let found: i64 = statement.query_row([id.as_str()], |row| row.get(0)).or_store()?;
    Ok(found > 0)
}

fn count(conn: &Connection) -> Result<u64> {
    let mut statement = conn.prepare_cached(sql::COUNT_LOGGED).or_store()?;
    let count: i64 = statement.query_row([], |row| row.get(0)).or_store()?;
    Ok(count.unsigned_abs())
}
