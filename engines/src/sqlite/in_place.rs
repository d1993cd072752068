//! Whether the store's path still leads to the files that are open.
//!
//! A file that is moved, deleted or replaced stays open in the processes that use it. SQLite does not notice, writes on,
//! and whoever opens the path sees none of that. So device and inode are compared, before each transaction and again
//! before anybody is told that it is committed: a look into the kernel's tables, a thousandth of what a commit waits for
//! the disk. An inode that is open is given to no other file, so there is no false alarm.
//!
//! A file whose *content* is overwritten where it lies is not noticed.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use jobbers_common::engine::{Error, Result};
use rusqlite::Connection;

use super::{bell, connection};

/// The files of a store as they were when they were opened; none for a store in memory.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(Vec<OpenFile>);

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    is: Identity,
}

/// What tells a file from every other as long as it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

impl OpenFiles {
    /// Those of the store that has just been opened at `path`. The log lies beside the file that a link leads to.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the file is gone again.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let gone = |error: io::Error| Error::unavailable(format!("{}: {error}", path.display()));
        let mut files = vec![OpenFile { path: path.to_owned(), is: Identity::of(path).map_err(gone)? }];
        let log = bell::log_of(&fs::canonicalize(path).map_err(gone)?);
        // Without a log, the file is in another mode, which health warns of.
        files.extend(Identity::of(&log).ok().map(|is| OpenFile { path: log, is }));
        Ok(Self(files))
    }

    /// Refuses to go on with files that are not in their place any more.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(super) fn check(&self) -> Result<()> {
        for OpenFile { path, is } in &self.0 {
            let what = match Identity::of(path) {
                Ok(found) if found == *is => continue,
                Ok(_) => "another file is in its place",
                Err(error) if error.kind() == io::ErrorKind::NotFound => "it is not there any more",
                // Whoever can't be asked has not said that it is gone.
                Err(_) => continue,
            };
            return Err(Error::unavailable(format!(
                "the database file {} was moved, deleted or replaced while it was in use: {what}. Nothing more is read \
                 or written. Put it back, or stop every process that uses it before you start one again",
                path.display()
            )));
        }
        Ok(())
    }

    /// To be called before `conn` is closed. Of the connections that close, SQLite's last deletes the log by its name,
    /// which may be that of a new store by now; so one whose files are not in their place leaves all alone.
    pub(super) fn before_closing(&self, conn: &Connection) {
        if self.check().is_err() {
            connection::close_quietly(conn);
        }
    }

    /// The same for the connection that writes. One that has not noticed before carries the log over into the file that
    /// was moved first: what was acknowledged is in there then, wherever that is now. Only then: later the log, which
    /// SQLite finds by its name, may be that of whoever has opened the file in the old one's place.
    pub(super) fn before_closing_writer(&self, conn: &Connection, has_noticed: bool) {
        if self.check().is_err() {
            if !has_noticed {
                connection::cut_log(conn).ok();
            }
            connection::close_quietly(conn);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn says(files: &OpenFiles) -> String {
        match files.check() {
            Err(Error::Unavailable { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_and_its_log_are_missed_and_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let [file, log, away] = ["s.db", "s.db-wal", "away"].map(|name| folder.path().join(name));
        fs::write(&file, "store").unwrap();
        fs::write(&log, "log").unwrap();
        let files = OpenFiles::of(&file).unwrap();
        for path in [&file, &log] {
            assert_eq!(files.check(), Ok(()));
            fs::rename(path, &away).unwrap();
            assert!(says(&files).contains("not there any more"));
            fs::write(path, "another").unwrap();
            assert!(says(&files).contains("another file is in its place"));
            fs::rename(&away, path).unwrap();
        }
        assert_eq!(files.check(), Ok(()));
    }

    #[test]
    fn a_link_is_followed_and_missed_when_it_leads_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, log] = ["s.db", "link.db", "s.db-wal"].map(|name| folder.path().join(name));
        fs::write(&file, "store").unwrap();
        fs::write(&log, "log").unwrap();
        symlink(&file, &link).unwrap();
        let files = OpenFiles::of(&link).unwrap();
        assert_eq!((files.0.len(), files.check()), (2, Ok(())));
        fs::remove_file(&link).unwrap();
        symlink(&log, &link).unwrap();
        assert!(says(&files).contains("another file"));
    }

    #[test]
    fn a_store_in_memory_misses_nothing() {
        assert_eq!(OpenFiles::default().check(), Ok(()));
    }
}
