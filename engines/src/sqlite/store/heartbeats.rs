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

#[cfg(target_os = "linux")]
mod locks;
#[cfg(not(target_os = "linux"))]
mod written;

#[cfg(target_os = "linux")]
pub(crate) use self::locks::Heartbeats;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::written::Heartbeats;

/// The file that is locked, and that holds the store's mark ([`super::mark`]). A new one is made if it is removed.
pub(crate) fn file_of(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-live");
    name.into()
}

/// A record that is kept alive: its place in the file.
///
/// Places are drawn from names by a hash of 30 bits. Where two names share one, the record of a dead process seems
/// alive as long as the other one is renewed: of a hundred live workers one in ten million does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HeartbeatRecord(i64);

/// The bytes of a record's place, one for each millisecond that its end may have, modulo some 49 days.
const PLACE_BYTES: i64 = 1 << 32;

impl HeartbeatRecord {
    /// The registration of a worker.
    pub(crate) fn of_worker(worker: &WorkerId) -> Self {
        Self::of("worker", worker.as_str(), "")
    }

    /// A duty in the hands of a holder.
    pub(crate) fn of_duty(duty: &DutyName, holder: &HolderId) -> Self {
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

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn record(name: &str) -> HeartbeatRecord {
        HeartbeatRecord::of_worker(&WorkerId::new(name).unwrap())
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
