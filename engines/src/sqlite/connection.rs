//! Opening connections, and the settings they all share.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use jobbers_common::engine::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    address::{Address, Place, Synchronous},
    error::OrStore,
    schema,
};

/// How long a transaction waits for another process's, which lasts milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Statements kept ready per connection: more than there are.
const STATEMENTS: usize = 128;
/// The writer's page cache, in KiB. Not more: a commit that has rebalanced a tree walks all of it, and what is not here is
/// in the operating system's.
const WRITER_CACHE_KIB: i64 = 8 * 1024;
/// After how many pages the log is carried over into the database: 16 MiB.
const CHECKPOINT_PAGES: i64 = 4_000;
/// What the log is cut down to after that, in bytes.
pub(super) const LOG_BYTES: i64 = 64 * 1024 * 1024;
/// How long [`cut_log`] waits for those who still read from the log.
const CUT_WITHIN: Duration = Duration::from_millis(500);

/// Opens the connection that writes, creating and migrating the store where needed.
pub(super) fn open_writer(address: &Address) -> Result<Connection> {
    let conn = match &address.place {
        Place::Memory => prepared(Connection::open_in_memory().or_store()?)?,
        Place::File(path) => open_file(path, OpenFlags::SQLITE_OPEN_CREATE)?,
    };
    make_ready(conn, address)
}

/// Opens the connection that writes to a store that is there, migrating it where needed. Where there is none, nothing is
/// left behind.
///
/// # Errors
/// [`Error::Config`] where there is no store.
pub(super) fn open_existing(address: &Address) -> Result<Connection> {
    let Place::File(path) = &address.place else {
        let why = "a store in memory is new and empty, and nobody else's: name the one to look at with --engine-url";
        return Err(Error::Config(why.to_owned()));
    };
    let none = |found| {
        Error::Config(format!("there is no store at {}: {found}; say with --engine-url where it is", path.display()))
    };
    if matches!(path.try_exists(), Ok(false)) {
        return Err(none("no such file"));
    }
    let conn = open_file(path, OpenFlags::empty())?;
    if schema::is_empty(&conn)? {
        return Err(none("the file is empty"));
    }
    make_ready(conn, address)
}

fn make_ready(conn: Connection, address: &Address) -> Result<Connection> {
    schema::check_ours(&conn)?;
    if matches!(address.place, Place::File(_)) {
        patiently(|| use_write_ahead_log(&conn)).or_store()?;
    }
    set(&conn, "synchronous", address.synchronous.as_str())?;
    set(&conn, "cache_size", -WRITER_CACHE_KIB)?;
    set(&conn, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    set(&conn, "journal_size_limit", LOG_BYTES)?;
    schema::migrate(&conn)?;
    Ok(conn)
}

/// Carries the whole log over and cuts it. The log starts anew by itself only when nobody reads from it at that moment,
/// which under overlapping readers may be never; here new readers wait for nothing, and those that read already are
/// waited for. Answers whether it was done.
pub(super) fn cut_log(conn: &Connection) -> Result<bool> {
    conn.busy_timeout(CUT_WITHIN).or_store()?;
    let busy = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).or_store();
    conn.busy_timeout(BUSY_TIMEOUT).or_store()?;
    Ok(busy? == 0)
}

/// Has the connection leave the log alone when it is closed, be it the last one or not.
pub(super) fn close_quietly(conn: &Connection) {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
}

/// Opens a connection that only reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection> {
    let conn = open_file(path, OpenFlags::empty())?;
    set(&conn, "query_only", true)?;
    Ok(conn)
}

fn open_file(path: &Path, more: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    prepared(Connection::open_with_flags(path, flags).or_store()?)
}

/// With the settings of every connection, which change nothing in the file.
fn prepared(conn: Connection) -> Result<Connection> {
    conn.busy_timeout(BUSY_TIMEOUT).or_store()?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // A plan never depends on what is bound to it; else statements are compiled anew when other values come.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).or_store()?;
    set(&conn, "foreign_keys", true)?;
    set(&conn, "temp_store", "MEMORY")?;
    Ok(conn)
}

fn set(conn: &Connection, pragma: &str, value: impl rusqlite::ToSql) -> Result<()> {
    conn.pragma_update(None, pragma, value).or_store()
}

fn use_write_ahead_log(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)).map(drop)
}

/// Repeats what fails because another process is at it: changing the journal mode does not wait by itself, and there
/// is nothing to be told of when the other is done.
fn patiently(step: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match step() {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if matches!(failure.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
                    && start.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

/// What an operator should hear when somebody has taken the file's write-ahead log away.
pub(super) fn journal_warning(conn: &Connection) -> Result<Option<String>> {
    let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).or_store()?;
    Ok((mode != "wal")
        .then(|| format!("journal_mode is {mode}: readers and the writer block each other; it should be wal")))
}

/// What `synchronous` promises, in a few words.
pub(super) fn durability(address: &Address) -> String {
    match (&address.place, address.synchronous) {
        (Place::Memory, _) => "none: memory only".to_owned(),
        (Place::File(_), Synchronous::Full) => "synchronous=FULL: survives a power failure".to_owned(),
        (Place::File(_), Synchronous::Normal) => {
            "synchronous=NORMAL: survives a crash of the process; a power failure may take the last commits".to_owned()
        }
    }
}
