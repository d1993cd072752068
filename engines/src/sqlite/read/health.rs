//! How the store is, for readiness and `doctor`.

use std::{sync::Arc, time::Duration};

use jobbers_common::engine::{Error, Health, Result, Trouble};
use jobbers_sqlite_file::exposure;
use rusqlite::Connection;
use tokio::time::timeout;

use crate::sqlite::{
    SqliteEngine,
    follow::{letters, tombstones},
    kernel::view::View,
    store::{connection, error::OrStore, mark::Mark},
    threads::shared::Shared,
};

/// After this long without a completed transaction the store counts as unhealthy: the time a transaction waits for
/// another process's.
const STALLED_AFTER: Duration = Duration::from_secs(5);
/// How long the health check of a stalled store waits for a transaction to complete.
const PROBED_WITHIN: Duration = Duration::from_millis(100);

/// Describes the file and its durability.
///
/// # Errors
/// Those of the store; [`Error::Unavailable`] if nothing can be written.
pub(crate) async fn health(engine: &SqliteEngine) -> Result<Health> {
    if !engine.writer.is_running() {
        return Err(Error::unavailable("the store's writer has stopped"));
    }
    if engine.shared.stall.lasts(STALLED_AFTER)
        && !matches!(timeout(PROBED_WITHIN, engine.writer.run(1, |_| Ok(()))).await, Ok(Ok(())))
    {
        let why = "nothing could be written for 5 seconds: another process holds the file's lock, or the disk hangs";
        return Err(Error::unavailable(why));
    }
    let (quota, shared) = (engine.quota, Arc::clone(&engine.shared));
    let look = move |view: &View<'_>| {
        let quota = quota.warning(view.conn).or_store()?;
        let (of_file, troubles) = look_at_file(view.conn, &shared)?;
        let warnings = quota.into_iter().chain(of_file).collect();
        Ok((view.now, warnings, troubles, letters::outbox_size(view)?, tombstones::health(view.conn)?))
    };
    let (now, warnings, troubles, outbox, tombstones) = engine.read(look).await?;
    let durability = connection::durability(&engine.address);
    let store = engine.address.shown();
    let server = format!("SQLite {}", rusqlite::version());
    Ok(Health { engine: "sqlite", store, server, durability, warnings, troubles, now, outbox, tombstones })
}

/// Warnings for the operator about the state of the file, and what is wrong with it.
fn look_at_file(conn: &Connection, shared: &Shared) -> Result<(Vec<String>, Vec<Trouble>)> {
    let Some(path) = shared.mark.path() else { return Ok((Vec::new(), Vec::new())) };
    let journal = connection::journal_warning(conn)?;
    let missing = Mark::missing(path).map(|missing| missing.warning(path));
    let (damage, reserve) = (shared.damage.warning(), shared.reserve.warning());
    let troubles = [
        (Trouble::CommitsMissing, missing.is_some()),
        (Trouble::Damaged, damage.is_some()),
        (Trouble::Full, shared.reserve.is_in_use()),
    ];
    let troubles = troubles.into_iter().filter_map(|(trouble, is_there)| is_there.then_some(trouble)).collect();
    Ok((journal.into_iter().chain(missing).chain(damage).chain(reserve).chain(exposure(path)).collect(), troubles))
}
