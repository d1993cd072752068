//! Is notified of the commits of other processes.
//!
//! SQLite writes its log *before* a commit becomes visible. What makes it visible is a write to shared memory, of which the
//! system notifies no process. The store's mark ([`mark`](crate::sqlite::store::mark)) is written after that, so other
//! processes watch the mark: watching the log would wake them at each page written.

use std::path::{Path, PathBuf};

use jobbers_sqlite_file::{Identity, identity};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::ModifyKind};

use crate::sqlite::store::heartbeats::file_of;

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct CommitListener {
    file: PathBuf,
    /// The file that is watched.
    listens_to: Option<Identity>,
    _watcher: RecommendedWatcher,
}

impl CommitListener {
    /// Calls `heard` after each commit to the store at `path`, whichever process made it.
    pub(crate) fn start(path: &Path, heard: impl Fn() + Send + 'static) -> notify::Result<Self> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if matches!(event, Ok(Event { kind: EventKind::Modify(ModifyKind::Data(_)), .. })) {
                heard();
            }
        })?;
        let file = file_of(path);
        let listens_to = identity(&file).ok();
        watcher.watch(&file, RecursiveMode::NonRecursive)?;
        Ok(Self { file, listens_to, _watcher: watcher })
    }

    /// Whether the mark was removed since, so that commits are noted in a new one.
    pub(crate) fn is_outdated(&self) -> bool {
        identity(&self.file).ok() != self.listens_to
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc, time::Duration};

    use jobbers_common::time::Timestamp;

    use super::*;
    use crate::sqlite::store::mark::Mark;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn a_visible_commit_is_heard_also_after_the_mark_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        let (mark, _) = Mark::check(Some(&store), Timestamp::from_micros(0), || Ok::<_, ()>(1)).unwrap();
        let (heard, notified) = mpsc::channel();
        let listener = CommitListener::start(&store, move || heard.send(()).unwrap()).unwrap();
        mark.note(2);
        notified.recv_timeout(SOON).unwrap();
        assert!(!listener.is_outdated());

        fs::remove_file(file_of(&store)).unwrap();
        assert!(listener.is_outdated());
        mark.note(3);
        let (heard, notified) = mpsc::channel();
        let listener = CommitListener::start(&store, move || heard.send(()).unwrap()).unwrap();
        assert!(!listener.is_outdated());
        mark.note(4);
        notified.recv_timeout(SOON).unwrap();
        drop(listener);
        while notified.recv().is_ok() {}
    }
}
