//! Retention of boards: which tasks go, and which stay.

use std::{sync::Arc, time::Duration};

use jobbers_cleaner::{BoardRetention, BoardRule, Report, Runner};
use jobbers_common::{
    engine::boards::{
        Commit, Create, ListTasks, Take, TakeOrder,
        task::{Content, When},
    },
    name::BoardName,
};
use jobbers_process::shutdown::Shutdown;

use crate::store::Store;

const HOUR: Duration = Duration::from_secs(3_600);

fn board() -> BoardName {
    BoardName::new("b").unwrap()
}

async fn put(store: &Store, group: &str, count: usize) {
    let task = Create { group: group.to_owned(), at: When::NOW, content: Content::default() };
    let commit = Commit { create: vec![task; count], ..Commit::new(board(), 1) };
    Arc::clone(&store.engine).boards().commit(commit).await.unwrap();
}

/// Leases the first task of a group.
async fn lease(store: &Store, group: &str, lease: Duration) {
    let (lease, order) = (Some(u64::try_from(lease.as_nanos()).unwrap()), TakeOrder::FirstInFirstOut);
    let take = Take { board: board(), group: group.to_owned(), order, owner: 1, now: None, lease, require: Vec::new() };
    assert!(Arc::clone(&store.engine).boards().take(take).await.unwrap().task.is_some());
}

async fn count(store: &Store, group: &str) -> u64 {
    let list = ListTasks { board: board(), group: group.to_owned(), visible_only: false, after: None, limit: 1 };
    Arc::clone(&store.engine).boards().list(list).await.unwrap().total
}

fn rule(group: Option<&str>, max_age: Option<Duration>, max_tasks: Option<u64>) -> BoardRule {
    BoardRule { board: board(), group: group.map(str::to_owned), max_age, max_tasks }
}

async fn clean(store: &Store, rules: Vec<BoardRule>, dry_run: bool) -> Report {
    let pass = Box::new(BoardRetention::new(rules, Some(board())));
    Runner::new(store.engine.clone(), vec![pass], dry_run).run_once(&Shutdown::new()).await
}

#[tokio::test]
async fn old_tasks_go_and_leased_and_young_ones_stay() {
    let store = Store::new();
    put(&store, "dead", 3).await;
    put(&store, "other", 3).await;
    store.clock.advance(HOUR);
    put(&store, "dead", 2).await;
    lease(&store, "dead", 100 * HOUR).await;
    store.clock.advance(HOUR);
    let report = clean(&store, vec![rule(Some("dead"), Some(HOUR + HOUR / 2), None)], false).await;
    assert!(report.complete, "{report:?}");
    assert_eq!((report.removed, count(&store, "dead").await, count(&store, "other").await), (2, 3, 3));
}

#[tokio::test]
async fn the_latest_tasks_of_each_group_stay() {
    let store = Store::new();
    for (group, tasks) in [("", 4), ("a|b", 2_500), ("few", 2)] {
        put(&store, group, tasks).await;
    }
    lease(&store, "", HOUR).await;
    let rules = || vec![rule(None, None, Some(3))];
    let counted = clean(&store, rules(), true).await;
    assert_eq!((counted.removed, count(&store, "a|b").await), (2_498, 2_500));
    let report = clean(&store, rules(), false).await;
    assert_eq!(report.removed, counted.removed, "{report:?}");
    assert_eq!((count(&store, "").await, count(&store, "a|b").await, count(&store, "few").await), (3, 3, 2));
    assert_eq!(clean(&store, rules(), false).await.removed, 0);
}

#[tokio::test]
async fn rules_are_applied_one_after_the_other_and_a_dry_run_counts_what_they_remove() {
    let store = Store::new();
    put(&store, "dead", 2_200).await;
    store.clock.advance(HOUR);
    put(&store, "dead", 10).await;
    put(&store, "log", 7).await;
    let rules = || {
        vec![
            rule(Some("dead"), Some(HOUR / 2), None),
            rule(Some("none"), None, Some(0)),
            rule(Some("log"), None, Some(5)),
        ]
    };
    assert_eq!(clean(&store, rules(), true).await.removed, 2_202);
    let report = clean(&store, rules(), false).await;
    assert_eq!((report.removed, report.complete), (2_202, true));
    assert_eq!((count(&store, "dead").await, count(&store, "log").await), (10, 5));
}

#[tokio::test]
async fn a_board_that_a_user_mistyped_is_an_error() {
    let store = Store::new();
    let report = clean(&store, vec![rule(None, None, Some(0))], false).await;
    let error = report.passes[0].error.clone().unwrap();
    assert!(!report.complete && error.contains("has no board b"), "{error}");
    let pass = Box::new(BoardRetention::new(vec![rule(None, None, Some(0))], None));
    let report = Runner::new(store.engine.clone(), vec![pass], false).run_once(&Shutdown::new()).await;
    assert!(report.complete, "a rule may be there before its board: {report:?}");
}
