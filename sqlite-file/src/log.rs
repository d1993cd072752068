//! The write-ahead log next to a file, and its index.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, config::DbConfig};

use crate::{error::Result, pragma};

/// The size to which the log is cut after it was copied into the database, in bytes.
pub const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// The log of a database. It is next to the file itself, not next to a link to it.
#[must_use]
pub fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The index of a database's log, shared by all processes that have it open. SQLite locks it. Never open it: a process
/// that closes a file gives up all its locks on this file.
#[must_use]
pub fn index_of(path: &Path) -> PathBuf {
    beside(path, "-shm")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Copies the whole log into the database and cuts it. SQLite starts the log again only at a moment without readers,
/// which overlapping readers may never leave. Here new readers do not wait, and present readers are waited for, at most
/// for `within`. Returns whether it was done.
///
/// # Errors
/// Those of SQLite.
pub fn cut_log(conn: &Connection, within: Duration) -> Result<bool> {
    let usual = Duration::from_millis(pragma(conn, "busy_timeout")?.unsigned_abs());
    conn.busy_timeout(within)?;
    let busy = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    conn.busy_timeout(usual)?;
    Ok(busy? == 0)
}

/// Makes the connection leave the log alone when it is closed, even if it is the last one.
pub fn close_quietly(conn: &Connection) {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rusqlite::OpenFlags;

    use super::*;
    use crate::Settings;

    #[test]
    fn a_log_is_cut_unless_somebody_reads_and_patience_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let settings = Settings { busy_timeout: Duration::from_millis(1_234), statements: 8 };
        let conn = settings.open(&path, OpenFlags::SQLITE_OPEN_CREATE).unwrap();
        settings.use_log(&conn).unwrap();
        conn.execute_batch("CREATE TABLE t (n)").unwrap();
        let mut reader = settings.open_reader(&path).unwrap();
        let reads = reader.transaction().unwrap();
        reads.query_row("SELECT count(*) FROM t", [], |_| Ok(())).unwrap();
        let log_bytes = || fs::metadata(log_of(&path)).unwrap().len();
        assert!(cut_log(&conn, Duration::ZERO) == Ok(false) && log_bytes() > 0);
        drop(reads);
        assert!(cut_log(&conn, Duration::ZERO) == Ok(true) && log_bytes() == 0);
        assert_eq!(pragma(&conn, "busy_timeout"), Ok(1_234));
    }
}
