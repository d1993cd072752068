//! The audit log: what is in it, who reads it, and that no change is made that it can't have.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessRole, Scope},
    engine::{AuditLog, Engine, Error},
    limits::MAX_LOGGED_CHANGES,
    name::ChangeId,
};
use jobbers_law::{double::Double, model::ModelEngine};
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    access::keys::{create, filled, operations},
    archive::dead_letters::{Bench, bench, config},
    fault::{Fault, FaultyEngine},
    server::{Server, soon},
};

/// The changes that match a query, the latest first.
async fn changes(bench: &Bench, query: &str) -> Vec<Value> {
    bench.get(&format!("/audit{query}")).await.expect(200)["changes"].as_array().unwrap().clone()
}

fn texts<'a>(changes: &'a [Value], field: &str) -> Vec<&'a str> {
    changes.iter().map(|change| change[field].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn each_operation_that_changes_something_makes_one_entry_and_no_other_makes_any() {
    let bench = bench().await;
    let operations = operations(&bench).await;
    let is_audited = |scopes: &[Scope]| scopes.iter().any(|scope| scope.is_audited());
    let audited = operations.iter().filter(|(.., scopes)| is_audited(scopes)).count();
    assert!(audited > 35, "{audited} operations are changes");
    let mut seen = BTreeSet::new();
    for (method, path, scopes) in &operations {
        let request = bench.json(method.clone(), &filled(path), json!({})).header("x-request-id", "of-this-test");
        let answer = bench.send(request).await;
        let new: Vec<Value> = changes(&bench, "?limit=1000")
            .await
            .into_iter()
            .filter(|change| seen.insert(change["id"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(new.len(), usize::from(is_audited(scopes)), "{method} {path} ({}): {new:?}", answer.status);
        if let Some(change) = new.first() {
            let status = answer.status.as_u16();
            let outcome = if status < 400 { "done" } else { "refused" };
            assert_eq!((&change["outcome"], &change["status"]), (&json!(outcome), &json!(status)), "{method} {path}");
            assert_eq!((&change["way"], &change["address"]), (&json!("api"), &json!("127.0.0.1")));
            assert_eq!(change["request_id"], answer.headers["x-request-id"].to_str().unwrap());
            let names_object = path.contains('{');
            assert!(!names_object || change["object"].as_str().unwrap().contains("none"), "{path}: {change}");
        }
    }
}

#[tokio::test]
async fn an_entry_says_who_changed_what_into_what() {
    let bench = bench().await;
    let (text, key) = create(&*bench.engine, Some(AccessRole::Admin), &[]).await;
    let by = |method, path: &str, body: Value| bench.json(method, path, body).bearer_auth(text.as_str());
    soon(async {
        while bench.get("/queues").await.status != 401 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    bench.send(by(Method::POST, "/queues", json!({"name": "mail", "max_concurrent": 3}))).await.expect(201);
    bench.send(by(Method::POST, "/queues/mail/pause", json!({}))).await.expect(200);
    bench.send(by(Method::POST, "/queues/none/pause", json!({}))).await.refused(404, "unknown_queue");
    let read = bench.request(Method::GET, "/audit").bearer_auth(text.as_str());
    let page = bench.send(read).await.expect(200);
    let entries = page["changes"].as_array().unwrap();
    assert_eq!(texts(entries, "operation"), ["pause_queue", "pause_queue", "create_queue"]);
    assert_eq!(texts(entries, "object"), ["none", "mail", "mail"]);
    assert_eq!(texts(entries, "outcome"), ["refused", "done", "done"]);
    assert_eq!(entries[0]["problem"], "unknown_queue");
    assert_eq!((&entries[1]["before"], &entries[1]["after"]), (&json!({"paused": false}), &json!({"paused": true})));
    assert_eq!((&entries[2]["before"], &entries[2]["after"]["max_concurrent"]), (&Value::Null, &json!(3)));
    for entry in entries {
        assert_eq!((&entry["key"], &entry["by"]), (&json!(key.id.as_str()), &json!("tests")));
        assert!(!entry.to_string().contains(&text.as_str()[14..]), "no secret is in it");
    }
}

#[tokio::test]
async fn bulk_changes_are_logged_by_numbers_and_ids() {
    let bench = bench().await;
    let tasks: Vec<Value> = (0..60).map(|n| json!({"id": format!("t{n}"), "name": "echo"})).collect();
    bench.post("/tasks", json!({"tasks": tasks})).await.expect(201);
    let ids: Vec<String> = (0..55).map(|n| format!("t{n}")).chain(["gone".to_owned()]).collect();
    bench.post("/tasks/cancel", json!({"ids": ids})).await.expect(200);
    bench.post("/queues/default/purge", json!({})).await.expect(200);
    let cancelled = json!({"filter": {"queue": "default", "status": ["cancelled"]}, "limit": 2});
    bench.post("/tasks/resubmit", &cancelled).await.expect(200);
    bench.post("/tasks/resubmit", json!({"ids": ["gone"]})).await.expect(200);
    bench.post("/tasks/delete", &cancelled).await.expect(200);
    let entries = changes(&bench, "").await;
    let operations = ["delete_tasks", "resubmit_tasks", "resubmit_tasks", "purge_queue", "cancel_tasks"];
    assert_eq!(texts(&entries, "operation"), operations);
    assert_eq!((&entries[0]["counts"], &entries[1]["counts"]), (&json!({"deleted": 2}), &json!({"refused": 1})));
    assert_eq!((&entries[2]["counts"], &entries[2]["ids"]), (&json!({"resubmitted": 2}), &json!(["t54", "t53"])));
    assert_eq!(entries[3]["counts"], json!({"removed": 5}));
    assert_eq!((&entries[4]["counts"], &entries[4]["cut"]), (&json!({"cancelled": 55}), &json!(true)));
    assert_eq!(entries[4]["ids"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn changes_are_found_by_what_they_are_and_in_pages() {
    let bench = bench().await;
    for _ in 0..3 {
        bench.post("/queues/default/pause", json!({})).await.expect(200);
        bench.post("/queues/default/resume", json!({})).await.expect(200);
        bench.post("/roles/none/refresh", json!({})).await.refused(404, "unknown_role");
    }
    let all = changes(&bench, "").await;
    assert_eq!(all.len(), 9);
    for (query, count) in [
        ("?operation=pause_queue", 3),
        ("?object=default", 6),
        ("?object=none&outcome=refused", 3),
        ("?outcome=failed", 0),
        ("?key=0123456789", 0),
        ("?from=2020-01-01T00:00:00Z&to=2021-01-01T00:00:00Z", 0),
        ("?from=2020-01-01T00:00:00Z", 9),
    ] {
        assert_eq!(changes(&bench, query).await.len(), count, "{query}");
    }
    let (mut walked, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = bench.get(&format!("/audit{query}")).await.expect(200);
        let found = page["changes"].as_array().unwrap().clone();
        assert!(found.len() <= 2);
        walked.extend(found);
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=2&cursor={cursor}");
    }
    assert_eq!(texts(&walked, "id"), texts(&all, "id"));
    for (query, code) in [
        ("?limit=0", "invalid_parameter"),
        ("?outcome=fine", "invalid_parameter"),
        ("?cursor=x", "invalid_parameter"),
        ("?from=yesterday", "invalid_parameter"),
        ("?operation=a&who=b", "invalid_parameter"),
    ] {
        bench.get(&format!("/audit{query}")).await.refused(400, code);
    }
}

#[tokio::test]
async fn a_change_that_can_t_be_logged_is_not_made() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    engine.set(Fault::Fails(Error::AuditLogFull { max: 7 }));
    let answer = server.post("/queues/default/pause", json!({})).await;
    answer.refused(503, "audit_unavailable");
    assert_eq!(answer.headers["retry-after"], "5");
    engine.set(Fault::None);
    assert_eq!(server.get("/queues/default").await.expect(200)["paused"], false);

    let store = ModelEngine::with_system_clock();
    for n in 0..MAX_LOGGED_CHANGES {
        store.log_change(&ChangeId::new(format!("c{n}")).unwrap(), "not to be read").await.unwrap();
    }
    let server = Server::with(Arc::new(store), Config::default()).await;
    server.post("/queues/default/pause", json!({})).await.refused(503, "audit_unavailable");
    assert_eq!(server.get("/queues/default").await.expect(200)["paused"], false);
    // What is no change is still answered.
    server.post("/tasks", json!({"name": "echo"})).await.expect(201);
}

#[tokio::test]
async fn a_change_whose_client_goes_away_is_logged_as_unknown() {
    let bench = bench().await;
    for n in 0..60 {
        bench.fail(&format!("t{n}"), "echo", "timeout").await;
    }
    bench.archived(60).await;
    // It waits for its end, which takes a minute.
    let body = json!({"all": true, "queue": "default", "rate": 1}).to_string();
    let head =
        "POST /dead-letter-queue/resubmit?wait=50s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let mut client = TcpStream::connect(bench.address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let begun = bench.until("/audit", |answer| answer.text.contains("resubmit_dead_letters")).await;
    assert_eq!((&begun["changes"][0]["outcome"], &begun["changes"][0]["status"]), (&json!("unknown"), &Value::Null));
    drop(client);
    let left = bench.until("/audit", |answer| answer.text.contains("went away")).await;
    assert_eq!(left["changes"].as_array().unwrap().len(), 1);
    assert_eq!(left["changes"][0]["outcome"], "unknown");
}

#[tokio::test]
async fn only_a_key_for_it_reads_the_audit_log_and_no_request_changes_it() {
    let bench = bench().await;
    bench.post("/queues/default/pause", json!({})).await.expect(200);
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let answer = bench.send(bench.json(method, "/audit", json!({}))).await;
        answer.refused(405, "method_not_allowed");
    }
    let (viewer, _) = create(&*bench.engine, Some(AccessRole::Viewer), &[]).await;
    let (auditor, _) = create(&*bench.engine, None, &[Scope::AuditRead]).await;
    soon(async {
        while bench.get("/queues").await.status != 401 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let read = |key: &jobbers_manager::KeyText| bench.request(Method::GET, "/audit").bearer_auth(key.as_str());
    bench.send(read(&viewer)).await.refused(403, "scope_missing");
    assert_eq!(bench.send(read(&auditor)).await.expect(200)["changes"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn changes_outlive_their_manager_and_are_not_doubled() {
    let folder = tempfile::tempdir().unwrap();
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    for n in 1..=3 {
        let server = Server::with(Arc::clone(&engine), config(&folder)).await;
        server.post("/queues/default/pause", json!({})).await.expect(200);
        let bench = Bench { server, folder: tempfile::tempdir().unwrap() };
        bench.until("/audit", |answer| answer.status == 200).await;
        assert_eq!(changes(&bench, "").await.len(), n);
        bench.server.stop().await;
    }
}

#[tokio::test]
async fn a_manager_without_an_archive_makes_room_by_writing_changes_to_its_log() {
    let store = Arc::new(ModelEngine::with_system_clock());
    let outcome = "{\"result\":\"done\"}";
    for n in 0..MAX_LOGGED_CHANGES {
        let id = ChangeId::new(format!("c{n}")).unwrap();
        store.log_change(&id, "{\"way\":\"api\",\"operation\":\"pause_queue\"}").await.unwrap();
        store.log_outcome(&id, outcome).await.unwrap();
    }
    let config = Config { tick: Duration::from_millis(20), ..Config::default() };
    let server = Server::with(Arc::clone(&store) as Arc<dyn Engine>, config).await;
    let spilled = async {
        while store.logged_changes(0, 1).await.unwrap().total > MAX_LOGGED_CHANGES as u64 / 2 {
            tokio::task::yield_now().await;
        }
    };
    soon(spilled).await;
    let first = store.logged_changes(0, 1).await.unwrap();
    assert_eq!(first.changes[0].id.as_str(), format!("c{}", MAX_LOGGED_CHANGES / 2), "the oldest left");
    server.post("/queues/default/pause", json!({})).await.expect(200);
}
