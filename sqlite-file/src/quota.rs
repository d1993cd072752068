//! Limits how large a file may grow.
//!
//! The quota refuses writes that add data. Deleting needs a little room too before it frees some, so SQLite's own limit
//! is higher by a reserve, and a full file can still be drained.

use rusqlite::Connection;

use crate::{
    error::{Error, FileErrorKind, Result},
    pragma,
};

/// The reserve between the quota and SQLite's own limit: a sixteenth of the quota, and at least this many pages.
const MIN_RESERVE_PAGES: u64 = 256;

/// A limit on the size of a file.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// The name of its setting.
    pub name: &'static str,
    /// The limit without the reserve; `None` does not limit the file.
    pub max_bytes: Option<u64>,
}

impl Quota {
    /// Limits the writes of `conn`.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn set(self, conn: &Connection) -> Result<()> {
        let Some(max_bytes) = self.max_bytes else { return Ok(()) };
        let pages = max_bytes / size(conn, "page_size")?.max(1);
        let limit = i64::try_from(pages + (pages / 16).max(MIN_RESERVE_PAGES)).unwrap_or(i64::MAX);
        // SQLite returns the limit that applies; it is never below the present size.
        Ok(conn.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(()))?)
    }

    /// Refuses a growth that would exceed the quota.
    ///
    /// # Errors
    /// [`FileErrorKind::OverQuota`]; those of SQLite.
    pub fn check(self, conn: &Connection, growth: u64) -> Result<()> {
        let Self { name, max_bytes: Some(max_bytes) } = self else { return Ok(()) };
        let used = used_bytes(conn)?;
        if used + growth <= max_bytes {
            return Ok(());
        }
        let text = format!("of its {name} of {max_bytes}, {used} are used and {growth} more are wanted");
        Err(Error { kind: FileErrorKind::OverQuota, text })
    }

    /// The limit, if the file has grown beyond it into the reserve.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn passed(self, conn: &Connection) -> Result<Option<u64>> {
        let Some(max_bytes) = self.max_bytes else { return Ok(None) };
        let is_passed = size(conn, "page_count")? * size(conn, "page_size")? >= max_bytes;
        Ok(is_passed.then_some(max_bytes))
    }

    /// Whether more than nine tenths of the quota are used.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn is_nearly_full(self, conn: &Connection) -> Result<bool> {
        let Some(max_bytes) = self.max_bytes else { return Ok(false) };
        Ok(used_bytes(conn)? > max_bytes / 10 * 9)
    }

    /// A warning for the operator while there is still room.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn warning(self, conn: &Connection) -> Result<Option<String>> {
        let Self { name, max_bytes: Some(max_bytes) } = self else { return Ok(None) };
        let used = used_bytes(conn)?;
        let is_nearly_full = self.is_nearly_full(conn)?;
        Ok(is_nearly_full.then(|| format!("{used} of the {max_bytes} bytes of {name} are used")))
    }
}

fn used_bytes(conn: &Connection) -> Result<u64> {
    let pages = size(conn, "page_count")?.saturating_sub(size(conn, "freelist_count")?);
    Ok(pages * size(conn, "page_size")?)
}

/// How many bytes of the file deletions have left free, so that the file need not grow.
///
/// # Errors
/// Those of SQLite.
pub fn free_bytes(conn: &Connection) -> Result<u64> {
    Ok(size(conn, "freelist_count")? * size(conn, "page_size")?)
}

fn size(conn: &Connection, name: &str) -> Result<u64> {
    Ok(pragma(conn, name)?.unsigned_abs())
}
