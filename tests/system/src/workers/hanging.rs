//! Blocking tasks that do not end: what they keep from running, what is reported of them, and how their worker ends.

use std::time::Duration;

use jobbers_test_support::{effects::now_micros, wait::until};
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

on_both_engines!(
    tasks_that_hang_on_every_thread_do_not_delay_an_async_task_of_their_queue,
    too_many_hung_threads_end_a_worker_with_a_code_of_its_own,
    a_blocking_task_that_waits_for_a_thread_says_which_tasks_hold_them,
);

/// Said by a worker with too many threads that are held by tasks that do not end.
const HUNG: i32 = 76;
/// How long it may take until the manager shows a held thread.
const PATIENCE: Duration = Duration::from_secs(30);
/// Async tasks of which the start is measured, with and without tasks that hang.
const MEASURED: usize = 30;
/// Less than a missed wake-up would cost, which is a second.
const MARGIN: Duration = Duration::from_millis(500);

/// The median time from the submission of an async task to its first line, of many that run one after another.
async fn time_to_start(stack: &Stack, manager: &Manager) -> Duration {
    let mut times = Vec::new();
    for _ in 0..MEASURED {
        let submitted = now_micros();
        let id = manager.api.submit(&json!({"name": "note"})).await;
        let begun = stack.effects.happened("done", &id).await.at;
        times.push(Duration::from_micros(u64::try_from(begun - submitted).unwrap_or_default()));
        assert_eq!(manager.api.finished(&id).await["status"], "completed");
    }
    times.sort_unstable();
    times[MEASURED / 2]
}

async fn tasks_that_hang_on_every_thread_do_not_delay_an_async_task_of_their_queue(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    time_to_start(&stack, &manager).await;
    let without = time_to_start(&stack, &manager).await;
    let threads = std::thread::available_parallelism().unwrap().get();
    let hang: Vec<_> =
        (0..8 * threads).map(|number| json!({"id": format!("hangs-{number}"), "name": "stubborn"})).collect();
    let held = hang.len();
    manager.api.post("/tasks", &json!({"tasks": hang})).await.ok();
    until(PATIENCE, "a task hangs on each thread", async || {
        (stack.effects.count("started").len() >= threads).then_some(())
    })
    .await;
    // The gate is closed: nothing that hangs has ended when these have.
    let with = time_to_start(&stack, &manager).await;
    println!("{kind:?}: median time to start, without tasks that hang {without:?}, with {held} of them {with:?}");
    assert!(with < without * 4 + MARGIN, "{with:?} with tasks that hang, {without:?} without");
    let tasks = manager.api.get("/queues/default").await.ok()["tasks"].clone();
    let count = |status: &str| tasks[status].as_u64().unwrap_or_default();
    let ended = 3 * MEASURED as u64;
    assert_eq!((count("completed"), count("started") + count("submitted")), (ended, held as u64), "{tasks}");
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

async fn a_blocking_task_that_waits_for_a_thread_says_which_tasks_hold_them(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let threads = std::thread::available_parallelism().unwrap().get();
    let task = json!({"name": "stubborn"});
    let mut holders = Vec::new();
    for _ in 0..threads {
        holders.push(manager.api.submit(&task).await);
        stack.effects.happened("started", holders.last().unwrap()).await;
    }
    let claimed = manager.api.submit(&task).await;
    manager.api.standing(&claimed, "started").await;
    let reason = async |id: &str, code: &str| {
        until(PATIENCE, &format!("{id}: {code}, since a known time"), async || {
            let told = manager.api.get(&format!("/tasks/{id}/explain")).await.ok();
            let reason = told["reasons"][0].clone();
            (reason["code"] == code && reason["since"].is_string()).then_some(reason)
        })
        .await
    };
    for id in &holders {
        reason(id, "running").await;
    }
    let waits = reason(&claimed, "waits_for_thread").await;
    assert_eq!(waits["tasks"], json!(holders), "{waits}");
    stack.release();
    assert_eq!(manager.api.finished(&claimed).await["status"], "completed");
}
