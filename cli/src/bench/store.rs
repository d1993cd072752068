//! The store under test, in a place of its own: a fresh file, or a key prefix nobody else uses.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, bail};
use jobbers_common::engine::Engine;
use jobbers_engines::OpenOptions;
use redis::aio::MultiplexedConnection;
use tempfile::TempDir;

use super::{cpu::CpuTime, limit::Limits, limit_redis, limit_sqlite};

/// Where it is.
enum Place {
    Sqlite { folder: TempDir, synchronous: &'static str },
    Redis { url: String, prefix: String, connection: MultiplexedConnection },
}

pub(super) struct Store {
    place: Place,
    /// How a worker process reaches it.
    pub(super) url: String,
    pub(super) engine: Arc<dyn Engine>,
}

impl Store {
    /// Opens a fresh store: on Redis for a `redis://` URL, else in a file of its own.
    pub(super) async fn open(url: Option<&str>) -> Result<Self> {
        let (place, url) = match url {
            Some(given) if given.starts_with("redis") => {
                let prefix = format!("jobbers-bench-{}", ulid::Ulid::generate());
                let separator = if given.contains('?') { '&' } else { '?' };
                let url = format!("{given}{separator}prefix={prefix}");
                let bare = given.split('?').next().unwrap_or(given).to_owned();
                let connection = limit_redis::connect(&bare).await?;
                (Place::Redis { url: bare, prefix, connection }, url)
            }
            Some(given) if !given.starts_with("sqlite") => bail!("{given:?} is not the address of a store"),
            given => {
                let normal = given.is_some_and(|given| given.contains("synchronous=normal"));
                let synchronous = if normal { "normal" } else { "full" };
                let folder = tempfile::Builder::new().prefix("jobbers-bench-").tempdir_in(folder_of(given))?;
                let path = folder.path().join("bench.db");
                let url = format!("sqlite://{}?synchronous={synchronous}", path.display());
                (Place::Sqlite { folder, synchronous }, url)
            }
        };
        let engine = jobbers_engines::open(&url, OpenOptions::default()).await?;
        Ok(Self { place, url, engine })
    }

    /// What the bare store does, with the same payload and number of tasks.
    pub(super) async fn limits(&self, parameters: &str, tasks: usize) -> Result<Limits> {
        match &self.place {
            Place::Redis { url, prefix, .. } => limit_redis::measure(url, prefix, parameters, tasks).await,
            Place::Sqlite { folder, synchronous } => {
                let (path, payload) = (folder.path().join("bare.db"), parameters.as_bytes().to_vec());
                let synchronous = *synchronous;
                tokio::task::spawn_blocking(move || limit_sqlite::measure(&path, synchronous, &payload, tasks)).await?
            }
        }
    }

    /// Bytes the store holds: of memory on Redis, of file (with its write-ahead log) on SQLite.
    pub(super) async fn size(&self) -> Result<f64> {
        match &self.place {
            Place::Redis { connection, .. } => info(connection, "memory", "used_memory").await,
            Place::Sqlite { folder, .. } => {
                let connection = rusqlite::Connection::open(folder.path().join("bench.db"))?;
                let bytes: f64 = connection.query_row(
                    "SELECT CAST(page_count * page_size AS REAL) FROM pragma_page_count, pragma_page_size",
                    [],
                    |row| row.get(0),
                )?;
                Ok(bytes)
            }
        }
    }

    /// The store's processor time so far, in microseconds: the server's own, or its threads' in these processes.
    pub(super) async fn cpu(&self, inside: &[CpuTime]) -> Result<f64> {
        match &self.place {
            Place::Sqlite { .. } => Ok(inside.iter().map(|time| time.store).sum()),
            Place::Redis { connection, .. } => {
                let user = info(connection, "cpu", "used_cpu_user").await?;
                Ok((user + info(connection, "cpu", "used_cpu_sys").await?) * 1e6)
            }
        }
    }

    /// Leaves nothing behind.
    pub(super) async fn remove(self) -> Result<()> {
        let Place::Redis { mut connection, prefix, .. } = self.place else { return Ok(()) };
        let mut cursor = 0_u64;
        loop {
            let (next, keys): (u64, Vec<String>) = redis::cmd("SCAN")
                .arg(cursor)
                .arg("MATCH")
                .arg(format!("{prefix}:*"))
                .arg("COUNT")
                .arg(1_000)
                .query_async(&mut connection)
                .await?;
            if !keys.is_empty() {
                redis::cmd("UNLINK").arg(keys).exec_async(&mut connection).await?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}

/// The folder of the file that was named, so that the disk under test can be chosen; else the system's temporary one.
fn folder_of(given: Option<&str>) -> PathBuf {
    let path = given.and_then(|given| given.strip_prefix("sqlite://")).and_then(|rest| rest.split('?').next());
    match path.map(Path::new).and_then(Path::parent) {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_owned(),
        None => std::env::temp_dir(),
    }
}

async fn info(connection: &MultiplexedConnection, section: &str, field: &str) -> Result<f64> {
    let text: String = redis::cmd("INFO").arg(section).query_async(&mut connection.clone()).await?;
    let value = text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| *name == field);
    match value {
        Some((_, value)) => Ok(value.trim().parse()?),
        None => bail!("INFO {section} has no {field}"),
    }
}
