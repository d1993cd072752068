//! Heartbeats by locks on bytes of a file.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jobbers_common::time::Timestamp;
use jobbers_sqlite_file::identity;
use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
};
use parking_lot::Mutex;

use super::{HeartbeatRecord, PLACE_BYTES, file_of};

/// The heartbeats of this store in this process, and the view of those of others.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    path: Option<PathBuf>,
    beating: Mutex<Beating>,
}

#[derive(Debug, Default)]
struct Beating {
    file: Option<File>,
    /// Until when the records hold that this process renews.
    ends: HashMap<HeartbeatRecord, Timestamp>,
}

impl Heartbeats {
    /// Those of the store at `path`; `None` is a store that no other process sees.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        Self { path: path.map(file_of), beating: Mutex::default() }
    }

    /// Notes that a record holds until a time. Returns whether other processes see it.
    pub(crate) fn renew(&self, record: HeartbeatRecord, now: Timestamp, until: Timestamp) -> bool {
        let Some(path) = &self.path else { return false };
        let renewed = self.beating.lock().renew(path, record, now, until);
        renewed.inspect_err(|error| tracing::debug!(%error, "a heartbeat can't be shown; it is written")).is_ok()
    }

    /// The record is given up.
    pub(crate) fn end(&self, record: HeartbeatRecord) {
        self.beating.lock().end(record);
    }

    /// Until when a record holds by its heartbeats, whichever process renews it; `None` without any.
    pub(crate) fn until(&self, record: HeartbeatRecord, now: Timestamp) -> Option<Timestamp> {
        let path = self.path.as_ref()?;
        let mut beating = self.beating.lock();
        if let Some(until) = beating.ends.get(&record) {
            return Some(*until);
        }
        beating.open(path).ok()?;
        let byte = first_locked(beating.file.as_ref()?, record.0).ok()??;
        Some(record.until(byte, now))
    }
}

impl Beating {
    fn renew(&mut self, path: &Path, record: HeartbeatRecord, now: Timestamp, until: Timestamp) -> io::Result<()> {
        self.open(path)?;
        let Some(file) = &self.file else { return Ok(()) };
        let byte = record.byte(until);
        set(file, libc::F_WRLCK, byte)?;
        let before = self.ends.insert(record, until).map(|before| record.byte(before));
        if let Some(before) = before.filter(|before| *before != byte) {
            set(file, libc::F_UNLCK, before)?;
        }
        // What is no longer renewed, by a worker that was dropped, is over.
        let over: Vec<HeartbeatRecord> =
            self.ends.iter().filter(|(_, end)| **end < now).map(|(record, _)| *record).collect();
        over.into_iter().for_each(|record| self.end(record));
        Ok(())
    }

    fn end(&mut self, record: HeartbeatRecord) {
        if let (Some(until), Some(file)) = (self.ends.remove(&record), &self.file) {
            set(file, libc::F_UNLCK, record.byte(until)).ok();
        }
    }

    /// Opens the file; again, with its locks, if another one is in its place.
    fn open(&mut self, path: &Path) -> io::Result<()> {
        let open = self.file.as_ref().and_then(|file| file.metadata().ok()).map(|is| (is.dev(), is.ino()));
        if open.is_some() && identity(path).ok() == open {
            return Ok(());
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        for (record, until) in &self.ends {
            set(&file, libc::F_WRLCK, record.byte(*until))?;
        }
        self.file = Some(file);
        Ok(())
    }
}

/// Locks or unlocks a byte. No two processes renew one record, so it waits for none.
fn set(file: &File, kind: libc::c_int, byte: i64) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock(kind, byte, 1))).map(drop).map_err(io::Error::from)
}

/// The first byte of a place that another open file has locked.
fn first_locked(file: &File, place: i64) -> io::Result<Option<i64>> {
    let mut lock = lock(libc::F_WRLCK, place, PLACE_BYTES);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
    Ok((libc::c_int::from(lock.l_type) != libc::F_UNLCK).then_some(lock.l_start))
}

#[expect(clippy::cast_possible_truncation, reason = "the kinds are 0 to 2, of types that differ by system")]
const fn lock(kind: libc::c_int, start: i64, len: i64) -> libc::flock {
    let (kind, whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    libc::flock { l_type: kind, l_whence: whence, l_start: start, l_len: len, l_pid: 0 }
}
