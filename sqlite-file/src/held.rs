//! The SQLite files that this process has open, so that nothing else in it opens them.
//!
//! SQLite locks its files by POSIX locks. A process that closes *any* descriptor of a file gives up all its locks on that
//! file, also those that SQLite took. Another process then writes at the same time, and the file is damaged. So a
//! program that opens files for others, by names that they choose, asks here first ([`is_held`]), and closes here what
//! it opened ([`close`]).
//!
//! Files are compared by device and inode: links of both kinds are seen through.

use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, ErrorKind},
    mem,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    examine::{Identity, identity},
    log::files_of,
};

/// The rights of a new file: its tasks concern its owner alone. SQLite gives the log and its index the same.
const PRIVATE: u32 = 0o600;

/// What this process has open, or had.
static HELD: Mutex<HeldRegistry> = Mutex::new(HeldRegistry { paths: BTreeSet::new(), open: Vec::new() });

#[derive(Debug)]
struct HeldRegistry {
    /// The databases opened so far. A path stays: another part of the process may still have it open.
    paths: BTreeSet<PathBuf>,
    /// Files that are open wherever they are now, an entry for each that uses them.
    open: Vec<Identity>,
}

impl HeldRegistry {
    fn holds(&self, metadata: &Metadata) -> bool {
        let wanted = identity_of(metadata);
        let is_wanted = |path: PathBuf| identity(&path).is_ok_and(|found| found == wanted);
        self.open.contains(&wanted) || self.paths.iter().flat_map(|path| files_of(path)).any(is_wanted)
    }
}

fn registry() -> MutexGuard<'static, HeldRegistry> {
    // Each change is one insertion or removal, so a panic leaves nothing half done.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity_of(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Whether a file belongs to a database that this process has open, or had: it must not be opened except by SQLite.
#[must_use]
pub fn is_held(metadata: &Metadata) -> bool {
    registry().holds(metadata)
}

/// Closes a file that was not opened by SQLite. If it belongs to an open database by now, it stays open as long as the
/// process lives, because closing it would give up the database's locks.
pub fn close(file: File) {
    let registry = registry();
    if file.metadata().is_ok_and(|metadata| registry.holds(&metadata)) {
        mem::forget(file);
    } else {
        // While the registry is locked no database is opened.
        drop(file);
    }
}

/// Notes that SQLite is about to open the database at `path`. With `creates`, a missing file is created for its owner
/// alone, whatever the process's mask allows.
pub(crate) fn note(path: &Path, creates: bool) -> io::Result<()> {
    let mut registry = registry();
    if creates {
        // The file is new, so no part of this process has it open, and closing it here does no harm.
        match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    registry.paths.insert(without_links(path));
    Ok(())
}

/// The path without links; that of a missing file by its folder.
#[must_use]
pub fn without_links(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
}

/// A warning for the operator if users other than the owner and its group can read or write a file of the database at
/// `path`.
#[must_use]
pub fn exposure(path: &Path) -> Option<String> {
    let mode_of = |file: PathBuf| Some((fs::metadata(&file).ok()?.mode() & 0o777, file));
    let (mode, file) =
        files_of(&without_links(path)).into_iter().filter_map(mode_of).find(|(mode, _)| mode & 0o007 != 0)?;
    let (file, base) = (file.display(), path.display());
    Some(format!("every user of this machine may open {file} (mode {mode:o}): run chmod 600 {base}*"))
}

/// Open files, wherever they are moved to, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct HeldFiles(Vec<Identity>);

impl HeldFiles {
    /// The files of the database at `path` that exist.
    pub(crate) fn of(path: &Path) -> Self {
        let files: Vec<Identity> =
            files_of(&without_links(path)).iter().filter_map(|path| identity(path).ok()).collect();
        registry().open.extend_from_slice(&files);
        Self(files)
    }
}

impl Drop for HeldFiles {
    fn drop(&mut self) {
        let mut registry = registry();
        for file in &self.0 {
            if let Some(place) = registry.open.iter().position(|open| open == file) {
                registry.open.swap_remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::Permissions,
        os::{
            fd::AsRawFd,
            unix::fs::{PermissionsExt, symlink},
        },
    };

    use rusqlite::{Connection, OpenFlags};

    use super::*;
    use crate::{OpenFiles, Settings};

    fn open(path: &Path) -> Connection {
        let settings = Settings { busy_timeout: std::time::Duration::from_secs(5), statements: 8 };
        let conn = settings.open(path, OpenFlags::SQLITE_OPEN_CREATE).unwrap();
        settings.use_log(&conn).unwrap();
        conn.execute_batch("CREATE TABLE IF NOT EXISTS t (n)").unwrap();
        conn
    }

    fn is_held_at(path: &Path) -> bool {
        is_held(&fs::metadata(path).unwrap())
    }

    #[test]
    fn the_files_of_an_open_database_are_held_by_every_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let path = at("s.db");
        let _conn = open(&path);
        for suffix in ["", "-wal", "-shm"] {
            let (file, soft, hard) =
                (at(&format!("s.db{suffix}")), at(&format!("soft{suffix}")), at(&format!("hard{suffix}")));
            symlink(&file, &soft).unwrap();
            fs::hard_link(&file, &hard).unwrap();
            assert!(is_held_at(&file) && is_held_at(&soft) && is_held_at(&hard), "{suffix}");
        }
        fs::write(at("other"), "").unwrap();
        assert!(!is_held_at(&at("other")));
    }

    #[test]
    fn a_moved_database_is_held_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, away] = ["s.db", "away.db"].map(|name| folder.path().join(name));
        let conn = open(&path);
        let files = OpenFiles::of(&path, std::time::Duration::ZERO).unwrap();
        fs::rename(&path, &away).unwrap();
        assert!(is_held_at(&away));
        crate::close_quietly(&conn);
        drop((conn, files));
        assert!(!is_held_at(&away));
    }

    #[test]
    fn a_file_that_became_a_database_is_not_closed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["s.db", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "").unwrap();
        fs::write(&other, "").unwrap();
        let [database, plain] = [&path, &other].map(|path| File::open(path).unwrap());
        let _conn = open(&path);
        let descriptors = [database.as_raw_fd(), plain.as_raw_fd()];
        close(database);
        close(plain);
        let leads_to = |number: i32| fs::read_link(format!("/proc/self/fd/{number}")).ok();
        let [database, plain] = descriptors.map(leads_to);
        assert!(database.is_some_and(|file| file == path.canonicalize().unwrap()));
        assert!(plain.is_none_or(|file| file != other.canonicalize().unwrap()));
    }

    #[test]
    fn a_new_file_and_its_log_are_for_the_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let _conn = open(&path);
        for suffix in ["", "-wal", "-shm"] {
            let mode = fs::metadata(folder.path().join(format!("s.db{suffix}"))).unwrap().mode();
            assert_eq!(mode & 0o777, 0o600, "{suffix}");
        }
        assert_eq!(exposure(&path), None);
        for (mode, is_said) in [(0o640, false), (0o644, true), (0o602, true)] {
            fs::set_permissions(folder.path().join("s.db-wal"), Permissions::from_mode(mode)).unwrap();
            assert_eq!(exposure(&path).is_some_and(|said| said.contains("s.db-wal")), is_said, "{mode:o}");
        }
    }
}
