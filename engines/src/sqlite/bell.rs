//! How one process's commit is heard by the others.
//!
//! SQLite writes its log *before* a commit can be seen, and what makes it seen is a write to shared memory that nobody
//! is told of. So whoever commits touches the times of the shared memory's file afterwards, and whoever watches is told
//! of that, and of nothing else: the log would have it woken at each page written.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use filetime::FileTime;
use jobbers_sqlite_file::{index_of, log_of};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::ModifyKind};

/// Rings after each commit.
#[derive(Debug)]
pub(super) struct Bell {
    /// `None`: nobody else sees the store.
    index: Option<PathBuf>,
    log: Option<File>,
}

impl Bell {
    /// The bell of the store at `path`, which is open; `None` is a store that nobody else sees.
    pub(super) fn of(path: Option<&Path>) -> Self {
        let log = path.map(|path| File::open(log_of(path)));
        let log = log.and_then(|log| log.inspect_err(|error| tracing::debug!(%error, "the log can't be seen")).ok());
        Self { index: path.map(index_of), log }
    }

    /// How long the log is, in bytes; 0 where there is none.
    pub(super) fn log_bytes(&self) -> u64 {
        self.log.as_ref().and_then(|log| log.metadata().ok()).map_or(0, |log| log.len())
    }

    /// A commit can be seen. Where this fails, others look once a second anyway.
    pub(super) fn ring(&self) {
        if let Some(index) = &self.index {
            let now = FileTime::now();
            // By its path: SQLite's locks are on this file, and a process that closes it anywhere loses them all.
            // Both times: the change of one alone looks like a write.
            filetime::set_symlink_file_times(index, now, now).ok();
        }
    }
}

/// Calls `heard` at each ring, until the answer is dropped.
pub(super) fn listen(path: &Path, heard: impl Fn() + Send + 'static) -> notify::Result<RecommendedWatcher> {
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
    fn a_commit_is_heard_when_it_can_be_seen() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.db");
        fs::write(index_of(&store), b"").unwrap();
        let (heard, rings) = mpsc::channel();
        let listening = listen(&store, move || heard.send(()).unwrap()).unwrap();
        Bell::of(Some(&store)).ring();
        rings.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(listening);
        assert!(rings.recv().is_err(), "nobody listens any more");
    }
}
