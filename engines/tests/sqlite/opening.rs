//! Files as they are found: new, empty, old, newer, damaged, another program's, opened by two at once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use jobbers_common::{
    engine::{DeadTask, Error, OnConflict, Outcome, Settings, Submit, Submitted, Tasks},
    queue::Config,
    time::{Clock, ManualClock},
};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{Fixture, failure, id, task};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{
    START,
    announcements::{self, created_and_opened},
    manual, url,
};

fn store_in(folder: &TempDir) -> PathBuf {
    folder.path().join("store.db")
}

/// The part of its address that log lines and no other store have.
fn shown(folder: &TempDir) -> String {
    store_in(folder).display().to_string()
}

async fn open_file(path: &Path) -> Result<SqliteEngine, Error> {
    SqliteEngine::open(&url(path), OpenOptions::default()).await
}

async fn submit(engine: &SqliteEngine, ids: &[&str]) -> Result<Vec<Submitted>, Error> {
    let tasks = ids.iter().map(|id| task(id)).collect();
    engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await
}

#[tokio::test]
async fn what_is_stored_is_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open_file(&store_in(&folder)).await.unwrap();
    submit(&engine, &["a"]).await.unwrap();
    let stored = engine.get(&id("a")).await.unwrap();
    drop(engine);
    let engine = open_file(&store_in(&folder)).await.unwrap();
    assert_eq!(engine.get(&id("a")).await.unwrap(), stored);
    assert!(stored.is_some());
}

#[tokio::test]
async fn a_file_without_a_schema_is_given_one() {
    announcements::record();
    let folder = tempfile::tempdir().unwrap();
    fs::write(store_in(&folder), b"").unwrap();
    let engine = open_file(&store_in(&folder)).await.unwrap();
    assert_eq!(*engine.config().await.unwrap(), Config::initial());
    assert_eq!(created_and_opened(&shown(&folder)), (1, 0));
}

#[tokio::test]
async fn who_only_looks_makes_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    let look = async |url: String| SqliteEngine::open(&url, OpenOptions::existing()).await.map(drop);
    let says = |answer: Result<(), Error>, words: &str| {
        assert!(matches!(&answer, Err(Error::Config(text)) if text.contains(words)), "{answer:?}");
    };
    says(look(url(&path)).await, "no such file");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &path).unwrap();
    says(look(url(&path)).await, "no such file");
    fs::remove_file(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(&path, b"").unwrap();
    says(look(url(&path)).await, "the file is empty");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    says(look("sqlite::memory:".to_owned()).await, "in memory");
    // One that was made and never used is a store.
    drop(open_file(&path).await.unwrap());
    assert_eq!(look(url(&path)).await, Ok(()));
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    drop(open_file(&path).await.unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    match open_file(&path).await {
        Err(Error::Schema { found, .. }) => assert_eq!(found, "99"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn another_program_s_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (n)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(open_file(&path).await, Err(Error::Config(text)) if text.contains("another program")));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    let letter = "Dear Sir or Madam, ".repeat(1_000);
    fs::write(&path, &letter).unwrap();
    assert!(matches!(open_file(&path).await, Err(Error::Corrupt(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[tokio::test]
async fn a_damaged_store_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open_file(&store_in(&folder)).await.unwrap();
    submit(&engine, &["a", "b", "c"]).await.unwrap();
    let copy = folder.path().join("copy.db");
    Connection::open(store_in(&folder)).unwrap().execute("VACUUM INTO ?1", [copy.to_str()]).unwrap();
    let mut bytes = fs::read(&copy).unwrap();
    // Everything but the first page, which makes it a database.
    bytes[4096..].fill(0xa5);
    fs::write(&copy, bytes).unwrap();
    let answer = match open_file(&copy).await {
        Ok(engine) => submit(&engine, &["d"]).await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
}

#[tokio::test]
async fn a_path_that_makes_no_sense_is_said_to_make_none() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("missing/store.db"), folder.path().to_owned()] {
        assert!(matches!(open_file(&path).await, Err(Error::Config(_))), "{}", path.display());
    }
}

#[tokio::test]
async fn many_who_create_a_store_at_once_all_get_it_and_one_says_so() {
    announcements::record();
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    let engines = join_all((0..8).map(|_| open_file(&path))).await;
    for (n, engine) in engines.into_iter().enumerate() {
        submit(&engine.unwrap(), &[&format!("t{n}")]).await.unwrap();
    }
    assert_eq!(created_and_opened(&shown(&folder)), (1, 7));
}

/// The store the child processes of the test below create.
const CHILD_STORE: &str = "JOBBERS_TEST_SQLITE_STORE";

#[tokio::test]
#[ignore = "one of the processes of processes_that_create_a_store_at_once_all_get_it"]
async fn child_process_that_creates_a_store() {
    let path = PathBuf::from(std::env::var_os(CHILD_STORE).unwrap());
    let engine = open_file(&path).await.unwrap();
    submit(&engine, &[&format!("t{}", std::process::id())]).await.unwrap();
}

#[tokio::test]
async fn processes_that_create_a_store_at_once_all_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    let child = || {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "opening::child_process_that_creates_a_store", "--ignored", "--nocapture"]);
        child.env(CHILD_STORE, &path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| child()).collect();
    let mut ids = Vec::new();
    for child in children {
        ids.push(format!("t{}", child.id()));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let engine = open_file(&path).await.unwrap();
    for text in ids {
        assert!(engine.get(&id(&text)).await.unwrap().is_some(), "{text}");
    }
}

#[tokio::test]
async fn time_does_not_go_back_when_the_system_s_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = store_in(&folder);
    let in_a_century = START.after(Duration::from_secs(100 * 366 * 86_400));
    let clock = Arc::new(ManualClock::new(in_a_century));
    let engine = SqliteEngine::open(&url(&path), manual(&clock)).await.unwrap();
    submit(&engine, &["a"]).await.unwrap();
    drop(engine);
    let engine = open_file(&path).await.unwrap();
    submit(&engine, &["b"]).await.unwrap();
    let later = engine.get(&id("b")).await.unwrap().unwrap();
    assert!(later.submitted_at >= clock.now());
}

#[tokio::test]
async fn a_dead_letter_that_can_t_be_read_is_in_nobody_s_way() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let engine = SqliteEngine::open(&url(&store_in(&folder)), manual(&clock)).await.unwrap();
    let f = Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) };
    f.submit_ids(&["a", "b", "c"]).await;
    for claimed in f.claim(3).await {
        f.settle(&claimed, Outcome::Failed { failure: failure("boom"), dead_letter: true }).await;
    }
    let keys: Vec<_> = f.engine.dead_letters(0, 9).await.unwrap().copies.iter().map(DeadTask::key).collect();
    let hand = Connection::open(store_in(&folder)).unwrap();
    hand.execute("UPDATE outbox SET copy = x'00' WHERE id = 'a'", []).unwrap();
    let outbox = f.engine.dead_letters(0, 9).await.unwrap();
    assert_eq!(outbox.copies.iter().map(DeadTask::key).collect::<Vec<_>>(), keys[1..]);
    assert_eq!((outbox.unreadable[0].id.as_str(), outbox.unreadable[0].revision), ("a", keys[0].revision));
    let first = f.engine.dead_letters(0, 1).await.unwrap();
    assert_eq!((first.copies.len(), first.last), (0, Some(keys[0].revision)), "one can go on behind it");
}
