//! Whether the archive's path still leads to the files that are open.
//!
//! A file that is moved, deleted or replaced stays open, and what is written to it is not seen by whoever opens the path.
//! So device and inode are compared before and after each change. The store does the same with its own file.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rusqlite::{Connection, config::DbConfig};

use crate::error::{Error, Result};

/// The file and its log as they were when they were opened: path, device and inode.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    files: Vec<(PathBuf, (u64, u64))>,
    /// Whether the log was carried over since they were last in their place.
    is_carried_over: AtomicBool,
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

impl OpenFiles {
    /// Those of the archive that has just been opened at `path`. The log lies beside the file that a link leads to.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let gone = |error: io::Error| Error::Open(format!("{}: {error}", path.display()));
        let mut files = vec![(path.to_owned(), identity(path).map_err(gone)?)];
        let mut log = fs::canonicalize(path).map_err(gone)?.into_os_string();
        log.push("-wal");
        let log = PathBuf::from(log);
        files.extend(identity(&log).ok().map(|is| (log, is)));
        Ok(Self { files, is_carried_over: AtomicBool::new(false) })
    }

    /// Refuses to go on with files that are not in their place any more.
    pub(crate) fn check(&self) -> Result<()> {
        for (path, is) in &self.files {
            let what = match identity(path) {
                Ok(found) if found == *is => continue,
                Ok(_) => "another file is in its place",
                Err(error) if error.kind() == io::ErrorKind::NotFound => "it is not there any more",
                // Whoever can't be asked has not said that it is gone.
                Err(_) => continue,
            };
            return Err(Error::Unavailable(format!(
                "{} was moved, deleted or replaced while it was in use: {what}. Put it back, or start the manager that \
                 keeps it again",
                path.display()
            )));
        }
        Ok(())
    }

    /// The same for the connection that writes. At the first notice what is in the log is carried over into the file that
    /// was moved, so that this is whole wherever it is now; later the log, which SQLite finds by its name, may be that of
    /// whoever has opened another archive in its place.
    pub(crate) fn check_writer(&self, writer: &Connection) -> Result<()> {
        let checked = self.check();
        let is_first = checked.is_err() != self.is_carried_over.swap(checked.is_err(), Ordering::Relaxed);
        if checked.is_err() && is_first {
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok();
        }
        checked
    }

    /// To be called before the connections are closed, the one that writes first: SQLite's last one deletes the log by its
    /// name.
    pub(crate) fn before_closing(&self, connections: [&Connection; 2]) {
        if self.check_writer(connections[0]).is_err() {
            for conn in connections {
                conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::time::Timestamp;

    use super::*;
    use crate::{Archive, Filter, Options};

    #[test]
    fn an_archive_that_was_moved_replaced_or_lost_its_log_takes_and_tells_nothing_until_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let [file, log, away] = ["dead.db", "dead.db-wal", "away"].map(|name| folder.path().join(name));
        let archive = Archive::open(&file, Options::default()).unwrap();
        let refuses = |words: &str| {
            let answers = [
                archive.prune_operations(Timestamp::default()).map(drop),
                archive.count(&Filter::default()).map(drop),
                archive.warning().map(drop),
            ];
            for answer in answers {
                assert!(matches!(&answer, Err(Error::Unavailable(text)) if text.contains(words)), "{answer:?}");
            }
        };
        for path in [&file, &log] {
            assert_eq!(archive.count(&Filter::default()), Ok(0));
            fs::rename(path, &away).unwrap();
            refuses("not there any more");
            fs::write(path, b"").unwrap();
            refuses("another file is in its place");
            fs::rename(&away, path).unwrap();
        }
        assert_eq!(archive.prune_operations(Timestamp::default()), Ok(0));
        fs::rename(&file, &away).unwrap();
        fs::remove_file(&log).unwrap();
        fs::write(&log, b"").unwrap();
        drop(archive);
        assert!(log.exists(), "what lies at its place is left alone");
    }
}
