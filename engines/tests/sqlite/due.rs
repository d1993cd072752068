//! Chores over many queues go by what there is to do.

use std::sync::Arc;

use jobbers_common::{
    engine::{PruneRequest, PruneScope, PutMode},
    lifecycle::Status,
    queue::{QueueConfig, Retention},
    task::{NewTask, Start},
    time::ManualClock,
};
use jobbers_engines::sqlite::SqliteEngine;
use jobbers_law::conformance::{DONE, Fixture, queue, seconds, task_in};
use rusqlite::Connection;

use super::{START, earlier::take_back_to, manual, url};

/// More queues than a chore looks at together.
const QUEUES: usize = 130;

const RETENTION: PruneRequest =
    PruneRequest { scope: PruneScope::Retention, limit: 1_000, dry_run: false, cursor: None };

struct Store {
    f: Fixture,
    hand: Connection,
}

impl Store {
    async fn with(queues: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let clock = Arc::new(ManualClock::new(START));
        let engine = SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap();
        let f = Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) };
        for n in 0..queues {
            f.create_queue(&format!("q{n}")).await;
        }
        Self { f, hand: Connection::open(&file).unwrap() }
    }

    /// The queues that are on the list of a chore.
    fn listed(&self, chore: u8) -> i64 {
        self.hand.query_row("SELECT count(*) FROM due WHERE chore = ?1", [chore], |row| row.get(0)).unwrap()
    }
}

#[tokio::test]
async fn due_tasks_of_many_queues_are_promoted_and_their_queues_left_alone_after() {
    let store = Store::with(QUEUES).await;
    let f = &store.f;
    let later = |n: usize, queue: usize, delay| {
        let start = Start::After(seconds(delay));
        NewTask { start, ..task_in(&format!("t{n}"), &format!("q{queue}")) }
    };
    f.submit_to_many((0..QUEUES).map(|n| later(n, n, 10)).collect()).await;
    f.submit((0..200).map(|n| later(1_000 + n, 0, 5)).collect()).await;
    f.submit(vec![later(2_000, 1, 3_600)]).await;
    assert_eq!((f.engine.promote_due(1_000).await.unwrap(), store.listed(0)), (0, QUEUES as i64));
    f.advance(seconds(10));
    assert_eq!(f.engine.promote_due(150).await.unwrap(), 150);
    assert_eq!(f.stats("q0").await.tasks[&Status::Submitted], 150, "the longest due first");
    assert_eq!(f.engine.promote_due(1_000).await.unwrap(), 50 + QUEUES as u64);
    assert_eq!(store.listed(0), 1, "one of them has a task to come");
    f.assert_conserved().await;
}

#[tokio::test]
async fn expired_leases_of_many_queues_are_taken_back_and_shorter_ones_in_time() {
    let store = Store::with(QUEUES).await;
    let f = &store.f;
    f.submit_to_many((0..QUEUES).map(|n| task_in(&format!("t{n}"), &format!("q{n}"))).collect()).await;
    for n in 0..QUEUES {
        assert_eq!(f.claim_from(&[&format!("q{n}")], 1).await.len(), 1);
    }
    assert_eq!((f.engine.reclaim_expired(1_000).await.unwrap().total(), store.listed(1)), (0, QUEUES as i64));
    f.advance(seconds(3_600));
    assert_eq!(f.engine.reclaim_expired(100).await.unwrap().requeued, 100);
    assert_eq!(f.engine.reclaim_expired(1_000).await.unwrap().requeued, QUEUES as u64 - 100);
    assert_eq!((f.engine.reclaim_expired(1_000).await.unwrap().total(), store.listed(1)), (0, 0));
    f.assert_conserved().await;
}

#[tokio::test]
async fn retention_looks_at_queues_that_have_too_many_tasks_or_too_old_ones() {
    let store = Store::with(3).await;
    let f = &store.f;
    let retention = Retention { age: seconds(60), count: 2 };
    let config = QueueConfig { retention, ..QueueConfig::new(queue("q0")) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    for n in 0..5 {
        f.submit(vec![task_in(&format!("t{n}"), "q0"), task_in(&format!("u{n}"), "q1")]).await;
        for claimed in f.claim_from(&["q0", "q1"], 2).await {
            f.settle(&claimed, DONE).await;
        }
    }
    assert_eq!(f.engine.prune(RETENTION).await.unwrap().removed, 3);
    assert_eq!((f.engine.prune(RETENTION).await.unwrap().removed, store.listed(2)), (0, 2));
    f.advance(seconds(60));
    assert_eq!(f.engine.prune(RETENTION).await.unwrap().removed, 2);
    assert_eq!(store.listed(2), 1);
    f.advance(seconds(86_400));
    assert_eq!(f.engine.prune(PruneRequest { limit: 3, ..RETENTION }).await.unwrap().removed, 3);
    assert_eq!(f.engine.prune(RETENTION).await.unwrap().removed, 2);
    assert_eq!(store.listed(2), 0);
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_store_of_the_version_before_is_migrated_and_its_chores_find_what_is_due() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let clock = Arc::new(ManualClock::new(START));
    let open = async || Fixture {
        engine: Arc::new(SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap()),
        clock: Arc::clone(&clock),
        guard: Box::new(()),
    };
    let f = open().await;
    f.create_queue("mail").await;
    f.submit(vec![task_in("over", "mail"), task_in("lost", "mail")]).await;
    let claimed = f.claim_from(&["mail"], 2).await;
    f.settle(&claimed[0], DONE).await;
    f.submit(vec![NewTask { start: Start::After(seconds(10)), ..task_in("later", "mail") }]).await;
    drop(f);
    let hand = Connection::open(&file).unwrap();
    take_back_to(12, &hand);
    drop(hand);
    let f = open().await;
    f.advance(seconds(86_400));
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 1);
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 1);
    assert_eq!(f.engine.prune(RETENTION).await.unwrap().removed, 1);
    f.assert_conserved().await;
}
