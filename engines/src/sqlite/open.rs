//! Opens a store: its file, its threads and what they share.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicI64},
};

use arc_swap::ArcSwap;
use jobbers_common::engine::{Error, Result};
use jobbers_sqlite_file::{OpenFiles, Quota, without_links};
use tokio::task::spawn_blocking;

use super::{
    SqliteEngine,
    store::{
        address::{Address, StoreLocation},
        clock::StoreClock,
        connection::{self, CUT_WITHIN, Writing},
        damage::Damage,
        error::OrStore,
        heartbeats::Heartbeats,
        log_length::LogFile,
        mark::Mark,
        meta::Meta,
        reserve::Reserve,
        stall::Stall,
    },
    threads::{
        lookout::Lookout, page_check, readers::Readers, shared::Shared, waiters::Waiters, watch::Watch, writer::Writer,
    },
};
use crate::options::{OpenOptions, announce};

impl SqliteEngine {
    /// Opens the store at `url`; creates it (unless [`OpenOptions::must_exist`]) or migrates it where needed.
    ///
    /// # Errors
    /// [`Error::Config`] for an invalid URL or file, or a missing store if one must exist, [`Error::Schema`] for a
    /// store of a newer version, [`Error::Corrupt`] for a file that is not a database; those of the store.
    pub async fn open(url: &str, options: OpenOptions) -> Result<Self> {
        let url = url.to_owned();
        let opened = spawn_blocking(move || Self::open_blocking(&url, options)).await;
        opened.map_err(|_| Error::unavailable("opening the store was interrupted"))?
    }

    fn open_blocking(url: &str, options: OpenOptions) -> Result<Self> {
        let address = Address::parse(url)?;
        let reserve =
            address.path().map(|path| Reserve::of(&without_links(path), address.reserve_bytes)).unwrap_or_default();
        let Writing { mut conn, is_new } = loop {
            let open = if options.must_exist { connection::open_existing } else { connection::open_writer };
            match open(&address) {
                // Opening writes too: the index of the log, a migration.
                Err(Error::Full(_)) if reserve.release() => {}
                opened => break opened?,
            }
        };
        if let Some(bytes) = reserve.log_bytes() {
            connection::copy_log_at(&conn, bytes)?;
        }
        if !options.must_exist {
            reserve.restore();
        }
        let quota = Quota { name: "max_bytes", max_bytes: address.max_bytes };
        quota.set(&conn).or_store()?;
        let files = address.path().map(|path| OpenFiles::of(path, CUT_WITHIN)).transpose().or_store()?;
        // The log is next to the file itself, not next to a link to it.
        let file = address.path().map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        let (watch, signals) = match address.location {
            StoreLocation::Memory => Watch::nothing(),
            StoreLocation::File(_) => Watch::other_processes(),
        };
        let clock = StoreClock::new(options.clock);
        let commits = || Meta::read(&conn).map(|meta| meta.commits);
        let (mark, missing) = match Mark::check(file.as_deref(), clock.now_since(0), commits) {
            // A damaged store is opened all the same, so that it can be examined.
            Err(Error::Corrupt(_)) => (Mark::default(), None),
            checked => checked?,
        };
        let shared = Arc::new(Shared {
            clock,
            catalog: ArcSwap::default(),
            waiters: Waiters::default(),
            watch,
            own_commits: AtomicI64::new(0),
            stall: Stall::default(),
            files: files.unwrap_or_default(),
            heartbeats: Heartbeats::of(file.as_deref()),
            mark,
            damage: Damage::default(),
            reserve,
            steps: options.steps,
            tombstones: options.tombstones,
        });
        connection::count_steps(&mut conn, shared.steps.as_ref())?;
        if let Some(warning) = shared.reserve.warning() {
            tracing::warn!("{warning}");
        }
        if let Some(missing) = missing {
            tracing::error!("{}", missing.warning(file.as_deref().unwrap_or(Path::new(""))));
        }
        let lookout = match (&file, signals) {
            (Some(file), Some(signals)) => Some(Lookout::start(file, Arc::clone(&shared), signals)?),
            _ => None,
        };
        let page_check = match &file {
            // A caller that examines the store reads all of it.
            Some(file) if !is_new && !options.must_exist => Some(page_check::start(file, Arc::clone(&shared))?),
            _ => None,
        };
        let log = LogFile::of(file.as_deref());
        let readers = file.map(|file| Readers::new(file, Arc::clone(&shared)));
        let writer = Writer::start(conn, Arc::clone(&shared), quota, log)?;
        announce(&address.shown(), is_new);
        Ok(Self { address, quota, shared, writer, readers, lookout, page_check })
    }
}
