//! Limits that hold over several worker processes, seen from what the tasks themselves noted.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use jobbers_test_support::wait::until;
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

on_both_engines!(
    no_more_than_max_concurrent_run_at_any_instant_in_four_workers,
    a_rate_holds_over_four_workers,
    a_full_queue_says_when_to_come_back,
);

const WORKERS: usize = 4;

async fn submit_many(manager: &Manager, name: &str, count: usize) {
    for first in (0..count).step_by(1_000) {
        let tasks: Vec<_> = (first..count.min(first + 1_000)).map(|_| json!({"name": name})).collect();
        manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    }
}

async fn count_of(manager: &Manager, status: &str) -> u64 {
    manager.api.get("/queues/default").await.ok()["tasks"][status].as_u64().unwrap_or(0)
}

async fn no_more_than_max_concurrent_run_at_any_instant_in_four_workers(kind: Kind) {
    const TASKS: usize = 60;
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"max_concurrent": 3})).await.ok();
    let mut workers = Vec::new();
    // With one slot each, so that one alone can't take all three.
    for _ in 0..WORKERS {
        workers.push(stack.worker_with(&[("WORKER_CONCURRENT_TASKS", "1")]).await);
    }
    submit_many(&manager, "nap", TASKS).await;
    until(Duration::from_secs(60), "all have run", async || {
        (count_of(&manager, "completed").await == TASKS as u64).then_some(())
    })
    .await;
    // The lines of all processes stand in one file, in the order in which they were written.
    let (mut running, mut most, mut used) = (0_i64, 0, BTreeSet::new());
    for effect in stack.effects.all() {
        running += if effect.event == "started" { 1 } else { -1 };
        most = running.max(most);
        used.insert(effect.pid);
    }
    assert_eq!((running, most), (0, 3), "never more than three, and no slot leaked");
    assert!(used.len() > 1, "several workers had a share");
}

async fn a_rate_holds_over_four_workers(kind: Kind) {
    const TASKS: usize = 1_000;
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"rate_limit": {"tasks": 50, "per": "1s"}})).await.ok();
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(stack.worker().await);
    }
    submit_many(&manager, "note", 2_000).await;
    let is_under_way = async || (count_of(&manager, "completed").await > 0).then_some(());
    until(Duration::from_secs(10), "the first have run", is_under_way).await;
    let (start, before) = (Instant::now(), stack.effects.all().len());
    let after = until(Duration::from_secs(40), "a thousand more have run", async || {
        Some(stack.effects.all().len()).filter(|after| *after >= before + TASKS)
    })
    .await;
    let rate = f64::from(u32::try_from(after - before).unwrap()) / start.elapsed().as_secs_f64();
    assert!((47.5..=52.5).contains(&rate), "{rate:.1} tasks a second instead of 50");
}

async fn a_full_queue_says_when_to_come_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"max_length": 10})).await.ok();
    submit_many(&manager, "note", 10).await;
    let refused = manager.api.post("/tasks", &json!({"name": "note"})).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (429, "queue_full"));
    assert_eq!(refused.retry_after.as_deref(), Some("1"));
    let _worker = stack.worker().await;
    until(Duration::from_secs(10), "there is room again", async || {
        manager.api.post("/tasks", &json!({"name": "note"})).await.status.is_success().then_some(())
    })
    .await;
}
