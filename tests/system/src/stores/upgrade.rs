//! The programs on a store that an earlier version of them left behind when it was killed.
//!
//! `fixtures/README.md` says what it holds.

use std::{fs, path::Path, time::Duration};

use jobbers_test_support::{program::Program, redis_server::RedisOptions, wait::until};
use serde_json::{Value, json};

use crate::stack::Stack;

/// Copies the store and its archive to where the programs of a test look for theirs.
fn leave_old_store(stack: &Stack) -> Value {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schema-12");
    for file in ["tasks.db", "tasks.dead-letters.db"] {
        fs::copy(old.join(file), stack.folder().join(file)).unwrap();
    }
    serde_json::from_str(&fs::read_to_string(old.join("answers.json")).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_version_left_on_sqlite_is_answered_as_it_was_and_goes_on() {
    let stack = Stack::on_sqlite("");
    let before = leave_old_store(&stack);
    let manager = stack.manager().await;
    for old in before["tasks"].as_array().unwrap() {
        let now = manager.api.task(old["id"].as_str().unwrap()).await;
        for field in ["id", "queue", "status", "attempt", "parameters", "result", "submitted_at", "errors"] {
            assert_eq!(now[field], old[field], "{field} of {}", old["id"]);
        }
    }
    let letters = until(Duration::from_secs(30), "the archive is open", async || {
        let answer = manager.api.get("/dead-letter-queue").await;
        (answer.status == 200).then_some(answer.body)
    })
    .await;
    assert_eq!(letters["dead_letters"].as_array().map(Vec::len), before["letters"].as_array().map(Vec::len));

    let _worker = stack.stock_worker().await;
    for (id, crashes) in [("ready-urgent", 0), ("ready", 0), ("interrupted", 1)] {
        let task = manager.api.finished(id).await;
        assert_eq!((&task["status"], &task["crashes"]), (&json!("completed"), &json!(crashes)), "{task}");
    }
    assert_eq!(manager.api.task("paused").await["status"], "submitted");
    let duplicate = json!({"name": "echo", "queue": "kept", "unique_key": "invoice-1"});
    assert_eq!(manager.api.post("/tasks", &duplicate).await.status, 409, "a task of that time holds the key");

    let sent = manager.api.post("/dead-letter-queue/resubmit", &json!({"task_ids": ["dead"]})).await.ok();
    assert_eq!(sent["total"], 1, "{sent}");
    let ended = before["tasks"].as_array().unwrap().iter().find(|old| old["id"] == "dead").unwrap();
    until(Duration::from_secs(30), "it failed again", async || {
        let task = manager.api.task("dead").await;
        (task["status"] == "failed" && task["revision"] != ended["revision"]).then_some(())
    })
    .await;
    stack.examined().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_program_starts_on_a_redis_of_an_earlier_version_and_each_says_what_to_do() {
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../engines/tests/fixtures/schema-1.rdb");
    let stack = Stack::on_redis_with(RedisOptions { snapshot: Some(snapshot), ..RedisOptions::default() }).await;
    let redis = stack.redis.as_ref().unwrap();
    let before = redis.command("DBSIZE");
    let all: [(&str, &[&str]); 4] = [
        ("manager", &["--listen", "127.0.0.1:0"]),
        ("worker", &[]),
        ("cleaner", &["--retention"]),
        ("jobbers", &["doctor"]),
    ];
    for (name, arguments) in all {
        let mut program = Program::start(name, stack.folder(), arguments, &[("ENGINE_URL", stack.url())]);
        assert_eq!(program.exit().await.code(), Some(64), "{name}");
        let said = program.line("schema 1").await;
        assert!(said.contains("until no task is left") && said.contains("?prefix="), "{name}: {said}");
    }
    assert_eq!(redis.command("DBSIZE"), before);
}
