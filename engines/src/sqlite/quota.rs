//! How large the file may grow: `max_bytes`.
//!
//! The quota holds off what adds tasks. What settles, cancels and prunes needs a little room as well before it frees
//! any, so the limit SQLite itself is given lies a reserve above; a full store therefore drains.

use jobbers_common::engine::{Error, Result};
use rusqlite::Connection;

use super::error::OrStore;

/// What lies between the quota and SQLite's own limit: a sixteenth of it, and at least this many pages.
const MIN_RESERVE_PAGES: u64 = 256;
/// What a task takes besides its payload: its row, its index entries, and room in pages that are not full.
pub(super) const TASK_BYTES: u64 = 512;

/// A limit on the size of the file.
#[derive(Debug)]
pub(super) struct Quota {
    max_bytes: u64,
}

impl Quota {
    /// Limits what `conn` writes.
    pub(super) fn set(conn: &Connection, max_bytes: u64) -> Result<Self> {
        let page_bytes = pragma(conn, "page_size")?.max(1);
        let pages = max_bytes / page_bytes;
        let limit = pages + (pages / 16).max(MIN_RESERVE_PAGES);
        // The answer is the limit that holds, which SQLite keeps from lying below the present size.
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        conn.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(())).or_store()?;
        Ok(Self { max_bytes })
    }

    /// Refuses what would pass the quota.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(super) fn check(&self, conn: &Connection, growth: u64) -> Result<()> {
        let used = used_bytes(conn)?;
        if used + growth <= self.max_bytes {
            return Ok(());
        }
        let max_bytes = self.max_bytes;
        Err(Error::Full(format!(
            "of its max_bytes of {max_bytes}, {used} are used and {growth} more are wanted. What is there drains; prune, or \
             raise max_bytes"
        )))
    }

    /// What it means that a verb failed so: SQLite says the same of its own limit as of a full disk.
    pub(super) fn explain(&self, conn: &Connection, error: Error) -> Error {
        let file_bytes = pragma(conn, "page_count").and_then(|pages| Ok(pages * pragma(conn, "page_size")?));
        match error {
            Error::Full(_) if file_bytes.is_ok_and(|bytes| bytes >= self.max_bytes) => Error::Full(format!(
                "its max_bytes of {} are used up, and so is the reserve above that lets it drain. Prune, or raise max_bytes",
                self.max_bytes
            )),
            error => error,
        }
    }
}

/// What an operator should hear while there is still time.
pub(super) fn warning(conn: &Connection, max_bytes: Option<u64>) -> Result<Option<String>> {
    let used = used_bytes(conn)?;
    let nearly_full = max_bytes.filter(|max_bytes| used > max_bytes / 10 * 9);
    Ok(nearly_full.map(|max_bytes| format!("{used} of the {max_bytes} bytes of max_bytes are used")))
}

fn used_bytes(conn: &Connection) -> Result<u64> {
    let pages = pragma(conn, "page_count")?.saturating_sub(pragma(conn, "freelist_count")?);
    Ok(pages * pragma(conn, "page_size")?)
}

fn pragma(conn: &Connection, name: &str) -> Result<u64> {
    let value: i64 = conn.pragma_query_value(None, name, |row| row.get(0)).or_store()?;
    Ok(value.unsigned_abs())
}
