//! The write-ahead log beside a file, and its index.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, config::DbConfig};

use crate::{error::Result, pragma};

/// What the log is cut down to once it is carried over into the database, in bytes.
pub const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// The log of a database. It lies beside the file itself, not beside a link to it.
#[must_use]
pub fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// The index of a database's log, which all who have it open share. SQLite locks it: never open it, for whoever closes a
/// file gives up all locks that its process has on it.
#[must_use]
pub fn index_of(path: &Path) -> PathBuf {
    beside(path, "-shm")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Carries the whole log over and cuts it. The log starts anew by itself only when nobody reads from it at that moment,
/// which under overlapping readers may be never; here new readers wait for nothing, and those that read already are
/// waited for, at most for `within`. Answers whether it was done.
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

/// Has the connection leave the log alone when it is closed, be it the last one or not.
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
