//! Opening connections, and the settings they share.

use std::{
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};

use crate::{
    error::{Error, FileErrorKind, Result},
    held,
    log::LOG_BYTES,
};

/// SQLite's name for a database without a file.
const MEMORY: &str = ":memory:";

/// The settings of connections to a file.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long a transaction waits for another process's transaction.
    pub busy_timeout: Duration,
    /// How many statements are kept ready per connection.
    pub statements: usize,
}

impl Settings {
    /// Opens a connection, which changes nothing in the file. A missing file is created only if `more` requests it, for
    /// its owner alone.
    ///
    /// # Errors
    /// [`FileErrorKind::CannotOpen`].
    pub fn open(&self, path: &Path, more: OpenFlags) -> Result<Connection> {
        let conn = open_noted(path, OpenFlags::SQLITE_OPEN_READ_WRITE | more)?;
        conn.busy_timeout(self.busy_timeout)?;
        conn.set_prepared_statement_cache_capacity(self.statements);
        conn.pragma_update(None, "foreign_keys", true)?;
        Ok(conn)
    }

    /// Opens a connection that can't write to the file, nor create it.
    ///
    /// # Errors
    /// [`FileErrorKind::CannotOpen`].
    pub fn open_only_to_read(&self, path: &Path) -> Result<Connection> {
        let conn = open_noted(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.busy_timeout(self.busy_timeout)?;
        Ok(conn)
    }

    /// Opens a connection that only reads.
    ///
    /// # Errors
    /// [`FileErrorKind::CannotOpen`].
    pub fn open_reader(&self, path: &Path) -> Result<Connection> {
        let conn = self.open(path, OpenFlags::empty())?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    }

    /// Sets the file to write-ahead logging, for the connection that writes. SQLite does not wait for other processes
    /// when it changes the mode, and does not signal when they are done, so this retries.
    ///
    /// # Errors
    /// [`FileErrorKind::Locked`] after the busy timeout; those of SQLite.
    pub fn use_log(&self, conn: &Connection) -> Result<()> {
        let start = Instant::now();
        loop {
            let used = conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(Error::from);
            match used {
                Err(Error { kind: FileErrorKind::Locked, .. }) if start.elapsed() < self.busy_timeout => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(conn.pragma_update(None, "journal_size_limit", LOG_BYTES)?),
            }
        }
    }
}

/// Opens a connection, after noting that nothing else in this process may open the file.
fn open_noted(path: &Path, flags: OpenFlags) -> Result<Connection> {
    if path != Path::new(MEMORY) {
        let cant_open = |error: io::Error| Error { kind: FileErrorKind::CannotOpen, text: error.to_string() };
        held::note(path, flags.contains(OpenFlags::SQLITE_OPEN_CREATE)).map_err(cant_open)?;
    }
    Ok(Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?)
}
