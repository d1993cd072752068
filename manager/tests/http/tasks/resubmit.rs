//! Many tasks are sent again and deleted, by their ids and by a filter.

use jobbers_common::{
    engine::Outcome,
    task::{AttemptFailure, FailureKind},
};
use serde_json::{Value, json};

use crate::{archive::dead_letters::bench, server::Server};

/// Tasks of the queue `default` that failed for good with these messages.
async fn fail(server: &Server, tasks: &[(&str, &str)]) {
    for (id, message) in tasks {
        server.post("/tasks", json!({"id": id, "name": "t"})).await.expect(201);
        let task = server.claim("default", 1).await.remove(0);
        let failure = AttemptFailure::new(FailureKind::Error, *message);
        server.settle(&task, Outcome::Failed { failure, dead_letter: false }).await;
    }
}

async fn status(server: &Server, id: &str) -> Value {
    server.get(&format!("/tasks/{id}")).await.expect(200)["status"].clone()
}

#[tokio::test]
async fn tasks_are_sent_again_by_id_and_each_has_an_answer() {
    let server = Server::start().await;
    fail(&server, &[("a", "no"), ("b", "no")]).await;
    server.post("/tasks", json!({"id": "live", "name": "t"})).await.expect(201);
    let ids = json!({"ids": ["a", "live", "none", "a", "", "b"]});
    let answer = server.post("/tasks/resubmit", &ids).await.expect(200);
    assert_eq!((&answer["resubmitted"], &answer["refused"]), (&json!(2), &json!(4)), "{answer}");
    let codes: Vec<&str> =
        answer["tasks"].as_array().unwrap().iter().map(|task| task["code"].as_str().unwrap_or("sent")).collect();
    let expected = ["sent", "task_live", "unknown_task", "already_resubmitted", "unknown_task", "sent"];
    assert_eq!(codes, expected, "{answer}");
    assert_eq!((status(&server, "a").await, status(&server, "b").await), (json!("submitted"), json!("submitted")));
    let again = server.post("/tasks/resubmit", &ids).await.expect(200);
    assert_eq!(again["resubmitted"], 0, "a second time nothing is sent: {again}");
    let nothing = server.post("/tasks/resubmit", json!({"ids": []})).await.expect(200);
    assert_eq!(nothing, json!({"resubmitted": 0, "refused": 0, "tasks": []}));
}

#[tokio::test]
async fn a_filter_sends_again_what_matches_and_meets_each_task_once() {
    let server = Server::start().await;
    fail(&server, &[("a", "No such host"), ("b", "timed out"), ("c", "no such host")]).await;
    server.post("/queues", json!({"name": "other"})).await.expect(201);
    let mut request = json!({"filter": {"error": "NO SUCH"}, "limit": 1, "to_queue": "other"});
    let mut sent = Vec::new();
    for _ in 0..3 {
        let answer = server.post("/tasks/resubmit", &request).await.expect(200);
        sent.extend(answer["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()));
        // It fails again at once, and the walk does not meet it again.
        for task in server.claim("other", 1).await {
            let failure = AttemptFailure::new(FailureKind::Error, "no such host, again");
            server.settle(&task, Outcome::Failed { failure, dead_letter: false }).await;
        }
        match answer.get("next_cursor") {
            Some(cursor) => request["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(sent, ["c", "a"]);
    assert_eq!(status(&server, "b").await, "failed");
    let nothing = server.post("/tasks/resubmit", json!({"filter": {"error": "nothing like it"}})).await.expect(200);
    assert_eq!(nothing, json!({"resubmitted": 0, "refused": 0, "tasks": []}));
}

#[tokio::test]
async fn dead_letters_among_them_are_sent_as_one_operation() {
    let bench = bench().await;
    for (id, message) in [("a", "timeout"), ("b", "timeout"), ("c", "no user")] {
        bench.fail(id, "echo", message).await;
    }
    bench.archived(3).await;
    bench.post("/tasks", json!({"id": "stored", "name": "echo"})).await.expect(201);
    bench.post("/tasks/stored/cancel", json!({})).await.expect(200);
    let answer = bench.post("/tasks/resubmit", json!({"ids": ["a", "stored", "b", "none"]})).await.expect(200);
    assert_eq!((&answer["resubmitted"], &answer["tasks"][3]["code"]), (&json!(3), &json!("unknown_task")), "{answer}");
    let operations = bench.get("/dead-letter-queue/operations").await.expect(200);
    assert_eq!(
        (operations["operations"].as_array().unwrap().len(), &operations["operations"][0]["resubmitted"]),
        (1, &json!(2))
    );
    let letters = bench.get("/dead-letter-queue").await.expect(200);
    assert_eq!(
        (letters["dead_letters"].as_array().unwrap().len(), &letters["dead_letters"][0]["id"]),
        (1, &json!("c"))
    );
    let rest = bench.post("/tasks/resubmit", json!({"filter": {"error": "NO USER"}})).await.expect(200);
    assert_eq!((&rest["resubmitted"], &rest["tasks"][0]["id"]), (&json!(1), &json!("c")));
}

#[tokio::test]
async fn a_filter_deletes_what_matches_and_does_not_run() {
    let server = Server::start().await;
    fail(&server, &[("a", "no such host"), ("b", "timed out")]).await;
    for id in ["runs", "waits"] {
        server.post("/tasks", json!({"id": id, "name": "t", "labels": {"of": "many"}})).await.expect(201);
    }
    assert_eq!(server.claim("default", 1).await[0].id.as_str(), "runs");
    let delete = |filter: Value| server.post("/tasks/delete", json!({ "filter": filter }));
    let answer = delete(json!({"error": "no such"})).await.expect(200);
    let tasks = json!([{"id": "a", "outcome": "deleted"}]);
    assert_eq!(answer, json!({"deleted": 1, "running": 0, "unknown": 0, "tasks": tasks}));
    assert_eq!(delete(json!({"error": "no such"})).await.expect(200)["tasks"], json!([]), "a second time");
    let turned = json!({"finished_after": "3001-01-01T00:00:00Z", "finished_before": "2001-01-01T00:00:00Z"});
    assert_eq!(delete(turned).await.expect(200)["deleted"], 0, "nothing is between these");
    assert_eq!(delete(json!({"labels": {"of": "many"}})).await.expect(200)["deleted"], 1);
    assert_eq!((status(&server, "runs").await, status(&server, "b").await), (json!("started"), json!("failed")));
    server.get("/tasks/waits").await.refused(404, "unknown_task");
    let finished = json!({"finished_after": "2001-01-01T00:00:00Z"});
    assert_eq!(delete(finished).await.expect(200)["tasks"][0]["id"], "b");
    assert_eq!(status(&server, "runs").await, "started");
}

#[tokio::test]
async fn what_acts_on_many_tasks_says_which() {
    let server = Server::start().await;
    for (path, body, pointer) in [
        ("resubmit", json!({}), ""),
        ("resubmit", json!({"ids": ["a"], "filter": {"queue": "default"}}), ""),
        ("resubmit", json!({"ids": ["a"], "limit": 1}), ""),
        ("resubmit", json!({"ids": ["a"], "cursor": "x"}), ""),
        ("resubmit", json!({"filter": {}}), "/filter"),
        ("resubmit", json!({"filter": {"error": ""}}), "/filter/error"),
        ("resubmit", json!({"filter": {"status": ["completed"]}}), "/filter"),
        ("resubmit", json!({"filter": {"status": ["submitted"]}}), "/filter"),
        ("resubmit", json!({"filter": {"queue": "default"}, "limit": 0}), "/limit"),
        ("resubmit", json!({"filter": {"queue": "default"}, "cursor": "garbage"}), "/cursor"),
        ("resubmit", json!({"filter": {"finished_after": "yesterday"}}), "/filter/finished_after"),
        ("resubmit", json!({"ids": ["a"], "force": true}), "/force"),
        ("delete", json!({"filter": {}}), "/filter"),
        ("delete", json!({"filter": {"status": ["started"]}}), "/filter"),
        ("delete", json!({"filter": {"queue": "default"}, "limit": 1001}), "/limit"),
        ("delete", json!({"filter": {"submitted_before": 7}}), "/filter/submitted_before"),
        ("cancel", json!({"filter": {"queue": "default"}, "cursor": "garbage"}), "/cursor"),
    ] {
        let problem = server.post(&format!("/tasks/{path}"), &body).await.refused(422, "invalid_request");
        assert_eq!(problem["pointer"].as_str().unwrap_or_default(), pointer, "{path} {body}: {problem}");
    }
    let many: Vec<String> = (0..1_001).map(|n| format!("t{n}")).collect();
    server.post("/tasks/resubmit", json!({ "ids": many })).await.refused(413, "batch_too_large");
    let unknown = json!({"ids": ["a"], "to_queue": "nowhere"});
    server.post("/tasks/resubmit", unknown).await.refused(404, "unknown_queue");
}
