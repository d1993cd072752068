//! Taking tasks and keeping hold of them: what signals, crashes and silence do to work under way.

use std::time::Duration;

use jobbers_test_support::{redis_server::Persistence, wait::until};
use nix::sys::signal::Signal::SIGTERM;
use serde_json::json;

use super::{all_end_as, assert_each_ran_once, submit_many};
use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    w01_a_stopping_worker_treats_each_task_by_its_policy,
    w04_what_a_killed_worker_had_taken_is_run_by_another,
    w05_a_worker_survives_a_store_that_restarts_under_its_running_task,
    w06_a_running_task_has_a_lease_from_its_first_moment,
    w15_four_workers_run_each_task_once,
);

async fn w01_a_stopping_worker_treats_each_task_by_its_policy(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let mut worker = stack.worker().await;
    let mut by_policy = Vec::new();
    for policy in ["finish", "requeue", "fail"] {
        let task = json!({"name": "hold", "on_shutdown": policy});
        by_policy.push(submit_many(&manager.api, policy, 5, &task).await);
    }
    for id in by_policy.iter().flatten() {
        stack.effects.happened("started", id).await;
    }
    worker.signal(SIGTERM);
    worker.line("stopping").await;
    // The workers with a stop request end while the others still run.
    for id in by_policy[1].iter().chain(&by_policy[2]) {
        stack.effects.happened("interrupted", id).await;
    }
    stack.release();
    assert_eq!(worker.exit().await.code(), Some(0));
    all_end_as(&manager.api, &by_policy[0], "completed").await;
    all_end_as(&manager.api, &by_policy[2], "failed").await;
    for id in &by_policy[1] {
        let task = manager.api.task(id).await;
        assert_eq!((&task["status"], &task["attempt"]), (&json!("submitted"), &json!(0)), "{task}");
    }
    let _next = stack.worker().await;
    all_end_as(&manager.api, &by_policy[1], "completed").await;
}

async fn w04_what_a_killed_worker_had_taken_is_run_by_another(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    // More than it has slots: some are begun, some only taken or about to be.
    let ids = submit_many(&manager.api, "t", 200, &json!({"name": "hold"})).await;
    let mut first = stack.worker_with(&[("WORKER_CONCURRENT_TASKS", "150")]).await;
    until(Duration::from_secs(30), "it has begun some", async || {
        (stack.effects.count("started").len() > 10).then_some(())
    })
    .await;
    first.kill().await;
    stack.release();
    let _second = stack.worker().await;
    all_end_as(&manager.api, &ids, "completed").await;
    assert_each_ran_once(&stack, &ids);
}

async fn w05_a_worker_survives_a_store_that_restarts_under_its_running_task(kind: Kind) {
    let mut stack = match kind {
        Kind::Sqlite => Stack::on(kind).await,
        Kind::Redis => Stack::on_redis(Persistence::Always).await,
    };
    let manager = stack.manager().await;
    let worker = stack.worker().await;
    let id = manager.api.submit(&json!({"name": "hold"})).await;
    stack.effects.happened("started", &id).await;
    if let Some(redis) = &mut stack.redis {
        redis.kill_9();
        redis.restart();
    }
    stack.release();
    let task = manager.api.finished(&id).await;
    assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
    let next = manager.api.submit(&json!({"name": "note"})).await;
    assert_eq!(manager.api.finished(&next).await["status"], "completed");
    assert_eq!(stack.effects.happened("done", &next).await.pid, worker.pid());
}

async fn w06_a_running_task_has_a_lease_from_its_first_moment(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let ids = submit_many(&manager.api, "t", 300, &json!({"name": "nap"})).await;
    let _worker = stack.worker().await;
    let mut seen = 0;
    // Looked at as fast as can be, while tasks come and go.
    until(Duration::from_secs(60), "all are over", async || {
        let page = manager.api.get("/active-tasks?limit=1000").await.ok();
        for task in page["tasks"].as_array().unwrap() {
            assert!(task["lease_expires_at"].is_string() && task["worker"].is_string(), "no lease: {task}");
            seen += 1;
        }
        let queue = manager.api.get("/queues/default").await.ok();
        (queue["tasks"]["completed"] == json!(ids.len())).then_some(())
    })
    .await;
    assert!(seen > 0, "some were seen while they ran");
}

async fn w15_four_workers_run_each_task_once(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let ids = submit_many(&manager.api, "t", 500, &json!({"name": "note"})).await;
    let _workers = [stack.worker().await, stack.worker().await, stack.worker().await, stack.worker().await];
    all_end_as(&manager.api, &ids, "completed").await;
    assert_each_ran_once(&stack, &ids);
}
