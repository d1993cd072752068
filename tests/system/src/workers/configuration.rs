//! What one process changes, another sees: pauses, roles, cancels.

use std::time::{Duration, Instant};

use jobbers_test_support::program::Program;
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

/// How soon a change is live everywhere.
const SEEN_WITHIN: Duration = Duration::from_secs(2);

on_both_engines!(
    a_pause_and_its_end_reach_a_worker_in_another_process,
    a_queue_added_to_a_role_is_served_without_a_restart,
    a_queue_created_later_is_served_by_a_pattern_of_the_role,
    a_running_task_is_cancelled_in_another_process,
    a_worker_in_the_folder_of_up_works_on_its_store,
    a_worker_says_how_many_tasks_it_knows_and_warns_of_none,
);

async fn a_pause_and_its_end_reach_a_worker_in_another_process(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.post("/queues", &json!({"name": "second"})).await.ok();
    manager.api.put("/roles/default", &json!({"queues": ["default", "second"]})).await.ok();
    let _worker = stack.worker().await;

    manager.api.post("/queues/default/pause", &json!({})).await.ok();
    let held = manager.api.submit(&json!({"name": "note"})).await;
    // The worker asks `default` before `second`: once it ran this one, it had its chance to take the other.
    let passed = manager.api.submit(&json!({"name": "note", "queue": "second"})).await;
    assert_eq!(manager.api.finished(&passed).await["status"], "completed");
    assert_eq!(manager.api.task(&held).await["status"], "submitted");

    let resumed_at = Instant::now();
    manager.api.post("/queues/default/resume", &json!({})).await.ok();
    assert_eq!(manager.api.finished(&held).await["status"], "completed");
    assert!(resumed_at.elapsed() < SEEN_WITHIN, "{:?}", resumed_at.elapsed());
}

async fn a_queue_added_to_a_role_is_served_without_a_restart(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let first = manager.api.submit(&json!({"name": "note"})).await;
    manager.api.finished(&first).await;

    manager.api.post("/queues", &json!({"name": "fresh"})).await.ok();
    let id = manager.api.submit(&json!({"name": "note", "queue": "fresh"})).await;
    let added_at = Instant::now();
    manager.api.put("/roles/default", &json!({"queues": ["default", "fresh"]})).await.ok();
    assert_eq!(manager.api.finished(&id).await["status"], "completed");
    assert!(added_at.elapsed() < SEEN_WITHIN, "{:?}", added_at.elapsed());
}

async fn a_queue_created_later_is_served_by_a_pattern_of_the_role(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/roles/tenants", &json!({"queues": ["default", "tenant-*"]})).await.ok();
    let _worker = stack.worker_with(&[("WORKER_ROLE", "tenants")]).await;
    let first = manager.api.submit(&json!({"name": "note"})).await;
    manager.api.finished(&first).await;

    // At a manager other than the one that the role was put at.
    let other = stack.manager().await;
    let created_at = Instant::now();
    other.api.post("/queues", &json!({"name": "tenant-7"})).await.ok();
    let id = other.api.submit(&json!({"name": "note", "queue": "tenant-7"})).await;
    assert_eq!(manager.api.finished(&id).await["status"], "completed");
    assert!(created_at.elapsed() < SEEN_WITHIN, "{:?}", created_at.elapsed());
    assert_eq!(manager.api.get("/roles/tenants").await.ok()["serves"], json!(["default", "tenant-7"]));

    manager.api.send(reqwest::Method::DELETE, "/queues/tenant-7", &[], None).await.unwrap().ok();
    assert_eq!(other.api.get("/roles/tenants").await.ok()["serves"], json!(["default"]));
    let last = manager.api.submit(&json!({"name": "note"})).await;
    assert_eq!(manager.api.finished(&last).await["status"], "completed", "the worker serves what is left");
}

async fn a_running_task_is_cancelled_in_another_process(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let id = manager.api.submit(&json!({"name": "hold"})).await;
    stack.effects.happened("started", &id).await;
    let asked_at = Instant::now();
    manager.api.post(&format!("/tasks/{id}/cancel"), &json!({})).await.ok();
    let task = manager.api.finished(&id).await;
    assert_eq!(task["status"], "cancelled", "{task}");
    assert!(asked_at.elapsed() < SEEN_WITHIN, "{:?}", asked_at.elapsed());
    stack.effects.happened("interrupted", &id).await;
    assert_eq!(stack.effects.count("done").get(&id), None);
}

async fn a_worker_in_the_folder_of_up_works_on_its_store(kind: Kind) {
    let stack = Stack::on(kind).await;
    let folder = stack.folder();
    let arguments = ["up", "--no-worker", "--listen", "127.0.0.1:0", "--engine-url", stack.url()];
    let up = Program::start("jobbers", folder, &arguments, &[]);
    up.line("jobbers is up").await;
    let up = Manager::ready(up).await;
    let effects = stack.effects.path().to_str().unwrap();
    let gate = folder.join("gate");
    let environment = [("TEST_EFFECTS", effects), ("TEST_GATE", gate.to_str().unwrap())];
    let worker = Program::start::<&str>("test-worker", folder, &[], &environment);
    worker.line(".jobbers-up.json").await;
    let id = up.api.submit(&json!({"name": "note"})).await;
    assert_eq!(up.api.finished(&id).await["status"], "completed");
    assert!(!folder.join("jobbers.db").exists());
}

async fn a_worker_says_how_many_tasks_it_knows_and_warns_of_none(kind: Kind) {
    let stack = Stack::on(kind).await;
    let arguments = ["--engine-url", stack.url()];
    let worker = Program::start("empty-worker", stack.folder(), &arguments, &[]);
    assert!(worker.line("worker started").await.contains("tasks=0"), "{}", worker.said());
    let warning = worker.line("this program has no tasks").await;
    assert!(warning.contains("WARN") && warning.contains("use that_crate as _;"), "{warning}");
    let worker = Program::start("worker", stack.folder(), &arguments, &[]);
    assert!(worker.line("worker started").await.contains("tasks=5"), "{}", worker.said());
    assert!(!worker.said().contains("has no tasks"), "{}", worker.said());
    // For a check before a deploy: no store is needed.
    let arguments = ["--list-tasks", "--engine-url", "redis://nowhere"];
    let mut listing = Program::start("worker", stack.folder(), &arguments, &[]);
    for name in ["echo", "fail", "file.digest", "sleep", "text.wordcount"] {
        listing.line(&format!("\"name\": \"{name}\"")).await;
    }
    assert!(listing.exit().await.success(), "{}", listing.said());
}
