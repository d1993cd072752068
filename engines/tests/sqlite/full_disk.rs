//! A store whose disk is full: what is there is settled, cancelled and deleted, and it takes tasks in again by itself.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Cancelled, Error, ExtendAnswer, Extension, OnConflict, Outcome, PruneRequest, PruneScope, SettleAnswer,
        TaskFilter,
    },
    lifecycle::Status,
    payload::Payload,
    task::NewTask,
    time::ManualClock,
};
use jobbers_engines::sqlite::SqliteEngine;
use jobbers_law::conformance::{DONE, Fixture, LEASE, id, queue, task, worker};
use jobbers_test_support::{small_disk::SmallDisk, wait::until};

use super::{START, manual, url};

const DISK_MIB: u64 = 48;

async fn open(disk: &SmallDisk) -> Fixture {
    let clock = Arc::new(ManualClock::new(START));
    let engine = SqliteEngine::open(&url(&disk.path().join("store.db")), manual(&clock)).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) }
}

fn of_bytes(name: &str, bytes: usize) -> NewTask {
    NewTask { parameters: Payload::json(vec![b'1'; bytes]), ..task(name) }
}

/// Submits until the disk is full, and answers how many tasks were taken in.
async fn fill(f: &Fixture, name: &str, bytes: usize) -> usize {
    for n in 0..20_000 {
        match f.try_submit(vec![of_bytes(&format!("{name}{n}"), bytes)], OnConflict::Fail).await {
            Ok(_) => {}
            Err(Error::Full(why)) => {
                assert!(why.contains("disk") && why.contains("reserve") && !why.contains("max_bytes"), "{why}");
                return n;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the disk has no end")
}

fn all() -> PruneRequest {
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }
}

async fn warns(f: &Fixture) -> bool {
    f.engine.health().await.unwrap().warnings.iter().any(|warning| warning.contains("the disk is full"))
}

#[tokio::test]
async fn a_disk_that_another_program_has_filled_stops_submissions_alone() {
    let Some(disk) = SmallDisk::of(DISK_MIB) else { return };
    let f = open(&disk).await;
    f.submit((0..500).map(|n| of_bytes(&format!("t{n}"), 2_000)).collect()).await;
    let held = f.claim(100).await;
    assert!(!warns(&f).await);
    disk.fill();
    fill(&f, "more", 2_000).await;
    assert!(warns(&f).await);

    let outcome = Outcome::Completed { result: Some(Payload::json(vec![b'1'; 2_000])) };
    for task in &held[..50] {
        assert_eq!(f.settle(task, outcome.clone()).await, SettleAnswer::Accepted(Status::Completed));
    }
    let extension = |n: usize| Extension { id: held[n].id.clone(), fence: held[n].fence, heartbeat: None };
    let extended = f.engine.extend(&worker("w1"), LEASE, (50..100).map(extension).collect()).await.unwrap();
    assert!(extended.iter().all(|answer| matches!(answer, ExtendAnswer::Extended { .. })), "{extended:?}");
    let waiting: Vec<_> = (200..400).map(|n| id(&format!("t{n}"))).collect();
    let cancelled = f.engine.cancel(&waiting).await.unwrap();
    assert!(cancelled.iter().all(|it| *it == Cancelled::Done), "{cancelled:?}");

    // A process that starts now must help with draining.
    drop(f);
    let f = open(&disk).await;
    assert!(warns(&f).await);
    for task in &held[50..] {
        assert_eq!(f.settle(task, outcome.clone()).await, SettleAnswer::Accepted(Status::Completed));
    }
    assert_eq!(f.engine.prune(all()).await.unwrap().removed, 300);
    assert!(f.engine.purge_queue(&queue("default"), 1_000).await.unwrap() >= 200);
    f.assert_conserved().await;

    disk.free();
    until(Duration::from_secs(20), "the store takes tasks in again", async || {
        f.try_submit(vec![of_bytes("last", 2_000)], OnConflict::Fail).await.ok()
    })
    .await;
    assert!(!warns(&f).await);
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_store_that_has_filled_its_own_disk_drains_and_takes_tasks_in_again() {
    let Some(disk) = SmallDisk::of(DISK_MIB) else { return };
    let f = open(&disk).await;
    let taken = fill(&f, "t", 10_000).await;
    assert!(taken > 2_000, "{taken} tasks of 10,000 bytes on {DISK_MIB} MiB");
    let mut settled = 0;
    loop {
        let claimed = f.claim(100).await;
        if claimed.is_empty() {
            break;
        }
        for task in &claimed {
            assert_eq!(f.settle(task, DONE).await, SettleAnswer::Accepted(Status::Completed));
        }
        settled += claimed.len();
    }
    assert_eq!(settled, taken);
    while f.engine.prune(all()).await.unwrap().removed > 0 {}
    // The file keeps its size: what was deleted leaves room in it.
    let again = fill(&f, "again", 10_000).await;
    assert!(again > taken / 2, "{again} tasks after {taken}");
    f.assert_conserved().await;
}
