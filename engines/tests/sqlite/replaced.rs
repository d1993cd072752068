//! Files that are moved, deleted or replaced while they are in use, and what only looks like it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jobbers_common::engine::{Error, OnConflict, Result, Submit, Tasks, Upkeep};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{id, task};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{closed, url};

struct Store {
    folder: TempDir,
    engine: SqliteEngine,
}

impl Store {
    /// A store in use, with the task `kept`.
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = open_file(&folder.path().join("store.db")).await;
        let store = Self { folder, engine };
        store.submit("kept").await.unwrap();
        store
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn submit(&self, id: &str) -> Result<()> {
        submit(&self.engine, id).await
    }

    /// Nothing is accepted or told any more, and why is said.
    async fn refuses(&self, words: &str) {
        let refused = [
            self.submit("refused").await,
            self.engine.get(&id("kept")).await.map(drop),
            self.engine.health().await.map(drop),
            self.engine.promote_due(1).await.map(drop),
        ];
        for answer in refused {
            let Err(Error::Unavailable { reason, .. }) = &answer else { panic!("{answer:?}") };
            assert!(reason.contains("moved, deleted or replaced") && reason.contains(words), "{reason}");
        }
    }

    /// The file itself, without its log, has what was acknowledged and nothing else.
    fn ends_whole(self, name: &str) {
        let Self { folder, engine } = self;
        drop(engine);
        closed(|file| file.starts_with(folder.path()));
        let alone = folder.path().join("alone.db");
        fs::copy(folder.path().join(name), &alone).unwrap();
        let ids = "SELECT group_concat(id) FROM task";
        let ids: String = Connection::open(&alone).unwrap().query_row(ids, [], |row| row.get(0)).unwrap();
        assert_eq!(ids, "kept");
    }
}

async fn open_file(path: &Path) -> SqliteEngine {
    SqliteEngine::open(&url(path), OpenOptions::default()).await.unwrap()
}

async fn submit(engine: &SqliteEngine, id: &str) -> Result<()> {
    engine.submit(Submit { tasks: vec![task(id)], on_conflict: OnConflict::Fail }).await.map(drop)
}

#[tokio::test]
async fn a_file_that_was_moved_takes_nothing_more_in_until_it_is_back() {
    let store = Store::open().await;
    fs::rename(store.path("store.db"), store.path("moved.db")).unwrap();
    store.refuses("not there any more").await;
    assert!(!store.path("store.db").exists(), "nobody has made another");
    fs::rename(store.path("moved.db"), store.path("store.db")).unwrap();
    assert_eq!(store.submit("back").await, Ok(()));
    assert!(store.engine.get(&id("kept")).await.unwrap().is_some());
    fs::rename(store.path("store.db"), store.path("again.db")).unwrap();
    store.refuses("not there any more").await;
}

#[tokio::test]
async fn a_file_that_was_moved_has_all_that_was_acknowledged() {
    let store = Store::open().await;
    fs::rename(store.path("store.db"), store.path("moved.db")).unwrap();
    store.refuses("not there any more").await;
    store.ends_whole("moved.db");
    // The same without a call that would have noticed.
    let store = Store::open().await;
    fs::rename(store.path("store.db"), store.path("moved.db")).unwrap();
    store.ends_whole("moved.db");
}

#[tokio::test]
async fn a_file_that_was_deleted_takes_nothing_more_in() {
    let store = Store::open().await;
    fs::remove_file(store.path("store.db")).unwrap();
    store.refuses("not there any more").await;
}

#[tokio::test]
async fn a_file_that_was_replaced_takes_nothing_more_in_and_the_new_one_is_left_alone() {
    let store = Store::open().await;
    let other = store.path("other.db");
    drop(open_file(&other).await);
    closed(|file| file.to_string_lossy().starts_with(&*other.to_string_lossy()));
    fs::rename(&other, store.path("store.db")).unwrap();
    store.refuses("another file is in its place").await;
    // A process that starts again has a log of its own.
    fs::remove_file(store.path("store.db-wal")).unwrap();
    fs::remove_file(store.path("store.db-shm")).unwrap();
    let anew = open_file(&store.path("store.db")).await;
    submit(&anew, "new").await.unwrap();
    let Store { folder, engine } = store;
    drop(engine);
    closed(|file| file.starts_with(folder.path()) && file.to_string_lossy().ends_with(" (deleted)"));
    assert_eq!(submit(&anew, "next").await, Ok(()), "its log is still there");
    for task in ["new", "next"] {
        assert!(anew.get(&id(task)).await.unwrap().is_some(), "{task}");
    }
    assert!(anew.get(&id("kept")).await.unwrap().is_none());
}

#[tokio::test]
async fn who_was_left_with_the_old_file_takes_nothing_from_who_opened_the_new_one() {
    let store = Store::open().await;
    let other = store.path("other.db");
    drop(open_file(&other).await);
    closed(|file| file.to_string_lossy().starts_with(&*other.to_string_lossy()));
    // As one restores a copy: the log of the old file stays where it is.
    fs::rename(&other, store.path("store.db")).unwrap();
    store.refuses("another file is in its place").await;
    let anew = open_file(&store.path("store.db")).await;
    for task in ["new", "next"] {
        submit(&anew, task).await.unwrap();
    }
    let Store { folder, engine } = store;
    drop(engine);
    closed(|file| file.starts_with(folder.path()) && file.to_string_lossy().ends_with(" (deleted)"));
    let by_others = Connection::open(folder.path().join("store.db")).unwrap();
    let ids: String = by_others.query_row("SELECT group_concat(id) FROM task", [], |row| row.get(0)).unwrap();
    assert_eq!(ids, "new,next");
    submit(&anew, "last").await.unwrap();
    assert!(anew.get(&id("new")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_log_that_was_deleted_or_replaced_takes_nothing_more_in_and_nothing_is_lost() {
    let store = Store::open().await;
    fs::remove_file(store.path("store.db-wal")).unwrap();
    store.refuses("store.db-wal").await;
    store.ends_whole("store.db");
    let store = Store::open().await;
    fs::write(store.path("other"), b"").unwrap();
    fs::rename(store.path("other"), store.path("store.db-wal")).unwrap();
    store.refuses("another file is in its place").await;
    store.ends_whole("store.db");
}

#[tokio::test]
async fn what_is_not_moved_is_not_missed() {
    let store = Store::open().await;
    let file = store.path("store.db");
    let linked = store.path("link.db");
    std::os::unix::fs::symlink("store.db", &linked).unwrap();
    let through_link = open_file(&linked).await;
    fs::hard_link(&file, store.path("second-name.db")).unwrap();
    fs::File::options()
        .append(true)
        .open(store.path("store.db-wal"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    let by_hand = Connection::open(&file).unwrap();
    for (n, chore) in ["PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(RESTART)"].iter().enumerate()
    {
        by_hand.query_row(chore, [], |_| Ok(())).ok();
        assert_eq!(store.submit(&format!("direct{n}")).await, Ok(()), "{chore}");
        assert_eq!(submit(&through_link, &format!("linked{n}")).await, Ok(()), "{chore}");
        drop(open_file(&file).await);
    }
    drop(by_hand);
    assert!(store.engine.health().await.is_ok() && through_link.health().await.is_ok());
    assert!(store.engine.get(&id("linked2")).await.unwrap().is_some());
}
