//! Enforcing `max_bytes`: how the used space is measured, and the error when it is used up.

use jobbers_common::engine::Error;
use jobbers_sqlite_file::Quota;
use rusqlite::Connection;

/// The space of a task besides its payload: its row, its index entries, and room in pages that are not full.
pub(crate) const TASK_BYTES: u64 = 512;

/// Explains the failure of a verb: SQLite reports its own limit, above the quota, like a full disk.
pub(crate) fn explain(quota: Quota, conn: &Connection, error: Error) -> Error {
    match (&error, quota.passed(conn)) {
        (Error::Full(_), Ok(Some(max_bytes))) => Error::Full(format!(
            "its max_bytes of {max_bytes} are used up, and so is the reserve above that lets it drain. Prune, or raise \
             max_bytes"
        )),
        _ => error,
    }
}
