//! Unique keys over `POST /tasks`.

use serde_json::{Value, json};

use crate::server::Server;

/// A task with a key, and `more` to say.
fn unique(id: &str, more: &Value) -> Value {
    let mut task = json!({"id": id, "name": "sync", "unique_key": "customer:42"});
    for (field, value) in more.as_object().unwrap() {
        task[field] = value.clone();
    }
    task
}

#[tokio::test]
async fn a_duplicate_is_refused_and_the_holder_named() {
    let server = Server::start().await;
    server.post("/tasks", unique("a", &json!({}))).await.expect(201);
    let problem = server.post("/tasks", unique("b", &json!({}))).await.refused(409, "duplicate");
    assert_eq!(problem["holder"], "a");
    assert!(problem["detail"].as_str().unwrap().contains("customer:42"), "{problem}");
    let batch = json!({"tasks": [{"id": "x", "name": "other"}, unique("b", &json!({}))]});
    server.post("/tasks", batch).await.refused(409, "duplicate");
    server.get("/tasks/x").await.refused(404, "unknown_task");
}

#[tokio::test]
async fn the_holder_is_answered_in_place_of_a_duplicate() {
    let server = Server::start().await;
    server.post("/tasks", unique("a", &json!({}))).await.expect(201);
    let answer = server.post("/tasks", unique("b", &json!({"on_duplicate": "return"}))).await;
    let told = answer.expect(200);
    assert_eq!((&told["id"], &told["created"], &told["updated"]), (&json!("a"), &json!(false), &json!(false)));
    assert_eq!(answer.headers["location"], "/tasks/a");
    let batch = json!({"tasks": [{"id": "x", "name": "other"}, unique("b", &json!({"on_duplicate": "return"}))]});
    let told = server.post("/tasks", batch).await.expect(201);
    assert_eq!((&told["tasks"][0]["created"], &told["tasks"][1]["id"]), (&json!(true), &json!("a")));
}

#[tokio::test]
async fn the_holder_is_replaced_or_becomes_what_is_said() {
    let server = Server::start().await;
    server.post("/tasks", unique("a", &json!({}))).await.expect(201);
    let last = json!({"on_duplicate": "keep_last", "parameters": {"n": 2}, "delay": "1h", "unique_for": "90s"});
    let told = server.post("/tasks", unique("b", &last)).await.expect(200);
    assert_eq!((&told["id"], &told["updated"], &told["status"]), (&json!("a"), &json!(true), &json!("scheduled")));
    let holder = server.get("/tasks/a").await.expect(200);
    assert_eq!(holder["parameters"], json!({"n": 2}));
    let statuses = json!(["waiting", "scheduled", "submitted"]);
    let said = json!({"key": "customer:42", "for": "90s", "while": statuses, "on_duplicate": "keep_last"});
    assert_eq!(holder["unique"], said);
    let told = server.post("/tasks", unique("c", &json!({"on_duplicate": "replace"}))).await.expect(201);
    assert_eq!((&told["id"], &told["replaced"]), (&json!("c"), &json!(true)));
    assert_eq!(server.get("/tasks/a").await.expect(200)["status"], "cancelled");
    assert_eq!(server.claim("default", 1).await.len(), 1);
    let problem = server.post("/tasks", unique("d", &json!({"on_duplicate": "replace"}))).await;
    assert_eq!(problem.refused(409, "duplicate")["holder"], "c");
}

#[tokio::test]
async fn a_task_whose_key_another_holds_is_not_sent_again() {
    let server = Server::start().await;
    server.post("/tasks", unique("a", &json!({}))).await.expect(201);
    server.post("/tasks/a/cancel", json!({})).await.expect(200);
    server.post("/tasks", unique("b", &json!({}))).await.expect(201);
    let problem = server.post("/tasks/a/resubmit", json!({})).await.refused(409, "duplicate");
    assert_eq!(problem["holder"], "b");
    server.post("/tasks/b/cancel", json!({})).await.expect(200);
    server.post("/tasks/a/resubmit", json!({})).await.expect(200);
}

#[tokio::test]
async fn nonsense_about_keys_is_refused_and_named() {
    let server = Server::start().await;
    let cases = [
        (json!({"name": "t", "unique_for": "1h"}), "/unique_for"),
        (json!({"name": "t", "unique_while": ["submitted"]}), "/unique_while"),
        (json!({"name": "t", "on_duplicate": "return"}), "/on_duplicate"),
        (json!({"name": "t", "unique_key": ""}), "/unique_key"),
        (json!({"name": "t", "unique_key": "x".repeat(257)}), "/unique_key"),
        (json!({"name": "t", "unique_key": "a\nb"}), "/unique_key"),
        (json!({"name": "t", "unique_key": 42}), "/unique_key"),
        (json!({"name": "t", "unique_key": "k", "unique_for": 0}), "/unique_for"),
        (json!({"name": "t", "unique_key": "k", "unique_for": "367d"}), "/unique_for"),
        (json!({"name": "t", "unique_key": "k", "unique_while": []}), "/unique_while"),
        (json!({"name": "t", "unique_key": "k", "unique_while": ["done"]}), "/unique_while/0"),
        (json!({"name": "t", "unique_key": "k", "on_duplicate": "ignore"}), "/on_duplicate"),
    ];
    for (body, pointer) in cases {
        let problem = server.post("/tasks", &body).await.refused(422, "invalid_request");
        assert_eq!(problem["pointer"], pointer, "{body}: {problem}");
        let within = server.post("/tasks", json!({"tasks": [{"name": "u"}, body]})).await;
        assert_eq!(within.refused(422, "invalid_request")["pointer"], format!("/tasks/1{pointer}"));
    }
    assert_eq!(server.get("/queues/default").await.expect(200)["accepted"], 0);
}
