//! The address file, by which commands and services find the system that `jobbers up` runs in their folder.
//!
//! `up` writes it into its working directory and beside its SQLite file, and holds a lock on it while it runs. A file
//! without a lock is left from a crash and is ignored.

use std::{
    fs::{File, OpenOptions, Permissions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{self, Path, PathBuf},
};

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

/// The file's name.
const NAME: &str = ".jobbers-up.json";
/// A store that no other process can open.
const MEMORY: &str = "sqlite::memory:";

/// Where a running system is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The manager's URL.
    pub manager: String,
    /// The store's URL, as `--engine-url` takes it. May hold a password: only the owner can read the file.
    pub store: String,
}

/// The file while `up` runs. Removed when dropped.
#[derive(Debug)]
pub struct Marker {
    path: PathBuf,
    _lock: File,
}

impl Drop for Marker {
    fn drop(&mut self) {
        // Before the lock goes, so that a system that starts just then does not lose its own file.
        std::fs::remove_file(&self.path).ok();
    }
}

impl Site {
    /// The system whose manager answers at the URL `manager`, on the store at `store`.
    #[must_use]
    pub fn new(manager: &str, store: &str) -> Self {
        Self { manager: manager.to_owned(), store: store.to_owned() }
    }

    /// The system that runs in `folder`, if any. The file of another user is ignored, or that user could lead commands
    /// in a shared folder to a manager and a store of their own.
    #[must_use]
    pub fn find(folder: &Path) -> Option<Self> {
        let mut file = File::open(folder.join(NAME)).ok()?;
        if file.metadata().ok()?.uid() != geteuid().as_raw() {
            return None;
        }
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The system that runs in the working directory, if any.
    #[must_use]
    pub fn here() -> Option<Self> {
        Self::find(Path::new("."))
    }

    /// Whether other processes can open its store.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !self.store.starts_with(MEMORY)
    }

    /// Writes the file into `folder`. Returns `None` if the one in it is of another running system.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn mark(&self, folder: &Path) -> io::Result<Option<Marker>> {
        let path = folder.join(NAME);
        let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.set_len(0)?;
        file.rewind()?;
        serde_json::to_writer(&file, self)?;
        file.write_all(b"\n")?;
        Ok(Some(Marker { path, _lock: file }))
    }
}

/// The absolute path of the address file in `folder`.
#[must_use]
pub fn file_in(folder: &Path) -> PathBuf {
    let file = folder.join(NAME);
    path::absolute(&file).unwrap_or(file)
}

/// Logs that the address of the store comes from an address file, if it does.
pub fn announce(file: Option<&Path>) {
    if let Some(file) = file {
        tracing::info!(file = %file.display(), "the store is that of the `jobbers up` that runs in this folder");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_found_while_it_runs_and_not_after() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::new("http://127.0.0.1:8600", "sqlite://./jobbers.db");
        assert_eq!(Site::find(folder.path()), None);
        let marker = site.mark(folder.path()).unwrap().unwrap();
        assert_eq!(Site::find(folder.path()), Some(site.clone()));
        assert_eq!(site.manager, "http://127.0.0.1:8600");
        assert!(site.mark(folder.path()).unwrap().is_none(), "one file, one system");
        drop(marker);
        assert!(!folder.path().join(NAME).exists());
    }

    #[test]
    fn a_file_that_a_crash_left_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::new("http://[::1]:8600", "redis://h");
        std::fs::write(folder.path().join(NAME), serde_json::to_vec(&site).unwrap()).unwrap();
        assert_eq!(Site::find(folder.path()), None);
        assert!(site.mark(folder.path()).unwrap().is_some());
    }
}
