//! Tasks whose first attempt must begin before a time.

use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn an_expiry_is_shown_and_part_of_the_policy() {
    let server = Server::start().await;
    let task = json!({"id": "a", "name": "t", "expires_in": "10m"});
    server.post("/tasks", json!({"tasks": [task, {"id": "b", "name": "t"}]})).await.expect(201);
    let (a, b) = (server.get("/tasks/a").await.expect(200), server.get("/tasks/b").await.expect(200));
    let at = |field: &str| a[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(at("expires_at").duration_since(at("submitted_at")).as_secs(), 600);
    assert_eq!((&a["policy"]["expires_in"], &b["expires_at"]), (&json!("10m"), &Value::Null));
    let told = server.get("/tasks/a/explain").await.expect(200);
    assert_eq!(told["expires_at"], a["expires_at"]);
    let other = json!({"id": "a", "name": "t", "expires_in": "11m"});
    server.post("/tasks", other).await.refused(409, "task_exists");
}

#[tokio::test]
async fn schedules_and_nodes_of_workflows_may_say_it() {
    let server = Server::start().await;
    let task = json!({"name": "t", "expires_in": "90s"});
    server.post("/schedules", json!({"name": "s", "every": "1h", "task": task})).await.expect(201);
    let shown = server.get("/schedules/s").await.expect(200);
    assert_eq!(shown["task"]["expires_in"], "90s", "{shown}");
    let nodes = json!([{"id": "a", "name": "t"}, {"id": "b", "name": "t", "depends_on": ["a"], "expires_in": "2m"}]);
    server.post("/workflows", json!({"id": "w", "nodes": nodes})).await.expect(201);
    let node = server.get("/tasks/w%2Fb").await.expect(200);
    assert_eq!((&node["policy"]["expires_in"], &node["expires_at"]), (&json!("2m"), &Value::Null), "it still waits");
}

#[tokio::test]
async fn an_expired_task_is_explained_and_dropped_when_a_worker_asks() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "a", "name": "t", "expires_in": "1us"})).await.expect(201);
    let told = server.get("/tasks/a/explain").await.expect(200);
    assert_eq!(told["reasons"][0]["code"], "expired", "{told}");
    let leased = server.post("/leases", json!({"worker": "w9", "queues": ["default"], "limit": 5})).await.expect(200);
    assert_eq!(leased["leases"], json!([]), "{leased}");
    let over = server.get("/tasks/a").await.expect(200);
    assert_eq!((&over["status"], &over["errors"][0]["kind"]), (&json!("dropped"), &json!("expired")));
    assert_eq!((&over["attempt"], &over["started_at"], &over["dead_letter"]), (&json!(0), &Value::Null, &json!(true)));
}
