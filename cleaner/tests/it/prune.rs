//! Which tasks are pruned and which are not.

use std::time::Duration;

use jobbers_cleaner::{Clear, Criteria, Pass, Prune, Report, Runner};
use jobbers_common::{
    engine::{PutMode, TaskFilter},
    lifecycle::Status,
    name::{QueueName, TaskName},
    queue::{QueueConfig, Retention},
};
use jobbers_process::shutdown::Shutdown;

use crate::store::Store;

const HOUR: Duration = Duration::from_secs(3_600);

async fn prune(store: &Store, pass: impl Pass + 'static, dry_run: bool) -> Report {
    Runner::new(store.engine.clone(), vec![Box::new(pass)], dry_run).run_once(&Shutdown::new()).await
}

fn matching(filter: TaskFilter) -> Prune {
    Prune::Matching(Criteria { filter, ..Criteria::default() })
}

#[tokio::test]
async fn only_tasks_that_have_been_over_for_long_enough_go() {
    let store = Store::new();
    store.complete("default", "old", 3).await;
    store.clock.advance(2 * HOUR);
    store.complete("default", "new", 2).await;
    let older = Prune::Matching(Criteria { older_than: Some(HOUR), ..Criteria::default() });
    let report = prune(&store, older, false).await;
    assert!(report.complete);
    assert_eq!((report.removed, store.count("default").await), (3, 2));
}

#[tokio::test]
async fn each_criterion_restricts() {
    let store = Store::new();
    store.create_queue("mail").await;
    store.complete("default", "a", 1).await;
    store.fail("default", "b", 2).await;
    store.complete("mail", "a", 4).await;
    let mail = Some(QueueName::new("mail").unwrap());
    let a = Some(TaskName::new("a").unwrap());
    let dry = |filter| prune(&store, matching(filter), true);
    assert_eq!(dry(TaskFilter { statuses: vec![Status::Failed], ..TaskFilter::default() }).await.removed, 2);
    assert_eq!(dry(TaskFilter { queue: mail.clone(), ..TaskFilter::default() }).await.removed, 4);
    assert_eq!(dry(TaskFilter { name: a.clone(), ..TaskFilter::default() }).await.removed, 5);
    assert_eq!(dry(TaskFilter { version: Some(2), ..TaskFilter::default() }).await.removed, 0);
    assert_eq!(
        prune(&store, matching(TaskFilter { name: a, queue: mail, ..TaskFilter::default() }), false).await.removed,
        4
    );
    assert_eq!((store.count("default").await, store.count("mail").await), (3, 0));
}

#[tokio::test]
async fn a_dry_run_counts_what_a_real_one_then_removes() {
    let store = Store::new();
    for name in ["a", "b", "c"] {
        store.complete("default", name, 900).await;
    }
    let everything = || matching(TaskFilter { statuses: vec![Status::Completed], ..TaskFilter::default() });
    let counted = prune(&store, everything(), true).await;
    assert_eq!((counted.removed, store.count("default").await), (2_700, 2_700));
    let removed = prune(&store, everything(), false).await;
    assert_eq!((removed.removed, store.count("default").await), (2_700, 0));
    assert!(removed.passes[0].batches >= 3, "2,700 tasks do not fit in {} batches", removed.passes[0].batches);
}

#[tokio::test]
async fn live_tasks_stay_whatever_is_asked() {
    let store = Store::new();
    store.submit("default", "live", 5).await;
    store.clock.advance(100 * HOUR);
    let all = matching(TaskFilter { name: Some(TaskName::new("live").unwrap()), ..TaskFilter::default() });
    assert_eq!(prune(&store, all, false).await.removed, 0);
    assert_eq!(prune(&store, Prune::Retention, false).await.removed, 0);
    assert_eq!(store.count("default").await, 5);
}

#[tokio::test]
async fn each_queue_keeps_by_its_own_retention() {
    let store = Store::new();
    let retention = Retention { age: HOUR, count: 100 };
    let short = QueueConfig { retention, ..QueueConfig::new(QueueName::new("short").unwrap()) };
    store.engine.put_queue(short, PutMode::Create).await.unwrap();
    store.complete("default", "a", 2).await;
    store.complete("short", "a", 2).await;
    store.clock.advance(2 * HOUR);
    let report = prune(&store, Prune::Retention, false).await;
    assert_eq!((report.removed, store.count("default").await, store.count("short").await), (2, 2, 0));
}

#[tokio::test]
async fn a_mistyped_queue_is_an_error_and_not_an_empty_one() {
    let store = Store::new();
    let filter = TaskFilter { queue: Some(QueueName::new("defualt").unwrap()), ..TaskFilter::default() };
    let report = prune(&store, matching(filter), false).await;
    assert!(!report.complete && !report.is_transient_failure());
    assert_eq!(report.passes[0].error.as_deref(), Some("queue defualt does not exist"));
}

#[tokio::test]
async fn tasks_that_wait_are_cancelled_and_deleted_and_those_that_run_stay() {
    let store = Store::new();
    store.create_queue("mail").await;
    store.submit("mail", "old", 900).await;
    store.submit("mail", "older", 600).await;
    store.claim("mail", 10).await;
    store.clock.advance(2 * HOUR);
    store.submit("mail", "new", 5).await;
    store.submit("default", "old", 5).await;
    store.complete("default", "over", 3).await;
    let clear = |queue: Option<&str>, older_than| Clear {
        filter: TaskFilter {
            statuses: vec![Status::Submitted],
            queue: queue.map(|name| QueueName::new(name).unwrap()),
            ..TaskFilter::default()
        },
        older_than,
    };
    assert_eq!(prune(&store, clear(Some("mail"), Some(HOUR)), true).await.removed, 1_490);
    assert_eq!(store.count("mail").await, 1_505, "a dry run changes nothing");
    let report = prune(&store, clear(Some("mail"), Some(HOUR)), false).await;
    assert_eq!((report.complete, report.removed, store.count("mail").await), (true, 1_490, 15));
    assert_eq!(prune(&store, clear(None, None), false).await.removed, 10);
    assert_eq!((store.count("mail").await, store.count("default").await), (10, 3));
    let mistyped = prune(&store, clear(Some("defualt"), None), false).await;
    assert_eq!(mistyped.passes[0].error.as_deref(), Some("queue defualt does not exist"));
}
