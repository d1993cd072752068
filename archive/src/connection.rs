//! Opening the file: settings, versions, and whether it is ours at all.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// What marks a file as an archive of this program: "jobd", in `PRAGMA application_id`.
const APPLICATION_ID: i64 = 0x6a6f_6264;
/// One migration per version; the first makes a version 1 of an empty file. What has been released is never edited.
const MIGRATIONS: &[&str] =
    &[include_str!("sql/migrations/0001_letters.sql"), include_str!("sql/migrations/0002_tally.sql")];
/// How long a transaction waits for another process's.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Statements kept ready: more than there are, not counting what filters make of them.
const STATEMENTS: usize = 64;

pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    let conn = open(path, OpenFlags::SQLITE_OPEN_CREATE)?;
    check_ours(&conn, path)?;
    patiently(|| {
        Ok(conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)).map(drop)?)
    })?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    migrate(&conn)?;
    Ok(conn)
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let conn = open(path, OpenFlags::empty())?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

fn open(path: &Path, more: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let conn = Connection::open_with_flags(path, flags)
        .map_err(|error| Error::Open(format!("{}: {error}", path.display())))?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.pragma_update(None, "foreign_keys", true)?;
    Ok(conn)
}

fn pragma(conn: &Connection, name: &str) -> Result<i64> {
    Ok(conn.pragma_query_value(None, name, |row| row.get(0))?)
}

fn check_ours(conn: &Connection, path: &Path) -> Result<()> {
    let is_empty: bool = conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    match pragma(conn, "application_id")? {
        APPLICATION_ID => Ok(()),
        0 if is_empty => Ok(()),
        _ => Err(Error::NotOurs(path.display().to_string())),
    }
}

/// Two processes may do so at once.
fn migrate(conn: &Connection) -> Result<()> {
    if version(conn)? == MIGRATIONS.len() {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let migrated = migrate_within(conn);
    conn.execute_batch(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    migrated
}

fn migrate_within(conn: &Connection) -> Result<()> {
    // Again, now that nobody else can write: another process may have been faster.
    for (number, migration) in (1_i64..).zip(MIGRATIONS).skip(version(conn)?) {
        conn.execute_batch(migration)?;
        conn.pragma_update(None, "user_version", number)?;
    }
    Ok(conn.pragma_update(None, "application_id", APPLICATION_ID)?)
}

fn version(conn: &Connection) -> Result<usize> {
    let found = pragma(conn, "user_version")?;
    let supported = MIGRATIONS.len();
    let newer = || Error::Newer { found, supported: i64::try_from(supported).unwrap_or(i64::MAX) };
    usize::try_from(found).ok().filter(|found| *found <= supported).ok_or_else(newer)
}

/// Changing the journal mode does not wait for another process by itself.
fn patiently(step: impl Fn() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    loop {
        match step() {
            Err(Error::Locked(_)) if start.elapsed() < BUSY_TIMEOUT => thread::sleep(Duration::from_millis(5)),
            answer => return answer,
        }
    }
}
