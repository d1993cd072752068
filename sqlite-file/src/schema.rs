//! The mark of a file's owner, and the versions of its schema.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{
    error::{Error, FileErrorKind, Result},
    pragma,
};

/// Describes one kind of file.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Its mark in `PRAGMA application_id`.
    pub application_id: i64,
    /// One migration per version; the first turns an empty file into version 1. Released migrations are never edited.
    pub migrations: &'static [&'static str],
}

impl Schema {
    /// Whether the file is of this kind or empty, and not another program's.
    ///
    /// # Errors
    /// [`FileErrorKind::Corrupt`] for a file that is not a database; those of SQLite.
    pub fn is_ours(&self, conn: &Connection) -> Result<bool> {
        let is_empty = is_empty(conn)?;
        let mark = pragma(conn, "application_id")?;
        Ok(mark == self.application_id || mark == 0 && is_empty)
    }

    /// Brings the schema to the version this program reads and writes. Returns whether the file was empty. Of several
    /// processes that call it at once, only one creates the schema.
    ///
    /// # Errors
    /// [`FileErrorKind::Newer`]; those of SQLite.
    pub fn migrate(&self, conn: &Connection) -> Result<bool> {
        if self.version(conn)? == self.migrations.len() {
            return Ok(false);
        }
        let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        // Read the version again, now that no other process can write: another one may have been faster.
        let found = self.version(conn)?;
        for (number, migration) in (1_i64..).zip(self.migrations).skip(found) {
            conn.execute_batch(migration)?;
            conn.pragma_update(None, "user_version", number)?;
        }
        conn.pragma_update(None, "application_id", self.application_id)?;
        transaction.commit()?;
        Ok(found == 0)
    }

    /// The version of the schema; 0 if the file is empty.
    ///
    /// # Errors
    /// [`FileErrorKind::Newer`]; those of SQLite.
    pub fn version(&self, conn: &Connection) -> Result<usize> {
        let (found, supported) = (pragma(conn, "user_version")?, self.migrations.len());
        let text = format!("it has version {found}; this program reads and writes version {supported}");
        let known = usize::try_from(found).ok().filter(|found| *found <= supported);
        known.ok_or(Error { kind: FileErrorKind::Newer { found, supported }, text })
    }
}

/// Whether the file is still empty.
///
/// # Errors
/// [`FileErrorKind::Corrupt`] for a file that is not a database; those of SQLite.
pub fn is_empty(conn: &Connection) -> Result<bool> {
    Ok(conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?)
}
