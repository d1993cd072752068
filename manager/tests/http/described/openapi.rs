//! The description and the routes are the same list.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use jobbers_common::{
    access::{AccessKey, AccessRole},
    engine::{PutMode, boards::task::When},
    name::KeyId,
    time::Timestamp,
};
use jobbers_manager::KeyText;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    access::keys::create,
    archive::dead_letters::{Bench, bench},
    boards,
    server::{Server, soon},
    settings::registry::register,
};

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH];

/// Every operation of the API. A new one is added here on purpose.
const OPERATIONS: [&str; 97] = [
    "DELETE /boards/{board}/tasks",
    "DELETE /boards/{board}/tasks/{revision}",
    "DELETE /dead-letter-queue",
    "DELETE /dead-letter-queue/operations/{id}",
    "DELETE /keys/{key}",
    "DELETE /queues/{queue}",
    "DELETE /roles/{role}",
    "DELETE /routing",
    "DELETE /schedules/{schedule}",
    "DELETE /session",
    "DELETE /workflows/{workflow}",
    "GET /active-tasks",
    "GET /audit",
    "GET /boards",
    "GET /boards/{board}/groups",
    "GET /boards/{board}/tasks",
    "GET /boards/{board}/tasks/{revision}",
    "GET /dead-letter-queue",
    "GET /dead-letter-queue/operations",
    "GET /dead-letter-queue/operations/{id}",
    "GET /dead-letter-queue/stats",
    "GET /dead-letter-queue/{task_id}",
    "GET /dead-letter-queue/{task_id}/history",
    "GET /health/live",
    "GET /health/ready",
    "GET /history",
    "GET /keys",
    "GET /keys/{key}",
    "GET /metrics",
    "GET /overview",
    "GET /queues",
    "GET /queues/{queue}",
    "GET /queues/{queue}/explain",
    "GET /queues/{queue}/history",
    "GET /roles",
    "GET /roles/{role}",
    "GET /routing",
    "GET /schedule-preview",
    "GET /scheduled-tasks",
    "GET /schedules",
    "GET /schedules/{schedule}",
    "GET /schedules/{schedule}/next",
    "GET /store/examination",
    "GET /tasks",
    "GET /tasks/registry",
    "GET /tasks/{id}",
    "GET /tasks/{id}/events",
    "GET /tasks/{id}/explain",
    "GET /tasks/{id}/predecessors",
    "GET /workers",
    "GET /workflows",
    "GET /workflows/{workflow}",
    "POST /boards/{board}/tasks/{revision}/release",
    "POST /dead-letter-queue/resubmit",
    "POST /dead-letter-queue/{task_id}/reveal",
    "POST /dependencies",
    "POST /keys",
    "POST /keys/{key}/revoke",
    "POST /keys/{key}/rotate",
    "POST /leases",
    "POST /leases/extend",
    "POST /leases/return",
    "POST /queues",
    "POST /queues/{queue}/pause",
    "POST /queues/{queue}/purge",
    "POST /queues/{queue}/resume",
    "POST /roles",
    "POST /roles/{role}/refresh",
    "POST /schedules",
    "POST /schedules/{schedule}/pause",
    "POST /schedules/{schedule}/resume",
    "POST /schedules/{schedule}/run",
    "POST /session",
    "POST /store/repair",
    "POST /tasks",
    "POST /tasks/cancel",
    "POST /tasks/delete",
    "POST /tasks/reschedule",
    "POST /tasks/resubmit",
    "POST /tasks/statuses",
    "POST /tasks/{id}/cancel",
    "POST /tasks/{id}/dependencies",
    "POST /tasks/{id}/reschedule",
    "POST /tasks/{id}/resubmit",
    "POST /tasks/{id}/reveal",
    "POST /tasks/{id}/signal",
    "POST /workers/drain",
    "POST /workers/resume",
    "POST /workers/{id}/drain",
    "POST /workers/{id}/resume",
    "POST /workflows",
    "POST /workflows/{workflow}/cancel",
    "POST /workflows/{workflow}/retry",
    "PUT /queues/{queue}",
    "PUT /roles/{role}",
    "PUT /routing",
    "PUT /schedules/{schedule}",
];

/// What takes any parameter.
const EXEMPT: [&str; 3] = ["GET /health/live", "GET /health/ready", "GET /metrics"];

async fn document(server: &Server) -> Value {
    server.get("/openapi.json").await.expect(200)
}

fn operations(document: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let methods = |item: &Value| item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
    document["paths"].as_object().unwrap().iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

#[tokio::test]
async fn every_operation_is_described() {
    let server = Server::start().await;
    let described: BTreeSet<String> = operations(&document(&server).await)
        .iter()
        .flat_map(|(path, methods)| methods.iter().map(move |method| format!("{method} {path}")))
        .collect();
    let expected: BTreeSet<String> = OPERATIONS.iter().map(|&line| line.to_owned()).collect();
    assert_eq!(described, expected);
}

#[tokio::test]
async fn what_is_described_is_served_and_nothing_else() {
    let server = Server::start().await;
    for (path, described) in operations(&document(&server).await) {
        let concrete = path
            .replace("{id}", "none")
            .replace("{task_id}", "none")
            .replace("{queue}", "none")
            .replace("{role}", "none");
        for method in METHODS {
            // Paths that two operations share: a task called `cancel` is read there.
            let is_shared =
                ["/tasks/cancel", "/tasks/delete", "/tasks/reschedule", "/tasks/statuses"].contains(&path.as_str());
            if is_shared && method == Method::GET {
                continue;
            }
            let answer = server.send(server.request(method.clone(), &concrete)).await;
            let served = answer.status != 405 && !answer.text.contains("\"not_found\"");
            assert_eq!(served, described.contains(method.as_str()), "{method} {path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn an_unknown_query_parameter_is_refused_on_every_route() {
    let server = Server::start().await;
    let all = operations(&document(&server).await);
    for (path, methods) in &all {
        for method in methods {
            let (line, asked) = (format!("{method} {path}"), path.replace(['{', '}'], ""));
            let request = server.request(method.parse().unwrap(), &format!("{asked}?nonsense=1"));
            let answer = server.send(request).await;
            // Probes and scrapers may add parameters of their own.
            if EXEMPT.contains(&line.as_str()) {
                assert_eq!(answer.status, 200, "{line}: {}", answer.text);
                continue;
            }
            let detail = answer.refused(400, "invalid_parameter")["detail"].to_string();
            assert!(detail.contains("unknown parameter") && detail.contains("nonsense"), "{line}: {detail}");
        }
    }
    let described: usize = all.values().map(BTreeSet::len).sum();
    assert_eq!(described, OPERATIONS.len());
    // The one operation that is not described, and a HEAD, which is answered as the GET is.
    server.get("/tasks/cancel?nonsense=1").await.refused(400, "invalid_parameter");
    let head = server.send(server.request(Method::HEAD, "/queues?nonsense=1")).await;
    assert_eq!(head.status, 400);
    assert_eq!(server.get("/docs/?nonsense=1").await.status, 200);
}

#[tokio::test]
async fn a_mistyped_parameter_changes_nothing() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "mail"})).await.expect(201);
    server.post("/tasks", json!({"name": "t", "queue": "mail"})).await.expect(201);
    for path in ["/queues/mail?Force=true", "/queues/mail?force=true&dryrun", "/queues/mail?force=true&dry%72un=1"] {
        server.delete(path).await.refused(400, "invalid_parameter");
    }
    server.post("/queues/mail/purge?dry_run=true", "").await.refused(400, "invalid_parameter");
    assert_eq!(server.get("/queues/mail").await.expect(200)["tasks"]["submitted"], 1);
    let detail = server.delete("/queues/mail?Force=true").await.refused(400, "invalid_parameter")["detail"].to_string();
    assert!(detail.contains("force, move_to"), "it names those that there are: {detail}");
    server.post("/tasks/cancel?statuss=failed", "{").await.refused(400, "invalid_parameter");
    assert_eq!(server.delete("/queues/mail?force=true").await.status, 204);
}

/// Every `$ref` in the document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_description_is_whole() {
    let server = Server::start().await;
    let document = document(&server).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}: its id is taken");
            assert!(!operation["summary"].as_str().unwrap().is_empty());
            for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                let parameters = operation["parameters"].as_array().unwrap();
                assert!(parameters.iter().any(|it| it["name"] == name && it["in"] == "path"), "{path}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn errors_are_described_with_their_codes() {
    let server = Server::start().await;
    let document = document(&server).await;
    let submit = &document["paths"]["/tasks"]["post"]["responses"];
    let conflict = submit["409"]["description"].as_str().unwrap();
    for code in ["task_exists", "task_started", "idempotency_key_reused"] {
        assert!(conflict.contains(code), "{conflict}");
    }
    let schema = &submit["503"]["content"]["application/problem+json"]["schema"]["$ref"];
    assert_eq!(schema, "#/components/schemas/Problem");
    let codes = document["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    assert_eq!(codes.len(), jobbers_api::problem::Code::ALL.len());
}

#[tokio::test]
async fn it_is_rendered_for_people() {
    let server = Server::start().await;
    let page = server.get("/docs/").await;
    assert_eq!(page.status, 200);
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
}

#[tokio::test]
async fn every_page_may_be_served_below_a_path_and_in_no_frame() {
    let server = Server::start().await;
    for path in ["/ui/", "/ui/tasks", "/problems", "/problems/overloaded", "/docs/", "/docs/swagger-initializer.js"] {
        let page = server.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        for root in ["=\"/", "='/", ": \"/", "url(/"] {
            assert!(!page.text.contains(root), "{path} leads to the root of its host: {root}");
        }
        assert_eq!(page.headers["x-frame-options"], "DENY", "{path}");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn an_example_is_of_its_parameters_type() {
    let document = document(&Server::start().await).await;
    let mut numbers = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let (kind, example) = (&parameter["schema"]["type"], &parameter["example"]);
                if kind == "integer" && !example.is_null() {
                    assert!(example.is_number(), "{path}: {parameter}");
                    numbers += 1;
                }
            }
        }
    }
    assert!(numbers > 0);
}

/// Their path holds the id of an operation, which only an answer can name.
const WITHOUT_EXAMPLE: [&str; 3] = ["get_resubmit_operation", "cancel_resubmit_operation", "begin_session"];

/// The request that an operation's examples make. What must be said has one.
fn example_request(server: &Server, method: &str, path: &str, operation: &Value) -> reqwest::RequestBuilder {
    let (mut concrete, mut query) = (path.to_owned(), Vec::new());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let example = match &parameter["example"] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => {
                assert_ne!(parameter["required"], true, "{method} {path}: {name} has no example");
                continue;
            }
        };
        match parameter["in"].as_str() {
            Some("path") => concrete = concrete.replace(&format!("{{{name}}}"), &example),
            Some("query") => query.push((name, example)),
            other => panic!("{other:?}"),
        }
    }
    let request = server.request(method.to_uppercase().parse().unwrap(), &concrete).query(&query);
    if operation["requestBody"].is_null() {
        return request;
    }
    let body = &operation["requestBody"]["content"]["application/json"]["example"];
    assert!(body.is_object(), "{method} {path}: the body has no example");
    request.header("content-type", "application/json").body(body.to_string())
}

/// What the examples speak of, as far as the operation does not make it itself.
async fn prepare(bench: &Bench, operation: &str) {
    if operation != "create_queue" {
        bench.post("/queues", json!({"name": "mail"})).await.expect(201);
    }
    if !matches!(operation, "create_queue" | "create_role" | "delete_queue") {
        bench.post("/roles", json!({"name": "mailers", "queues": ["mail"]})).await.expect(201);
    }
    if operation != "create_schedule" && (operation.ends_with("_schedule") || operation == "next_slots") {
        let nightly = json!({"name": "nightly", "every": "1d", "task": {"name": "echo"}});
        bench.post("/schedules", nightly).await.expect(201);
    }
    if operation != "submit_workflow" && operation.ends_with("_workflow") {
        let nightly = json!({"id": "nightly-1", "nodes": [{"id": "a", "name": "echo"}]});
        bench.post("/workflows", nightly).await.expect(201);
        if operation != "get_workflow" && operation != "cancel_workflow" {
            bench.post("/workflows/nightly-1/cancel", json!(null)).await.expect(200);
            bench.get("/workflows/nightly-1").await.expect(200);
        }
    }
    if operation.contains("board") {
        boards::put(bench, "mail", b"to: Ada", When::NOW).await;
    }
    if matches!(operation, "drain_worker" | "resume_worker") {
        register(&*bench.engine, "worker-1").await;
    }
    if operation == "resubmit_task" || operation.contains("dead_letter") {
        bench.fail("order-7", "echo", "timeout").await;
        bench.archived(1).await;
    } else if operation == "signal_task" {
        bench.post("/tasks", json!({"id": "order-7", "name": "echo", "signals": ["approved"]})).await.expect(201);
    } else if operation.starts_with("reschedule") {
        bench
            .post("/tasks", json!({"id": "order-7", "name": "echo", "queue": "mail", "delay": "1h"}))
            .await
            .expect(201);
    } else {
        bench.post("/tasks", json!({"id": "order-7", "name": "echo"})).await.expect(201);
    }
    if operation.starts_with("add_dependencies") {
        bench.post("/tasks", json!({"id": "order-6", "name": "echo"})).await.expect(201);
    }
    if operation == "follow_task" {
        // Its stream ends with the task.
        bench.post("/tasks/order-7/cancel", json!(null)).await.expect(200);
    }
}

/// The key that the examples speak of, and one to do it with.
async fn prepare_keys(bench: &Bench, operation: &str) -> KeyText {
    let (text, admin) = create(&*bench.engine, Some(AccessRole::Admin), &[]).await;
    let id = KeyId::new("0000000abc").unwrap();
    let revoked_at = (operation == "delete_key").then(|| Timestamp::from_micros(1));
    let example = AccessKey { id, name: "ci".to_owned(), revoked_at, ..admin };
    bench.engine.put_key(example, PutMode::Create).await.unwrap();
    soon(async { while bench.get("/queues").await.status != 401 {} }).await;
    text
}

#[tokio::test]
async fn every_example_is_taken_by_a_running_manager() {
    let described = document(&Server::start().await).await;
    let (mut sent, mut answers) = (0, BTreeMap::new());
    for (path, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            if WITHOUT_EXAMPLE.contains(&id) {
                continue;
            }
            let bench = bench().await;
            prepare(&bench, id).await;
            let mut request = example_request(&bench, method, path, operation);
            if path.starts_with("/keys") {
                request = request.bearer_auth(prepare_keys(&bench, id).await.as_str());
            }
            let answer = bench.send(request).await;
            assert!(answer.status.is_success(), "{method} {path}: {} {}", answer.status, answer.text);
            if answer.headers.get("content-type").is_some_and(|it| it == "application/json") {
                let body = lasting(answer.json());
                let shown = &operation["responses"][answer.status.as_str()]["content"]["application/json"]["example"];
                let is_shown = shape(shown) == shape(&body);
                answers.insert(id.to_owned(), (is_shown, json!({"status": answer.status.as_u16(), "body": body})));
            }
            sent += 1;
        }
    }
    assert_eq!(sent, OPERATIONS.len() - WITHOUT_EXAMPLE.len());
    if std::env::var_os("JOBBERS_WRITE_EXAMPLES").is_some() {
        let answers: BTreeMap<_, _> = answers.iter().map(|(id, (_, answer))| (id, answer)).collect();
        let text = serde_json::to_string_pretty(&answers).unwrap() + "\n";
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/handlers/examples/answers.json"), text).unwrap();
        return;
    }
    let stale: Vec<&String> = answers.iter().filter(|(_, (is_shown, _))| !is_shown).map(|(id, _)| id).collect();
    assert!(stale.is_empty(), "other answers than described: {stale:?}; JOBBERS_WRITE_EXAMPLES=1 writes them");
}

/// The same answer at every run: points in time, made ids and large numbers are always the same ones.
fn lasting(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, lasting(value))).collect(),
        Value::Array(items) => items.into_iter().map(lasting).collect(),
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => "2026-11-26T09:30:00Z".into(),
        Value::String(text) if text.starts_with("jb_") => "jb_0000000abc_…".into(),
        Value::String(text) if text.parse::<ulid::Ulid>().is_ok() => "01KAZ3V5Q8XJ4M6N2P7R9S0T1W".into(),
        Value::String(text) if text.len() > 12 && text.parse::<u64>().is_ok() => "1795406275123456".into(),
        Value::Number(number) if number.as_u64().is_some_and(|number| number > 1_000_000_000_000) => {
            1_795_406_275_123_456_u64.into()
        }
        Value::Number(number) if number.is_f64() => 0.5.into(),
        value => value,
    }
}

/// The names and types of an answer; a list is its first entry.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect(),
        Value::Array(items) => items.iter().take(1).map(shape).collect(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "truth".into(),
        Value::Null => Value::Null,
    }
}

/// What may be sent to each path: what its description says, and for pages and other fronts what they take.
#[tokio::test]
async fn what_a_path_does_not_take_is_refused_with_what_it_takes() {
    const OTHERS: [&str; 8] = [
        "/",
        "/problems",
        "/problems/overloaded",
        "/openapi.json",
        "/docs/",
        "/taskstore/groups",
        "/taskstore/claim",
        "/taskstore-ns/groups",
    ];
    let server = Server::start().await;
    let document = document(&server).await;
    let described = document["paths"].as_object().unwrap().keys().map(|path| path.replace(['{', '}'], ""));
    let mut refused = 0;
    for path in OTHERS.into_iter().map(str::to_owned).chain(described) {
        for method in METHODS.into_iter().chain([Method::OPTIONS]) {
            let answer = server.send(server.request(method.clone(), &path)).await;
            if answer.status != 405 {
                continue;
            }
            refused += 1;
            let allowed = answer.headers.get("allow").unwrap_or_else(|| panic!("{method} {path} has no Allow"));
            let allowed: Vec<&str> = allowed.to_str().unwrap().split(',').collect();
            assert!(!allowed.contains(&"") && !allowed.contains(&method.as_str()), "{method} {path}: {allowed:?}");
            for other in allowed {
                let answer = server.send(server.request(other.parse().unwrap(), &path)).await;
                assert_ne!(answer.status, 405, "{other} {path} is allowed by its header");
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
