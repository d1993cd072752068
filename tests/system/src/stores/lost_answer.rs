//! A submission whose answer got lost is sent again.

use jobbers_test_support::{api::Api, fault_proxy::FaultProxy};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    sent_again_with_its_id_it_is_the_same_task,
    sent_again_with_its_idempotency_key_it_is_the_same_task,
    sent_again_as_a_batch_it_is_the_same_batch,
);

/// Sends a request whose answer is lost, and the same once more; answers the second one's body.
async fn sent_twice(proxy: &FaultProxy, headers: &[(&str, &str)], body: &Value) -> Value {
    let api = Api::at(proxy.address());
    proxy.lose_answers(1);
    let lost = api.send(Method::POST, "/tasks", headers, Some(body)).await;
    assert!(lost.is_err(), "the answer was to be lost: {lost:?}");
    assert_eq!(proxy.still_to_lose(), 0);
    api.send(Method::POST, "/tasks", headers, Some(body)).await.unwrap().ok()
}

async fn sent_again_with_its_id_it_is_the_same_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let proxy = FaultProxy::start(manager.address).await;
    let body = json!({"id": "invoice/7", "name": "note"});
    let answer = sent_twice(&proxy, &[], &body).await;
    assert_eq!(answer["id"], "invoice/7");
    assert_eq!(manager.api.finished("invoice%2F7").await["status"], "completed");
    assert_ran_once(&stack, "invoice/7");
    let other = manager.api.post("/tasks", &json!({"id": "invoice/7", "name": "hold"})).await;
    assert_eq!(other.status, 409, "{}", other.body);
}

async fn sent_again_with_its_idempotency_key_it_is_the_same_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let proxy = FaultProxy::start(manager.address).await;
    let key = [("Idempotency-Key", "9f0c")];
    let answer = sent_twice(&proxy, &key, &json!({"name": "note"})).await;
    let id = answer["id"].as_str().unwrap();
    assert_eq!(manager.api.finished(id).await["status"], "completed");
    let queue = manager.api.get("/queues/default").await.ok();
    assert_eq!(queue["tasks"], json!({"completed": 1}), "one task, not two: {queue}");
    assert_ran_once(&stack, id);
}

async fn sent_again_as_a_batch_it_is_the_same_batch(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let proxy = FaultProxy::start(manager.address).await;
    let tasks: Vec<Value> = (0..50).map(|n| json!({"id": format!("b{n}"), "name": "note"})).collect();
    sent_twice(&proxy, &[], &json!({"tasks": tasks})).await;
    for n in 0..50 {
        assert_eq!(manager.api.finished(&format!("b{n}")).await["status"], "completed");
        assert_ran_once(&stack, &format!("b{n}"));
    }
}

fn assert_ran_once(stack: &Stack, id: &str) {
    assert_eq!(stack.effects.count("done").get(id), Some(&1));
}
