//! A store that is down, full or read-only: a clear answer, and nothing acknowledged is lost.

use std::{fs::Permissions, os::unix::fs::PermissionsExt, time::Duration};

use jobbers_test_support::{
    api::Answer,
    program::Program,
    redis_server::{Persistence, RedisServer},
    wait::{until, within},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

/// A refusal that says when to come back, and what is the matter.
fn assert_refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status.as_u16(), answer.code()), (status, code), "{}", answer.body);
    assert!(answer.retry_after.is_some(), "no Retry-After: {}", answer.body);
}

/// Submits until the store takes tasks again, and answers the task's id.
async fn accepted_again(manager: &Manager, task: &Value) -> String {
    let id = until(Duration::from_secs(20), "the store takes tasks again", async || {
        let answer = manager.api.post("/tasks", task).await;
        answer.status.is_success().then(|| answer.body["id"].as_str().unwrap().to_owned())
    });
    id.await
}

/// Sends one command, which must succeed.
fn tell(redis: &RedisServer, words: &str) {
    assert_eq!(redis.command(words), "+OK\r\n", "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_is_down_is_503_with_retry_after() {
    let mut stack = Stack::on_redis(Persistence::Always).await;
    let manager = stack.manager().await;
    let kept = manager.api.submit(&json!({"name": "note"})).await;

    stack.redis.as_mut().unwrap().kill_9();
    assert_refused(&manager.api.post("/tasks", &json!({"name": "note"})).await, 503, "store_unavailable");
    assert_refused(&manager.api.get(&format!("/tasks/{kept}")).await, 503, "store_unavailable");
    assert_eq!(manager.api.get("/health/ready").await.status, 503);
    assert_eq!(manager.api.get("/health/live").await.status, 200);

    stack.redis.as_mut().unwrap().restart();
    accepted_again(&manager, &json!({"name": "note"})).await;
    assert_eq!(manager.api.task(&kept).await["status"], "submitted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_hangs_is_503_within_a_bounded_time() {
    let stack = Stack::on_redis(Persistence::None).await;
    let manager = stack.manager().await;
    let redis = stack.redis.as_ref().unwrap();
    redis.pause();
    let answer =
        within(Duration::from_secs(20), "an answer", manager.api.post("/tasks", &json!({"name": "note"}))).await;
    assert_refused(&answer, 503, "store_unavailable");
    redis.resume();
    accepted_again(&manager, &json!({"name": "note"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_refuses_tasks_and_still_drains() {
    let stack = Stack::on_redis(Persistence::None).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let redis = stack.redis.as_ref().unwrap();
    let id = manager.api.submit(&json!({"name": "hold"})).await;
    stack.effects.happened("started", &id).await;

    tell(redis, "CONFIG SET maxmemory 1");
    assert_refused(&manager.api.post("/tasks", &json!({"name": "note"})).await, 503, "store_full");
    stack.release();
    assert_eq!(manager.api.finished(&id).await["status"], "completed");

    tell(redis, "CONFIG SET maxmemory 0");
    let next = accepted_again(&manager, &json!({"name": "note"})).await;
    assert_eq!(manager.api.finished(&next).await["status"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_became_a_replica_is_read_only() {
    let stack = Stack::on_redis(Persistence::None).await;
    let manager = stack.manager().await;
    let redis = stack.redis.as_ref().unwrap();
    let kept = manager.api.submit(&json!({"name": "note"})).await;

    // Port 1 has no listener, so it keeps its data.
    tell(redis, "REPLICAOF 127.0.0.1 1");
    assert_refused(&manager.api.post("/tasks", &json!({"name": "note"})).await, 503, "store_read_only");
    assert_eq!(manager.api.task(&kept).await["status"], "submitted");

    tell(redis, "REPLICAOF NO ONE");
    accepted_again(&manager, &json!({"name": "note"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_sqlite_file_refuses_tasks_and_still_drains() {
    let stack = Stack::on_sqlite("?max_bytes=2000000");
    let manager = stack.manager().await;
    let padding = "x".repeat(100_000);
    let mut taken = Vec::new();
    let refusal = loop {
        let answer = manager.api.post("/tasks", &json!({"name": "note", "parameters": {"padding": padding}})).await;
        if !answer.status.is_success() {
            break answer;
        }
        taken.push(answer.body["id"].as_str().unwrap().to_owned());
        assert!(taken.len() < 100, "10 MB fit into a store of 2 MB");
    };
    assert_refused(&refusal, 503, "store_full");
    assert!(taken.len() > 5, "only {} tasks of 100 kB fit into 2 MB", taken.len());

    let _worker = stack.worker().await;
    for id in &taken {
        assert_eq!(manager.api.finished(id).await["status"], "completed");
    }
    // Parameters as long as these are let go when their task completes, so there is room again.
    accepted_again(&manager, &json!({"name": "note", "parameters": {"padding": padding}})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sqlite_file_that_was_moved_or_replaced_acknowledges_nothing_more() {
    let stack = Stack::on_sqlite("");
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let kept = manager.api.submit(&json!({"name": "note"})).await;
    manager.api.finished(&kept).await;

    let [file, moved] = ["tasks.db", "moved.db"].map(|name| stack.folder().join(name));
    std::fs::rename(&file, &moved).unwrap();
    let told_and_refused = async || {
        let refused = [
            manager.api.post("/tasks", &json!({"name": "note"})).await,
            manager.api.get(&format!("/tasks/{kept}")).await,
            manager.api.get("/health/ready").await,
        ];
        for answer in refused {
            assert_refused(&answer, 503, "store_unavailable");
            assert!(
                answer.body["detail"].as_str().unwrap().contains("was moved, deleted or replaced"),
                "{}",
                answer.body
            );
        }
    };
    told_and_refused().await;
    std::fs::write(&file, b"").unwrap();
    told_and_refused().await;
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0, "what lies there now is left alone");

    std::fs::rename(&moved, &file).unwrap();
    let next = accepted_again(&manager, &json!({"name": "note"})).await;
    assert_eq!(manager.api.finished(&next).await["status"], "completed");
    assert_eq!(manager.api.task(&kept).await["status"], "completed");
    stack.examined().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_sqlite_file_refuses_tasks_and_still_tells() {
    let stack = Stack::on_sqlite("");
    let mut manager = stack.manager().await;
    let kept = manager.api.submit(&json!({"name": "note"})).await;
    // Killed, so that the log stays next to the file and a user without write permission can read both.
    manager.program.kill().await;
    for entry in std::fs::read_dir(stack.folder()).unwrap() {
        std::fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(0o444)).unwrap();
    }
    std::fs::set_permissions(stack.folder(), Permissions::from_mode(0o755)).unwrap();
    let arguments = ["--engine-url", stack.url(), "--listen", "127.0.0.1:0"];
    let reader = Manager::ready(Program::start_unprivileged("manager", stack.folder(), &arguments)).await;
    assert_refused(&reader.api.post("/tasks", &json!({"name": "note"})).await, 503, "store_read_only");
    assert_eq!(reader.api.task(&kept).await["status"], "submitted");
}

/// The manager may not write the archive when it starts; once it may, it archives what waited, without a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_that_is_read_only_at_the_start_is_written_once_it_may_be() {
    let stack = Stack::on_redis(Persistence::None).await;
    std::fs::set_permissions(stack.folder(), Permissions::from_mode(0o777)).unwrap();
    let path = stack.folder().join("dead.db");
    let arguments = ["--engine-url", stack.url(), "--listen", "127.0.0.1:0", "--dlq-path", path.to_str().unwrap()];
    let mut first = Manager::ready(Program::start_unprivileged("manager", stack.folder(), &arguments)).await;
    first.program.line("this manager keeps the archive").await;
    first.program.signal(Signal::SIGTERM);
    assert!(first.program.exit().await.success());

    let allow = |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    allow(0o444);
    let Manager { api, program, .. } =
        Manager::ready(Program::start_unprivileged("manager", stack.folder(), &arguments)).await;
    let _worker = stack.stock_worker().await;
    let doomed = api.submit(&json!({"name": "fail", "parameters": {"kind": "fatal"}})).await;
    assert_eq!(api.finished(&doomed).await["status"], "failed");
    let refused = program.line("dead letters can't be archived").await;
    assert!(refused.contains("read-only"), "{refused}");
    assert_eq!(api.get("/health/ready").await.ok()["outbox"], 1);

    allow(0o644);
    program.line("dead letters are archived again").await;
    assert_eq!(api.get("/dead-letter-queue/stats").await.ok()["total"], 1);
    assert_eq!(api.get("/health/ready").await.ok()["outbox"], 0);
}

on_both_engines!(a_worker_that_finds_no_store_says_so_and_ends);

async fn a_worker_that_finds_no_store_says_so_and_ends(kind: Kind) {
    let stack = Stack::on(kind).await;
    let url = match kind {
        Kind::Sqlite => "sqlite:///dev/null/no/such/folder/tasks.db",
        Kind::Redis => "redis://127.0.0.1:1",
    };
    let mut worker = Program::start("test-worker", stack.folder(), &["--engine-url", url], &[]);
    let code = worker.exit().await.code();
    assert!(matches!(code, Some(64 | 69)), "{code:?}: {}", worker.said());
}
