//! A power failure, on a disk that keeps what was synced, and on one that lies about it.

use jobbers_test_support::{
    redis_server::{Persistence, RedisOptions},
    shims::Disk,
};

use super::{Broken, Complaint, Kind, Trial, boards, tasks, workflows};
use crate::stack::Stack;

on_both_engines!(a_power_failure_loses_nothing_acknowledged, a_disk_that_lies_about_its_syncs_is_noticed);

/// How many batches are acknowledged before the failure.
const BATCHES: usize = 20;
const KINDS: [&str; 6] = ["quick", "nap", "delayed", "flaky", "narrow", "panicky"];

/// What is wrong after a failure in the middle of the work.
async fn complaints_after_a_failure(kind: Kind, lies: bool) -> Vec<Complaint> {
    let kept = tempfile::tempdir().unwrap();
    let disk = Disk::new(kept.path());
    let mut trial = match kind {
        Kind::Sqlite => Trial::with(Stack::on(kind).await, disk.environment()).await,
        Kind::Redis => {
            let environment = disk.environment();
            let options = RedisOptions { persistence: Persistence::Always, environment, ..RedisOptions::default() };
            Trial::with(Stack::on_redis_with(options).await, Vec::new()).await
        }
    };
    tasks::batch(&trial.world, 0, &KINDS).await;
    trial.has_no_complaint().await;
    if lies {
        disk.begin_to_lie();
    }
    for turn in 1..=BATCHES {
        tasks::batch(&trial.world, turn, &KINDS).await;
        boards::post(&trial.world, turn, 1, boards::GROUP, &format!("data-{turn}")).await.unwrap();
    }
    workflows::one(&trial.world, 0, "run", 6).await;
    trial.fleet.lose_power(&disk).await;
    trial.complaints().await
}

async fn a_power_failure_loses_nothing_acknowledged(kind: Kind) {
    assert_eq!(complaints_after_a_failure(kind, false).await, Vec::new());
}

async fn a_disk_that_lies_about_its_syncs_is_noticed(kind: Kind) {
    let complaints = complaints_after_a_failure(kind, true).await;
    let lost = complaints.iter().filter(|complaint| complaint.broken == Broken::Lost).count();
    assert!(lost >= BATCHES * KINDS.len(), "{complaints:#?}");
}
