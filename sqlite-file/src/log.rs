//! The write-ahead log next to a file, and its index.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, config::DbConfig};

use crate::{
    error::{Error, FileErrorKind, Result},
    examine::length,
    pragma,
};

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

/// All files of a database, whether they exist or not: itself, its log, the log's index, and the journal that SQLite uses
/// without a log.
pub(crate) fn files_of(path: &Path) -> [PathBuf; 4] {
    [path.to_owned(), log_of(path), index_of(path), beside(path, "-journal")]
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
    copy(conn, "PRAGMA wal_checkpoint(TRUNCATE)", within)
}

/// The same, but the log keeps its length and the room it has on the disk. It is written from its beginning next.
///
/// # Errors
/// Those of SQLite.
pub fn copy_log(conn: &Connection, within: Duration) -> Result<bool> {
    copy(conn, "PRAGMA wal_checkpoint(RESTART)", within)
}

fn copy(conn: &Connection, statement: &str, within: Duration) -> Result<bool> {
    let usual = Duration::from_millis(pragma(conn, "busy_timeout")?.unsigned_abs());
    conn.busy_timeout(within)?;
    let busy = conn.query_row(statement, [], |row| row.get::<_, i64>(0));
    conn.busy_timeout(usual)?;
    Ok(busy? == 0)
}

/// Whether the log of the database at `path` holds something, and no process has written to it for this long.
#[must_use]
pub fn is_log_at_rest(path: &Path, at_least: Duration) -> bool {
    let Ok(log) = fs::metadata(log_of(path)) else { return false };
    let rest = log.modified().ok().and_then(|at| at.elapsed().ok());
    log.len() > 0 && rest.is_some_and(|rest| rest >= at_least)
}

/// Refuses a database file that is missing or empty beside a log with something in it. SQLite would delete the log,
/// which may hold all that was ever stored.
///
/// # Errors
/// [`FileErrorKind::Corrupt`].
pub fn check_not_emptied(path: &Path) -> Result<()> {
    let bytes = |path: &Path| length(path).unwrap_or(0);
    let log = log_of(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    if bytes(path) > 0 || bytes(&log) == 0 {
        return Ok(());
    }
    let text = format!(
        "{} is missing or empty, and beside it is a log with content, {}. Put the file back that the log belongs to; to \
         begin with an empty file, move the log away",
        path.display(),
        log.display()
    );
    Err(Error { kind: FileErrorKind::Corrupt, text })
}

/// Makes the connection leave the log alone when it is closed, even if it is the last one.
pub fn close_quietly(conn: &Connection) {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
}

#[cfg(test)]
mod tests {
    use rusqlite::OpenFlags;

    use super::*;
    use crate::Settings;

    #[test]
    fn a_log_rests_when_it_has_content_and_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        assert!(!is_log_at_rest(&path, Duration::ZERO));
        fs::write(log_of(&path), "").unwrap();
        assert!(!is_log_at_rest(&path, Duration::ZERO));
        fs::write(log_of(&path), "frames").unwrap();
        assert!(is_log_at_rest(&path, Duration::ZERO) && !is_log_at_rest(&path, Duration::from_secs(3_600)));
    }

    #[test]
    fn a_file_without_content_beside_a_log_is_refused_and_the_log_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        assert_eq!(check_not_emptied(&path), Ok(()));
        fs::write(log_of(&path), "frames").unwrap();
        for _ in 0..2 {
            let refused = check_not_emptied(&path).unwrap_err();
            assert!(refused.kind == FileErrorKind::Corrupt && refused.text.contains("s.db-wal"), "{refused}");
            fs::write(&path, "").unwrap();
        }
        fs::write(&path, "pages").unwrap();
        assert_eq!(check_not_emptied(&path), Ok(()));
    }

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
        assert_eq!(copy_log(&conn, Duration::ZERO), Ok(false));
        drop(reads);
        let before = log_bytes();
        assert!(copy_log(&conn, Duration::ZERO) == Ok(true) && log_bytes() == before);
        assert!(cut_log(&conn, Duration::ZERO) == Ok(true) && log_bytes() == 0);
        assert_eq!(pragma(&conn, "busy_timeout"), Ok(1_234));
    }
}
