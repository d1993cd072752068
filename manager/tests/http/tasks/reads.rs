//! `GET /tasks/{id}`, `GET /tasks`, what runs and what waits.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use jobbers_common::{
    engine::{Extension, Heartbeat, Outcome, PruneRequest, PruneScope, TaskFilter},
    payload::Payload,
    task::{AttemptFailure, FailureKind, Progress},
};
use jobbers_law::{double::Double, model::ModelEngine};
use jobbers_manager::Config;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    fault::FaultyEngine,
    server::{Server, soon, worker},
};

async fn submit(server: &Server, id: &str) {
    server.post("/tasks", json!({"id": id, "name": "t", "parameters": {"n": 1}})).await.expect(201);
}

#[tokio::test]
async fn a_running_task_tells_who_and_how_far() {
    let server = Server::start().await;
    submit(&server, "x").await;
    let task = server.claim("default", 1).await.remove(0);
    let heartbeat = Heartbeat {
        progress: Some(Progress { fraction: 0.5, message: "half".to_owned() }),
        checkpoint: Some(Payload::json(Bytes::from_static(b"{\"at\":7}"))),
    };
    let extension = Extension { id: task.id.clone(), fence: task.fence, heartbeat: Some(heartbeat) };
    server.engine.extend(&worker(), Duration::from_secs(60), vec![extension]).await.unwrap();
    let told = server.get("/tasks/x").await.expect(200);
    assert_eq!((&told["status"], &told["worker"], &told["attempt"]), (&json!("started"), &json!("w"), &json!(1)));
    assert_eq!(told["lease"]["fence"], task.fence.0);
    assert_eq!(told["progress"], json!({"fraction": 0.5, "message": "half"}));
    assert_eq!(told["checkpoint"], json!({"at": 7}));
    for time in ["submitted_at", "ready_at", "started_at", "heartbeat_at"] {
        told[time].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    }
    let active = server.get("/active-tasks?queue=default").await.expect(200);
    assert_eq!((&active["tasks"][0]["id"], &active["tasks"][0]["worker"]), (&json!("x"), &json!("w")));
    assert!(active["tasks"][0]["running_for"].as_f64().unwrap() >= 0.0);
    server.get("/active-tasks?queue=none").await.refused(404, "unknown_queue");
}

#[tokio::test]
async fn running_tasks_that_do_not_heed_a_cancel_are_listed() {
    let server = Server::start().await;
    for id in ["deaf", "fine"] {
        submit(&server, id).await;
    }
    server.claim("default", 2).await;
    let active = async |query: &str| {
        let page = server.get(&format!("/active-tasks{query}")).await.expect(200);
        let tasks = page["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(active("?cancel_requested=true").await.is_empty());
    server.post("/tasks/deaf/cancel", json!(null)).await.expect(202);
    assert_eq!(active("?cancel_requested=true").await, ["deaf"]);
    assert_eq!(active("?cancel_requested=false").await, ["fine"]);
    assert_eq!(active("").await.len(), 2);
    server.get("/active-tasks?cancel_requested=maybe").await.refused(400, "invalid_parameter");
}

#[tokio::test]
async fn results_come_back_as_they_are() {
    let server = Server::start().await;
    let result = r#"{"count":18446744073709551617}"#;
    let cases: [(&str, Payload, &str); 3] = [
        ("json", Payload::json(result.as_bytes()), r#""result":{"count":18446744073709551617}"#),
        (
            "bytes",
            Payload { content_type: Some("image/png".into()), bytes: Bytes::from_static(b"\x00\x01") },
            r#""result":"AAE=","result_content_type":"image/png""#,
        ),
        (
            "broken",
            Payload::json(&b"{oops"[..]),
            r#""result":"e29vcHM=","result_content_type":"application/octet-stream""#,
        ),
    ];
    for (id, payload, told) in cases {
        submit(&server, id).await;
        let task = server.claim("default", 1).await.remove(0);
        server.settle(&task, Outcome::Completed { result: Some(payload) }).await;
        let answer = server.get(&format!("/tasks/{id}")).await;
        assert!(answer.text.contains(told), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_failed_task_tells_its_attempts() {
    let server = Server::start().await;
    submit(&server, "x").await;
    let failure = AttemptFailure::new(FailureKind::Timeout, "too slow");
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, Outcome::Failed { failure, dead_letter: true }).await;
    let told = server.get("/tasks/x").await.expect(200);
    assert_eq!((&told["status"], &told["dead_letter"]), (&json!("failed"), &json!(true)));
    let error = &told["errors"][0];
    assert_eq!(
        (&error["kind"], &error["message"], &error["attempt"]),
        (&json!("timeout"), &json!("too slow"), &json!(1))
    );
}

#[tokio::test]
async fn a_wait_ends_with_the_task() {
    let server = Arc::new(Server::start().await);
    submit(&server, "x").await;
    let task = server.claim("default", 1).await.remove(0);
    let waiting = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.get("/tasks/x?wait=60s").await.expect(200) }
    });
    server.settle(&task, Outcome::Completed { result: None }).await;
    assert_eq!(soon(waiting).await.unwrap()["status"], "completed");
}

#[tokio::test]
async fn a_wait_that_is_over_first_tells_how_the_task_stands() {
    let server = Server::start().await;
    submit(&server, "x").await;
    assert_eq!(server.get("/tasks/x?wait=10ms").await.expect(200)["status"], "submitted");
    server.get("/tasks/none?wait=10s").await.refused(404, "unknown_task");
}

#[tokio::test]
async fn a_pruned_task_of_a_chosen_id_is_gone_with_its_end() {
    let server = Server::start().await;
    submit(&server, "x").await;
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, Outcome::Completed { result: None }).await;
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    server.engine.prune(PruneRequest { scope, limit: 10, dry_run: false, cursor: None }).await.unwrap();
    for path in ["/tasks/x", "/tasks/x?wait=10s"] {
        let gone = server.get(path).await.expect(410);
        assert_eq!(gone["code"], "gone");
        assert_eq!((&gone["end"]["status"], &gone["end"]["queue"]), (&json!("completed"), &json!("default")));
        assert!(gone["end"]["finished_at"].is_string());
    }
    let again = server.post("/tasks", json!({"id": "x", "name": "t", "parameters": {"n": 1}})).await.expect(200);
    assert_eq!((&again["created"], &again["status"]), (&json!(false), &json!("completed")));
    let other = json!({"id": "x", "name": "t", "parameters": {"n": 2}});
    server.post("/tasks", other).await.refused(409, "task_exists");
    assert_eq!(server.get("/health/ready").await.expect(200)["tombstones"], 1);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_no_wait_behind() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    submit(&server, "x").await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /tasks/x?wait=60s HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    soon(engine.waits(1)).await;
    drop(stream);
    soon(engine.waits(0)).await;
}

#[tokio::test]
async fn ids_are_percent_encoded_in_paths() {
    let server = Server::start().await;
    for (id, path) in [
        ("a/b:c", "/tasks/a%2Fb%3Ac"),
        ("a:b", "/tasks/a:b"),
        ("cancel", "/tasks/cancel"),
        ("day=1/user@shop/part%200+1", "/tasks/day=1%2Fuser@shop%2Fpart%25200+1"),
    ] {
        submit(&server, id).await;
        assert_eq!(server.get(path).await.expect(200)["id"], id);
        server.post(&format!("{path}/cancel"), "").await.expect(200);
    }
}

#[tokio::test]
async fn lists_are_filtered() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "q"})).await.expect(201);
    let batch = json!({"tasks": [
        {"id": "a", "name": "t"},
        {"id": "b", "name": "t", "version": 2, "labels": {"team": "core", "env": "a=b"}},
        {"id": "c", "name": "u", "queue": "q", "labels": {"team": "core"}},
        {"id": "d", "name": "u", "delay": "1h"},
    ]});
    server.post("/tasks", batch).await.expect(201);
    server.claim("q", 1).await;
    for (query, expected) in [
        ("", "cabd"),
        ("status=submitted", "ab"),
        ("status=started,scheduled", "cd"),
        ("status=started&status=scheduled", "cd"),
        ("queue=q", "c"),
        ("name=t", "ab"),
        ("name=t&version=2", "b"),
        ("label=team=core", "cb"),
        ("label=team%3Dcore&label=env%3Da%3Db", "b"),
        ("label=team=", ""),
        ("worker=w", "c"),
        ("submitted_after=2001-01-01T00:00:00Z", "cabd"),
        ("submitted_before=2001-01-01T00:00:00Z", ""),
    ] {
        let page = server.get(&format!("/tasks?{query}")).await.expect(200);
        let ids: String = page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{query}");
        assert!(page["tasks"].as_array().unwrap().iter().all(|task| task.get("parameters").is_none()));
    }
    let labels = json!({"team": "core", "env": "a=b"});
    assert_eq!(server.get("/tasks/b").await.expect(200)["labels"], labels);
    assert_eq!(server.get("/tasks/a").await.expect(200).get("labels"), None);
    for query in ["label=team", "label==core", "label=a=1&label=a=2"] {
        let problem = server.get(&format!("/tasks?{query}")).await.expect(400);
        assert_eq!(problem["code"], "invalid_parameter", "{query}: {problem}");
    }
    for labels in [json!({"a b": "x"}), json!({"a": "\u{1}"}), json!({"a": 1}), json!(["a=1"])] {
        let problem = server.post("/tasks", json!({"name": "t", "labels": labels})).await.expect(422);
        assert_eq!(problem["code"], "invalid_request", "{problem}");
        assert!(problem["pointer"].as_str().unwrap().starts_with("/labels"), "{problem}");
    }
    let filter = json!({"filter": {"labels": {"env": "a=b"}}});
    assert_eq!(server.post("/tasks/cancel", filter).await.expect(200)["tasks"][0]["id"], "b");
    server.post("/tasks/b/resubmit", "").await.expect(200);
    for (path, total) in [
        ("/tasks", json!(4)),
        ("/tasks?queue=default", json!(3)),
        ("/tasks?queue=default&status=submitted", json!(2)),
        ("/tasks?queue=none", json!(0)),
        ("/tasks?name=t", Value::Null),
        ("/active-tasks", json!(1)),
        ("/active-tasks?cancel_requested=true", Value::Null),
        ("/scheduled-tasks?queue=default", json!(1)),
    ] {
        assert_eq!(server.get(path).await.expect(200)["total"], total, "{path}");
    }
    let scheduled = server.get("/scheduled-tasks").await.expect(200);
    assert_eq!(scheduled["tasks"][0]["id"], "d");
    let due_in = scheduled["tasks"][0]["due_in"].as_f64().unwrap();
    assert!((3_500.0..=3_600.0).contains(&due_in), "{due_in}");
}

#[tokio::test]
async fn lists_are_filtered_by_parameters_and_show_what_is_asked_for() {
    let server = Server::start().await;
    let batch = json!({"tasks": [
        {"id": "a", "name": "t", "parameters": {"customer": 42, "address": {"city": "Basel"}}},
        {"id": "b", "name": "t", "parameters": {"customer": 42, "address": {"city": "Bern"}}},
        {"id": "c", "name": "u", "parameters": {"customer": "42"}},
        {"id": "d", "name": "u"},
    ]});
    server.post("/tasks", batch).await.expect(201);
    for (query, expected) in [
        ("where=customer=42", "abc"),
        ("where=customer%3D42", "abc"),
        ("where=customer=42&where=address.city=Bern", "b"),
        ("where=customer=42&name=u", "c"),
        ("where=customer=7", ""),
    ] {
        let page = server.get(&format!("/tasks?{query}")).await.expect(200);
        let ids: String = page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{query}");
        assert!(page["scanned"].as_u64() >= Some(2) && page.get("gave_up").is_none(), "{page}");
        assert!(page["tasks"].as_array().unwrap().iter().all(|task| task.get("parameters").is_none()));
    }
    let task = server.claim("default", 1).await.remove(0);
    let failure = AttemptFailure::new(FailureKind::Error, "no such host");
    server.settle(&task, Outcome::Failed { failure, dead_letter: false }).await;
    let page = server.get("/tasks?status=failed&include=parameters,errors").await.expect(200);
    assert_eq!(page["tasks"][0]["parameters"]["address"]["city"], "Basel");
    assert_eq!(page["tasks"][0]["errors"][0]["message"], "no such host");
    assert!(page.get("scanned").is_none(), "it is no search: {page}");
    // A task that completed is found by what its queue let it keep.
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, Outcome::Completed { result: None }).await;
    let page = server.get("/tasks?status=completed&where=address.city=Bern&include=parameters").await.expect(200);
    assert_eq!((&page["tasks"][0]["id"], &page["tasks"][0]["parameters"]["customer"]), (&json!("b"), &json!(42)));
    server.put("/queues/default", json!({"keep_parameters": 0})).await.expect(200);
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, Outcome::Completed { result: None }).await;
    let kept = server.get("/tasks/c").await.expect(200);
    assert_eq!((&kept["status"], kept.get("parameters")), (&json!("completed"), None));
    for query in ["where=customer", "where==42", "include=all", "include=parameters&limit=0"] {
        server.get(&format!("/tasks?{query}")).await.refused(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn pages_hold_every_task_once() {
    let server = Server::start().await;
    let tasks: Vec<Value> = (0..25).map(|n| json!({"id": format!("t{n}"), "name": "t"})).collect();
    server.post("/tasks", json!({ "tasks": tasks })).await.expect(201);
    let (mut seen, mut path) = (Vec::new(), "/tasks?limit=10".to_owned());
    loop {
        let page = server.get(&path).await.expect(200);
        let tasks = page["tasks"].as_array().unwrap();
        assert!(tasks.len() <= 10);
        assert_eq!(page["total"], if seen.is_empty() { json!(25) } else { Value::Null }, "on the first page");
        seen.extend(tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!(
            "/tasks?limit=10&cursor={}",
            percent_encoding::utf8_percent_encode(next, percent_encoding::NON_ALPHANUMERIC)
        );
    }
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (25, 25));
}

#[tokio::test]
async fn a_manager_on_an_empty_store_lists_nothing() {
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), Config::default()).await;
    for path in ["/tasks", "/active-tasks", "/scheduled-tasks"] {
        assert_eq!(server.get(path).await.expect(200), json!({"tasks": [], "total": 0}), "{path}");
    }
    assert_eq!(server.get("/workers").await.expect(200), json!({"workers": []}));
}

#[tokio::test]
async fn tasks_are_found_by_their_end_and_their_latest_error() {
    let server = Server::start().await;
    for (id, message) in [("host", "No such host"), ("late", "timed out")] {
        submit(&server, id).await;
        let task = server.claim("default", 1).await.remove(0);
        let failure = AttemptFailure::new(FailureKind::Error, message);
        server.settle(&task, Outcome::Failed { failure, dead_letter: false }).await;
    }
    submit(&server, "live").await;
    for (query, expected) in [
        ("error=NO%20SUCH", vec!["host"]),
        ("error=t", vec!["late", "host"]),
        ("error=t&include=errors", vec!["late", "host"]),
        ("error=nowhere", vec![]),
        ("error=t&status=completed", vec![]),
        ("finished_after=2001-01-01T00:00:00Z", vec!["late", "host"]),
        ("finished_before=2001-01-01T00:00:00Z", vec![]),
        ("finished_before=3001-01-01T00:00:00Z&error=host", vec!["host"]),
        ("finished_after=3001-01-01T00:00:00Z&finished_before=2001-01-01T00:00:00Z", vec![]),
        ("finished_after=2001-01-01T00:00:00Z&status=submitted", vec![]),
        ("error=t&where=n=1", vec!["late", "host"]),
    ] {
        let page = server.get(&format!("/tasks?{query}")).await.expect(200);
        let ids: Vec<&str> =
            page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{query}");
        assert_eq!((page.get("next_cursor"), page.get("total")), (None, None), "{query}");
    }
}
