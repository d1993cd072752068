//! Room on the disk that is kept for the time when the disk is full.
//!
//! A file beside the store ([`file_of`]) occupies it. When a write finds the disk full, and copying the log into the
//! database has not helped, the file gives up a piece and the write is repeated; the next piece follows only if that was
//! not enough. Another program that fills the disk can take what was given up, so it is never given up at once. From the
//! first piece on, the store takes in only what fits into room that deletions have left in its own file, and what
//! settles, cancels and deletes goes on. The file is made whole again once the disk has room for it and for half of it
//! besides, so that a disk at the limit does not change its mind all the time.
//!
//! The length of the file is the only state: all processes that use the store see it. A store whose disk never had room
//! for the file has none, and works without a reserve.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jobbers_common::engine::{Error, Result};
use jobbers_sqlite_file::length;
use nix::sys::statvfs::statvfs;
use parking_lot::Mutex;

/// How much is kept, unless the address says otherwise: the log, which is copied into the database at half of this, and as
/// much for results.
const DEFAULT_BYTES: u64 = 32 * 1024 * 1024;
/// At most this part of the disk.
const PART_OF_DISK: u64 = 16;
/// In how many pieces the file is given up.
const PIECES: u64 = 8;
/// How often the disk is asked for room.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The file that occupies the room.
pub(crate) fn file_of(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-reserve");
    name.into()
}

/// The reserve of an open store.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    /// `None` for a store without one.
    path: Option<PathBuf>,
    /// The length of the whole file.
    bytes: u64,
    /// When the disk was last asked for room.
    looked_at: Mutex<Option<Instant>>,
}

impl Reserve {
    /// The reserve of the store at `path`: of `bytes`, or of as much as is usual on this disk. 0 is none, and gives up the
    /// file of an earlier one.
    pub(crate) fn of(path: &Path, bytes: Option<u64>) -> Self {
        let bytes =
            bytes.unwrap_or_else(|| size_of_disk(path).map_or(0, |size| DEFAULT_BYTES.min(size / PART_OF_DISK)));
        if bytes == 0 {
            // If it can't be removed, its room stays occupied, which harms nothing else.
            fs::remove_file(file_of(path)).ok();
            return Self::default();
        }
        Self { path: Some(file_of(path)), bytes, looked_at: Mutex::default() }
    }

    /// The length of the log, in bytes, at which it is to be copied into the database, so that a full disk has room for
    /// the copy; `None` without a reserve.
    pub(crate) fn log_bytes(&self) -> Option<u64> {
        self.path.as_ref().map(|_| self.bytes / 2)
    }

    /// Whether some of it was given up, so that the store takes nothing in.
    pub(crate) fn is_in_use(&self) -> bool {
        self.left().is_some_and(|left| left < self.bytes)
    }

    /// The length of the file; `None` if there is none.
    fn left(&self) -> Option<u64> {
        length(self.path.as_ref()?).ok()
    }

    /// Gives up a piece. Returns whether there was one.
    pub(crate) fn release(&self) -> bool {
        let (Some(path), Some(left)) = (&self.path, self.left().filter(|left| *left > 0)) else { return false };
        let rest = left.saturating_sub(self.bytes.div_ceil(PIECES));
        let cut = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(rest));
        if let Err(error) = &cut {
            tracing::warn!(%error, file = %path.display(), "the reserve can't be used");
        } else if left >= self.bytes {
            tracing::error!(
                reserve = self.bytes,
                "the disk is full: no task is taken in. Settling, cancelling and deleting go on in the store's reserve"
            );
        }
        *self.looked_at.lock() = Some(Instant::now());
        cut.is_ok()
    }

    /// Makes the file, or makes it whole again, if the disk has room by now.
    pub(crate) fn restore(&self) {
        let Some(path) = &self.path else { return };
        let left = self.left();
        if left.is_some_and(|left| left >= self.bytes) {
            return;
        }
        let mut looked_at = self.looked_at.lock();
        if looked_at.is_some_and(|at| at.elapsed() < LOOK_AGAIN) {
            return;
        }
        *looked_at = Some(Instant::now());
        if free_bytes(path).is_none_or(|free| free < self.wanted(left)) {
            return;
        }
        match occupy(path, self.bytes) {
            Ok(()) if left.is_some() => tracing::info!("the disk has room again: the store takes tasks in"),
            Ok(()) => {}
            Err(error) => {
                tracing::debug!(%error, "no reserve could be made");
                give_back(path, left);
            }
        }
    }

    /// How much must be free before the file is made whole.
    fn wanted(&self, left: Option<u64>) -> u64 {
        self.bytes.saturating_sub(left.unwrap_or_default()) + self.bytes / 2
    }

    /// Whether the disk is full: some of the reserve was given up, and can't be had again.
    pub(crate) fn is_used_up(&self) -> bool {
        self.restore();
        self.is_in_use()
    }

    /// Refuses, on a full disk, to add `growth` bytes to a file of which deletions have left `free` bytes.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn check(&self, growth: u64, free: u64) -> Result<()> {
        // A task may take twice its size: in its row, and in what it is found by.
        if free >= self.bytes + 2 * growth {
            return Ok(());
        }
        Err(Error::Full(format!("no room is left on its disk, and {}", self.advice())))
    }

    /// What goes on, and what an operator can do.
    fn advice(&self) -> String {
        let (left, path) = (self.left(), self.path.as_deref().unwrap_or(Path::new("")));
        format!(
            "nothing is taken in until {} bytes of it are free, where {} are, or deletions have left {} bytes free in the \
             store's own file. Tasks are settled, cancelled and deleted in the reserve that was kept for this, of which {} \
             bytes are left. Free some room on the disk, or purge or prune tasks",
            self.wanted(left),
            free_bytes(path).unwrap_or_default(),
            self.bytes,
            left.unwrap_or_default(),
        )
    }

    /// A warning for the operator.
    pub(crate) fn warning(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        if self.is_in_use() {
            return Some(format!("the disk is full: {}", self.advice()));
        }
        self.left().is_none().then(|| {
            format!(
                "the store has no reserve for a full disk: {} can't be made, which takes {} free bytes. On a full disk \
                 nothing can be settled, cancelled or deleted",
                path.display(),
                self.wanted(None)
            )
        })
    }
}

/// Room in a file system, in bytes: all of it, or what is free.
fn room(path: &Path, of: impl Fn(&nix::sys::statvfs::Statvfs) -> u64) -> Option<u64> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    statvfs(folder).ok().map(|disk| of(&disk))
}

fn size_of_disk(path: &Path) -> Option<u64> {
    room(path, |disk| product(disk.blocks(), disk.fragment_size()))
}

fn free_bytes(path: &Path) -> Option<u64> {
    room(path, |disk| product(disk.blocks_available(), disk.fragment_size()))
}

/// Numbers of blocks and their size have another type on each system.
fn product(blocks: impl Into<u64>, size: impl Into<u64>) -> u64 {
    blocks.into().saturating_mul(size.into())
}

/// Makes the file at `path` occupy this many bytes.
fn occupy(path: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match allocate(&file, bytes) {
        // A file system that can't promise room, or a system that can't ask for it.
        Err(error) if error.kind() == ErrorKind::Unsupported => write_out(&file, bytes),
        outcome => outcome,
    }
}

/// Returns the file to its earlier length; `None` is no file.
fn give_back(path: &Path, left: Option<u64>) {
    let outcome = match left {
        None => fs::remove_file(path),
        Some(left) => OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(left)),
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "the reserve can't be given back");
    }
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let length = i64::try_from(bytes).map_err(|_| ErrorKind::FileTooLarge)?;
    nix::fcntl::posix_fallocate(file, 0, length).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

fn write_out(file: &File, bytes: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;

    const PIECE: usize = 64 * 1024;
    let mut at = file.metadata()?.len();
    while at < bytes {
        let piece = usize::try_from(bytes - at).map_or(PIECE, |rest| rest.min(PIECE));
        file.write_all_at(&[0; PIECE][..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1 << 20;

    fn reserve(folder: &Path) -> Reserve {
        let reserve = Reserve::of(&folder.join("s.db"), Some(BYTES));
        reserve.restore();
        reserve
    }

    #[test]
    fn it_occupies_room_and_is_given_up_piece_by_piece() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().unwrap();
        let reserve = reserve(folder.path());
        let file = fs::metadata(file_of(&folder.path().join("s.db"))).unwrap();
        assert!(file.len() == BYTES && file.blocks() * 512 >= BYTES, "{file:?}");
        assert_eq!((reserve.is_used_up(), reserve.warning(), reserve.log_bytes()), (false, None, Some(BYTES / 2)));
        for piece in 1..=PIECES {
            assert!(reserve.release());
            assert_eq!(reserve.left(), Some(BYTES - piece * BYTES / PIECES));
        }
        assert!(!reserve.release());
        assert!(reserve.is_used_up() && reserve.check(1_000, BYTES + 2_000).is_ok());
        let Err(Error::Full(why)) = reserve.check(1_000, BYTES + 1_999) else { panic!("something is taken in") };
        assert!(why.contains("disk") && why.contains(&format!("until {} bytes", BYTES + BYTES / 2)), "{why}");
        assert!(reserve.warning().is_some_and(|said| said.starts_with("the disk is full")));
    }

    #[test]
    fn it_is_whole_again_when_the_disk_has_room() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = reserve(folder.path());
        assert!(reserve.release() && reserve.is_in_use());
        *reserve.looked_at.lock() = None;
        assert!(!reserve.is_used_up());
    }

    #[test]
    fn a_disk_that_never_had_room_leaves_the_store_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let reserve = Reserve::of(&path, Some(u64::MAX / 4));
        reserve.restore();
        assert!(!reserve.release() && !file_of(&path).exists());
        assert!(!reserve.is_used_up());
        assert!(reserve.warning().is_some_and(|said| said.contains("has no reserve")));
    }

    #[test]
    fn none_is_asked_for_by_zero_and_the_file_of_an_earlier_one_goes() {
        let folder = tempfile::tempdir().unwrap();
        reserve(folder.path());
        let path = folder.path().join("s.db");
        let none = Reserve::of(&path, Some(0));
        none.restore();
        assert!(!file_of(&path).exists() && !none.is_used_up() && none.warning().is_none());
    }
}
