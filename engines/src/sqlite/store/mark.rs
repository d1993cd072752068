//! A mark beside the store: how many commits it has acknowledged.
//!
//! SQLite reads a log up to the first frame that is damaged or missing and says nothing of what follows, so a log that
//! was cut, a damaged one and an older file in the store's place all open without an error. The mark is in another file
//! ([`file_of`]) and is written after each commit. When a store is opened with fewer commits than its mark, they are
//! missing; that is noted in the same file, so that health says it until an operator removes the file. Other processes watch the
//! file, and so are notified of each commit ([`commit_listener`](crate::sqlite::threads::commit_listener)).
//!
//! It notices nothing where the file is missing as well: in a folder to which only the database was copied.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jobbers_common::time::Timestamp;
use jobbers_sqlite_file::{Identity, identity};
use parking_lot::Mutex;

use super::heartbeats::file_of;

/// What the file begins with; then follows the number of commits in [`DIGITS`] digits.
const HEAD: &str = "jobbers 1 ";
const DIGITS: usize = 20;
/// What the second line begins with, if commits are missing.
const MISSING: &str = "missing ";

/// Commits that were acknowledged and that the store lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingCommits {
    /// The last commit that it has.
    pub(crate) last: i64,
    /// The last one that was acknowledged.
    pub(crate) acknowledged: i64,
    /// When this was found.
    pub(crate) found: String,
}

impl MissingCommits {
    /// A warning for the operator; `path` is the file of the store.
    pub(crate) fn warning(&self, path: &Path) -> String {
        let Self { last, acknowledged, found } = self;
        format!(
            "{} commits that were acknowledged are missing, {} to {acknowledged} (found {found}): the log was cut or \
             damaged, the disk lost writes, or an older file was put in the store's place. Restore a backup, or accept \
             it: remove {}",
            acknowledged - last,
            last + 1,
            file_of(path).display()
        )
    }
}

/// The mark of an open store.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    path: Option<PathBuf>,
    open: Mutex<Option<OpenMark>>,
}

/// The file, and which one it is.
#[derive(Debug)]
struct OpenMark {
    file: File,
    identity: Option<Identity>,
}

impl Mark {
    /// Compares the mark of the store at `path` with the number of its commits, which `commits` reads after the mark was
    /// read. Returns the mark, and what is newly found missing.
    pub(crate) fn check<E>(
        path: Option<&Path>,
        now: Timestamp,
        commits: impl FnOnce() -> Result<i64, E>,
    ) -> Result<(Self, Option<MissingCommits>), E> {
        let Some(path) = path else { return Ok((Self::default(), None)) };
        let marked = fs::read_to_string(file_of(path)).ok().and_then(|text| read(&text));
        let commits = commits()?;
        let (acknowledged, known) = marked.unwrap_or((commits, None));
        let found = (acknowledged > commits).then(|| MissingCommits {
            last: known.as_ref().map_or(commits, |known| known.last.min(commits)),
            acknowledged: known.as_ref().map_or(acknowledged, |known| known.acknowledged.max(acknowledged)),
            found: in_words(now),
        });
        let open = OpenMark::of(path);
        if let (Some(open), true) = (&open, found.is_some() || acknowledged != commits) {
            let missing = found.as_ref().or(known.as_ref());
            write(&open.file, commits, missing);
        }
        Ok((Self { path: Some(path.to_owned()), open: Mutex::new(open) }, found))
    }

    /// Notes that commits up to this one are acknowledged, in a new file if the earlier one was removed.
    pub(crate) fn note(&self, commits: i64) {
        let Some(path) = &self.path else { return };
        let mut open = self.open.lock();
        if open.as_ref().is_none_or(|open| open.identity != identity(&file_of(path)).ok()) {
            *open = OpenMark::of(path);
        }
        if let Some(OpenMark { file, .. }) = &*open {
            // Without it a loss may go unnoticed; the commit itself is safe.
            file.write_all_at(head(commits).as_bytes(), 0).ok();
        }
    }

    /// What is missing, by the file's present content.
    pub(crate) fn missing(path: &Path) -> Option<MissingCommits> {
        fs::read_to_string(file_of(path)).ok().and_then(|text| read(&text)?.1)
    }

    /// The store that is marked.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

fn in_words(time: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(time.as_micros()).unwrap_or_default().strftime("%F %H:%M UTC").to_string()
}

impl OpenMark {
    fn of(path: &Path) -> Option<Self> {
        let path = file_of(path);
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let said = opened.inspect_err(|error| tracing::debug!(%error, "the mark of the store can't be written"));
        said.ok().map(|file| Self { file, identity: identity(&path).ok() })
    }
}

fn head(commits: i64) -> String {
    format!("{HEAD}{commits:0DIGITS$}\n")
}

fn write(file: &File, commits: i64, missing: Option<&MissingCommits>) {
    let mut text = head(commits);
    if let Some(MissingCommits { last, acknowledged, found }) = missing {
        text += &format!("{MISSING}{last} {acknowledged} {found}\n");
    }
    file.write_all_at(text.as_bytes(), 0).ok();
}

/// The commits of a mark, and what is noted as missing; `None` for a file without a mark.
fn read(text: &str) -> Option<(i64, Option<MissingCommits>)> {
    let mut lines = text.lines();
    let commits = lines.next()?.strip_prefix(HEAD)?.parse().ok()?;
    let missing = lines.next().and_then(|line| {
        let mut words = line.strip_prefix(MISSING)?.splitn(3, ' ');
        let (last, acknowledged) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(MissingCommits { last, acknowledged, found: words.next()?.to_owned() })
    });
    Some((commits, missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn check(path: &Path, commits: i64) -> (Mark, Option<MissingCommits>) {
        Mark::check(Some(path), NOW, || Ok::<_, ()>(commits)).unwrap()
    }

    #[test]
    fn a_store_with_fewer_commits_than_its_mark_lacks_them_until_the_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let (mark, missing) = check(&path, 5);
        assert_eq!(missing, None);
        mark.note(9);
        assert_eq!((check(&path, 9).1, check(&path, 12).1, Mark::missing(&path)), (None, None, None));
        mark.note(12);
        let (mark, missing) = check(&path, 10);
        let missing = missing.unwrap();
        assert_eq!((missing.last, missing.acknowledged), (10, 12));
        assert!(missing.warning(&path).starts_with("2 commits") && missing.warning(&path).contains("11 to 12"));
        // It stays said while the store goes on, and when it is opened again.
        mark.note(40);
        assert_eq!((Mark::missing(&path), check(&path, 40).1), (Some(missing), None));
        let (_, again) = check(&path, 8);
        assert_eq!(again.map(|it| (it.last, it.acknowledged)), Some((8, 40)));
        fs::remove_file(file_of(&path)).unwrap();
        assert_eq!((Mark::missing(&path), check(&path, 8).1), (None, None));
    }

    #[test]
    fn a_file_without_a_mark_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        for text in ["", "jobbers 1 x\n", "another file\n"] {
            fs::write(file_of(&path), text).unwrap();
            assert_eq!((Mark::missing(&path), check(&path, 3).1), (None, None), "{text:?}");
        }
        let (memory, missing) = Mark::check(None, NOW, || Ok::<_, ()>(3)).unwrap();
        memory.note(4);
        assert_eq!((memory.path(), missing), (None, None));
    }
}
