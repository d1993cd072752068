//! Checks that a file's path still leads to the open file.
//!
//! A file that is moved, deleted or replaced stays open in the processes that use it. SQLite does not notice and keeps
//! writing, and a process that opens the path sees none of these writes. So callers compare device and inode before
//! each transaction, and again before they report a commit. This reads only the kernel's tables and takes a thousandth
//! of the time a commit waits for the disk. The inode of an open file is never reused, so the check gives no false
//! alarm.
//!
//! It does not notice when a file's *content* is overwritten in place.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rusqlite::Connection;

use crate::{
    error::{Error, FileErrorKind, Result},
    examine::{Identity, identity},
    held::HeldFiles,
    log::{close_quietly, cut_log, log_of},
};

/// A file and its log as they were when they were opened; empty for a database in memory.
#[derive(Debug, Default)]
pub struct OpenFiles {
    files: Vec<(PathBuf, Identity)>,
    cut_within: Duration,
    is_adrift: AtomicBool,
    _held: HeldFiles,
}

/// The error for the writing connection when its files are not in their place.
#[derive(Debug)]
pub struct Adrift {
    /// Why nothing may be written.
    pub error: Error,
    /// The result of cutting the log; `None` after the first notice.
    pub cut: Option<Result<bool>>,
}

impl OpenFiles {
    /// The files just opened at `path`. If they are missed later, cutting the log waits at most `cut_within` for its
    /// readers.
    ///
    /// # Errors
    /// [`FileErrorKind::Gone`].
    pub fn of(path: &Path, cut_within: Duration) -> Result<Self> {
        let gone = |error| Error { kind: FileErrorKind::Gone, text: format!("{}: {error}", path.display()) };
        let mut files = vec![(path.to_owned(), identity(path).map_err(gone)?)];
        // The log is next to the file that a link leads to. Without a log, the file is in another mode.
        let log = log_of(&fs::canonicalize(path).map_err(gone)?);
        files.extend(identity(&log).ok().map(|is| (log, is)));
        Ok(Self { files, cut_within, is_adrift: AtomicBool::new(false), _held: HeldFiles::of(path) })
    }

    /// Fails if the files are no longer in their place.
    ///
    /// # Errors
    /// [`FileErrorKind::Moved`].
    pub fn check(&self) -> Result<()> {
        for (path, is) in &self.files {
            let what = match identity(path) {
                Ok(found) if found == *is => continue,
                Ok(_) => "another file is in its place",
                Err(error) if error.kind() == io::ErrorKind::NotFound => "it is not there any more",
                // A file that can't be examined is not known to be gone.
                Err(_) => continue,
            };
            let path = path.display();
            let text = format!("{path} was moved, deleted or replaced while it was in use: {what}");
            return Err(Error { kind: FileErrorKind::Moved, text });
        }
        Ok(())
    }

    /// The same for the writing connection. At the first notice it copies the log into the moved file, so that this
    /// file contains everything acknowledged, wherever it is now. It does so only then: SQLite finds the log by its
    /// name, which may later belong to a new file in the old place.
    ///
    /// # Errors
    /// [`Adrift`].
    pub fn check_writer(&self, conn: &Connection) -> Result<(), Adrift> {
        let checked = self.check();
        let is_first = !self.is_adrift.swap(checked.is_err(), Ordering::Relaxed);
        checked.map_err(|error| Adrift { error, cut: is_first.then(|| cut_log(conn, self.cut_within)) })
    }

    /// Whether the writing connection found that its files are not in their place.
    pub fn is_adrift(&self) -> bool {
        self.is_adrift.load(Ordering::Relaxed)
    }

    /// Call it before a connection is closed. The last connection that closes makes SQLite delete the log by its name,
    /// which may belong to a new file by now. So a connection whose files are not in their place leaves the log alone.
    pub fn before_closing(&self, conn: &Connection) {
        if self.check().is_err() {
            close_quietly(conn);
        }
    }

    /// The same for the writing connection.
    pub fn before_closing_writer(&self, conn: &Connection) {
        if self.check_writer(conn).is_err() {
            close_quietly(conn);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rusqlite::OpenFlags;

    use super::*;
    use crate::Settings;

    fn open(path: &Path) -> OpenFiles {
        OpenFiles::of(path, Duration::ZERO).unwrap()
    }

    fn says(files: &OpenFiles) -> String {
        match files.check() {
            Err(Error { kind: FileErrorKind::Moved, text }) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_and_its_log_are_missed_and_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let [file, log, away] = ["s.db", "s.db-wal", "away"].map(|name| folder.path().join(name));
        fs::write(&file, "store").unwrap();
        fs::write(&log, "log").unwrap();
        let files = open(&file);
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
        let files = open(&link);
        assert_eq!((files.files.len(), files.check()), (2, Ok(())));
        fs::remove_file(&link).unwrap();
        symlink(&log, &link).unwrap();
        assert!(says(&files).contains("another file"));
    }

    #[test]
    fn the_log_is_cut_at_the_first_notice_only() {
        let folder = tempfile::tempdir().unwrap();
        let [file, away] = ["s.db", "away"].map(|name| folder.path().join(name));
        let settings = Settings { busy_timeout: Duration::from_secs(5), statements: 8 };
        let conn = settings.open(&file, OpenFlags::SQLITE_OPEN_CREATE).unwrap();
        settings.use_log(&conn).unwrap();
        let files = open(&file);
        for _ in 0..2 {
            assert!(files.check_writer(&conn).is_ok() && !files.is_adrift());
            fs::rename(&file, &away).unwrap();
            let notices = [(); 2].map(|()| files.check_writer(&conn).unwrap_err().cut);
            assert!(notices == [Some(Ok(true)), None] && files.is_adrift(), "{notices:?}");
            fs::rename(&away, &file).unwrap();
        }
    }

    #[test]
    fn a_database_in_memory_misses_nothing() {
        assert_eq!(OpenFiles::default().check(), Ok(()));
    }
}
