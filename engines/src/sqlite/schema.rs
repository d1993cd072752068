//! The schema's versions, and whether a file is ours at all.

use jobbers_common::engine::{Error, Result};
use rusqlite::Connection;

use super::error::OrStore;

/// What marks a file as a store of this program: "jobb", in `PRAGMA application_id`.
const APPLICATION_ID: i64 = 0x6a6f_6262;

/// One migration per version; the first makes a version 1 of an empty file. What has been released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("sql/migrations/0001_tasks.sql"),
    include_str!("sql/migrations/0002_role_order.sql"),
    include_str!("sql/migrations/0003_dead_letters.sql"),
    include_str!("sql/migrations/0004_rate_limits.sql"),
    include_str!("sql/migrations/0005_error_kinds.sql"),
    include_str!("sql/migrations/0006_workers.sql"),
    include_str!("sql/migrations/0007_unique_keys.sql"),
    include_str!("sql/migrations/0008_submit_rates.sql"),
    include_str!("sql/migrations/0009_spans.sql"),
    include_str!("sql/migrations/0010_route_ranges.sql"),
    include_str!("sql/migrations/0011_gates.sql"),
    include_str!("sql/migrations/0012_queue_bytes.sql"),
];

fn pragma(conn: &Connection, name: &str) -> Result<i64> {
    conn.pragma_query_value(None, name, |row| row.get(0)).or_store()
}

/// Whether nobody has made anything of the file yet.
///
/// # Errors
/// [`Error::Corrupt`] for what is no database.
pub(super) fn is_empty(conn: &Connection) -> Result<bool> {
    conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0)).or_store()
}

/// Refuses what is no database, or somebody else's.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Config`].
pub(super) fn check_ours(conn: &Connection) -> Result<()> {
    let is_empty = is_empty(conn)?;
    match pragma(conn, "application_id")? {
        APPLICATION_ID => Ok(()),
        0 if is_empty => Ok(()),
        _ => Err(Error::Config(format!(
            "{} is a SQLite database of another program; name another file",
            conn.path().unwrap_or("the file")
        ))),
    }
}

/// Brings the schema to the version this program reads and writes. Two processes may do so at once.
///
/// # Errors
/// [`Error::Schema`] when a newer program has been here.
pub(super) fn migrate(conn: &Connection) -> Result<()> {
    if version(conn)? == MIGRATIONS.len() {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE").or_store()?;
    let migrated = migrate_within(conn);
    match migrated {
        Ok(()) => conn.execute_batch("COMMIT").or_store(),
        Err(error) => {
            conn.execute_batch("ROLLBACK").or_store()?;
            Err(error)
        }
    }
}

fn migrate_within(conn: &Connection) -> Result<()> {
    // Again, now that nobody else can write: another process may have been faster.
    for (number, migration) in MIGRATIONS.iter().enumerate().skip(version(conn)?) {
        conn.execute_batch(migration).or_store()?;
        conn.pragma_update(None, "user_version", i64::try_from(number + 1).unwrap_or(i64::MAX)).or_store()?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID).or_store()
}

fn version(conn: &Connection) -> Result<usize> {
    let found = pragma(conn, "user_version")?;
    usize::try_from(found)
        .ok()
        .filter(|found| *found <= MIGRATIONS.len())
        .ok_or_else(|| Error::Schema { found: found.to_string(), supported: MIGRATIONS.len().to_string() })
}
