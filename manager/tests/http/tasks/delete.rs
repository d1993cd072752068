//! Tasks are deleted and counted, by their ids.

use serde_json::{Value, json};

use crate::server::Server;

async fn submit(server: &Server, task: Value) {
    server.post("/tasks", task).await.expect(201);
}

#[tokio::test]
async fn what_depended_only_on_deleted_tasks_goes_or_runs() {
    let server = Server::start().await;
    for (first, second) in [("a", "b"), ("c", "d")] {
        submit(&server, json!({"id": first, "name": "t"})).await;
        submit(&server, json!({"id": second, "name": "t", "depends_on": [first]})).await;
    }
    let answer = server.post("/tasks/delete", json!({"ids": ["a", "a", "none"]})).await.expect(200);
    let tasks = json!([
        {"id": "a", "outcome": "deleted"}, {"id": "a", "outcome": "unknown"}, {"id": "none", "outcome": "unknown"},
    ]);
    assert_eq!(answer, json!({"deleted": 1, "running": 0, "unknown": 2, "tasks": tasks}));
    server.get("/tasks/b").await.refused(404, "unknown_task");
    server.post("/tasks/delete", json!({"ids": ["c"], "cascade": false})).await.expect(200);
    assert_eq!(server.get("/tasks/d").await.expect(200)["status"], "submitted");
    let running = server.claim("default", 1).await;
    assert_eq!(running[0].id.as_str(), "d");
    let answer = server.post("/tasks/delete", json!({"ids": ["d"]})).await.expect(200);
    assert_eq!(answer, json!({"deleted": 0, "running": 1, "unknown": 0, "tasks": [{"id": "d", "outcome": "running"}]}));
}

#[tokio::test]
async fn tasks_may_be_called_as_the_operations_are() {
    let server = Server::start().await;
    for id in ["delete", "statuses", "cancel"] {
        submit(&server, json!({"id": id, "name": "t"})).await;
        assert_eq!(server.get(&format!("/tasks/{id}")).await.expect(200)["id"], id);
    }
}

#[tokio::test]
async fn what_is_past_its_bounds_is_refused_by_field() {
    let server = Server::start().await;
    let many = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
    for (path, body, pointer) in [
        ("delete", json!({"ids": many(1_001)}), "/ids"),
        ("statuses", json!({"ids": many(1_001)}), "/ids"),
        ("statuses", json!({"queues": many(101)}), "/queues"),
    ] {
        let problem = server.post(&format!("/tasks/{path}"), body).await.refused(413, "batch_too_large");
        assert_eq!(problem["pointer"], pointer);
    }
    for (path, body, pointer) in [
        ("delete", json!({}), ""),
        ("delete", json!({"ids": "a"}), "/ids"),
        ("delete", json!({"ids": ["a"], "cascade": "no"}), "/cascade"),
        ("delete", json!({"ids": ["a"], "force": true}), "/force"),
        ("statuses", json!({"status": ["done"]}), "/status/0"),
    ] {
        let problem = server.post(&format!("/tasks/{path}"), &body).await.refused(422, "invalid_request");
        assert_eq!(problem["pointer"].as_str().unwrap_or_default(), pointer, "{body}: {problem}");
    }
    let nothing = json!({"queues": [], "tasks": [], "count": {}});
    assert_eq!(server.post("/tasks/statuses", json!({})).await.expect(200), nothing);
}
