//! Programs whose clocks are an hour wrong: the store's clock decides.

use std::time::{Duration, Instant};

use jobbers_test_support::{redis_server::Persistence, shims::Clock};
use serde_json::json;

use crate::stack::Stack;

/// Far below the hour, far above what a busy machine takes.
const SOON: Duration = Duration::from_secs(30);
const DELAY: Duration = Duration::from_secs(2);
/// Longer than a lease.
const PAST_A_LEASE: &str = "9s";

fn variables(clock: &[(String, String)]) -> Vec<(&str, &str)> {
    clock.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delays_and_leases_follow_the_store_though_all_other_clocks_are_wrong() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [ahead, behind] = folders.each_ref().map(|folder| Clock::new(folder.path()));
    ahead.set(3_600);
    behind.set(-3_600);
    let [ahead, behind] = [ahead.environment(), behind.environment()];
    let stack = Stack::on_redis(Persistence::None).await;
    let manager = stack.manager_with(&variables(&behind)).await;
    let mut workers = [stack.worker_with(&variables(&ahead)).await, stack.worker_with(&variables(&behind)).await];

    let submitted_at = Instant::now();
    let delayed = manager.api.submit(&json!({"id": "delayed", "name": "note", "delay": "2s"})).await;
    stack.effects.happened("done", &delayed).await;
    let waited = submitted_at.elapsed();
    assert!((DELAY..SOON).contains(&waited), "{waited:?}");

    // Four tasks, so that each worker has some; the delayed one says when a lease is over that was not renewed.
    let held: Vec<String> = (0..4).map(|n| format!("held-{n}")).collect();
    for id in &held {
        manager.api.submit(&json!({"id": id, "name": "hold"})).await;
        stack.effects.happened("started", id).await;
    }
    manager.api.submit(&json!({"id": "later", "name": "note", "delay": PAST_A_LEASE})).await;
    stack.effects.happened("done", "later").await;
    for id in &held {
        let task = manager.api.task(id).await;
        assert_eq!((&task["status"], &task["crashes"]), (&json!("started"), &json!(0)), "{task}");
    }

    let run = stack.effects.happened("started", &held[0]).await;
    let killed_at = Instant::now();
    workers.iter_mut().find(|worker| worker.pid() == run.pid).unwrap().kill().await;
    stack.effects.happened_times("started", &held[0], 2).await;
    assert!(killed_at.elapsed() < SOON, "{:?}", killed_at.elapsed());
    stack.release();
    for id in held.iter().chain([&delayed]) {
        let task = manager.api.finished(id).await;
        assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
    }
}
