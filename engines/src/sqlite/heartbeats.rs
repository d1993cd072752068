//! Heartbeats of workers and of the holders of duties, without a write to the store.
//!
//! A registration and a duty hold for seconds and are renewed all the time. If each renewal were a transaction, an idle
//! store would be written every second. So a record whose renewal changes nothing but its end is renewed by a **lock**: on
//! a file beside the store ([`file_of`]), the process locks one byte whose position says which record it renews and until
//! when; whether the file has that byte makes no difference. The kernel keeps locks in memory, shows every process those of the others, and releases them
//! when a process ends, however it ends. So others see each renewal at once, a record that is no longer renewed ends
//! when it would have ended before, and so does that of a process that was killed or frozen.
//!
//! The store's row still says until when the record holds without a heartbeat: what was written last. Where the file
//! can't be locked, [`Heartbeats::renew`] returns false and the caller writes the row, as it does for a store in memory.
//!
//! The locks belong to the open file and not to the process (`F_OFD_SETLK`): they survive that another descriptor of
//! the file is closed, and two stores of one process see each other's.

use std::path::{Path, PathBuf};

use jobbers_common::{
    name::{DutyName, HolderId, WorkerId},
    time::Timestamp,
};

/// The file that is locked, and that holds the store's mark ([`super::mark`]). A new one is made if it is removed.
pub(super) fn file_of(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-live");
    name.into()
}

/// A record that is kept alive: its place in the file.
///
/// Places are drawn from names by a hash of 30 bits. Where two names share one, the record of a dead process seems
/// alive as long as the other one is renewed: of a hundred live workers one in ten million does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Record(i64);

/// The bytes of a record's place, one for each millisecond that its end may have, modulo some 49 days.
const PLACE_BYTES: i64 = 1 << 32;

impl Record {
    /// The registration of a worker.
    pub(super) fn of_worker(worker: &WorkerId) -> Self {
        Self::of("worker", worker.as_str(), "")
    }

    /// A duty in the hands of a holder.
    pub(super) fn of_duty(duty: &DutyName, holder: &HolderId) -> Self {
        Self::of("duty", duty.as_str(), holder.as_str())
    }

    /// FNV-1a, which is the same in every program.
    fn of(kind: &str, name: &str, holder: &str) -> Self {
        let bytes = [kind, name, holder].into_iter().flat_map(|part| part.bytes().chain([0]));
        let hash = bytes
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Self((hash >> 34).cast_signed() * PLACE_BYTES)
    }

    /// The byte that says that the record holds until a time.
    fn byte(self, until: Timestamp) -> i64 {
        self.0 + (until.as_micros() / 1_000).rem_euclid(PLACE_BYTES)
    }

    /// The time that a byte says: the one nearest to the present.
    fn until(self, byte: i64, now: Timestamp) -> Timestamp {
        let now_ms = now.as_micros() / 1_000;
        let ahead = (byte - self.0 - now_ms).rem_euclid(PLACE_BYTES);
        let ahead = if ahead >= PLACE_BYTES / 2 { ahead - PLACE_BYTES } else { ahead };
        Timestamp::from_micros((now_ms + ahead) * 1_000)
    }
}

pub(super) use locks::Heartbeats;

#[cfg(target_os = "linux")]
mod locks {
    use std::{
        collections::HashMap,
        fs::{self, File, OpenOptions},
        io,
        os::unix::fs::{MetadataExt, OpenOptionsExt},
        path::{Path, PathBuf},
    };

    use jobbers_common::time::Timestamp;
    use nix::{
        fcntl::{FcntlArg, fcntl},
        libc,
    };
    use parking_lot::Mutex;

    use super::{PLACE_BYTES, Record, file_of};

    /// The heartbeats of this store in this process, and the view of those of others.
    #[derive(Debug, Default)]
    pub(in super::super) struct Heartbeats {
        path: Option<PathBuf>,
        beating: Mutex<Beating>,
    }

    #[derive(Debug, Default)]
    struct Beating {
        file: Option<File>,
        /// Until when the records hold that this process renews.
        ends: HashMap<Record, Timestamp>,
    }

    impl Heartbeats {
        /// Those of the store at `path`; `None` is a store that no other process sees.
        pub(in super::super) fn of(path: Option<&Path>) -> Self {
            Self { path: path.map(file_of), beating: Mutex::default() }
        }

        /// Notes that a record holds until a time. Returns whether other processes see it.
        pub(in super::super) fn renew(&self, record: Record, now: Timestamp, until: Timestamp) -> bool {
            let Some(path) = &self.path else { return false };
            let renewed = self.beating.lock().renew(path, record, now, until);
            renewed.inspect_err(|error| tracing::debug!(%error, "a heartbeat can't be shown; it is written")).is_ok()
        }

        /// The record is given up.
        pub(in super::super) fn end(&self, record: Record) {
            self.beating.lock().end(record);
        }

        /// Until when a record holds by its heartbeats, whichever process renews it; `None` without any.
        pub(in super::super) fn until(&self, record: Record, now: Timestamp) -> Option<Timestamp> {
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
        fn renew(&mut self, path: &Path, record: Record, now: Timestamp, until: Timestamp) -> io::Result<()> {
            self.open(path)?;
            let Some(file) = &self.file else { return Ok(()) };
            let byte = record.byte(until);
            set(file, libc::F_WRLCK, byte)?;
            let before = self.ends.insert(record, until).map(|before| record.byte(before));
            if let Some(before) = before.filter(|before| *before != byte) {
                set(file, libc::F_UNLCK, before)?;
            }
            // What is no longer renewed, by a worker that was dropped, is over.
            let over: Vec<Record> =
                self.ends.iter().filter(|(_, end)| **end < now).map(|(record, _)| *record).collect();
            over.into_iter().for_each(|record| self.end(record));
            Ok(())
        }

        fn end(&mut self, record: Record) {
            if let (Some(until), Some(file)) = (self.ends.remove(&record), &self.file) {
                set(file, libc::F_UNLCK, record.byte(until)).ok();
            }
        }

        /// Opens the file; again, with its locks, if another one is in its place.
        fn open(&mut self, path: &Path) -> io::Result<()> {
            let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
            let open = self.file.as_ref().and_then(|file| file.metadata().ok()).map(identity);
            if open.is_some() && fs::metadata(path).ok().map(identity) == open {
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
}

/// A system without such locks: every renewal is written.
#[cfg(not(target_os = "linux"))]
mod locks {
    use std::path::Path;

    use jobbers_common::time::Timestamp;

    use super::Record;

    #[derive(Debug, Default)]
    pub(in super::super) struct Heartbeats;

    impl Heartbeats {
        pub(in super::super) fn of(_: Option<&Path>) -> Self {
            Self
        }

        pub(in super::super) fn renew(&self, _: Record, _: Timestamp, _: Timestamp) -> bool {
            false
        }

        pub(in super::super) fn end(&self, _: Record) {}

        pub(in super::super) fn until(&self, _: Record, _: Timestamp) -> Option<Timestamp> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn record(name: &str) -> Record {
        Record::of_worker(&WorkerId::new(name).unwrap())
    }

    fn two() -> (tempfile::TempDir, Heartbeats, Heartbeats) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.db");
        let [one, other] = [(); 2].map(|()| Heartbeats::of(Some(&store)));
        (folder, one, other)
    }

    #[test]
    fn a_renewal_is_seen_by_others_until_its_process_ends_or_gives_it_up() {
        let (_folder, one, other) = two();
        assert_eq!(other.until(record("w"), NOW), None);
        for seconds in [10, 12, 12, 700] {
            let until = NOW.after(Duration::from_secs(seconds));
            assert!(one.renew(record("w"), NOW, until));
            assert_eq!((one.until(record("w"), NOW), other.until(record("w"), NOW)), (Some(until), Some(until)));
        }
        assert_eq!(other.until(record("v"), NOW), None);
        one.end(record("w"));
        assert_eq!(other.until(record("w"), NOW), None);
        assert!(one.renew(record("w"), NOW, NOW.after(Duration::from_secs(9))));
        drop(one);
        assert_eq!(other.until(record("w"), NOW), None);
    }

    #[test]
    fn an_end_that_is_past_is_seen_as_past() {
        let (_folder, one, other) = two();
        let until = NOW.after(Duration::from_secs(10));
        assert!(one.renew(record("w"), NOW, until));
        for later in [1, 10, 60, 3_600, 86_400] {
            assert_eq!(other.until(record("w"), NOW.after(Duration::from_secs(later))), Some(until));
        }
    }

    #[test]
    fn heartbeats_go_on_when_the_file_was_removed() {
        let (folder, one, other) = two();
        let until = NOW.after(Duration::from_secs(10));
        assert!(one.renew(record("w"), NOW, until));
        fs::remove_file(folder.path().join("s.db-live")).unwrap();
        assert!(one.renew(record("v"), NOW, until));
        for name in ["v", "w"] {
            assert_eq!(other.until(record(name), NOW), Some(until));
        }
    }

    #[test]
    fn a_store_in_memory_has_none() {
        let memory = Heartbeats::of(None);
        assert!(!memory.renew(record("w"), NOW, NOW));
        assert_eq!(memory.until(record("w"), NOW), None);
    }
}
