//! What is large: a page of it is small, and says what it leaves out.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Outcome, PutMode},
    payload::Payload,
    queue::QueueConfig,
    task::failure::{AttemptFailure, FailureKind},
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use serde_json::json;

use super::links::MAX_PAGE;
use crate::server::{Answer, Server, soon};

async fn page(server: &Server, path: &str) -> String {
    let Answer { status, text, .. } = server.get(path).await;
    assert_eq!(status, 200, "{path}: {text}");
    assert!(text.len() <= MAX_PAGE, "{path} has {} bytes", text.len());
    text
}

#[tokio::test]
async fn thousands_of_queues_are_counted_and_those_that_wait_longest_are_named() {
    let server = Server::start().await;
    for n in 0..3_000 {
        let queue = QueueConfig::new(format!("queue-{n:04}").parse().unwrap());
        server.engine.put_queue(queue, PutMode::Create).await.unwrap();
    }
    for n in [2_998, 2_999] {
        server.post("/tasks", json!({"name": "echo", "queue": format!("queue-{n}")})).await.expect(201);
    }
    let html = page(&server, "/ui/").await;
    let figures = &html[html.find("id=\"figures\"").unwrap()..html.find("id=\"history\"").unwrap()];
    for shown in ["<dt>Queues</dt><dd>3,001", "<dt>Ready, not running</dt><dd>2"] {
        assert!(figures.contains(shown), "{shown}: {figures}");
    }
    let place = |name: &str| html.find(&format!("queue?name={name}")).unwrap_or_else(|| panic!("{name}: {html}"));
    assert!(place("queue-2998") < place("queue-2999") && place("queue-2999") < place("queue-0000"), "{html}");
    let (mut path, mut rows) = ("/ui/queues".to_owned(), 0);
    loop {
        let html = page(&server, &path).await;
        rows += html.matches("href=\"queue?name=").count();
        let next = html.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
        let Some(next) = next else { break };
        path = format!("/ui/{}", next.replace("&amp;", "&"));
    }
    assert_eq!(rows, 3_001);
}

#[tokio::test]
async fn a_workflow_of_ten_thousand_nodes_is_listed_in_part() {
    let server = Server::start().await;
    let nodes: Vec<_> = (0..10_000)
        .map(|n| json!({"id": format!("node-{n}"), "name": "echo", "depends_on": if n > 0 { vec!["node-0"] } else { vec![] }}))
        .collect();
    server.post("/workflows", json!({"id": "large", "nodes": nodes})).await.expect(201);
    let html = page(&server, "/ui/workflow?id=large").await;
    for shown in ["node-0", " of 10,000", "And 9800 more."] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    page(&server, "/ui/workflows").await;
    page(&server, "/ui/task?id=large%2Fnode-0").await;
}

#[tokio::test]
async fn a_task_with_a_thousand_attempts_and_large_payloads_is_shown_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let dlq_path = folder.path().join("dead.db").display().to_string();
    let tick = Duration::from_millis(20);
    let config = Config { dlq_path, tick, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let parameters = json!({"rows": (0..5_000).map(|n| json!({"n": n, "name": "<Ada>"})).collect::<Vec<_>>()});
    let task =
        json!({"id": "often", "name": "echo", "parameters": parameters, "max_retries": 999, "retry_delay": "0s"});
    server.post("/tasks", task).await.expect(201);
    for attempt in 1..=1_000 {
        let claimed = server.claim("default", 1).await.remove(0);
        assert_eq!(claimed.attempt, attempt);
        let failure = AttemptFailure::new(FailureKind::Error, format!("{{\"attempt\": \"{attempt}\"}} ").repeat(150));
        let outcome = match attempt {
            1_000 => Outcome::Failed { failure, dead_letter: true },
            _ => Outcome::Retry { failure, delay: Duration::ZERO },
        };
        server.settle(&claimed, outcome).await;
    }
    let html = page(&server, "/ui/task?id=often").await;
    for shown in ["Attempt 1000: ", "80 more attempts", "the beginning of "] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    let whole = server.get("/ui/download?id=often&source=task&part=parameters").await;
    assert_eq!(whole.json(), parameters);
    soon(async { while server.get("/dead-letter-queue").await.text.find("often").is_none() {} }).await;
    for path in ["/ui/", "/ui/tasks", "/ui/letters", "/ui/letter?id=often", "/ui/kind?name=echo"] {
        page(&server, path).await;
    }
    // The largest of everything that a task can hold.
    server.post("/tasks", json!({"id": "full", "name": "echo", "parameters": parameters})).await.expect(201);
    let claimed = server.claim("default", 1).await.remove(0);
    let nested = format!("{}{}", "[".repeat(60), "]".repeat(60));
    let result = format!("[{}]", vec![nested; 2_000].join(","));
    server.settle(&claimed, Outcome::Completed { result: Some(Payload::json(result.into_bytes())) }).await;
    page(&server, "/ui/task?id=full").await;
}

/// A name as long as names may be.
fn long(n: usize) -> String {
    format!("{n:03}{}", "w".repeat(125))
}

#[tokio::test]
async fn lists_of_the_longest_names_are_small() {
    let folder = tempfile::tempdir().unwrap();
    let dlq_path = folder.path().join("dead.db").display().to_string();
    let config = Config { dlq_path, tick: Duration::from_millis(20), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let labels = json!({"team": "x".repeat(256)});
    for n in 0..60 {
        server.post("/queues", json!({"name": long(n)})).await.expect(201);
        let task = json!({"id": long(n), "name": long(n), "queue": long(n), "labels": labels});
        server.post("/tasks", task).await.expect(201);
        let schedule = json!({"name": &long(n)[..80], "every": "1d", "task": {"name": long(n), "queue": long(n)}});
        server.post("/schedules", schedule).await.expect(201);
        let id = &long(n)[..64];
        let run = json!({"id": id, "name": long(n), "nodes": [{"id": &long(n)[..60], "name": long(n)}]});
        server.post("/workflows", run).await.expect(201);
    }
    for n in 0..60 {
        let claimed = server.claim(&long(n), 1).await.remove(0);
        let failure = AttemptFailure::new(FailureKind::Error, format!("{n} {}", "<why>".repeat(800)));
        server.settle(&claimed, Outcome::Failed { failure, dead_letter: true }).await;
    }
    soon(async { while server.get("/dead-letter-queue/stats").await.json()["total"] != 60 {} }).await;
    let lists = ["", "tasks", "tasks?status=failed", "letters", "queues", "schedules", "workflows"].map(str::to_owned);
    let shown =
        [("task", "id"), ("letter", "id"), ("queue", "name")].map(|(page, by)| format!("{page}?{by}={}", long(1)));
    let mut sizes = Vec::new();
    for path in lists.into_iter().chain(shown) {
        sizes.push((server.get(&format!("/ui/{path}")).await.text.len(), path));
    }
    let large: Vec<_> = sizes.iter().filter(|(bytes, _)| *bytes > MAX_PAGE).collect();
    assert_eq!(large, Vec::<&(usize, String)>::new());
}
