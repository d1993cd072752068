//! Garbage, too much, too deep, too slow: each gets its own clear error, and nothing is stored.

use std::{sync::Arc, time::Duration};

use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    archive::dead_letters::bench,
    server::{Server, soon},
};

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

async fn nothing_is_stored(server: &Server) {
    assert_eq!(server.get("/queues/default").await.expect(200)["accepted"], 0);
}

#[tokio::test]
async fn a_task_that_makes_no_sense_is_refused_by_field() {
    let server = Server::start().await;
    let long = "x".repeat(129);
    let cases: Vec<(Value, &str)> = vec![
        (json!({}), ""),
        (json!([]), ""),
        (json!("echo"), ""),
        (json!({"name": ""}), "/name"),
        (json!({"name": "a b"}), "/name"),
        (json!({"name": 7}), "/name"),
        (json!({"name": "t", "id": long}), "/id"),
        (json!({"name": "t", "id": "a\nb"}), "/id"),
        (json!({"name": "t", "id": "registry"}), "/id"),
        (json!({"name": "t", "id": ".."}), "/id"),
        (json!({"tasks": [["t"]]}), "/tasks/0"),
        (json!([null, "t"]), ""),
        (json!({"tasks": [{"name": "t", "id": "operations"}]}), "/tasks/0/id"),
        (json!({"name": "t", "queue": "ä"}), "/queue"),
        (json!({"name": "t", "version": -1}), "/version"),
        (json!({"name": "t", "priority": 10}), "/priority"),
        (json!({"name": "t", "priority": "high"}), "/priority"),
        (json!({"name": "t", "delay": "soon"}), "/delay"),
        (json!({"name": "t", "delay": -1}), "/delay"),
        (json!({"name": "t", "delay": "367d"}), "/delay"),
        (json!({"name": "t", "delay": 1, "run_at": "2030-01-01T00:00:00Z"}), "/run_at"),
        (json!({"name": "t", "run_at": "tomorrow"}), "/run_at"),
        (json!({"name": "t", "run_at": "9999-01-01T00:00:00Z"}), "/run_at"),
        (json!({"name": "t", "max_retries": 1001}), "/max_retries"),
        (json!({"name": "t", "max_crashes": 0}), "/max_crashes"),
        (json!({"name": "t", "max_tries": 0}), "/max_tries"),
        (json!({"name": "t", "max_tries": 101}), "/max_tries"),
        (json!({"name": "t", "exhausted": "aborted"}), "/exhausted"),
        (json!({"name": "t", "timeout": 0}), "/timeout"),
        (json!({"name": "t", "backoff": "quadratic"}), "/backoff"),
        (json!({"name": "t", "on_conflict": "ignore"}), "/on_conflict"),
        (json!({"name": "t", "color": "red"}), "/color"),
        (json!({"tasks": []}), ""),
        (json!({"tasks": [{"name": "t"}, {"name": "t", "priority": 10}]}), "/tasks/1/priority"),
        (json!({"tasks": [{"name": "t"}, {"nam": "t"}]}), "/tasks/1/nam"),
        (json!({"tasks": [{"name": "t", "on_conflict": "skip"}]}), "/tasks/0/on_conflict"),
        (json!({"tasks": [{"name": "t", "id": "a"}, {"name": "t", "id": "a"}]}), ""),
        (json!({"name": "t", "retry_for": "0s"}), "/retry_for"),
        (json!({"name": "t", "expires_in": 0}), "/expires_in"),
        (json!({"name": "t", "expires_in": -1}), "/expires_in"),
        (json!({"name": "t", "expires_in": "soon"}), "/expires_in"),
        (json!({"tasks": [{"name": "t", "expires_in": "367d"}]}), "/tasks/0/expires_in"),
        (json!({"name": "t", "retry_on": ["two\nlines"]}), "/retry_on/0"),
        (json!({"name": "t", "fatal_on": vec!["x"; 65]}), "/fatal_on"),
        (json!({"tasks": [{"name": "t"}], "name": "t"}), "/name"),
    ];
    for (body, pointer) in cases {
        let problem = server.post("/tasks", &body).await.refused(422, "invalid_request");
        assert_eq!(problem["pointer"].as_str().unwrap_or_default(), pointer, "{body}: {problem}");
    }
    nothing_is_stored(&server).await;
}

#[tokio::test]
async fn what_is_not_json_is_refused_with_its_place() {
    let server = Server::start().await;
    for (body, place) in [
        ("", "empty"),
        ("{\"name\":\n\"t\",}", "line 2"),
        ("{\"name\":\"t\"} x", "line 1 column 14"),
        ("name=t", "line 1"),
        ("{\"name\":\"t\",\"parameters\":{\"a\":01}}", "line 1"),
    ] {
        let problem = server.post("/tasks", body).await.refused(400, "malformed_json");
        assert!(problem["detail"].as_str().unwrap().contains(place), "{body:?}: {problem}");
    }
    let not_utf8 = server.request(Method::POST, "/tasks").header("content-type", "application/json");
    let answer = server.send(not_utf8.body(b"{\"name\":\"t\",\"parameters\":\"\xff\"}".to_vec())).await;
    answer.refused(400, "malformed_json");
    nothing_is_stored(&server).await;
}

#[tokio::test]
async fn parameters_nest_64_deep_and_no_deeper() {
    let server = Server::start().await;
    let body = |depth| format!(r#"{{"name":"t","parameters":{}}}"#, nested(depth));
    for deep in [65, 128, 200, 100_000] {
        let problem = server.post("/tasks", body(deep)).await.refused(422, "json_too_deep");
        assert_eq!(problem["pointer"], "/parameters");
    }
    let batch = format!(r#"{{"tasks":[{{"name":"t"}},{}]}}"#, body(65));
    assert_eq!(server.post("/tasks", batch).await.refused(422, "json_too_deep")["pointer"], "/tasks/1/parameters");
    nothing_is_stored(&server).await;
    let id = server.post("/tasks", body(64)).await.expect(201)["id"].as_str().unwrap().to_owned();
    assert!(server.get(&format!("/tasks/{id}")).await.text.contains(&nested(64)));
    // Elsewhere depth has no place at all.
    server.post("/tasks", format!(r#"{{"name":{}}}"#, nested(100_000))).await.refused(422, "invalid_request");
}

#[tokio::test]
async fn too_much_is_refused() {
    let config = Config { max_payload_bytes: 100, max_body_bytes: 200_000, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let fits = json!({"name": "t", "parameters": "x".repeat(98)});
    let over = json!({"name": "t", "parameters": "x".repeat(99)});
    assert_eq!(server.post("/tasks", &over).await.refused(413, "payload_too_large")["pointer"], "/parameters");
    let of_queue = |n: usize| json!({"name": "t", "queue": format!("q{n}")});
    let batch = json!({"tasks": (0..101).map(of_queue).collect::<Vec<_>>()});
    server.post("/tasks", batch).await.refused(413, "batch_too_large");
    let batch = json!({"tasks": vec![json!({"name": "t"}); 1_001]});
    server.post("/tasks", batch).await.refused(413, "batch_too_large");
    let ids: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    server.post("/tasks/cancel", json!({ "ids": ids })).await.refused(413, "batch_too_large");
    let large = " ".repeat(200_001);
    server.post("/tasks", &large).await.refused(413, "body_too_large");
    // Without a declared length the bound is met while reading.
    let chunks = in_two_chunks(&large);
    let request = server.request(Method::POST, "/tasks").header("content-type", "application/json").body(chunks);
    server.send(request).await.refused(413, "body_too_large");
    nothing_is_stored(&server).await;
    server.post("/tasks", fits).await.expect(201);
}

fn in_two_chunks(text: &str) -> reqwest::Body {
    let halves = [text[..text.len() / 2].to_owned(), text[text.len() / 2..].to_owned()];
    reqwest::Body::wrap_stream(futures_util::stream::iter(halves.map(Ok::<_, std::io::Error>)))
}

#[tokio::test]
async fn a_body_must_say_that_it_is_json() {
    let server = Server::start().await;
    for content_type in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        let request = server.request(Method::POST, "/tasks").header("content-type", content_type);
        server.send(request.body(r#"{"name":"t"}"#)).await.refused(415, "unsupported_media_type");
    }
    let request = server.request(Method::POST, "/tasks").header("content-type", "Application/JSON; charset=utf-8");
    server.send(request.body(r#"{"name":"t"}"#)).await.expect(201);
}

#[tokio::test]
async fn an_unknown_queue_is_named() {
    let server = Server::start().await;
    let batch = json!({"tasks": [{"name": "t"}, {"name": "t", "queue": "nowhere"}]});
    let problem = server.post("/tasks", batch).await.refused(404, "unknown_queue");
    assert!(problem["detail"].as_str().unwrap().contains("nowhere"));
    assert_eq!(problem["pointer"], "/tasks/1");
    nothing_is_stored(&server).await;
}

#[tokio::test]
async fn paths_methods_and_queries_are_checked() {
    let server = Server::start().await;
    server.get("/nothing").await.refused(404, "not_found");
    let answer = server.delete("/tasks").await;
    answer.refused(405, "method_not_allowed");
    assert!(answer.headers["allow"].to_str().unwrap().contains("POST"));
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    server.get("/tasks/none").await.refused(404, "unknown_task");
    server.get("/queues/none").await.refused(404, "unknown_queue");
    for path in [
        "/tasks/a%20b",
        "/tasks/%FF",
        "/tasks/x?wait=soon",
        "/tasks/x?wait=61s",
        "/tasks/x?wait=-1",
        "/tasks/x?weight=1",
        "/tasks?limit=0",
        "/tasks?limit=1001",
        "/tasks?limit=many",
        "/tasks?status=lost",
        "/tasks?queue=a&queue=b",
        "/tasks?queue=%7B%7D",
        "/tasks?cursor=garbage",
        "/tasks?submitted_after=yesterday",
        "/tasks?finished_after=yesterday",
        "/tasks?finished_before=",
        "/tasks?error=a&error=b",
        "/tasks?page=2",
        "/active-tasks?limit=0",
        "/scheduled-tasks?cursor=%00",
    ] {
        server.get(path).await.refused(400, "invalid_parameter");
    }
    for (path, words) in [
        ("/tasks?limit=-1", ["limit", "invalid digit"]),
        ("/tasks?page=2", ["page", "unknown parameter"]),
        // Names of earlier days.
        ("/tasks?submitted_from=2026-01-01T00:00:00Z", ["submitted_from", "submitted_after, submitted_before"]),
        ("/tasks?task_name=t", ["task_name", "name, version"]),
        ("/tasks?version=2147483648", ["version", "highest version, 2147483647"]),
    ] {
        let detail = server.get(path).await.refused(400, "invalid_parameter")["detail"].to_string();
        assert!(words.iter().all(|word| detail.contains(word)), "{path}: {detail}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let config = Config { body_timeout: Duration::from_millis(50), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head =
        "POST /tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("request_timeout"), "{answer}");
}

#[tokio::test]
async fn a_time_far_ahead_is_refused_for_its_bound_and_not_for_its_form() {
    let server = Server::start().await;
    for at in
        ["9999-12-31T23:59:59Z", "9999-12-31T00:00:00Z", "9999-12-30T22:00:00Z", "9999-12-31T23:59:59.999999999-12:00"]
    {
        let problem = server.post("/tasks", json!({"name": "t", "run_at": at})).await.refused(422, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains("366d"), "{at}: {problem}");
    }
    for at in ["9999-12-31", "9999-12-31T23:59:59", "9999-12-32T00:00:00Z", "10000-01-01T00:00:00Z", &"9".repeat(5_000)]
    {
        let problem = server.post("/tasks", json!({"name": "t", "run_at": at})).await.refused(422, "invalid_request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("RFC 3339") && detail.len() < 300, "{at}: {problem}");
    }
}

#[tokio::test]
async fn a_version_beyond_the_highest_is_refused_in_every_list() {
    let server = bench().await;
    for path in ["/tasks?version=", "/dead-letter-queue?version=", "/dead-letter-queue?task_version="] {
        let problem = server.get(&format!("{path}2147483648")).await.refused(400, "invalid_parameter");
        assert!(problem["detail"].as_str().unwrap().contains("highest version"), "{problem}");
    }
}

#[tokio::test]
async fn a_client_that_says_nothing_is_hung_up_on() {
    let patience = Duration::from_millis(50);
    let config = Config { header_timeout: patience, idle_timeout: patience, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    for start in ["", "GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n", "GET /health/live HTTP/1.1\r\nx-slow"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        soon(stream.read_to_end(&mut rest)).await.unwrap();
    }
}

#[tokio::test]
async fn no_error_repeats_a_whole_input() {
    let server = Server::start().await;
    let long = "x".repeat(5 * 1024 * 1024);
    let name = long.as_str();
    let task = json!({"name": "t"});
    for (method, path, body) in [
        ("POST", "/tasks", json!({"name": "t", "run_at": name})),
        ("POST", "/tasks", json!({"name": "t", "delay": name})),
        ("POST", "/tasks", json!({"name": name})),
        ("POST", "/tasks", json!({"name": "t", "id": name})),
        ("POST", "/tasks", json!({"name": "t", "labels": {name: "x"}})),
        ("POST", "/tasks", json!({"name": "t", name: 1})),
        ("POST", "/tasks", json!({"name": "t", "policy": name})),
        ("POST", "/tasks", json!(name)),
        ("POST", "/tasks", json!({"tasks": [task, {"name": "t", "queue": name}]})),
        ("POST", "/schedules", json!({"name": "s", "cron": name, "task": task})),
        ("POST", "/schedules", json!({"name": "s", "cron": "0 2 * * *", "time_zone": name, "task": task})),
        ("POST", "/schedules", json!({"name": name, "every": "1h", "task": task})),
        ("POST", "/workflows", json!({"nodes": [{"id": name, "name": "t"}]})),
        ("POST", "/workflows", json!({"nodes": [{"id": "a", "name": "t", "depends_on": [name]}]})),
        ("POST", "/queues", json!({"name": name})),
        ("POST", "/queues", json!({"name": "q", "rate_limit": name})),
        ("POST", "/roles", json!({"name": "r", "queues": [name]})),
        ("PUT", "/routing", json!({"name": name, "route": {"kind": "single", "queue": "default"}})),
        ("POST", "/leases", json!({"worker": name, "queues": ["default"]})),
        ("POST", "/leases", json!({"worker": "w", "queues": [name]})),
        ("POST", "/leases/return", json!({"worker": "w", "leases": [{"id": name, "token": name, "outcome": name}]})),
        ("POST", "/tasks/cancel", json!({"filter": {"queue": name}})),
    ] {
        let request = server.request(method.parse().unwrap(), path).json(&body);
        let answer = server.send(request).await;
        let kind: String = body.to_string().chars().take(60).collect();
        // Returned leases are answered each for itself.
        assert!(answer.status.is_client_error() || path == "/leases/return", "{method} {path} {kind}: {}", answer.text);
        assert!(answer.text.len() < 4_096, "{method} {path} {kind}: {} bytes", answer.text.len());
    }
    let text = format!("flowchart LR\n{long} --> b");
    let request = server.request("POST".parse().unwrap(), "/workflows").header("content-type", "text/vnd.mermaid");
    let answer = server.send(request.body(text)).await;
    assert!(answer.status.is_client_error() && answer.text.len() < 4_096, "{} bytes", answer.text.len());
}

#[tokio::test]
async fn a_version_that_no_task_can_have_is_refused_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let dlq_path = folder.path().join("letters.db").display().to_string();
    let config = Config { dlq_path, ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    for path in ["/tasks?version=", "/dead-letter-queue?version=", "/dead-letter-queue?task_version="] {
        server.get(&format!("{path}2147483648")).await.refused(400, "invalid_parameter");
    }
    let body = json!({"version": 2_147_483_648_u64, "dry_run": true});
    server.post("/dead-letter-queue/resubmit", body).await.refused(422, "invalid_request");
}
