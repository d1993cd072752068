//! Files that are no store's: how a program that may have a store open opens any other file.
//!
//! A process that closes a file of an embedded store gives up SQLite's locks on it, and then another process damages the
//! store (`jobbers_sqlite_file::is_held`). So where a name comes from a client, a user or a folder's list, the file is
//! [found](FoundFile) first, by a handle that locks nothing and reads nothing. What is checked is the file behind the
//! handle and not the name, and that same file is opened: whatever the name leads to by then, through links of either
//! kind.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use nix::fcntl::OFlag;

/// A file that was found and is not yet open.
#[derive(Debug)]
pub struct FoundFile {
    handle: Handle,
    path: PathBuf,
    metadata: Metadata,
}

impl FoundFile {
    /// The file that a path leads to.
    ///
    /// # Errors
    /// When it leads to none.
    pub fn at(path: &Path) -> io::Result<Self> {
        let (handle, path, metadata) = find(path)?;
        Ok(Self { handle, path, metadata })
    }

    /// Where it is, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it is not to be opened, if so; to be said after its name.
    #[must_use]
    pub fn refusal(&self) -> Option<&'static str> {
        if !self.metadata.is_file() {
            return Some("is not a regular file");
        }
        is_of_a_store(&self.metadata).then_some("belongs to a store that this process has open")
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// Those of the system; of kind [`ErrorKind::InvalidInput`] if it is [refused](Self::refusal).
    pub fn open(self) -> io::Result<OrdinaryFile> {
        if let Some(why) = self.refusal() {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} {why}", self.path.display())));
        }
        let file = OrdinaryFile { file: Some(open(&self)?) };
        match file.refusal()? {
            None => Ok(file),
            Some(why) => Err(io::Error::new(ErrorKind::InvalidInput, why)),
        }
    }
}

/// A handle for looking at a file. It can't read, and closing it gives up no locks.
#[cfg(target_os = "linux")]
type Handle = File;
/// Systems without such handles compare the file that was opened with the one that was found.
#[cfg(not(target_os = "linux"))]
type Handle = ();

#[cfg(target_os = "linux")]
fn find(path: &Path) -> io::Result<(Handle, PathBuf, Metadata)> {
    let handle = OpenOptions::new().read(true).custom_flags(OFlag::O_PATH.bits()).open(path)?;
    let (path, metadata) = (std::fs::read_link(link_to(&handle))?, handle.metadata()?);
    Ok((handle, path, metadata))
}

#[cfg(target_os = "linux")]
fn open(found: &FoundFile) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(link_to(&found.handle))
}

#[cfg(target_os = "linux")]
fn link_to(handle: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", handle.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn find(path: &Path) -> io::Result<(Handle, PathBuf, Metadata)> {
    let path = path.canonicalize()?;
    let metadata = path.symlink_metadata()?;
    Ok(((), path, metadata))
}

#[cfg(not(target_os = "linux"))]
fn open(found: &FoundFile) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW).bits()).open(&found.path)
}

/// An open file that was no store's when it was opened. If it becomes one, it is not closed before the process ends.
#[derive(Debug)]
pub struct OrdinaryFile {
    /// `None` once it is closed.
    file: Option<File>,
}

impl OrdinaryFile {
    /// Opens the file at a path.
    ///
    /// # Errors
    /// Those of [`FoundFile::at`] and [`FoundFile::open`].
    pub fn open(path: &Path) -> io::Result<Self> {
        FoundFile::at(path)?.open()
    }

    /// Its length in bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn length(&self) -> io::Result<u64> {
        self.file().metadata().map(|metadata| metadata.len())
    }

    #[expect(clippy::expect_used, reason = "only dropping it closes the file")]
    fn file(&self) -> &File {
        self.file.as_ref().expect("it is open until it is dropped")
    }

    /// Why it should not have been opened: only if another file took the place of the found one.
    fn refusal(&self) -> io::Result<Option<&'static str>> {
        let metadata = self.file().metadata()?;
        Ok((!metadata.is_file() || is_of_a_store(&metadata)).then_some("another file took its place meanwhile"))
    }
}

impl Read for OrdinaryFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file().read(buffer)
    }
}

impl Drop for OrdinaryFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            close(file);
        }
    }
}

/// Whether a file belongs to a store, or to an archive of dead letters, that this process has open.
#[cfg(feature = "sqlite")]
pub use jobbers_sqlite_file::is_held as is_of_a_store;

#[cfg(feature = "sqlite")]
use jobbers_sqlite_file::close;

/// Whether a file belongs to a store that this process has open: this program opens no store in a file.
#[cfg(not(feature = "sqlite"))]
#[must_use]
pub const fn is_of_a_store(_: &Metadata) -> bool {
    false
}

#[cfg(not(feature = "sqlite"))]
fn close(file: File) {
    drop(file);
}
