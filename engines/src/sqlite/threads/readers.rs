//! Connections that only read, off the runtime's threads. None keeps a transaction open between two calls, because that
//! would prevent the log from being copied into the database.

use std::{path::PathBuf, sync::Arc};

use jobbers_common::engine::{Error, Result};
use jobbers_sqlite_file::close_quietly;
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::shared::Shared;
use crate::sqlite::{
    kernel::{catalog::Catalog, view::View},
    store::{connection, error::OrStore, meta::Meta},
};

/// How many reads run concurrently; further ones wait.
const READERS: usize = 4;

/// The readers.
#[derive(Debug)]
pub(crate) struct Readers {
    pool: Arc<Pool>,
    turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    shared: Arc<Shared>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, shared: Arc<Shared>) -> Self {
        Self { pool: Arc::new(Pool { path, idle: Mutex::default(), shared }), turns: Arc::new(Semaphore::new(READERS)) }
    }

    /// Runs a verb that only reads, on one consistent state.
    pub(crate) async fn run<T, F>(&self, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&View<'_>) -> Result<T> + Send + 'static,
    {
        let shared = Arc::clone(&self.pool.shared);
        self.run_bare(move |conn| read(conn, &shared, verb)).await
    }

    /// Runs a read that works even if the store's counters can't be read.
    pub(crate) async fn run_bare<T, F>(&self, look: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let stopped = || Error::unavailable("the store's readers have stopped");
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| stopped())?;
        let pool = Arc::clone(&self.pool);
        let read = spawn_blocking(move || {
            let answer = pool.run(look);
            drop(turn);
            answer
        });
        read.await.map_err(|_| stopped())?
    }
}

impl Pool {
    fn run<T>(&self, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // Check before opening: SQLite would use the log at this path, which may belong to another file by now.
        self.shared.files.check().or_store()?;
        let idle = self.idle.lock().pop();
        let conn = idle.map_or_else(|| self.open(), Ok)?;
        let answer = look(&conn);
        self.shared.damage.note(&answer);
        if conn.is_autocommit() {
            self.idle.lock().push(conn);
        }
        answer
    }

    fn open(&self) -> Result<Connection> {
        let mut conn = connection::open_reader(&self.path)?;
        self.shared.files.check().inspect_err(|_| close_quietly(&conn)).or_store()?;
        connection::count_steps(&mut conn, self.shared.steps.as_ref())?;
        Ok(conn)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.idle.get_mut().iter().for_each(|conn| self.shared.files.before_closing(conn));
    }
}

/// Runs one verb on one consistent state, as one connection sees it.
pub(crate) fn read<T>(conn: &Connection, shared: &Shared, verb: impl FnOnce(&View<'_>) -> Result<T>) -> Result<T> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Deferred).or_store()?;
    let meta = Meta::read(conn)?;
    let known = shared.catalog.load_full();
    let catalog = if known.version() == meta.config_version { known } else { load(conn, shared, meta.config_version)? };
    let now = shared.clock.now_since(meta.clock);
    let answer = verb(&View { conn, catalog, now, heartbeats: &shared.heartbeats });
    // Nothing was written, and after a check that met damaged pages SQLite refuses to commit even that.
    drop(transaction);
    answer
}

/// Reads the configuration, and keeps it for later readers unless a newer one is known by now. A process that only reads
/// would otherwise read all of it for each call.
fn load(conn: &Connection, shared: &Shared, version: i64) -> Result<Arc<Catalog>> {
    let loaded = Arc::new(Catalog::load(conn, version)?);
    shared.catalog.rcu(|known| Arc::clone(if known.version() < version { &loaded } else { known }));
    Ok(loaded)
}
