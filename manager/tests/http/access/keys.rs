//! Keys: what each role may do, over real HTTP, and that a revocation ends what is under way.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessKey, AccessRole, Scope, StoredSecret},
    engine::{Engine, PutMode},
    time::Timestamp,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, KeyText};
use jobbers_test_support::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, Server, soon};

/// A bound, not a measurement.
const PATIENCE: Duration = Duration::from_secs(10);

/// A key that is stored, and its text.
pub(crate) async fn create(engine: &dyn Engine, role: Option<AccessRole>, scopes: &[Scope]) -> (KeyText, AccessKey) {
    let (text, at) = (KeyText::generate(), Timestamp::from_micros(0));
    let key = AccessKey {
        id: text.id().clone(),
        name: "tests".to_owned(),
        role: role.map(|role| role.as_str().to_owned()),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        queues: vec![],
        tasks: vec![],
        boards: vec![],
        secrets: vec![StoredSecret { digest: text.digest(), created_at: at, expires_at: None }],
        created_at: at,
        created_by: "tests".to_owned(),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    engine.put_key(key.clone(), PutMode::Create).await.unwrap();
    (text, key)
}

/// A manager that follows changes of the store soon.
async fn server() -> Server {
    let config = Config { config_refresh: Duration::from_millis(20), ..Config::default() };
    Server::with(Arc::new(ModelEngine::with_system_clock()), config).await
}

impl Server {
    async fn by(&self, key: &KeyText, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let request = match body {
            Some(body) => self.json(method, path, body),
            None => self.request(method, path),
        };
        self.send(request.bearer_auth(key.as_str())).await
    }

    /// Waits until the manager asks for keys.
    async fn locked(&self) {
        until(PATIENCE, "the manager asks for keys", async || (self.get("/queues").await.status == 401).then_some(()))
            .await;
    }
}

#[tokio::test]
async fn a_key_that_another_program_made_is_valid_at_once() {
    let config = Config { config_refresh: Duration::from_secs(3_600), ..Config::default() };
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
    let (first, _) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    server.by(&first, Method::GET, "/queues", None).await.expect(200);
    let unknown = KeyText::generate();
    for _ in 0..5 {
        server.by(&unknown, Method::GET, "/queues", None).await.refused(401, "key_refused");
    }
    // A moment after a wrong key the store is asked again.
    let (second, _) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    until(PATIENCE, "the key is valid", async || {
        (server.by(&second, Method::GET, "/queues", None).await.status == 200).then_some(())
    })
    .await;
    server.stop().await;
}

/// The scopes of each operation, as the document has them; none for an open one.
pub(crate) async fn operations(server: &Server) -> Vec<(Method, String, Vec<Scope>)> {
    let document = server.get("/openapi.json").await.expect(200);
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
            let security =
                operation["security"].as_array().unwrap_or_else(|| panic!("{method} {path} has no security"));
            let names = security[0].get("key").and_then(Value::as_array).cloned().unwrap_or_default();
            let scopes = names.iter().map(|name| Scope::find(name.as_str().unwrap()).unwrap()).collect();
            found.push((method, path.clone(), scopes));
        }
    }
    found
}

/// The path with something in place of its parameters that does not exist.
pub(crate) fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{revision}" => "1",
        part if part.starts_with('{') => "none",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn each_role_may_do_what_its_scopes_say_and_nothing_else() {
    let server = server().await;
    let mut keys = BTreeMap::new();
    for role in AccessRole::ALL {
        keys.insert(role, create(&*server.engine, Some(role), &[]).await.0);
    }
    server.locked().await;
    let operations = operations(&server).await;
    assert!(operations.len() > 70 && operations.iter().filter(|(.., scopes)| scopes.is_empty()).count() == 4);
    for (method, path, scopes) in &operations {
        let (body, is_body) = (json!({}), *method != Method::GET);
        let body = is_body.then_some(&body);
        let url = filled(path);
        for (role, key) in &keys {
            let answer = server.by(key, method.clone(), &url, body).await;
            let is_refused = answer.status == 403;
            let has_all = scopes.iter().all(|scope| role.has(*scope));
            assert_eq!(is_refused, !has_all, "{role}: {method} {path}: {} {}", answer.status, answer.text);
            if is_refused {
                let missing = scopes.iter().find(|scope| !role.has(**scope)).unwrap();
                let detail = answer.refused(403, "scope_missing")["detail"].to_string();
                assert!(detail.contains(missing.as_str()), "{detail}");
            }
        }
        let stranger = if is_body {
            server.send(server.json(method.clone(), &url, json!({}))).await
        } else {
            server.get(&url).await
        };
        match scopes.is_empty() {
            true => assert!(!matches!(stranger.status.as_u16(), 401 | 403), "{method} {path}"),
            false => assert_eq!(stranger.refused(401, "key_required")["code"], "key_required"),
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_single_scope_opens_its_operations_and_no_others() {
    let server = server().await;
    let mut keys = Vec::new();
    for scope in Scope::all() {
        keys.push((scope, create(&*server.engine, None, &[scope]).await.0));
    }
    server.locked().await;
    for (method, path, scopes) in operations(&server).await {
        let needed = scopes.first().copied();
        let body = json!({});
        for (scope, key) in keys.iter().filter(|(scope, _)| needed != Some(*scope)) {
            let answer = server.by(key, method.clone(), &filled(&path), (method != Method::GET).then_some(&body)).await;
            assert_eq!(answer.status == 403, needed.is_some(), "{scope}: {method} {path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_operation_is_closed_too_but_for_the_documentation() {
    let server = server().await;
    let (viewer, _) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    let (worker, _) = create(&*server.engine, Some(AccessRole::Worker), &[]).await;
    server.locked().await;
    for open in ["/openapi.json", "/docs/", "/problems", "/problems/key_required", "/health/live"] {
        assert_eq!(server.get(open).await.status, 200, "{open}");
    }
    server.get("/metrics").await.refused(401, "key_required");
    assert_eq!(server.by(&viewer, Method::GET, "/metrics", None).await.status, 200);
    server.by(&worker, Method::GET, "/metrics", None).await.refused(403, "scope_missing");
    server.get("/nothing/here").await.refused(404, "not_found");
    server.post("/taskstore/groups", json!({})).await.refused(401, "key_required");
    server.by(&worker, Method::POST, "/taskstore/groups", Some(&json!({}))).await.refused(403, "scope_missing");
    server.request(Method::HEAD, "/queues").send().await.unwrap().error_for_status().unwrap_err();

    let ready = server.get("/health/ready").await.expect(200);
    assert_eq!(ready, json!({"status": "ready"}), "no address and no warning is shown to strangers");
    let ready = server.by(&worker, Method::GET, "/health/ready", None).await.expect(200);
    assert!(ready["store"].is_string() && ready["warnings"].is_array(), "{ready}");
    server.stop().await;
}

#[tokio::test]
async fn no_answer_repeats_a_secret() {
    let server = server().await;
    let (key, _) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    server.locked().await;
    let secret = key.as_str().rsplit_once('_').unwrap().1;
    let in_path = server.by(&key, Method::GET, &format!("/tasks/{}", key.as_str()), None).await;
    let in_query = server.by(&key, Method::GET, &format!("/tasks?{}=1", key.as_str()), None).await;
    let body = json!({"name": key.as_str(), "queue": key.as_str()});
    let in_body = server.by(&key, Method::POST, "/tasks", Some(&body)).await;
    let in_header = server.send(server.request(Method::GET, "/tasks").bearer_auth(format!("{}x", key.as_str()))).await;
    for answer in [in_path, in_query, in_body, in_header] {
        assert!(answer.status.is_client_error() && !answer.text.contains(secret), "{}", answer.text);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_revocation_ends_long_polls_and_streams_that_are_under_way() {
    let server = server().await;
    server.post("/tasks", json!({"id": "a", "name": "t"})).await.expect(201);
    let (text, key) = create(&*server.engine, Some(AccessRole::Submitter), &[]).await;
    let (other, _) = create(&*server.engine, Some(AccessRole::Viewer), &[]).await;
    server.locked().await;
    let send = |key: &KeyText, path: &str| server.request(Method::GET, path).bearer_auth(key.as_str()).send();
    let (poll, of_other) = (tokio::spawn(send(&text, "/tasks/a?wait=15s")), send(&other, "/tasks/a/events"));
    let (mut stream, mut of_other) = (send(&text, "/tasks/a/events").await.unwrap(), of_other.await.unwrap());
    assert!(soon(stream.chunk()).await.unwrap().is_some() && soon(of_other.chunk()).await.unwrap().is_some());

    let revoked = AccessKey { revoked_at: Some(key.created_at), secrets: vec![], ..key };
    server.engine.put_key(revoked, PutMode::Replace).await.unwrap();
    assert_eq!(soon(poll).await.unwrap().unwrap().status(), 401);
    soon(async { while stream.chunk().await.unwrap().is_some() {} }).await;
    server.by(&text, Method::GET, "/tasks/a", None).await.refused(401, "key_refused");
    // The stream of another key goes on to the end of the task.
    let task = server.claim("default", 1).await.remove(0);
    server.settle(&task, jobbers_common::engine::Outcome::Completed { result: None }).await;
    let mut rest = String::new();
    soon(async {
        while let Some(chunk) = of_other.chunk().await.unwrap() {
            rest.push_str(&String::from_utf8_lossy(&chunk));
        }
    })
    .await;
    assert!(rest.contains("completed"), "{rest}");
    server.stop().await;
}

/// A token is a number, so it may be guessed.
async fn guess_token(server: &Server, key: &KeyText, own: &Value, id: &str) {
    let both = json!({"worker": "w1", "leases": [own, {"id": id, "token": own["token"], "outcome": "completed"}]});
    server.by(key, Method::POST, "/leases/return", Some(&both)).await.refused(404, "unknown_task");
    let longer = json!({"worker": "w1", "lease": "1m", "leases": [{"id": id, "token": own["token"]}]});
    server.by(key, Method::POST, "/leases/extend", Some(&longer)).await.refused(404, "unknown_task");
}

#[tokio::test]
async fn a_restricted_key_reaches_its_queues_and_tasks_and_nothing_else() {
    let server = server().await;
    for (queue, id) in [("team-a.mail", "ours"), ("team-b", "theirs")] {
        server.post("/queues", json!({"name": queue})).await.expect(201);
        server.post("/tasks", json!({"id": id, "name": "send", "queue": queue})).await.expect(201);
    }
    server.post("/tasks", json!({"id": "other", "name": "other", "queue": "team-a.mail"})).await.expect(201);
    let (text, key) = create(&*server.engine, Some(AccessRole::Admin), &[]).await;
    let restricted =
        AccessKey { queues: vec!["team-a.*".parse().unwrap()], tasks: vec!["send".parse().unwrap()], ..key.clone() };
    server.engine.put_key(restricted, PutMode::Replace).await.unwrap();
    server.locked().await;
    let get = async |path: &str| server.by(&text, Method::GET, path, None).await;
    let post = async |path: &str, body: Value| server.by(&text, Method::POST, path, Some(&body)).await;

    get("/tasks/ours").await.expect(200);
    for id in ["theirs", "other", "none"] {
        get(&format!("/tasks/{id}")).await.refused(404, "unknown_task");
        get(&format!("/tasks/{id}/events")).await.refused(404, "unknown_task");
        post(&format!("/tasks/{id}/cancel"), json!({})).await.refused(404, "unknown_task");
    }
    let listed = get("/tasks?queue=team-a.mail&name=send").await.expect(200);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
    for query in [
        "",
        "?queue=team-a.mail&queue=team-b&name=send",
        "?queue=team-b&name=send",
        "?queue=team-a.mail",
        "?name=send",
        "?queue=team-a.mail&name=other",
    ] {
        get(&format!("/tasks{query}")).await.refused(403, "out_of_reach");
    }

    let task = |name: &str, queue: &str| json!({"name": name, "queue": queue});
    post("/tasks", task("send", "team-a.mail")).await.expect(201);
    for (name, queue) in [("send", "team-b"), ("other", "team-a.mail"), ("send", "default")] {
        post("/tasks", task(name, queue)).await.refused(403, "out_of_reach");
        let batch = json!({"tasks": [task("send", "team-a.mail"), task(name, queue)]});
        post("/tasks", batch).await.refused(403, "out_of_reach");
    }
    // Routing sends it to the queue `default`.
    post("/tasks", json!({"name": "send"})).await.refused(403, "out_of_reach");
    let replacing = json!({"id": "theirs", "name": "send", "queue": "team-a.mail", "on_conflict": "replace"});
    post("/tasks", replacing).await.refused(409, "task_exists");
    let curious = json!({"name": "send", "queue": "team-a.mail", "depends_on": ["theirs"]});
    post("/tasks", curious).await.refused(422, "unknown_predecessor");
    let unique = json!({"name": "send", "queue": "team-a.mail", "unique_key": "k"});
    post("/tasks", unique).await.refused(403, "out_of_reach");

    let claim = |queues: Value, tasks: Value| json!({"worker": "w1", "queues": queues, "tasks": tasks, "limit": 10});
    post("/leases", claim(json!(["team-b"]), json!(["send@1"]))).await.refused(403, "out_of_reach");
    post("/leases", claim(json!(["team-a.mail"]), json!(["other@1"]))).await.refused(403, "out_of_reach");
    post("/leases", json!({"worker": "w1", "queues": ["team-a.mail"]})).await.refused(403, "out_of_reach");
    let leased = post("/leases", claim(json!(["team-a.mail"]), json!(["send@1"]))).await.expect(200);
    let leases = leased["leases"].as_array().unwrap();
    assert!(leases.len() == 2 && leases.iter().all(|lease| lease["name"] == "send"), "{leased}");
    let done = json!({"id": leases[0]["id"], "token": leases[0]["token"], "outcome": "completed"});
    for id in ["theirs", "other"] {
        guess_token(&server, &text, &done, id).await;
    }
    post("/leases/return", json!({"worker": "w1", "leases": [done]})).await.expect(200);
    assert_eq!(server.engine.get(&"theirs".parse().unwrap()).await.unwrap().unwrap().queue.as_str(), "team-b");

    // A queue has tasks of all names; a key that is restricted to queues alone may look at it, and pause it.
    get("/queues/team-a.mail").await.refused(403, "out_of_reach");
    let by_queue = AccessKey { queues: vec!["team-a.*".parse().unwrap()], ..key };
    server.engine.put_key(by_queue, PutMode::Replace).await.unwrap();
    until(PATIENCE, "the change is followed", async || (get("/queues/team-a.mail").await.status == 200).then_some(()))
        .await;
    // Its reasons may name other queues.
    get("/queues/team-a.mail/explain").await.refused(403, "out_of_reach");
    get("/queues/team-a.mail/history").await.expect(200);
    get("/queues/team-b/history").await.refused(403, "out_of_reach");
    get("/history").await.refused(403, "out_of_reach");
    post("/queues/team-a.mail/pause", json!({})).await.expect(200);
    post("/queues/team-b/pause", json!({})).await.refused(403, "out_of_reach");
    server.stop().await;
}

/// Operations that a restricted key may use, besides open ones. Each is checked above.
const RESTRICTABLE: [&str; 14] = [
    "GET /queues/{queue}",
    "GET /queues/{queue}/history",
    "GET /tasks",
    "GET /tasks/{id}",
    "GET /tasks/{id}/events",
    "POST /leases",
    "POST /leases/extend",
    "POST /leases/return",
    "POST /queues/{queue}/pause",
    "POST /queues/{queue}/resume",
    "POST /tasks",
    "POST /tasks/{id}/cancel",
    "POST /tasks/{id}/reschedule",
    "POST /tasks/{id}/reveal",
];

/// Whether a key that is restricted in this way may use an operation on things that do not exist.
fn is_in_reach(restriction: &str, operation: &str) -> bool {
    let (is_of_queue, is_of_board) = (operation.contains("/queues/"), operation.contains("/boards/{board}/"));
    // A list names what it is restricted to, which this one does not.
    let is_of_task = RESTRICTABLE.contains(&operation) && operation != "GET /tasks";
    match restriction {
        "queues" => is_of_task || operation.ends_with(" /tasks/{id}/signal"),
        "tasks" => (is_of_task && !is_of_queue) || operation.ends_with(" /tasks/{id}/signal"),
        _ => is_of_board,
    }
}

#[tokio::test]
async fn each_role_with_each_restriction_reaches_what_both_allow_and_nothing_else() {
    let server = server().await;
    let mut keys = Vec::new();
    for role in AccessRole::ALL {
        for restriction in ["queues", "tasks", "boards"] {
            let (text, mut key) = create(&*server.engine, Some(role), &[]).await;
            let none = || vec!["none".parse().unwrap()];
            match restriction {
                "queues" => key.queues = none(),
                "tasks" => key.tasks = none(),
                _ => key.boards = none(),
            }
            server.engine.put_key(key, PutMode::Replace).await.unwrap();
            keys.push((role, restriction, text));
        }
    }
    server.locked().await;
    for (method, path, scopes) in operations(&server).await {
        let (body, operation) = (json!({}), format!("{method} {path}"));
        for (role, restriction, key) in &keys {
            let body = (method != Method::GET).then_some(&body);
            let answer = server.by(key, method.clone(), &filled(&path), body).await;
            let has_scopes = scopes.iter().all(|scope| role.has(*scope));
            let expected = match (has_scopes, scopes.is_empty() || is_in_reach(restriction, &operation)) {
                (false, _) => Some("scope_missing"),
                (true, false) => Some("out_of_reach"),
                (true, true) => None,
            };
            let cell = format!("{role} restricted to {restriction}: {operation}: {}", answer.text);
            assert_eq!(answer.status == 403, expected.is_some(), "{cell}");
            assert!(expected.is_none_or(|code| answer.text.contains(code)), "{cell}");
        }
    }
    let (_, _, text) = keys.iter().find(|(role, ..)| *role == AccessRole::Admin).unwrap();
    let page = server.by(text, Method::GET, "/ui/", None).await;
    let is_refused = page.status == 403 && page.text.contains("out_of_reach");
    assert!(is_refused, "a page is refused what it asks for: {}", page.text);
    server.stop().await;
}
