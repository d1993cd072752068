//! Reads the pages of a store after it was opened, so that damage is known before a call meets it.
//!
//! The check has a thread and a connection of its own. It reads table by table, so that no long read keeps the log from
//! being copied, and stops after [`WITHIN`]: what a large store has beyond that is read by `jobbers doctor`.

use std::{
    path::Path,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jobbers_common::engine::{Error, Result};
use rusqlite::{Connection, ErrorCode};

use super::shared::Shared;
use crate::sqlite::store::{connection, error::OrStore};

/// For how long pages are read.
const WITHIN: Duration = Duration::from_secs(10);
/// After how many steps of SQLite's virtual machine the time is looked at.
const STEPS: i32 = 10_000;

/// Starts the check of the store at `path`. It ends early when the store is closed.
pub(crate) fn start(path: &Path, shared: Arc<Shared>) -> Result<JoinHandle<()>> {
    let path = path.to_owned();
    thread::Builder::new()
        .name("jobbers-sqlite-check".to_owned())
        .spawn(move || {
            let checked = check(&path, &shared);
            tracing::debug!(?checked, "the store's pages were checked");
            shared.damage.note(&checked);
        })
        .map_err(|error| Error::unavailable(format!("the check of the store can't be started: {error}")))
}

/// Reads all tables and what they are found by. Returns whether there was time for all of them.
fn check(path: &Path, shared: &Arc<Shared>) -> Result<bool> {
    let mut conn = connection::open_reader(path)?;
    let checked = shared.files.check().or_store().and_then(|()| check_tables(&mut conn, shared));
    shared.files.before_closing(&conn);
    checked
}

fn check_tables(conn: &mut Connection, shared: &Arc<Shared>) -> Result<bool> {
    let until = Instant::now() + WITHIN;
    let stops = Arc::clone(shared);
    conn.progress_handler(STEPS, Some(move || Instant::now() >= until || stops.watch.is_stopped())).or_store()?;
    let mut statement = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").or_store()?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0)).or_store()?;
    let tables: Vec<String> = tables.collect::<rusqlite::Result<_>>().or_store()?;
    for table in tables {
        let mut found = String::new();
        let note = |row: &rusqlite::Row<'_>| {
            found = row.get(0)?;
            Ok(())
        };
        let checked = conn.pragma(None, "quick_check", &table, note);
        if checked.as_ref().is_err_and(|it| it.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)) {
            return Ok(false);
        }
        let found = match checked.or_store() {
            Ok(()) if found == "ok" => continue,
            Ok(()) => found.replace('\n', " "),
            Err(Error::Corrupt(why)) => why,
            Err(error) => return Err(error),
        };
        return Err(Error::Corrupt(format!("table {table}: {found}")));
    }
    Ok(true)
}
