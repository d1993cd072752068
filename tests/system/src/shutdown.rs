//! SIGTERM: what happens to running tasks under each policy.

use jobbers_test_support::program::Program;
use nix::sys::signal::Signal::SIGTERM;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

/// Said by a worker that stopped at its drain deadline or by a second signal (`jobbers_process::exit`).
const DRAINED_LATE: i32 = 75;

on_both_engines!(
    finish_waits_for_the_running_task_and_takes_no_other,
    requeue_gives_the_task_back_and_costs_no_attempt,
    fail_fails_the_task,
    a_second_signal_ends_the_wait_and_the_task_is_given_back,
    the_drain_deadline_ends_the_wait_and_the_task_is_given_back,
    a_manager_stops_in_good_order,
);

/// A worker that runs one `hold` task under a policy.
async fn running(stack: &Stack, on_shutdown: &str, environment: &[(&str, &str)]) -> (Manager, Program, String) {
    let manager = stack.manager().await;
    let worker = stack.worker_with(environment).await;
    let id = manager.api.submit(&json!({"name": "hold", "on_shutdown": on_shutdown})).await;
    stack.effects.happened("started", &id).await;
    (manager, worker, id)
}

/// What a task looks like that was given back: as if it had never been tried.
fn assert_untouched(task: &Value) {
    assert_eq!(task["status"], "submitted", "{task}");
    assert_eq!((&task["attempt"], &task["crashes"]), (&json!(0), &json!(0)), "{task}");
    assert_eq!(task["errors"], json!([]), "{task}");
}

async fn finish_waits_for_the_running_task_and_takes_no_other(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "finish", &[]).await;
    worker.signal(SIGTERM);
    worker.line("stopping").await;
    let late = manager.api.submit(&json!({"name": "note"})).await;
    stack.release();
    assert_eq!(worker.exit().await.code(), Some(0));
    assert_eq!(manager.api.finished(&id).await["status"], "completed");
    assert_eq!(manager.api.task(&late).await["status"], "submitted");
}

async fn requeue_gives_the_task_back_and_costs_no_attempt(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "requeue", &[]).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(0));
    assert_untouched(&manager.api.task(&id).await);

    stack.release();
    let _other = stack.worker().await;
    let task = manager.api.finished(&id).await;
    assert_eq!((task["status"].as_str(), &task["attempt"]), (Some("completed"), &json!(1)), "{task}");
}

async fn fail_fails_the_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "fail", &[]).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(0));
    let task = manager.api.task(&id).await;
    assert_eq!(task["status"], "failed", "{task}");
    assert_eq!(task["errors"][0]["kind"], "shutdown", "{task}");
}

async fn a_second_signal_ends_the_wait_and_the_task_is_given_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "finish", &[]).await;
    worker.signal(SIGTERM);
    worker.line("stopping").await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(DRAINED_LATE));
    assert_untouched(&manager.api.task(&id).await);
}

async fn the_drain_deadline_ends_the_wait_and_the_task_is_given_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "finish", &[("WORKER_DRAIN_DEADLINE", "200ms")]).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(DRAINED_LATE));
    assert_untouched(&manager.api.task(&id).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_can_t_settle_before_it_ends_says_so() {
    let stack = Stack::on(Kind::Redis).await;
    let (_manager, mut worker, id) = running(&stack, "finish", &[("WORKER_DRAIN_DEADLINE", "200ms")]).await;
    stack.redis.as_ref().unwrap().pause();
    stack.release();
    stack.effects.happened("done", &id).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(DRAINED_LATE));
    stack.redis.as_ref().unwrap().resume();
}

async fn a_manager_stops_in_good_order(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager_with(&[("JOBBERS_LOG", "info,jobbers_manager=debug")]).await;
    let id = manager.api.submit(&json!({"name": "note"})).await;
    // A client that waits for a result is answered, not cut off.
    let api = manager.api.clone();
    let path = format!("/tasks/{id}?wait=30s");
    let waiting = tokio::spawn(async move { api.get(&path).await });
    // The log reports each request as it arrives.
    manager.program.line("wait=30s").await;
    manager.program.signal(SIGTERM);
    assert_eq!(manager.program.exit().await.code(), Some(0));
    assert_eq!(waiting.await.unwrap().ok()["status"], "submitted");
}
