//! Sensitive tasks: what calls a task so, what is shown of it, and who may reveal the rest.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessRole, Scope},
    engine::{AuditLog as _, Outcome, PruneRequest, PruneScope, PutMode, TaskFilter},
    limits::MAX_LOGGED_CHANGES,
    name::ChangeId,
    payload::Payload,
    policy::{CrashPolicy, PolicyOverrides},
    task::{AttemptFailure, FailureKind},
    worker::registry::TaskSpec,
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::Config;
use jobbers_test_support::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    access::keys::create,
    archive::dead_letters::{Bench, bench},
    server::{Answer, Server, soon},
    settings::registry::register_described,
};

const SOON: Duration = Duration::from_secs(10);

/// A live worker that has a task whose author calls it sensitive.
async fn register(server: &Server) {
    let spec = TaskSpec {
        name: "charge".parse().unwrap(),
        version: 1,
        parameters: None,
        description: String::new(),
        on_crash: CrashPolicy::default(),
        policy: PolicyOverrides::default(),
        sensitive: true,
    };
    register_described(&*server.engine, "w", vec![spec]).await;
    until(SOON, "the manager knows it", async || {
        let registry = server.get("/tasks/registry").await.expect(200);
        (registry["tasks"][0]["sensitive"] == true).then_some(())
    })
    .await;
}

fn charge(id: &str) -> Value {
    json!({"id": id, "name": "charge", "parameters": {"card": "4242"}})
}

async fn submit(server: &Server, task: &Value, more: Value) -> Answer {
    let mut task = task.clone();
    task.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    server.post("/tasks", task).await
}

#[tokio::test]
async fn what_the_author_calls_sensitive_no_submission_opens() {
    let server = Server::start().await;
    submit(&server, &charge("early"), json!({})).await.expect(201);
    assert_eq!(server.get("/tasks/early").await.expect(200)["parameters"]["card"], "4242", "nobody had said it");
    register(&server).await;
    submit(&server, &charge("a"), json!({})).await.expect(201);
    submit(&server, &charge("b"), json!({"sensitive": true})).await.expect(201);
    for id in ["a", "b"] {
        let shown = server.get(&format!("/tasks/{id}")).await.expect(200);
        assert_eq!((&shown["sensitive"], shown.get("parameters")), (&json!(true), None), "{shown}");
    }
    let refused = submit(&server, &charge("c"), json!({"sensitive": false})).await.refused(422, "invalid_request");
    assert_eq!(refused["pointer"], "/sensitive", "{refused}");
    submit(&server, &json!({"id": "open", "name": "echo"}), json!({"sensitive": false})).await.expect(201);
    // A repetition is recognized whatever workers have registered meanwhile; another word is another submission.
    submit(&server, &charge("early"), json!({})).await.expect(200);
    submit(&server, &charge("early"), json!({"sensitive": true})).await.refused(409, "task_exists");
    server.stop().await;
}

#[tokio::test]
async fn a_search_finds_nothing_in_what_is_hidden() {
    let server = Server::start().await;
    submit(&server, &charge("open"), json!({})).await.expect(201);
    submit(&server, &charge("hidden"), json!({"sensitive": true})).await.expect(201);
    let page = server.get("/tasks?where=card=4242&include=parameters").await.expect(200);
    let found: Vec<&Value> = page["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).collect();
    assert_eq!(found, ["open"], "{page}");
    let page = server.get("/tasks?include=parameters,result,errors").await.expect(200);
    assert_eq!(page.to_string().matches("4242").count(), 1, "{page}");
    server.stop().await;
}

#[tokio::test]
async fn the_kind_of_an_error_stays_and_so_does_what_jobbers_itself_reports() {
    let server = Server::start().await;
    submit(&server, &charge("a"), json!({"sensitive": true, "max_retries": 9})).await.expect(201);
    for (kind, message) in [(FailureKind::Error, "card 4242"), (FailureKind::Timeout, "ran longer than 5s")] {
        let claimed = server.claim("default", 1).await;
        let failure = AttemptFailure::new(kind, message);
        server.settle(&claimed[0], Outcome::Retry { delay: Duration::ZERO, failure }).await;
    }
    let shown = server.get("/tasks/a").await.expect(200);
    let errors: Vec<_> = shown["errors"].as_array().unwrap().iter().map(|it| (&it["kind"], &it["message"])).collect();
    assert_eq!(errors, [(&json!("error"), &json!("")), (&json!("timeout"), &json!("ran longer than 5s"))]);
    let whole = server.post("/tasks/a/reveal", json!(null)).await.expect(200);
    assert_eq!(whole["errors"][0]["message"], "card 4242", "{whole}");
    assert_eq!((&whole["parameters"]["card"], &whole["sensitive"]), (&json!("4242"), &json!(true)));
    server.stop().await;
}

#[tokio::test]
async fn results_of_sensitive_predecessors_are_left_out() {
    let server = Server::start().await;
    submit(&server, &charge("a"), json!({"sensitive": true})).await.expect(201);
    submit(&server, &json!({"id": "b", "name": "echo"}), json!({})).await.expect(201);
    let after = json!({"id": "c", "name": "echo", "depends_on": ["a", "b"]});
    server.post("/tasks", after).await.expect(201);
    for task in server.claim("default", 2).await {
        let result = Some(Payload::json(&b"\"4242\""[..]));
        server.settle(&task, Outcome::Completed { result }).await;
    }
    let page = server.get("/tasks/c/predecessors").await.expect(200);
    let shown = |place: usize| (&page["predecessors"][place]["sensitive"], page["predecessors"][place].get("result"));
    assert_eq!([shown(0), shown(1)], [(&json!(true), None), (&Value::Null, Some(&json!("4242")))], "{page}");
    // Once they are deleted, nothing tells which was sensitive: their results are for those who may lease.
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let request = PruneRequest { scope, limit: 10, dry_run: false, cursor: None };
    assert_eq!(server.engine.prune(request).await.unwrap().removed, 2);
    let page = server.get("/tasks/c/predecessors").await.expect(200);
    assert_eq!(page["predecessors"][1]["result"], json!("4242"), "{page}");
    for (role, result) in [(AccessRole::Viewer, Value::Null), (AccessRole::Worker, json!("4242"))] {
        let (key, _) = create(&*server.engine, Some(role), &[]).await;
        let asks = async || (server.get("/queues").await.status == 401).then_some(());
        until(SOON, "the manager asks for keys", asks).await;
        let read = async || {
            let request = server.request(Method::GET, "/tasks/c/predecessors").bearer_auth(key.as_str());
            Some(server.send(request).await).filter(|answer| answer.status == 200)
        };
        let page = until(SOON, "the manager knows the key", read).await.expect(200);
        assert_eq!(page["predecessors"][1]["result"], result, "{role:?}: {page}");
    }
    server.stop().await;
}

#[tokio::test]
async fn templates_hide_what_they_give_and_are_changed_only_with_it() {
    let server = Server::start().await;
    let task = json!({"name": "echo", "parameters": {"card": "4242"}, "sensitive": true});
    let schedule = |task: Value| json!({"name": "nightly", "every": "1d", "task": task});
    let shown = server.post("/schedules", schedule(task.clone())).await.expect(201);
    assert_eq!((&shown["task"]["sensitive"], shown["task"].get("parameters")), (&json!(true), None), "{shown}");
    // What was read must not replace what it does not show.
    server.put("/schedules/nightly", schedule(shown["task"].clone())).await.refused(422, "invalid_request");
    server.put("/schedules/nightly", schedule(task.clone())).await.expect(200);
    let started = server.post("/schedules/nightly/run", json!(null)).await.expect(201);
    let run = server.get(&format!("/tasks/{}", started["id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&run["sensitive"], run.get("parameters")), (&json!(true), None), "{run}");

    let node = |name: &str, sensitive: bool| json!({"id": name, "name": name, "parameters": {"card": "4242"}, "signals": ["go"], "sensitive": sensitive.then_some(true)});
    let flow = json!({"id": "flow", "nodes": [node("charge", false), node("echo", true), node("sleep", false)]});
    server.post("/workflows", flow).await.expect(201);
    let cards = async |path: &str| server.get(path).await.text.matches("4242").count();
    assert_eq!((cards("/workflows/flow").await, cards("/workflows/flow?format=mermaid").await), (2, 2));
    // Its author says it later.
    register(&server).await;
    assert_eq!((cards("/workflows/flow").await, cards("/workflows/flow?format=mermaid").await), (1, 1));
    server.stop().await;
}

/// A manager with a dead letter of a sensitive task, and one that is not.
async fn letters() -> Bench {
    let bench = bench().await;
    for (id, is_sensitive) in [("hidden", true), ("open", false)] {
        submit(&bench, &charge(id), json!({"sensitive": is_sensitive.then_some(true)})).await.expect(201);
        bench.fail_again("card 4242 is declined").await;
    }
    bench.archived(2).await;
    bench
}

#[tokio::test]
async fn a_dead_letter_is_hidden_in_lists_searches_causes_and_histories() {
    let bench = letters().await;
    let letters = bench.archived(2).await;
    let hidden = letters.iter().find(|letter| letter["id"] == "hidden").unwrap();
    assert_eq!((&hidden["error"], &hidden["sensitive"]), (&json!(""), &json!(true)), "{hidden}");
    assert_eq!(hidden["fingerprint"], "(sensitive) fatal");
    let found = bench.get("/dead-letter-queue?error=declined").await.expect(200);
    assert_eq!(found["dead_letters"].as_array().unwrap().len(), 1, "{found}");
    let groups = bench.get("/dead-letter-queue/stats").await.expect(200);
    assert_eq!((groups["groups"].as_array().unwrap().len(), groups.to_string().matches("4242").count()), (2, 1));
    for path in ["/dead-letter-queue/hidden", "/dead-letter-queue/hidden/history", "/tasks/hidden"] {
        let text = bench.get(path).await.expect(200).to_string();
        assert!(!text.contains("4242") && text.contains("fatal"), "{path}: {text}");
    }
    let whole = bench.post("/dead-letter-queue/hidden/reveal", json!(null)).await.expect(200);
    for part in [&whole["error"], &whole["task"]["errors"][0]["message"]] {
        assert_eq!(part, "card 4242 is declined", "{whole}");
    }
    assert_eq!(whole["task"]["parameters"]["card"], "4242", "{whole}");
    bench.post("/dead-letter-queue/none/reveal", json!(null)).await.refused(404, "unknown_dead_letter");
    // It is sent again as what it is.
    bench.resubmit(json!({"ids": ["hidden"]})).await.expect(200);
    assert_eq!(bench.get("/tasks/hidden").await.expect(200)["sensitive"], true);
}

#[tokio::test]
async fn only_the_scope_reveals_and_the_audit_log_has_who_asked() {
    let bench = letters().await;
    let (viewer, _) = create(&*bench.engine, Some(AccessRole::Viewer), &[]).await;
    let (operator, _) = create(&*bench.engine, Some(AccessRole::Operator), &[]).await;
    let (auditor, key) = create(&*bench.engine, None, &[Scope::TasksReveal, Scope::AuditRead]).await;
    let (elsewhere, mut restricted) = create(&*bench.engine, Some(AccessRole::Admin), &[]).await;
    restricted.queues = vec!["mail".parse().unwrap()];
    bench.engine.put_key(restricted, PutMode::Replace).await.unwrap();
    soon(async { while bench.get("/queues").await.status != 401 {} }).await;
    let reveal = async |key: &str, path: &str| bench.send(bench.json(Method::POST, path, "{}").bearer_auth(key)).await;
    for path in ["/tasks/hidden/reveal", "/dead-letter-queue/hidden/reveal"] {
        for key in [&viewer, &operator] {
            let refused = reveal(key.as_str(), path).await.refused(403, "scope_missing");
            assert!(refused["detail"].as_str().unwrap().contains("tasks:reveal"), "{refused}");
        }
        assert!(reveal(auditor.as_str(), path).await.expect(200).to_string().contains("4242"));
    }
    until(SOON, "the restriction is known", async || {
        (reveal(elsewhere.as_str(), "/tasks/hidden/reveal").await.status == 404).then_some(())
    })
    .await;
    reveal(elsewhere.as_str(), "/dead-letter-queue/hidden/reveal").await.refused(403, "out_of_reach");
    let log = bench.send(bench.request(Method::GET, "/audit?object=hidden").bearer_auth(auditor.as_str())).await;
    let log = log.expect(200);
    let done =
        log["changes"].as_array().unwrap().iter().filter(|it| it["outcome"] == "done" && it["key"] == key.id.as_str());
    let done: Vec<&Value> = done.map(|it| &it["operation"]).collect();
    assert_eq!(done, ["reveal_dead_letter", "reveal_task"], "{log}");
    assert!(!log.to_string().contains("4242"), "{log}");
}

#[tokio::test]
async fn what_can_t_be_logged_is_not_revealed() {
    let store = ModelEngine::with_system_clock();
    for n in 0..MAX_LOGGED_CHANGES {
        store.log_change(&ChangeId::new(format!("c{n}")).unwrap(), "not to be read").await.unwrap();
    }
    let server = Server::with(Arc::new(store), Config::default()).await;
    submit(&server, &charge("a"), json!({"sensitive": true})).await.expect(201);
    server.post("/tasks/a/reveal", json!(null)).await.refused(503, "audit_unavailable");
    server.stop().await;
}
