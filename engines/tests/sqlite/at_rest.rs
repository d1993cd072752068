//! Where the records of a store are when it rests, is closed or is damaged, and how missing ones are reported.

use std::{
    fs::{self, OpenOptions as FileOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jobbers_common::engine::{Error, OnConflict, Submit, Tasks, Upkeep};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{id, task};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::interval;

use super::url;

struct Store {
    folder: TempDir,
}

impl Store {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("store.db{suffix}"))
    }

    fn log_bytes(&self) -> u64 {
        fs::metadata(self.file("-wal")).map_or(0, |log| log.len())
    }

    async fn open(&self) -> SqliteEngine {
        SqliteEngine::open(&url(&self.file("")), OpenOptions::default()).await.unwrap()
    }

    /// The warnings of a store that is opened now.
    async fn warnings(&self) -> Vec<String> {
        self.open().await.health().await.unwrap().warnings
    }

    /// How many tasks the file has without its log.
    fn tasks_in_file_alone(&self) -> i64 {
        let alone = self.folder.path().join("alone.db");
        fs::copy(self.file(""), &alone).unwrap();
        Connection::open(&alone).unwrap().query_row("SELECT count(*) FROM task", [], |row| row.get(0)).unwrap()
    }

    /// A store as a process that was killed leaves it: a copy of its files while it is open.
    async fn killed(tasks: usize) -> Self {
        let (store, copy) = (Self::new(), Self::new());
        let engine = store.open().await;
        for n in 0..tasks {
            submit(&engine, &format!("t{n:03}")).await.unwrap();
        }
        for suffix in ["", "-wal", "-live"] {
            fs::copy(store.file(suffix), copy.file(suffix)).unwrap();
        }
        copy
    }
}

async fn submit(engine: &SqliteEngine, id: &str) -> Result<(), Error> {
    engine.submit(Submit { tasks: vec![task(id)], on_conflict: OnConflict::Fail }).await.map(drop)
}

fn cut(path: &Path, bytes: u64) {
    FileOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

fn flip(path: &Path, at: u64) {
    let file = FileOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[!byte[0]], at).unwrap();
}

#[tokio::test]
async fn a_store_that_is_closed_is_wholly_in_its_file() {
    let store = Store::new();
    let engine = store.open().await;
    assert!(store.tasks_in_file_alone() == 0, "its tables are in the file from the start");
    for n in 0..20 {
        submit(&engine, &format!("t{n}")).await.unwrap();
    }
    assert!(store.log_bytes() > 0);
    drop(engine);
    assert_eq!((store.log_bytes(), store.tasks_in_file_alone()), (0, 20));
}

#[tokio::test]
async fn the_first_of_two_processes_that_ends_leaves_the_store_in_its_file_too() {
    let store = Store::new();
    let (one, other) = (store.open().await, store.open().await);
    submit(&one, "a").await.unwrap();
    submit(&other, "b").await.unwrap();
    drop(one);
    assert_eq!(store.tasks_in_file_alone(), 2);
    submit(&other, "c").await.unwrap();
    assert!(other.get(&id("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_store_that_rests_is_written_back_and_takes_tasks_in_again() {
    let store = Store::new();
    let engine = store.open().await;
    for n in 0..20 {
        submit(&engine, &format!("t{n}")).await.unwrap();
    }
    assert!(store.log_bytes() > 0);
    let (start, mut looks) = (Instant::now(), interval(Duration::from_millis(100)));
    while store.log_bytes() > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "{} bytes of log after 30 s of rest", store.log_bytes());
        looks.tick().await;
    }
    assert!(start.elapsed() >= Duration::from_secs(9), "a store that is used is left alone");
    assert_eq!(store.tasks_in_file_alone(), 20);
    submit(&engine, "next").await.unwrap();
}

#[tokio::test]
async fn a_log_that_ends_early_or_is_damaged_is_said_until_it_is_accepted() {
    for damage in [|log: &Path| cut(log, 40_000), |log: &Path| flip(log, 40_000), |log: &Path| cut(log, 0)] {
        let store = Store::killed(30).await;
        damage(&store.file("-wal"));
        for _ in 0..2 {
            let warnings = store.warnings().await;
            assert!(warnings.len() == 1 && warnings[0].contains("are missing"), "{warnings:?}");
        }
        // It goes on, and reports it all the same.
        let engine = store.open().await;
        submit(&engine, "after").await.unwrap();
        drop(engine);
        assert_eq!(store.warnings().await.len(), 1);
        fs::remove_file(store.file("-live")).unwrap();
        assert_eq!(store.warnings().await, [""; 0]);
    }
}

#[tokio::test]
async fn a_store_that_was_killed_lacks_nothing_and_says_nothing() {
    let store = Store::killed(30).await;
    assert_eq!(store.warnings().await, [""; 0]);
    assert_eq!(store.tasks_in_file_alone(), 30);
}

#[tokio::test]
async fn a_file_that_was_emptied_or_removed_beside_its_log_is_not_opened_and_the_log_stays() {
    let store = Store::killed(3).await;
    let log = fs::read(store.file("-wal")).unwrap();
    let kept = fs::read(store.file("")).unwrap();
    let is_refused = async || {
        for options in [OpenOptions::default(), OpenOptions::existing()] {
            match SqliteEngine::open(&url(&store.file("")), options).await {
                Err(Error::Corrupt(why)) => assert!(why.contains("store.db-wal"), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    };
    cut(&store.file(""), 0);
    is_refused().await;
    fs::remove_file(store.file("")).unwrap();
    is_refused().await;
    assert_eq!(fs::read(store.file("-wal")).unwrap(), log);
    fs::write(store.file(""), kept).unwrap();
    assert!(store.open().await.get(&id("t002")).await.unwrap().is_some());
}

#[tokio::test]
async fn an_older_file_in_the_place_of_a_store_is_said() {
    let store = Store::new();
    let engine = store.open().await;
    submit(&engine, "a").await.unwrap();
    drop(engine);
    let older = fs::read(store.file("")).unwrap();
    let engine = store.open().await;
    submit(&engine, "b").await.unwrap();
    drop(engine);
    fs::write(store.file(""), older).unwrap();
    assert!(store.warnings().await[0].starts_with("1 commits"));
}

#[tokio::test]
async fn a_log_that_is_cut_while_it_is_in_use_takes_nothing_more_in() {
    let store = Store::new();
    let engine = store.open().await;
    for n in 0..30 {
        submit(&engine, &format!("t{n:03}")).await.unwrap();
    }
    cut(&store.file("-wal"), 40_000);
    for _ in 0..2 {
        match submit(&engine, "lost").await {
            Err(Error::Corrupt(why)) => assert!(why.contains("cut from outside"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    drop(engine);
    let warnings = store.warnings().await;
    assert!(warnings.iter().any(|warning| warning.contains("are missing")), "{warnings:?}");
}

#[tokio::test]
async fn other_processes_that_cut_the_log_do_no_harm() {
    let store = Store::new();
    let (engine, other) = (store.open().await, Connection::open(store.file("")).unwrap());
    for n in 0..50 {
        submit(&engine, &format!("t{n}")).await.unwrap();
        let cut = "PRAGMA wal_checkpoint(TRUNCATE)";
        other.query_row(cut, [], |_| Ok(())).unwrap();
    }
    assert_eq!(engine.health().await.unwrap().warnings, [""; 0]);
}

#[tokio::test]
async fn a_store_that_every_user_may_read_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let store = Store::new();
    let engine = store.open().await;
    assert_eq!(engine.health().await.unwrap().warnings, [""; 0]);
    fs::set_permissions(store.file(""), fs::Permissions::from_mode(0o644)).unwrap();
    let warnings = engine.health().await.unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("chmod 600"), "{warnings:?}");
}

#[tokio::test]
async fn damage_that_a_caller_met_is_said_by_health() {
    let store = Store::new();
    let engine = store.open().await;
    submit(&engine, "a").await.unwrap();
    let other = Connection::open(store.file("")).unwrap();
    other.execute("UPDATE task SET overrides = 'nonsense' WHERE id = 'a'", []).unwrap();
    assert_eq!(engine.health().await.unwrap().warnings, [""; 0]);
    assert!(matches!(engine.get(&id("a")).await, Err(Error::Corrupt(_))));
    let warnings = engine.health().await.unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("damaged"), "{warnings:?}");
}
