//! Boards in a file: after a restart, between processes, after a hand in the data, and at any size.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::engine::{
    AuditRequest, Finding, Flaw, OnConflict, Submit, Tasks, Upkeep,
    boards::{Boards, Commit, CommitAnswer, Committed, Create, ListTasks, Take, TakeOrder, task::BoardTime},
};
use jobbers_engines::{
    OpenOptions,
    sqlite::{SqliteEngine, StepCounter},
};
use jobbers_law::conformance::{
    boards::{MINUTE, board, commit, create, group, labelled, labels, revision, take},
    id, task,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{closed, earlier::take_back_to, shared_million, url};

/// Longer than anything here takes, and shorter than a test may hang.
const LONG: Duration = Duration::from_secs(60);

async fn open(file: &Path) -> Arc<SqliteEngine> {
    Arc::new(SqliteEngine::open(&url(file), OpenOptions::default()).await.unwrap())
}

async fn done(boards: &dyn Boards, commit: Commit) -> Committed {
    match boards.commit(commit).await.unwrap() {
        CommitAnswer::Done(committed) => committed,
        refused => panic!("{refused:?}"),
    }
}

async fn create_many(boards: &dyn Boards, create: Vec<Create>) -> Vec<u64> {
    let committed = done(boards, Commit { create, ..commit() }).await;
    committed.created.iter().map(|placed| placed.revision).collect()
}

async fn audit(engine: &SqliteEngine, repair: bool) -> Vec<Finding> {
    let (mut findings, mut cursor) = (Vec::new(), None);
    loop {
        let audited = engine.audit(AuditRequest { limit: 2, repair, cursor }).await.unwrap();
        findings.extend(audited.findings);
        cursor = audited.next;
        if cursor.is_none() {
            return findings;
        }
    }
}

#[tokio::test]
async fn revisions_go_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let engine = open(&file).await;
    let once = Commit { once: Some("bootstrap".to_owned()), create: vec![create("g"), create("g")], ..commit() };
    done(&*engine, once.clone()).await;
    let refused = engine.commit(Commit { require: vec![9], create: vec![create("g")], ..commit() }).await;
    assert!(matches!(refused, Ok(CommitAnswer::Conflict(_))));
    done(&*engine, Commit { delete: vec![revision(2)], ..commit() }).await;
    drop(engine);
    closed(|open| open.starts_with(folder.path()));
    let engine = open(&file).await;
    assert_eq!(engine.commit(once).await, Ok(CommitAnswer::AlreadyDone));
    assert_eq!(create_many(&*engine, vec![create("g")]).await, [3]);
    let page = ListTasks { board: board(), group: "g".to_owned(), visible_only: false, after: None, limit: 10 };
    let found: Vec<u64> = Boards::list(&*engine, page).await.unwrap().tasks.iter().map(|task| task.revision).collect();
    assert_eq!(found, [1, 3]);
    assert_eq!(audit(&engine, false).await, []);
}

#[tokio::test]
async fn a_store_of_the_schema_before_boards_is_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let engine = open(&file).await;
    engine.submit(Submit { tasks: vec![task("a")], on_conflict: OnConflict::Fail }).await.unwrap();
    drop(engine);
    closed(|open| open.starts_with(folder.path()));
    let hand = Connection::open(&file).unwrap();
    take_back_to(19, &hand);
    drop(hand);
    let engine = open(&file).await;
    assert!(Tasks::get(&*engine, &id("a")).await.unwrap().is_some());
    assert_eq!(create_many(&*engine, vec![create("g")]).await, [1]);
    assert_eq!(engine.take(take("g", MINUTE)).await.unwrap().task.unwrap().revision, 2);
    assert_eq!(audit(&engine, false).await, []);
}

async fn two() -> (Arc<SqliteEngine>, Arc<SqliteEngine>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    (open(&file).await, open(&file).await, folder)
}

#[tokio::test]
async fn a_task_of_another_process_wakes_a_caller_that_waits() {
    let (here, there, _folder) = two().await;
    let waiting = async {
        let start = Instant::now();
        loop {
            let answer = here.take(take("g", MINUTE)).await.unwrap();
            if answer.task.is_some() {
                return start.elapsed();
            }
            Boards::wait(&*here, &board(), "g", answer.revision, LONG).await;
        }
    };
    let creating = async {
        for n in 0..20 {
            create_many(&*there, vec![create(&format!("other {n}"))]).await;
        }
        create_many(&*there, vec![create("g")]).await;
    };
    let (waited, ()) = tokio::join!(waiting, creating);
    assert!(waited < LONG / 2, "woken, not after {waited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_hold_each_task_once() {
    let (here, there, _folder) = two().await;
    let created = create_many(&*here, vec![create("g"); 100]).await;
    let mut takers = tokio::task::JoinSet::new();
    for n in 0..8 {
        let engine = Arc::clone(if n % 2 == 0 { &here } else { &there });
        let order = if n % 4 < 2 { TakeOrder::FirstInFirstOut } else { TakeOrder::Random };
        takers.spawn(async move {
            let mut done_by_this = Vec::new();
            while let Some(held) = engine.take(Take { owner: n, order, ..take("g", MINUTE) }).await.unwrap().task {
                let moved = Commit { delete: vec![revision(held.revision)], create: vec![create("done")], ..commit() };
                done_by_this.push(done(&*engine, moved).await.created[0].revision);
            }
            done_by_this
        });
    }
    let finished: Vec<u64> = takers.join_all().await.into_iter().flatten().collect();
    assert_eq!(finished.len(), created.len(), "each was done once");
    assert_eq!(finished.iter().collect::<BTreeSet<_>>().len(), created.len());
    assert_eq!(here.groups(&board(), None, 10).await.unwrap()[0].tasks, 100);
    // 100 were created, 100 leased and 100 moved.
    assert_eq!(there.take(take("g", None)).await.unwrap().revision, 300);
    assert_eq!(audit(&here, false).await, []);
}

/// A board whose first two tasks have labels.
async fn filled(file: &Path) -> Arc<SqliteEngine> {
    let engine = open(file).await;
    let labelled = |value: &str| Create { content: labelled(&[("a", value), ("b", "")]), ..create("g") };
    create_many(&*engine, vec![labelled("1"), labelled("2"), create("g"), create("h")]).await;
    done(&*engine, Commit { delete: vec![revision(3)], ..commit() }).await;
    engine.take(take("g", MINUTE)).await.unwrap();
    assert_eq!(audit(&engine, false).await, []);
    engine
}

#[tokio::test]
async fn what_does_not_agree_on_a_board_is_found_and_mended() {
    let counts = (Flaw::Miscounted, "board b");
    for (tamper, expected) in [
        ("INSERT INTO board_label VALUES (99, 'a', '1', 1)", vec![(Flaw::Orphan, "board_label 99")]),
        ("DELETE FROM board_label WHERE task = 1 AND label = 'b'", vec![(Flaw::Misplaced, "board b, task 5")]),
        ("UPDATE board_label SET value = '3' WHERE label = 'a'", {
            vec![(Flaw::Misplaced, "board b, task 5"), (Flaw::Misplaced, "board b, task 2")]
        }),
        ("UPDATE board_group SET tasks = 7 WHERE name = 'g'", vec![counts]),
        ("INSERT INTO board_group VALUES (1, 'none', 0, 1)", vec![counts]),
        ("DELETE FROM board_group WHERE name = 'h'", vec![(Flaw::Miscounted, "board b, task 4")]),
        ("UPDATE board SET created = 9", vec![counts]),
        ("UPDATE board SET revision = 3", vec![counts]),
        ("DELETE FROM board_task WHERE revision = 4", vec![counts, counts]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let engine = filled(&file).await;
        Connection::open(&file).unwrap().execute_batch(tamper).unwrap();
        let found: Vec<(Flaw, String)> =
            audit(&engine, false).await.into_iter().map(|finding| (finding.flaw, finding.subject)).collect();
        let expected: Vec<(Flaw, String)> = expected.into_iter().map(|(flaw, it)| (flaw, it.to_owned())).collect();
        assert_eq!(found, expected, "{tamper}");
        let repaired = audit(&engine, true).await;
        assert!(repaired.iter().all(|finding| finding.repaired), "{tamper}: {repaired:?}");
        assert_eq!(audit(&engine, false).await, [], "{tamper}");
        let next = create_many(&*engine, vec![create("g")]).await[0];
        assert!(next > 5, "{tamper}: revision {next} was given before");
        let all = labels(&[("a", "1"), ("a", "2"), ("b", "")]);
        let delete = vec![jobbers_common::engine::boards::Selection::AnyLabel(all)];
        assert_eq!(done(&*engine, Commit { delete, ..commit() }).await.deleted, 2, "{tamper}");
    }
}

#[tokio::test]
async fn a_task_of_a_board_that_can_t_be_read_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let engine = filled(&file).await;
    let tamper = "UPDATE board_task SET labels = '[' WHERE revision = 5; UPDATE board_task SET board = 9 WHERE key = 4";
    Connection::open(&file).unwrap().execute_batch(tamper).unwrap();
    let found = audit(&engine, true).await;
    let unreadable: Vec<&str> = found
        .iter()
        .filter(|finding| finding.flaw == Flaw::Unreadable && !finding.repaired)
        .map(|finding| finding.subject.as_str())
        .collect();
    assert_eq!(unreadable, ["board b, task 5", "board_task 4"]);
    assert!(Boards::get(&*engine, &board(), &[5]).await.is_err());
}

/// Hundreds of steps of SQLite's virtual machine that each call takes in a group.
async fn costs(engine: &SqliteEngine, counter: &StepCounter, name: &str) -> Vec<(&'static str, u64)> {
    let mut costs = Vec::new();
    let deep = Some((BoardTime(500), 0));
    let page = |after| ListTasks { board: board(), group: name.to_owned(), visible_only: false, after, limit: 100 };
    counter.reset();
    assert_eq!(Boards::list(engine, page(None)).await.unwrap().tasks.len(), 100);
    costs.push(("first page", counter.most()));
    counter.reset();
    assert_eq!(Boards::list(engine, page(deep)).await.unwrap().tasks.len(), 100);
    costs.push(("deep page", counter.most()));
    counter.reset();
    assert_eq!(engine.groups(&board(), None, 10).await.unwrap().len(), 2);
    costs.push(("groups", counter.most()));
    for (call, order, lease) in [
        ("peek", TakeOrder::FirstInFirstOut, None),
        ("take", TakeOrder::FirstInFirstOut, MINUTE),
        ("random take", TakeOrder::Random, MINUTE),
    ] {
        counter.reset();
        let held = engine.take(Take { order, ..take(name, lease) }).await.unwrap().task.unwrap();
        costs.push((call, counter.most()));
        counter.reset();
        done(engine, Commit { update: vec![], delete: vec![revision(held.revision)], ..commit() }).await;
        costs.push(("delete", counter.most()));
    }
    counter.reset();
    create_many(engine, vec![create(name)]).await;
    costs.push(("create", counter.most()));
    counter.reset();
    let refused = engine.commit(Commit { require: vec![u64::MAX], delete: vec![group("none")], ..commit() }).await;
    assert!(matches!(refused, Ok(CommitAnswer::Conflict(_))));
    costs.push(("conflict", counter.most()));
    costs
}

#[tokio::test]
async fn a_large_group_costs_what_a_small_one_costs() {
    let folder = tempfile::tempdir().unwrap();
    let counter = Arc::new(StepCounter::default());
    let options = OpenOptions { steps: Some(Arc::clone(&counter)), ..OpenOptions::default() };
    let address = format!("{}?synchronous=normal", url(&folder.path().join("store.db")));
    let engine = SqliteEngine::open(&address, options).await.unwrap();
    let fill = async |name: &str, tasks: i64| {
        let create =
            |at: i64| Create { at: jobbers_common::engine::boards::task::When::At(BoardTime(at)), ..create(name) };
        for first in (0..tasks).step_by(10_000) {
            create_many(&engine, (first..tasks.min(first + 10_000)).map(create).collect()).await;
        }
    };
    fill("small", 1_000).await;
    fill("large", 40_000).await;
    let (small, large) = (costs(&engine, &counter, "small").await, costs(&engine, &counter, "large").await);
    for ((call, small), (_, large)) in small.into_iter().zip(large) {
        // A hundred is noted by the run of a statement in which it is full, be it of earlier runs: any of a commit's statements may.
        assert!(large <= small + 6, "{call}: {small} hundred steps among 1,000 tasks, {large} among 40,000");
    }
    // A selection of more than a commit may change is refused without reading all of them.
    counter.reset();
    assert!(engine.commit(Commit { delete: vec![group("large")], ..commit() }).await.is_err());
    assert!(counter.most() < 3_000, "{} hundred steps", counter.most());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: a million commits"]
async fn a_million_commits_and_a_restart_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tasks.db");
    let engine = open(&file).await;
    let left = shared_million::commit_a_million(engine).await;
    closed(|open| open.starts_with(folder.path()));
    let engine = open(&file).await;
    shared_million::assert_left(&*engine, &left).await;
    assert_eq!(audit(&engine, false).await, []);
}
