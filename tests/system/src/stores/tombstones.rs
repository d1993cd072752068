//! A task that was pruned long ago is remembered by its id: submitted again, it is answered alike and does not run again.

use std::time::Duration;

use jobbers_test_support::{api::Answer, wait::until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

/// Twice what a queue with default settings keeps.
const LATER: usize = 200_000;
const BATCH: usize = 1_000;
const LONG: Duration = Duration::from_secs(300);

mod on_sqlite {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: two hundred thousand tasks"]
    async fn an_id_and_a_key_are_answered_alike_after_200000_later_tasks() {
        super::an_id_and_a_key_are_answered_alike_after_200000_later_tasks(super::Kind::Sqlite).await;
    }
}

mod on_redis {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: two hundred thousand tasks"]
    async fn an_id_and_a_key_are_answered_alike_after_200000_later_tasks() {
        super::an_id_and_a_key_are_answered_alike_after_200000_later_tasks(super::Kind::Redis).await;
    }
}

async fn submit_with_key(manager: &Manager, body: &Value) -> Answer {
    let key = [("Idempotency-Key", "order-77")];
    manager.api.send(Method::POST, "/tasks", &key, Some(body)).await.unwrap()
}

/// Runs this many tasks, never many more than a worker can hold at a time.
async fn run_later_ones(manager: &Manager) {
    for first in (0..LATER).step_by(BATCH) {
        let tasks: Vec<Value> = (0..BATCH).map(|_| json!({"name": "note"})).collect();
        manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
        until(LONG, &format!("most of {first} have run"), async || {
            let queue = manager.api.get("/queues/default").await.ok();
            (queue["tasks"]["submitted"].as_u64().unwrap_or(0) < 5 * BATCH as u64).then_some(())
        })
        .await;
    }
}

async fn an_id_and_a_key_are_answered_alike_after_200000_later_tasks(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let chosen = json!({"id": "order-1", "name": "note", "parameters": {"n": 1}});
    let keyed = json!({"tasks": [{"name": "note", "parameters": {"n": 2}}, {"name": "doomed"}]});
    manager.api.submit(&chosen).await;
    let first = submit_with_key(&manager, &keyed).await.ok();
    let ids: Vec<&str> = first["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    let ends = [("order-1", "completed"), (ids[0], "completed"), (ids[1], "failed")];
    for (id, status) in ends {
        assert_eq!(manager.api.finished(id).await["status"], status);
    }

    run_later_ones(&manager).await;
    for (id, status) in ends {
        let gone = until(LONG, &format!("{id} is pruned"), async || {
            let answer = manager.api.get(&format!("/tasks/{id}")).await;
            (answer.status != 200).then_some(answer)
        })
        .await;
        assert_eq!(gone.status, 410, "{}", gone.body);
        assert_eq!(gone.body["end"]["status"], status, "{}", gone.body);
    }
    let again = manager.api.post("/tasks", &chosen).await.ok();
    assert_eq!(
        (&again["id"], &again["created"], &again["status"]),
        (&json!("order-1"), &json!(false), &json!("completed"))
    );
    let again = submit_with_key(&manager, &keyed).await.ok();
    for (task, (id, status)) in again["tasks"].as_array().unwrap().iter().zip(&ends[1..]) {
        assert_eq!((&task["id"], &task["created"], &task["status"]), (&json!(id), &json!(false), &json!(status)));
    }
    let other = json!({"id": "order-1", "name": "note", "parameters": {"n": 3}});
    assert_eq!(manager.api.post("/tasks", &other).await.status, 409);
    let other = json!({"tasks": [{"name": "note", "parameters": {"n": 4}}]});
    assert_eq!(submit_with_key(&manager, &other).await.status, 409);
    // A marker behind all that could have been submitted again.
    let marker = manager.api.submit(&json!({"name": "note", "priority": 0})).await;
    manager.api.finished(&marker).await;
    let done = stack.effects.count("done");
    assert_eq!((done.get("order-1"), done.get(ids[0])), (Some(&1), Some(&1)), "neither ran again");
    assert_eq!(stack.effects.count("started").get(ids[1]), Some(&1), "nor what had failed");
}
