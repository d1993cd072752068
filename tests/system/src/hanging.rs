//! Blocking tasks that do not end: what they keep from running, what is reported of them, and how their worker ends.

use std::time::Duration;

use jobbers_test_support::wait::until;
use serde_json::json;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    tasks_that_hang_on_every_thread_do_not_delay_an_async_task_of_their_queue,
    too_many_hung_threads_end_a_worker_with_a_code_of_its_own,
);

/// Said by a worker with too many threads that are held by tasks that do not end.
const HUNG: i32 = 76;
/// How long it may take until the manager shows a held thread.
const PATIENCE: Duration = Duration::from_secs(30);

async fn tasks_that_hang_on_every_thread_do_not_delay_an_async_task_of_their_queue(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let threads = std::thread::available_parallelism().unwrap().get();
    let hang: Vec<_> =
        (0..8 * threads).map(|number| json!({"id": format!("hangs-{number}"), "name": "stubborn"})).collect();
    let held = hang.len();
    manager.api.post("/tasks", &json!({"tasks": hang})).await.ok();
    let _worker = stack.worker().await;
    until(PATIENCE, "a task hangs on each thread", async || {
        (stack.effects.count("started").len() >= threads).then_some(())
    })
    .await;
    // The gate is closed: nothing that hangs has ended when these have.
    for _ in 0..3 {
        let id = manager.api.submit(&json!({"name": "note"})).await;
        assert_eq!(manager.api.finished(&id).await["status"], "completed");
    }
    let tasks = manager.api.get("/queues/default").await.ok()["tasks"].clone();
    let count = |status: &str| tasks[status].as_u64().unwrap_or_default();
    assert_eq!((count("completed"), count("started") + count("submitted")), (3, held as u64), "{tasks}");
    stack.release();
    for number in 0..held {
        assert_eq!(manager.api.finished(&format!("hangs-{number}")).await["status"], "completed");
    }
}

async fn too_many_hung_threads_end_a_worker_with_a_code_of_its_own(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let environment = [("WORKER_MAX_HUNG_THREADS", "2"), ("WORKER_CANCEL_GRACE", "100ms")];
    let mut worker = stack.worker_with(&environment).await;
    let hangs = json!({"name": "stubborn", "timeout": "200ms", "max_retries": 0});
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = manager.api.submit(&hangs).await;
        stack.effects.happened("started", &id).await;
        let task = manager.api.finished(&id).await;
        assert_eq!((&task["status"], &task["errors"][0]["kind"]), (&json!("failed"), &json!("timeout")), "{task}");
        ids.push(id);
    }
    assert_eq!(worker.exit().await.code(), Some(HUNG));

    let held = stack.worker_with(&[("WORKER_CANCEL_GRACE", "100ms")]).await;
    let hangs = manager.api.submit(&hangs).await;
    manager.api.finished(&hangs).await;
    until(PATIENCE, "the manager says which task holds a thread", async || {
        let told = manager.api.get(&format!("/tasks/{hangs}/explain")).await.ok();
        told["reasons"].as_array().unwrap().iter().any(|reason| reason["code"] == "holds_thread").then_some(())
    })
    .await;
    drop(held);
}
