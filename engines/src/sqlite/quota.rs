//! `max_bytes`: what it is compared with, and what it means that it is used up.

use jobbers_common::engine::Error;
use jobbers_sqlite_file::Quota;
use rusqlite::Connection;

/// What a task takes besides its payload: its row, its index entries, and room in pages that are not full.
pub(super) const TASK_BYTES: u64 = 512;

/// What it means that a verb failed so: SQLite says the same of its own limit, above the quota, as of a full disk.
pub(super) fn explain(quota: Quota, conn: &Connection, error: Error) -> Error {
    match (&error, quota.passed(conn)) {
        (Error::Full(_), Ok(Some(max_bytes))) => Error::Full(format!(
            "its max_bytes of {max_bytes} are used up, and so is the reserve above that lets it drain. Prune, or raise \
             max_bytes"
        )),
        _ => error,
    }
}
