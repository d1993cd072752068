//! Many tasks, in bounded calls.

use std::{collections::HashSet, time::Duration};

use jobbers_common::{
    engine::{
        PruneRequest, PruneScope, Settlement, TaskFilter,
        conformance::{DONE, task},
    },
    lifecycle::Status,
    limits::MAX_BATCH,
    task::{ClaimedTask, NewTask, Start},
};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::connect;

#[tokio::test]
async fn twenty_thousand_due_tasks_are_promoted_a_thousand_a_call() {
    let f = super::open().await;
    for batch in 0..20 {
        let later = |n| NewTask { start: Start::After(Duration::from_secs(1)), ..task(&format!("t{batch}-{n}")) };
        f.submit((0..MAX_BATCH).map(later).collect()).await;
    }
    f.advance(Duration::from_secs(1));
    for _ in 0..20 {
        assert_eq!(f.engine.promote_due(MAX_BATCH).await.unwrap(), 1_000);
    }
    assert_eq!(f.engine.promote_due(MAX_BATCH).await.unwrap(), 0);
    assert_eq!(f.count(Status::Submitted).await, 20_000);
}

#[tokio::test]
async fn thousands_are_claimed_settled_listed_and_pruned_each_once() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    for batch in 0..5 {
        f.submit((0..MAX_BATCH).map(|n| task(&format!("t{batch}-{n}"))).collect()).await;
    }
    let mut settlements = Vec::new();
    let mut seen = HashSet::new();
    loop {
        let reply = f.cycle_as("w1", &["default"], MAX_BATCH, settlements).await;
        if reply.claimed.is_empty() {
            break;
        }
        assert!(reply.claimed.iter().all(|task| seen.insert(task.id.clone())));
        let done = |task: ClaimedTask| Settlement::new(task.id, task.fence, DONE);
        settlements = reply.claimed.into_iter().map(done).collect();
    }
    assert_eq!((seen.len(), f.count(Status::Completed).await), (5_000, 5_000));
    let listed = f.list(TaskFilter::default(), MAX_BATCH).await;
    assert!(listed.is_sorted_by(|a, b| a.revision > b.revision), "the latest first");
    assert_eq!(listed.len(), 5_000);
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let mut request = PruneRequest { scope, limit: MAX_BATCH, dry_run: false, cursor: None };
    let mut removed = 0;
    loop {
        let pruned = f.engine.prune(request.clone()).await.unwrap();
        removed += pruned.removed;
        request.cursor = pruned.next;
        if request.cursor.is_none() {
            break;
        }
    }
    assert_eq!(removed, 5_000);
    assert_eq!(server.command("HLEN jobbers:{0}:t"), ":0\r\n", "nothing is left of them");
    f.assert_conserved().await;
}
