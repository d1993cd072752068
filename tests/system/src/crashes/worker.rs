//! A worker that is killed in mid-task.

use std::time::{Duration, Instant};

use jobbers_test_support::wait::within;
use serde_json::json;

use crate::{engines::Kind, stack::Stack};

/// What a dead worker held runs again within this time of its death.
const RECOVERED_WITHIN: Duration = Duration::from_secs(10);

on_both_engines!(
    its_tasks_complete_on_another_worker_within_ten_seconds,
    a_task_that_kills_its_workers_is_failed_as_poison,
);

async fn its_tasks_complete_on_another_worker_within_ten_seconds(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let mut first = stack.worker().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(manager.api.submit(&json!({"name": "hold", "max_retries": 0})).await);
    }
    for id in &ids {
        assert_eq!(stack.effects.happened("started", id).await.pid, first.pid());
    }
    let second = stack.worker().await;
    let killed_at = Instant::now();
    first.kill().await;
    // From here on a started task ends by itself.
    stack.release();
    let all_over = async {
        for id in &ids {
            let task = manager.api.finished(id).await;
            assert_eq!(task["status"], "completed", "{task}");
            assert_eq!(
                (&task["crashes"], &task["attempt"]),
                (&json!(1), &json!(1)),
                "a crash is not a failure: {task}"
            );
        }
    };
    within(RECOVERED_WITHIN.saturating_sub(killed_at.elapsed()), "the second worker completes them", all_over).await;
    for id in &ids {
        let done = stack.effects.happened("done", id).await;
        assert_eq!(done.pid, second.pid());
        assert_eq!(stack.effects.count("done")[id], 1);
    }
}

async fn a_task_that_kills_its_workers_is_failed_as_poison(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let id = manager.api.submit(&json!({"name": "die", "max_crashes": 2})).await;
    for _ in 0..2 {
        stack.worker().await.exit().await;
    }
    // No worker is left to claim: the manager's own search for expired leases finds it.
    let task = manager.api.finished(&id).await;
    assert_eq!((task["status"].as_str(), &task["crashes"]), (Some("failed"), &json!(2)), "{task}");
    assert_eq!(stack.effects.count("started")[&id], 2);
}
