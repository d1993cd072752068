//! A submission wakes a worker in another process, and its end wakes the waiting callers: no process polls.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{engines::Kind, stack::Stack};

const TASKS: usize = 15;

/// Far above what it takes, far below the second after which a missed wake-up is noticed.
const MEDIAN_BELOW: Duration = Duration::from_millis(400);

on_both_engines!(a_task_for_an_idle_worker_in_another_process_is_done_at_once);

async fn a_task_for_an_idle_worker_in_another_process_is_done_at_once(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let mut times = Vec::new();
    for _ in 0..TASKS {
        let submitted_at = Instant::now();
        let id = manager.api.submit(&json!({"name": "note"})).await;
        assert_eq!(manager.api.finished(&id).await["status"], "completed");
        times.push(submitted_at.elapsed());
    }
    times.sort();
    assert!(times[TASKS / 2] < MEDIAN_BELOW, "{times:?}");
}
