//! `GET /tasks/{id}/events`: a task is followed to its end.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use jobbers_common::{
    engine::{Extension, Heartbeat, Outcome, PruneRequest, PruneScope, TaskFilter},
    lifecycle::Status,
    payload::Payload,
    task::Progress,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Server, soon, worker};

/// A client that follows a task.
struct Follower {
    response: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
}

impl Follower {
    async fn of(server: &Server, id: &str) -> Self {
        let response = server.request(Method::GET, &format!("/tasks/{id}/events")).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response: Box::pin(response.bytes_stream()), text: String::new() }
    }

    /// The next event's name, id and data; `None` at the end of the stream.
    async fn next(&mut self) -> Option<(String, String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    line.unwrap_or_default().to_owned()
                };
                let read = (field("event"), field("id"), serde_json::from_str(&field("data")).unwrap_or_default());
                self.text = rest.to_owned();
                return Some(read);
            }
            let piece = soon(self.response.next()).await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }
}

#[tokio::test]
async fn a_task_is_followed_from_its_queue_to_its_result() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "x", "name": "t", "parameters": {"n": 1}})).await.expect(201);
    let mut follower = Follower::of(&server, "x").await;
    let (name, id, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), &data["status"], &data["parameters"]), ("status", &json!("submitted"), &Value::Null));
    assert_eq!(json!(id.parse::<u64>().unwrap()), data["revision"]);
    let task = server.claim("default", 1).await.remove(0);
    let (name, _, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), &data["status"], &data["worker"]), ("status", &json!("started"), &json!("w")));
    let progress = Some(Progress::new(0.5, "half"));
    let heartbeat = Some(Heartbeat { progress, checkpoint: None });
    let extension = Extension { id: task.id.clone(), fence: task.fence, heartbeat };
    server.engine.extend(&worker(), Duration::from_secs(60), vec![extension]).await.unwrap();
    let (name, _, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), &data["progress"]["message"]), ("progress", &json!("half")));
    server.post("/tasks/x/cancel", json!(null)).await.expect(202);
    let (name, _, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), &data["cancel_requested"]), ("status", &json!(true)));
    server.settle(&task, Outcome::Cancelled).await;
    let (name, _, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), &data["status"]), ("end", &json!("cancelled")));
    assert_eq!(follower.next().await, None, "nothing follows");
}

#[tokio::test]
async fn a_task_that_is_over_or_deleted_ends_the_stream() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "x", "name": "t"})).await.expect(201);
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, Outcome::Completed { result: Some(Payload::json(&b"7"[..])) }).await;
    let mut follower = Follower::of(&server, "x").await;
    let (name, _, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), &data["result"]), ("end", &json!(7)));
    assert_eq!(follower.next().await, None);
    let filter = TaskFilter { statuses: vec![Status::Completed], ..TaskFilter::default() };
    let everything = PruneScope::Matching { filter, finished_before: None, larger_than: None };
    let request = PruneRequest { scope: everything, limit: 10, dry_run: false, cursor: None };
    server.engine.prune(request).await.unwrap();
    server.get("/tasks/x/events").await.refused(410, "gone");
    server.get("/tasks/none/events").await.refused(404, "unknown_task");

    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    server.post("/tasks", json!({"id": "y", "name": "t", "queue": "mail"})).await.expect(201);
    let mut follower = Follower::of(&server, "y").await;
    assert_eq!(follower.next().await.unwrap().0, "status");
    server.post("/queues/mail/purge", "").await.expect(200);
    let (name, _, data) = follower.next().await.unwrap();
    assert_eq!((name.as_str(), data), ("deleted", json!({"id": "y"})));
    assert_eq!(follower.next().await, None);
}

#[tokio::test]
async fn a_stream_outlives_the_patience_with_idle_connections_and_ends_with_the_manager() {
    let config = Config { idle_timeout: Duration::from_millis(50), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    server.post("/tasks", json!({"id": "x", "name": "t"})).await.expect(201);
    let mut follower = Follower::of(&server, "x").await;
    assert_eq!(follower.next().await.unwrap().0, "status");
    // What comes a second later is far beyond that patience.
    server.claim("default", 1).await;
    assert_eq!(follower.next().await.unwrap().2["status"], "started");
    soon(server.stop()).await;
    assert_eq!(follower.next().await, None);
}

#[tokio::test]
async fn a_bounded_number_of_clients_follow_tasks() {
    let config = Config { max_connections: 6, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    server.post("/tasks", json!({"id": "x", "name": "t"})).await.expect(201);
    let mut followers = Vec::new();
    for _ in 0..3 {
        followers.push(Follower::of(&server, "x").await);
    }
    let refused = server.get("/tasks/x/events").await;
    refused.refused(503, "overloaded");
    assert_eq!(refused.headers["retry-after"], "1");
    followers.pop();
    // The place is free once the manager has noticed.
    let again = async { while server.request(Method::GET, "/tasks/x/events").send().await.unwrap().status() != 200 {} };
    soon(again).await;
}
