//! Scheduled tasks that get another time: one, a list, a filter.

use serde_json::{Value, json};

use crate::server::Server;

/// Submits tasks that are due in an hour.
async fn submit(server: &Server, ids: &[&str], queue: &str) {
    let later = |id: &&str| json!({"id": id, "name": "t", "queue": queue, "delay": "1h"});
    let tasks: Vec<Value> = ids.iter().map(later).collect();
    server.post("/tasks", json!({ "tasks": tasks })).await.expect(201);
}

#[tokio::test]
async fn a_scheduled_task_is_run_now_or_later() {
    let server = Server::start().await;
    submit(&server, &["a", "b", "c"], "default").await;
    let now = server.post("/tasks/a/reschedule", "").await.expect(200);
    assert_eq!(now, json!({"id": "a", "outcome": "rescheduled", "status": "submitted"}));
    assert_eq!(server.claim("default", 2).await[0].id.as_str(), "a");
    let later = server.post("/tasks/b/reschedule", json!({"delay": "2h"})).await.expect(200);
    assert_eq!(later["status"], "scheduled");
    let at = "2099-01-01T00:00:00Z";
    server.post(&format!("/tasks/c/reschedule?run_at={at}"), "").await.refused(422, "invalid_request");
    server.post("/tasks/c/reschedule?run_at=2020-01-01T00:00:00Z", "").await.expect(200);
    assert_eq!(server.get("/tasks/c").await.expect(200)["status"], "submitted");
    let due = server.get("/scheduled-tasks").await.expect(200);
    assert_eq!((&due["tasks"][0]["id"], due["total"].as_u64()), (&json!("b"), Some(1)));
    assert!(due["tasks"][0]["due_in"].as_f64().unwrap() > 7_100.0);
}

#[tokio::test]
async fn only_a_scheduled_task_gets_another_time() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "ready", "name": "t"})).await.expect(201);
    let refused = server.post("/tasks/ready/reschedule", "").await;
    assert!(refused.refused(409, "task_not_scheduled")["detail"].as_str().unwrap().contains("is submitted"));
    server.post("/tasks/none/reschedule", "").await.refused(404, "unknown_task");
    submit(&server, &["a"], "default").await;
    for (query, body) in [
        ("", json!({"delay": "1s", "run_at": "2026-01-01T00:00:00Z"})),
        ("?delay=1s", json!({"delay": "1s"})),
        ("", json!({"delay": "400d"})),
        ("", json!({"delay": -1})),
        ("", json!({"run_at": "tomorrow"})),
        ("", json!({"when": "now"})),
        ("", json!([])),
    ] {
        server.post(&format!("/tasks/a/reschedule{query}"), body).await.refused(422, "invalid_request");
    }
    server.post("/tasks/a/reschedule?delay=soon", "").await.refused(400, "invalid_parameter");
    assert_eq!(server.get("/tasks/a").await.expect(200)["status"], "scheduled");
}

#[tokio::test]
async fn a_list_is_answered_one_by_one() {
    let server = Server::start().await;
    submit(&server, &["a", "b"], "default").await;
    server.post("/tasks", json!({"id": "ready", "name": "t"})).await.expect(201);
    let body = json!({"ids": ["b", "none", "ready", "a b", "b"]});
    let answer = server.post("/tasks/reschedule", body).await.expect(200);
    let outcomes: Vec<&Value> = answer["tasks"].as_array().unwrap().iter().map(|task| &task["outcome"]).collect();
    assert_eq!(outcomes, ["rescheduled", "unknown", "not_scheduled", "unknown", "not_scheduled"]);
    let counts = ["rescheduled", "not_scheduled", "unknown"].map(|key| answer[key].as_u64().unwrap());
    assert_eq!(counts, [1, 2, 2]);
    assert_eq!(server.get("/tasks/a").await.expect(200)["status"], "scheduled");
}

#[tokio::test]
async fn a_filter_takes_scheduled_tasks_until_none_is_left() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "other"})).await.expect(201);
    submit(&server, &["a", "b", "c"], "default").await;
    submit(&server, &["d"], "other").await;
    server.post("/tasks", json!({"id": "ready", "name": "t"})).await.expect(201);
    let run = || server.post("/tasks/reschedule", json!({"filter": {"queue": "default"}, "limit": 2}));
    let first = run().await.expect(200);
    assert_eq!((first["next_cursor"].is_string(), &first["rescheduled"]), (true, &json!(2)));
    let second = run().await.expect(200);
    assert_eq!((&second["next_cursor"], &second["rescheduled"]), (&Value::Null, &json!(1)));
    assert_eq!(server.get("/tasks/d").await.expect(200)["status"], "scheduled");
}

#[tokio::test]
async fn what_is_asked_of_many_is_checked() {
    let server = Server::start().await;
    for body in [
        json!({}),
        json!({"ids": ["a"], "filter": {"queue": "default"}}),
        json!({"ids": ["a"], "limit": 1}),
        json!({"ids": ["a"], "delay": "1s", "run_at": "2026-01-01T00:00:00Z"}),
        json!({"filter": {}}),
        json!({"filter": {"status": ["submitted"]}}),
        json!({"filter": {"queue": "default"}, "limit": 0}),
        json!({"filter": {"queue": "default"}, "delay": "10m"}),
        json!({"filter": {"queue": "default"}, "cursor": "elsewhere"}),
        json!({"ids": ["a"], "cursor": "d||0|"}),
    ] {
        server.post("/tasks/reschedule", body).await.refused(422, "invalid_request");
    }
    let many: Vec<String> = (0..1_001).map(|n| format!("t{n}")).collect();
    server.post("/tasks/reschedule", json!({ "ids": many })).await.refused(413, "batch_too_large");
}

#[tokio::test]
async fn a_task_may_be_called_reschedule() {
    let server = Server::start().await;
    submit(&server, &["reschedule"], "default").await;
    assert_eq!(server.get("/tasks/reschedule").await.expect(200)["id"], "reschedule");
    server.post("/tasks/reschedule/reschedule", "").await.expect(200);
}
