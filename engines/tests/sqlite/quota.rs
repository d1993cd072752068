//! A store that is full refuses tasks, loses none, and drains.

use std::sync::Arc;

use jobbers_common::{
    engine::{Cycle, Error, OnConflict, Outcome, PruneRequest, PruneScope, SettleAnswer, Settlement, TaskFilter},
    lifecycle::Status,
    payload::Payload,
    task::NewTask,
    time::ManualClock,
};
use jobbers_engines::sqlite::SqliteEngine;
use jobbers_law::conformance::{DONE, Fixture, task, worker};

use super::{START, manual, url};

async fn open_small() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let url = format!("{}?max_bytes=1048576", url(&folder.path().join("store.db")));
    let engine = SqliteEngine::open(&url, manual(&clock)).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) }
}

fn large(text: &str) -> NewTask {
    NewTask { parameters: Payload::json(vec![b'1'; 10_000]), ..task(text) }
}

/// Submits until the store is full, and answers how many tasks it took.
async fn fill(f: &Fixture) -> u64 {
    for n in 0..1_000 {
        match f.try_submit(vec![large(&format!("t{n}"))], OnConflict::Fail).await {
            Ok(_) => {}
            Err(Error::Full(why)) => {
                assert!(why.contains("max_bytes") && why.contains("drains") && !why.contains("disk"), "{why}");
                return n;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the quota does not hold")
}

#[tokio::test]
async fn a_full_store_refuses_tasks_and_keeps_those_it_took() {
    let f = open_small().await;
    let taken = fill(&f).await;
    assert!((50..110).contains(&taken), "{taken} tasks of 10,000 bytes in 1 MiB");
    assert_eq!(f.count(Status::Submitted).await, taken);
    f.assert_conserved().await;
    assert!(f.engine.health().await.unwrap().warnings[0].contains("max_bytes"));
}

#[tokio::test]
async fn a_full_store_drains_and_then_takes_tasks_again() {
    let f = open_small().await;
    let taken = fill(&f).await;
    for _ in 0..taken {
        let claimed = f.claim_one().await;
        assert_eq!(f.settle(&claimed, DONE).await, SettleAnswer::Accepted(Status::Completed));
    }
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let request = PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(request).await.unwrap().removed, taken);
    assert_eq!(fill(&f).await, taken);
}

/// Completes all that is there, with results as large as the parameters that are let go.
async fn drain(f: &Fixture) {
    let outcome = Outcome::Completed { result: Some(large("x").parameters) };
    while let [claimed] = &f.claim(1).await[..] {
        assert_eq!(f.settle(claimed, outcome.clone()).await, SettleAnswer::Accepted(Status::Completed));
    }
}

#[tokio::test]
async fn finished_tasks_give_way_to_new_ones_before_any_is_refused() {
    let f = open_small().await;
    let taken = fill(&f).await;
    drain(&f).await;
    for n in 0..3 * taken {
        f.submit(vec![large(&format!("new-{n}"))]).await;
        drain(&f).await;
    }
    let kept = f.list(TaskFilter::default(), 1_000).await;
    assert_eq!(kept[0].id.as_str(), format!("new-{}", 3 * taken - 1), "the oldest go first");
    assert!(kept.len() as u64 <= taken);
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_tick_prunes_early_once_nine_tenths_of_a_quota_are_used() {
    let f = open_small().await;
    let taken = fill(&f).await;
    let tick = PruneRequest { scope: PruneScope::Retention, limit: 10, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(tick.clone()).await.unwrap().removed, 0, "nothing is over");
    drain(&f).await;
    assert_ne!(f.engine.health().await.unwrap().warnings, [""; 0]);
    let mut removed = 0;
    loop {
        let pruned = f.engine.prune(tick.clone()).await.unwrap();
        removed += pruned.removed;
        if pruned.next.is_none() {
            break;
        }
    }
    assert!((1..taken).contains(&removed), "{removed} of {taken}");
    assert_eq!(f.engine.health().await.unwrap().warnings, [""; 0]);
    f.assert_conserved().await;
}

#[tokio::test]
async fn results_that_use_up_the_reserve_of_a_quota_are_refused_by_its_name() {
    let f = open_small().await;
    let taken = fill(&f).await;
    let outcome = Outcome::Completed { result: Some(Payload::json(vec![b'1'; 200_000])) };
    for _ in 0..taken {
        let claimed = f.claim_one().await;
        let settlement = Settlement::new(claimed.id, claimed.fence, outcome.clone());
        let cycle = Cycle { worker: worker("w"), settlements: vec![settlement], claim: None };
        match f.engine.cycle(cycle).await {
            Ok(_) => {}
            Err(Error::Full(why)) => {
                assert!(why.contains("max_bytes") && why.contains("reserve") && !why.contains("disk"), "{why}");
                return;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the reserve has no end");
}
