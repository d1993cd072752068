//! How large the file may grow.
//!
//! The quota holds off new letters. Deleting some, or sending some again, needs a little room as well before it frees
//! any, so the limit SQLite itself is given lies a reserve above.

use rusqlite::Connection;

use crate::error::{Error, Result};

/// What lies between the quota and SQLite's own limit: a sixteenth of it, and at least this many pages.
const MIN_RESERVE_PAGES: u64 = 256;

pub(crate) fn set(conn: &Connection, max_bytes: u64) -> Result<()> {
    let pages = max_bytes / pragma(conn, "page_size")?.max(1);
    let limit = i64::try_from(pages + (pages / 16).max(MIN_RESERVE_PAGES)).unwrap_or(i64::MAX);
    // The answer is the limit that holds, which SQLite keeps from lying below the present size.
    Ok(conn.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(()))?)
}

/// Refuses what would pass the quota.
pub(crate) fn check(conn: &Connection, max_bytes: Option<u64>, growth: u64) -> Result<()> {
    let Some(max_bytes) = max_bytes else { return Ok(()) };
    let used = used_bytes(conn)?;
    if used + growth <= max_bytes {
        return Ok(());
    }
    Err(Error::Full(format!("of its dlq_max_bytes of {max_bytes}, {used} are used and {growth} more are wanted")))
}

pub(crate) fn used_bytes(conn: &Connection) -> Result<u64> {
    let pages = pragma(conn, "page_count")?.saturating_sub(pragma(conn, "freelist_count")?);
    Ok(pages * pragma(conn, "page_size")?)
}

fn pragma(conn: &Connection, name: &str) -> Result<u64> {
    let value: i64 = conn.pragma_query_value(None, name, |row| row.get(0))?;
    Ok(value.unsigned_abs())
}
