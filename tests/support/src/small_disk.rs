//! A disk of a few megabytes, to be filled: a file system in memory.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A small disk. It is gone when this is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Mounts one of this many MiB; `None`, with a word on standard error, where that is not permitted.
    #[must_use]
    pub fn of(mebibytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { folder }),
            other => {
                writeln!(io::stderr(), "SKIPPED: only root can mount a small disk: {other:?}").ok();
                None
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes to it until nothing more goes in.
    ///
    /// # Panics
    /// If writing fails for another reason.
    pub fn fill(&self) {
        let mut file =
            OpenOptions::new().append(true).create(true).open(self.ballast()).expect("the disk can be written");
        for piece in [64 * 1024, 4 * 1024, 1] {
            loop {
                match file.write_all(&vec![0; piece]) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Deletes what [`Self::fill`] has written.
    pub fn free(&self) {
        fs::remove_file(self.ballast()).ok();
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a program that ends at this moment may still have a file of it open.
        Command::new("umount").arg("-l").arg(self.folder.path()).status().ok();
    }
}
