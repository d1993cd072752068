//! The store under test, in a place of its own, and what can be asked of it beside the engine: its size, its processor
//! time, and what it does bare.

use std::sync::Arc;

use anyhow::{Result, bail};
use redis::aio::MultiplexedConnection;

use super::{
    cpu::{CpuTime, info, used_by_server},
    limits::{self, BareRates},
};
use crate::scratch::{FILE, Scratch, ScratchStorage};

/// The bare SQLite's file, beside the engine's.
const BARE_FILE: &str = "bare.db";
const NO_SERVER: &str = "no connection to the server";

pub(super) struct BenchStore {
    pub(super) scratch: Scratch,
    /// To the server, when there is one.
    server: Option<MultiplexedConnection>,
}

impl BenchStore {
    pub(super) async fn open(url: Option<&str>) -> Result<Self> {
        let scratch = Scratch::open(url).await?;
        let server = match &scratch.storage {
            ScratchStorage::Redis { server, .. } => Some(limits::redis::connect(server).await?),
            ScratchStorage::Sqlite { .. } => None,
        };
        Ok(Self { scratch, server })
    }

    /// What the bare store does, with the same parameters and number of tasks.
    pub(super) async fn limits(&self, parameters: &'static str, tasks: usize) -> Result<BareRates> {
        match &self.scratch.storage {
            ScratchStorage::Redis { server, prefix, .. } => {
                limits::redis::measure(server, prefix, parameters, tasks).await
            }
            ScratchStorage::Sqlite { folder } => {
                let (folder, synchronous) = (Arc::clone(folder), self.synchronous());
                let measure = move || {
                    limits::sqlite::measure(&folder.path().join(BARE_FILE), synchronous, parameters.as_bytes(), tasks)
                };
                tokio::task::spawn_blocking(measure).await?
            }
        }
    }

    /// One exchange with the bare store when nothing went on before, as for a task submitted to an idle system: caches
    /// and cores are cold. In milliseconds; measured beside what it is compared with, and not among the limits, whose
    /// first one it would leave cold.
    pub(super) async fn idle_round_trip_ms(&self, parameters: &'static str) -> Result<f64> {
        match (&self.scratch.storage, &self.server) {
            (ScratchStorage::Redis { .. }, Some(server)) => limits::redis::idle_round_trip_ms(server).await,
            (ScratchStorage::Redis { .. }, None) => bail!(NO_SERVER),
            (ScratchStorage::Sqlite { folder }, _) => {
                let (folder, synchronous) = (Arc::clone(folder), self.synchronous());
                let measure = move || {
                    let path = folder.path().join(BARE_FILE);
                    limits::sqlite::idle_round_trip_ms(&path, synchronous, parameters.as_bytes())
                };
                tokio::task::spawn_blocking(measure).await?
            }
        }
    }

    /// As the engine's own address has it.
    fn synchronous(&self) -> &'static str {
        if self.scratch.url.contains("synchronous=normal") { "normal" } else { "full" }
    }

    /// Bytes the store holds: of memory on Redis, of pages in use on SQLite.
    pub(super) async fn size(&self) -> Result<f64> {
        match (&self.scratch.storage, &self.server) {
            (ScratchStorage::Sqlite { folder }, _) => {
                let connection = rusqlite::Connection::open(folder.path().join(FILE))?;
                let bytes: f64 = connection.query_row(
                    "SELECT CAST((page_count - freelist_count) * page_size AS REAL)
                     FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
                    [],
                    |row| row.get(0),
                )?;
                Ok(bytes)
            }
            (ScratchStorage::Redis { .. }, Some(server)) => info(server, "memory", "used_memory").await,
            (ScratchStorage::Redis { .. }, None) => bail!(NO_SERVER),
        }
    }

    /// The store's processor time so far, in microseconds: the server's own, or its threads' in these processes.
    pub(super) async fn cpu(&self, inside: &[CpuTime]) -> Result<f64> {
        let Some(server) = &self.server else { return Ok(inside.iter().map(|time| time.store).sum()) };
        used_by_server(server).await
    }

    /// What a bare `PING` takes of the server's processor, in microseconds; `None` without a server.
    pub(super) async fn ping_cpu_us(&self, count: usize) -> Result<Option<f64>> {
        match &self.server {
            Some(server) => Ok(Some(limits::redis::ping_cpu_us(server, count).await?)),
            None => Ok(None),
        }
    }

    /// Leaves nothing behind.
    pub(super) async fn remove(self) -> Result<()> {
        Ok(self.scratch.remove().await?)
    }
}
