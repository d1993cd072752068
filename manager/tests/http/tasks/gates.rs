//! Limits by key and by task: as settings, in submissions, and as reasons.

use jobbers_common::{
    engine::{ClaimRequest, Cycle, QueueClaim},
    name::QueueName,
    task::ClaimedTask,
};
use serde_json::{Value, json};

use crate::server::{Server, worker};

async fn claim(server: &Server) -> Vec<ClaimedTask> {
    let queues = vec![QueueClaim { queue: QueueName::new("default").unwrap(), limit: 10 }];
    let claim =
        Some(ClaimRequest { queues, limit: 10, refused: Vec::new(), lease: std::time::Duration::from_secs(60) });
    server.engine.cycle(Cycle { worker: worker(), settlements: Vec::new(), claim }).await.unwrap().claimed
}

async fn key_of(server: &Server, id: &str) -> Value {
    server.get(&format!("/tasks/{id}")).await.expect(200)["concurrency_key"].clone()
}

fn settings() -> Value {
    json!({
        "key_parameter": "/order/customer",
        "max_concurrent_per_key": 2,
        "rate_limit_per_key": {"tasks": 10, "per": "1m"},
        "task_limits": {"email.send": {"max_concurrent": 1, "rate_limit": {"tasks": 2, "per": "3s", "burst": 1}}},
    })
}

#[tokio::test]
async fn settings_are_answered_as_they_were_put_and_go_with_the_next() {
    let server = Server::start().await;
    server.put("/queues/default", settings()).await.expect(200);
    let told = server.get("/queues/default").await.expect(200);
    for (name, value) in settings().as_object().unwrap() {
        assert_eq!(told[name], *value, "{name}");
    }
    server.put("/queues/default", json!({})).await.expect(200);
    let told = server.get("/queues/default").await.expect(200);
    for name in settings().as_object().unwrap().keys() {
        assert_eq!(told[name], Value::Null, "{name}");
    }
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let server = Server::start().await;
    let many: serde_json::Map<String, Value> =
        (0..101).map(|n| (format!("t{n}"), json!({"max_concurrent": 1}))).collect();
    for bad in [
        json!({"max_concurrent_per_key": 0}),
        json!({"max_concurrent_per_key": -1}),
        json!({"max_concurrent_per_key": "2"}),
        json!({"rate_limit_per_key": {"tasks": 0, "per": "1s"}}),
        json!({"key_parameter": ""}),
        json!({"key_parameter": "/a~2"}),
        json!({"key_parameter": 7}),
        json!({"task_limits": {"email.send": {}}}),
        json!({"task_limits": {"email.send": {"max_concurrent": 0}}}),
        json!({"task_limits": {"email send": {"max_concurrent": 1}}}),
        json!({"task_limits": {"email.send": {"max": 1}}}),
        json!({"task_limits": many}),
    ] {
        server.put("/queues/default", bad.clone()).await.refused(422, "invalid_request");
    }
}

#[tokio::test]
async fn a_key_is_what_the_submission_says_else_what_the_parameter_gives() {
    let server = Server::start().await;
    server.put("/queues/default", settings()).await.expect(200);
    let order = |customer: Value| json!({"order": {"customer": customer}});
    for (id, task, key) in [
        ("said", json!({"concurrency_key": "me", "parameters": order(json!("acme"))}), json!("me")),
        ("text", json!({"parameters": order(json!("acme"))}), json!("acme")),
        ("number", json!({"parameters": order(json!(42))}), json!("42")),
        ("nothing", json!({"parameters": order(Value::Null)}), Value::Null),
        ("elsewhere", json!({"parameters": {"customer": "acme"}}), Value::Null),
    ] {
        let mut task = task;
        (task["id"], task["name"]) = (json!(id), json!("t"));
        server.post("/tasks", task.clone()).await.expect(201);
        assert_eq!(key_of(&server, id).await, key, "{id}");
        server.post("/tasks", task).await.expect(200);
    }
    server.put("/queues/default", json!({})).await.expect(200);
    let again = json!({"id": "text", "name": "t", "parameters": order(json!("acme"))});
    server.post("/tasks", again).await.expect(200);
    assert_eq!(key_of(&server, "text").await, "acme", "it keeps its key, and is the same submission");
    let other = json!({"id": "said", "name": "t", "concurrency_key": "you", "parameters": order(json!("acme"))});
    server.post("/tasks", other).await.refused(409, "task_exists");
    for bad in [json!(""), json!("a\nb"), json!("x".repeat(257)), json!(7)] {
        let refused = server.post("/tasks", json!({"name": "t", "concurrency_key": bad})).await;
        refused.refused(422, "invalid_request");
    }
}

#[tokio::test]
async fn what_holds_a_task_back_is_told() {
    let server = Server::start().await;
    server.put("/queues/default", settings()).await.expect(200);
    let of = |id: &str, name: &str| json!({"id": id, "name": name, "concurrency_key": "acme"});
    for (id, name) in [("a1", "t"), ("a2", "t"), ("a3", "t")] {
        server.post("/tasks", of(id, name)).await.expect(201);
    }
    for id in ["e1", "e2"] {
        server.post("/tasks", json!({"id": id, "name": "email.send"})).await.expect(201);
    }
    // The rate of ten a minute has one at a time start.
    assert_eq!(claim(&server).await.len(), 2);
    let reasons = async |id: &str| server.get(&format!("/tasks/{id}/explain")).await.expect(200)["reasons"].clone();
    let told = reasons("e2").await;
    assert_eq!(told[0]["code"], "max_concurrent_per_task", "{told}");
    assert_eq!(told[0]["tasks"], json!(["e1"]));
    assert_eq!(told[0]["message"], "task email.send: 1 of at most 1 run in queue default");
    assert_eq!(told[1]["code"], "rate_limited_per_task");
    assert!(told[1]["until"].is_string(), "{told}");
    let told = reasons("a2").await;
    assert_eq!(told[0]["code"], "rate_limited_per_key", "{told}");
    assert_eq!(told[0]["message"], "key acme: its rate in queue default, 10 in 1m, is used up");
    server.put("/queues/default", json!({"max_concurrent_per_key": 1})).await.expect(200);
    let told = reasons("a2").await;
    assert_eq!((&told[0]["code"], &told[0]["tasks"]), (&json!("max_concurrent_per_key"), &json!(["a1"])), "{told}");
    assert_eq!(told[0]["message"], "key acme: 1 of at most 1 run in queue default");
}
