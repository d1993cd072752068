//! Opens connections with their common settings.

use std::{path::Path, sync::Arc, time::Duration};

use jobbers_common::engine::{Error, Result};
use jobbers_sqlite_file::{Settings, check_not_emptied, cut_log, is_empty};
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{
    address::{Address, StoreLocation, Synchronous},
    error::OrStore,
    log_length::PAGE_BYTES,
    schema::SCHEMA,
    steps::StepCounter,
};

/// Transactions of other processes last milliseconds. The number exceeds the number of statements.
const SETTINGS: Settings = Settings { busy_timeout: Duration::from_secs(5), statements: 128 };
/// The writer's page cache, in KiB. It is not larger because a commit that rebalanced a tree walks the whole cache, and
/// the operating system caches the other pages.
const WRITER_CACHE_KIB: i64 = 8 * 1024;
/// After how many pages the log is copied into the database: 16 MiB; and the fewest, with a small reserve.
const CHECKPOINT_PAGES: u64 = 4_000;
const FEWEST_CHECKPOINT_PAGES: u64 = 100;
/// How long cutting the log waits for readers of the log.
pub(crate) const CUT_WITHIN: Duration = Duration::from_millis(500);

/// The connection that writes.
pub(crate) struct Writing {
    pub(crate) conn: Connection,
    /// Whether this connection created the store.
    pub(crate) is_new: bool,
}

/// Opens the connection that writes; creates or migrates the store where needed.
pub(crate) fn open_writer(address: &Address) -> Result<Writing> {
    let path = address.path().unwrap_or(Path::new(":memory:"));
    address.path().map_or(Ok(()), check_not_emptied).or_store()?;
    make_ready(prepared(SETTINGS.open(path, OpenFlags::SQLITE_OPEN_CREATE))?, address)
}

/// Opens the connection that writes to an existing store; migrates it where needed. If no store exists, it creates
/// nothing.
///
/// # Errors
/// [`Error::Config`] if no store exists.
pub(crate) fn open_existing(address: &Address) -> Result<Writing> {
    let StoreLocation::File(path) = &address.location else {
        let why = "a store in memory is new, empty and private: name the one to examine with --engine-url";
        return Err(Error::Config(why.to_owned()));
    };
    let none = |found| {
        Error::Config(format!("no store exists at {}: {found}; say with --engine-url where it is", path.display()))
    };
    check_not_emptied(path).or_store()?;
    if matches!(path.try_exists(), Ok(false)) {
        return Err(none("no such file"));
    }
    let conn = prepared(SETTINGS.open(path, OpenFlags::empty()))?;
    if is_empty(&conn).or_store()? {
        return Err(none("the file is empty"));
    }
    make_ready(conn, address)
}

fn make_ready(conn: Connection, address: &Address) -> Result<Writing> {
    if !SCHEMA.is_ours(&conn).or_store()? {
        return Err(Error::Config(format!(
            "{} is a SQLite database of another program; name another file",
            conn.path().unwrap_or("the file")
        )));
    }
    if matches!(address.location, StoreLocation::File(_)) {
        SETTINGS.use_log(&conn).or_store()?;
    }
    set(&conn, "synchronous", address.synchronous.as_str())?;
    // Statements delete the records of a task or a queue: see `removal`.
    set(&conn, "foreign_keys", false)?;
    set(&conn, "cache_size", -WRITER_CACHE_KIB)?;
    set(&conn, "wal_autocheckpoint", CHECKPOINT_PAGES.cast_signed())?;
    let is_new = SCHEMA.migrate(&conn).or_store()?;
    if is_new && matches!(address.location, StoreLocation::File(_)) {
        // From its first moment the file itself is a store, and not only its log.
        cut_log(&conn, CUT_WITHIN).or_store()?;
    }
    Ok(Writing { conn, is_new })
}

/// Copies the log into the database as soon as it has this many bytes, if that is earlier than usual.
pub(crate) fn copy_log_at(conn: &Connection, bytes: u64) -> Result<()> {
    let pages = (bytes / PAGE_BYTES).clamp(FEWEST_CHECKPOINT_PAGES, CHECKPOINT_PAGES);
    set(conn, "wal_autocheckpoint", pages.cast_signed())
}

/// Counts the steps of a connection's transactions ([`crate::OpenOptions::steps`]).
pub(crate) fn count_steps(conn: &mut Connection, steps: Option<&Arc<StepCounter>>) -> Result<()> {
    let Some(steps) = steps else { return Ok(()) };
    let (counter, counter_of_commits) = (Arc::clone(steps), Arc::clone(steps));
    let count = move || {
        counter.note_hundred();
        false
    };
    conn.progress_handler(100, Some(count)).or_store()?;
    let end = move || {
        counter_of_commits.note_commit();
        false
    };
    conn.commit_hook(Some(end)).or_store()
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    prepared(SETTINGS.open_reader(path))
}

/// Applies the settings of every connection of a store, which change nothing in the file.
fn prepared(opened: jobbers_sqlite_file::Result<Connection>) -> Result<Connection> {
    let conn = opened.or_store()?;
    // Plans never depend on bound values; otherwise SQLite would compile statements again for other values.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).or_store()?;
    set(&conn, "temp_store", "MEMORY")?;
    Ok(conn)
}

fn set(conn: &Connection, pragma: &str, value: impl rusqlite::ToSql) -> Result<()> {
    conn.pragma_update(None, pragma, value).or_store()
}

/// A warning for the operator if another program turned off the file's write-ahead log.
pub(crate) fn journal_warning(conn: &Connection) -> Result<Option<String>> {
    let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).or_store()?;
    Ok((mode != "wal")
        .then(|| format!("journal_mode is {mode}: readers and the writer block each other; it should be wal")))
}

/// The durability of a `synchronous` setting, in a few words.
pub(crate) fn durability(address: &Address) -> String {
    match (&address.location, address.synchronous) {
        (StoreLocation::Memory, _) => "none: memory only".to_owned(),
        (StoreLocation::File(_), Synchronous::Full) => "synchronous=FULL: survives a power failure".to_owned(),
        (StoreLocation::File(_), Synchronous::Normal) => {
            "synchronous=NORMAL: survives a crash of the process; a power failure may take the last commits".to_owned()
        }
    }
}
