//! `GET /overview`: numbers of everything, what needs an operator, and the same as a stream.

use std::sync::Arc;

use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    pages::live::Listener,
    server::{Server, soon},
};

fn codes(overview: &Value) -> Vec<&str> {
    overview["needs"].as_array().unwrap().iter().map(|need| need["code"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_numbers_are_those_of_all_queues_and_what_is_wrong_is_said() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    for (id, queue) in [("a", "mail"), ("b", "mail"), ("c", "default")] {
        server.post("/tasks", json!({"id": id, "name": "t", "queue": queue})).await.expect(201);
    }
    server.post("/tasks", json!({"id": "d", "name": "t", "delay": "1h"})).await.expect(201);
    server.post("/queues/mail/pause", json!({})).await.expect(200);
    let overview = server.get("/overview").await.expect(200);
    let listed = server.get("/queues").await.expect(200);
    assert_eq!(overview["queues"], json!(listed["queues"].as_array().unwrap().len()));
    assert_eq!(overview["tasks"], json!({"submitted": 3, "scheduled": 1}));
    assert_eq!((&overview["workers"], &overview["slots"], &overview["more_needs"]), (&json!(0), &json!(0), &json!(0)));
    assert!(overview["oldest_ready_at"].as_str().unwrap() <= overview["now"].as_str().unwrap());
    let mail = json!({
        "name": "mail", "paused": true, "tasks": {"submitted": 2}, "suspects": 0, "oldest_ready_at": overview["oldest_ready_at"],
    });
    assert_eq!(overview["busiest"][0], mail, "it waits longest");
    assert_eq!(overview["busiest"][1]["tasks"], json!({"submitted": 1, "scheduled": 1}));
    assert_eq!(codes(&overview), ["no_worker", "queue_paused"], "{overview}");
    let [alone, paused] = [&overview["needs"][0], &overview["needs"][1]];
    assert_eq!(alone["detail"], "no worker is alive: 3 tasks wait until one starts");
    assert!(paused["detail"].as_str().unwrap().starts_with("queue mail is paused: 2 tasks wait, the oldest for "));
    assert_eq!((&paused["queue"], &paused["command"]), (&json!("mail"), &json!("jobbers queues resume mail")));
    server.stop().await;
}

#[tokio::test]
async fn a_quiet_store_needs_nobody_and_other_parameters_are_refused() {
    let server = Server::start().await;
    let overview = server.get("/overview").await.expect(200);
    assert_eq!(
        (&overview["needs"], &overview["tasks"], overview.get("oldest_ready_at")),
        (&json!([]), &json!({}), None)
    );
    server.get("/overview?limit=3").await.refused(400, "invalid_parameter");
    server.stop().await;
}

#[tokio::test]
async fn a_watcher_gets_what_changed_and_is_told_when_nothing_did() {
    let server = Server::start().await;
    let mut watcher = Listener::of(server.request(Method::GET, "/overview")).await;
    let (name, data) = watcher.next().await.unwrap();
    let first: Value = serde_json::from_str(&data).unwrap();
    assert_eq!((name.as_str(), &first["tasks"]), ("overview", &json!({})), "at once");
    assert_eq!(watcher.next().await.unwrap(), ("same".to_owned(), String::new()));
    server.post("/tasks", json!({"name": "t"})).await.expect(201);
    let changed = loop {
        let (name, data) = watcher.next().await.unwrap();
        if name == "overview" {
            break serde_json::from_str::<Value>(&data).unwrap();
        }
    };
    assert_eq!((&changed["tasks"], codes(&changed)), (&json!({"submitted": 1}), vec!["no_worker"]));
    server.stop().await;
}

#[tokio::test]
async fn watchers_are_bounded_and_end_with_the_manager() {
    let config = Config { max_connections: 4, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let mut watchers = Vec::new();
    for _ in 0..2 {
        watchers.push(Listener::of(server.request(Method::GET, "/overview")).await);
    }
    let further = server.request(Method::GET, "/overview").header("accept", "text/event-stream");
    server.send(further).await.refused(503, "overloaded");
    server.stop().await;
    for mut watcher in watchers {
        soon(async { while watcher.next().await.is_some() {} }).await;
    }
}
