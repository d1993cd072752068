//! Notifies other processes of this process's commits.
//!
//! SQLite writes its log *before* a commit becomes visible. What makes it visible is a write to shared memory, of which
//! the system notifies no process. So the committing process touches the times of the shared memory's file after the
//! commit, and other processes watch these times only: watching the log would wake them at each page written.

use std::{
    fs,
    path::{Path, PathBuf},
};

use filetime::FileTime;
use jobbers_sqlite_file::{index_of, log_of};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::ModifyKind};

/// Notifies other processes after each commit.
#[derive(Debug)]
pub(crate) struct CommitNotifier {
    /// `None`: no other process sees the store.
    index: Option<PathBuf>,
    log: Option<PathBuf>,
}

impl CommitNotifier {
    /// The notifier of the open store at `path`; `None` is a store that no other process sees.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        Self { index: path.map(index_of), log: path.map(log_of) }
    }

    /// The length of the log in bytes; 0 without a log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.as_ref().and_then(|log| fs::metadata(log).ok()).map_or(0, |log| log.len())
    }

    /// Notifies the others that a commit is visible. If this fails, they still look once a second.
    pub(crate) fn notify(&self) {
        if let Some(index) = &self.index {
            let now = FileTime::now();
            // By its path: SQLite's locks are on this file, and a process that closes it anywhere loses all of them.
            // Both times: a change of only one looks like a write.
            filetime::set_symlink_file_times(index, now, now).ok();
        }
    }
}

/// Calls `heard` after each notified commit, until the returned watcher is dropped.
pub(crate) fn listen(path: &Path, heard: impl Fn() + Send + 'static) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if matches!(event, Ok(Event { kind: EventKind::Modify(ModifyKind::Metadata(_)), .. })) {
            heard();
        }
    })?;
    watcher.watch(&index_of(path), RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn a_visible_commit_is_notified() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        fs::write(index_of(&store), b"").unwrap();
        let (heard, notified) = mpsc::channel();
        let listening = listen(&store, move || heard.send(()).unwrap()).unwrap();
        CommitNotifier::of(Some(&store)).notify();
        notified.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(listening);
        assert!(notified.recv().is_err(), "the watcher is dropped");
    }
}
