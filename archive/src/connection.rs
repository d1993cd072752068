//! Opens the archive's file: settings, schema versions, and the check that it is an archive.

use std::{path::Path, time::Duration};

use jobbers_sqlite_file::{Error as FileError, Schema, Settings, check_not_emptied};
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};

/// The number of prepared statements to keep: more than the archive has, not counting the variants that filters create.
pub(crate) const SETTINGS: Settings = Settings { busy_timeout: Duration::from_secs(2), statements: 64 };
/// The schema of an archive; its mark is "jobd".
const SCHEMA: Schema = Schema {
    application_id: 0x6a6f_6264,
    migrations: &[
        include_str!("sql/migrations/0001_letters.sql"),
        include_str!("sql/migrations/0002_tally.sql"),
        include_str!("sql/migrations/0003_changes.sql"),
        include_str!("sql/migrations/0004_sensitive.sql"),
    ],
};

pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    check_not_emptied(path)?;
    let conn = SETTINGS.open(path, OpenFlags::SQLITE_OPEN_CREATE).map_err(cant_open(path))?;
    if !SCHEMA.is_ours(&conn)? {
        return Err(Error::NotOurs(path.display().to_string()));
    }
    SETTINGS.use_log(&conn)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    SCHEMA.migrate(&conn)?;
    Ok(conn)
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    SETTINGS.open_reader(path).map_err(cant_open(path))
}

/// Opens a connection that can't write, and changes nothing in the file: it is neither created nor migrated. What it
/// reads of letters has been there since the first version.
pub(crate) fn open_only_to_read(path: &Path) -> Result<Connection> {
    let conn = SETTINGS.open_only_to_read(path).map_err(cant_open(path))?;
    if !SCHEMA.is_ours(&conn)? || SCHEMA.version(&conn)? == 0 {
        return Err(Error::NotOurs(path.display().to_string()));
    }
    Ok(conn)
}

fn cant_open(path: &Path) -> impl Fn(FileError) -> Error {
    move |error| Error::Open(format!("{}: {error}", path.display()))
}
