//! Compares the length of the log with its index, which is in memory: a log that was cut from outside is shorter.

use std::path::{Path, PathBuf};

use jobbers_common::engine::Result;
use jobbers_sqlite_file::{length, log_of};
use rusqlite::{Connection, ffi};

use super::error::OrStore;

/// The lengths of the parts of a log, by SQLite's file format.
const LOG_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;
/// The page size that a store is created with.
pub(crate) const PAGE_BYTES: u64 = 4_096;

/// The log of an open store.
#[derive(Debug)]
pub(crate) struct LogFile {
    /// `None` for a store in memory, which has none.
    path: Option<PathBuf>,
}

impl LogFile {
    /// The log of the store at `path`.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        Self { path: path.map(log_of) }
    }

    /// Its length in bytes; 0 without a log.
    pub(crate) fn bytes(&self) -> u64 {
        self.path.as_ref().and_then(|path| length(path).ok()).unwrap_or(0)
    }
}

/// Whether the log is as long as its index says. Both are compared again while another process changes them.
pub(crate) fn log_is_whole(conn: &Connection, bytes: impl Fn() -> u64) -> Result<bool> {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let before = log_frames(conn)?;
        let found = bytes();
        let needed = match (before, log_frames(conn)?) {
            (before, after) if before != after => continue,
            (Some(0), _) => 0,
            (Some(frames), _) => LOG_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + PAGE_BYTES),
            (None, _) => return Ok(false),
        };
        return Ok(found >= needed);
    }
    // It changes all the time, so other processes write to it and look for themselves.
    Ok(true)
}

/// How many frames the log has by its index; `None` if it can't be read as far as that. Copies them into the database
/// while it is at it.
fn log_frames(conn: &Connection) -> Result<Option<u64>> {
    let read = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>("log"));
    match read {
        // -1 is a database without a log.
        Ok(frames) => Ok(Some(u64::try_from(frames).unwrap_or(0))),
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.extended_code == ffi::SQLITE_IOERR_SHORT_READ => {
            Ok(None)
        }
        Err(error) => Err(error).or_store(),
    }
}
