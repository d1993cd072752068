//! Cancelling: one, a list, a filter.

use serde_json::{Value, json};

use crate::server::Server;

async fn submit(server: &Server, ids: &[&str], queue: &str) {
    let tasks: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "t", "queue": queue})).collect();
    server.post("/tasks", json!({ "tasks": tasks })).await.expect(201);
}

#[tokio::test]
async fn a_waiting_task_is_cancelled_and_a_running_one_is_told() {
    let server = Server::start().await;
    submit(&server, &["runs", "waits"], "default").await;
    let running = server.claim("default", 1).await;
    assert_eq!(server.post("/tasks/waits/cancel", "").await.expect(200)["outcome"], "cancelled");
    assert_eq!(server.post("/tasks/runs/cancel", "").await.expect(202)["outcome"], "requested");
    assert_eq!(server.get("/tasks/runs").await.expect(200)["cancel_requested"], true);
    let outcome = jobbers_common::engine::Outcome::Completed { result: None };
    server.settle(&running[0], outcome).await;
    assert_eq!(server.get("/tasks/runs").await.expect(200)["status"], "cancelled");
    server.post("/tasks/runs/cancel", "").await.expect(200);
    server.post("/tasks/none/cancel", "").await.refused(404, "unknown_task");
}

#[tokio::test]
async fn a_task_that_is_over_can_not_be_cancelled() {
    let server = Server::start().await;
    submit(&server, &["x"], "default").await;
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, jobbers_common::engine::Outcome::Completed { result: None }).await;
    server.post("/tasks/x/cancel", "").await.refused(409, "task_over");
}

#[tokio::test]
async fn a_list_is_answered_one_by_one() {
    let server = Server::start().await;
    submit(&server, &["a", "b"], "default").await;
    assert_eq!(server.claim("default", 1).await[0].id.as_str(), "a");
    let answer = server.post("/tasks/cancel", json!({"ids": ["b", "a", "none"]})).await.expect(200);
    let outcomes: Vec<&Value> = answer["tasks"].as_array().unwrap().iter().map(|task| &task["outcome"]).collect();
    assert_eq!(outcomes, ["cancelled", "requested", "unknown"]);
    let counts = ["cancelled", "requested", "already_over", "unknown"].map(|key| answer[key].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 0, 1]);
    let nothing = server.post("/tasks/cancel", json!({"ids": []})).await.expect(200);
    assert_eq!(nothing["tasks"], json!([]));
}

#[tokio::test]
async fn a_filter_cancels_what_matches_until_nothing_is_left() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "other"})).await.expect(201);
    submit(&server, &["a", "b", "c"], "default").await;
    submit(&server, &["d"], "other").await;
    server.claim("default", 1).await;
    let cancel = || server.post("/tasks/cancel", json!({"filter": {"queue": "default"}, "limit": 2}));
    let first = cancel().await.expect(200);
    assert_eq!((&first["more"], first["tasks"].as_array().unwrap().len()), (&json!(true), 2));
    let second = cancel().await.expect(200);
    assert_eq!((&second["more"], &second["cancelled"]), (&json!(false), &json!(1)));
    // The running task has a cancel request already and is not found again.
    assert_eq!(cancel().await.expect(200)["tasks"], json!([]));
    assert_eq!(server.get("/tasks/d").await.expect(200)["status"], "submitted");
}

#[tokio::test]
async fn a_cancel_says_what_it_means() {
    let server = Server::start().await;
    for body in [
        json!({}),
        json!({"ids": ["a"], "filter": {"queue": "default"}}),
        json!({"ids": ["a"], "limit": 1}),
        json!({"ids": "a"}),
        json!({"filter": {}}),
        json!({"filter": {"status": ["failed"]}}),
        json!({"filter": {"queue": "default", "finished_after": "2026-01-01T00:00:00Z"}}),
        json!({"filter": {"queue": "default", "finished_before": "2026-01-01T00:00:00Z"}}),
        json!({"filter": {"submitted_after": "yesterday"}}),
        json!({"filter": {"error": 7}}),
        json!({"filter": {"queue": "default"}, "limit": 0}),
        json!({"filter": {"queue": "default"}, "limit": 1001}),
        json!({"filter": {"colour": "red"}}),
    ] {
        server.post("/tasks/cancel", body).await.refused(422, "invalid_request");
    }
}
