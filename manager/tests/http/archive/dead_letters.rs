//! Dead letters: found, looked at, sent again, deleted; and every way to ask for that wrongly.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use jobbers_archive::{Archive, Options};
use jobbers_common::{
    access::AccessRole,
    engine::{
        DeadTask, DutyClaim, Engine, Letters, OnConflict, Outcome, PruneRequest, PruneScope, Resubmit, Submit,
        TaskFilter,
    },
    lifecycle::Status,
    name::{DutyName, HolderId},
    payload::Payload,
    task::{AttemptFailure, FailureKind, NewTask},
};
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, DEAD_LETTERS_DUTY, KeyText};
use jobbers_test_support::port::free_port;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    access::keys::create,
    server::{Answer, Server, soon},
};

pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
}

impl std::ops::Deref for Bench {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

pub(crate) fn config(folder: &TempDir) -> Config {
    Config {
        dlq_path: folder.path().join("dead.db").display().to_string(),
        tick: Duration::from_millis(20),
        ..Config::default()
    }
}

pub(crate) async fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config(&folder)).await;
    let bench = Bench { server, folder };
    bench.until("/dead-letter-queue", |answer| answer.status == 200).await;
    bench
}

impl Bench {
    /// Asks until the answer is as it should be: what a chore does, it does within a tick or two.
    pub(crate) async fn until(&self, path: &str, is_so: impl Fn(&Answer) -> bool) -> Value {
        soon(async {
            loop {
                let answer = self.get(path).await;
                if is_so(&answer) {
                    return answer.json();
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// Submits a task and fails it for good.
    pub(crate) async fn fail(&self, id: &str, name: &str, message: &str) {
        let body = json!({"id": id, "name": name, "parameters": {"n": 1, "deep": {"a": [1], "big": 0.1}}});
        self.post("/tasks", body).await.expect(201);
        self.fail_again(message).await;
    }

    pub(crate) async fn fail_again(&self, message: &str) {
        let claimed = self.claim("default", 1).await;
        let failure = AttemptFailure::new(FailureKind::Fatal, message);
        self.settle(&claimed[0], Outcome::Failed { failure, dead_letter: true }).await;
    }

    /// Waits until the archive has so many dead letters.
    pub(crate) async fn archived(&self, count: usize) -> Vec<Value> {
        let is_so = |page: &Value| page["dead_letters"].as_array().is_some_and(|letters| letters.len() == count);
        let page = self.until("/dead-letter-queue", |answer| is_so(&answer.json())).await;
        page["dead_letters"].as_array().unwrap().clone()
    }

    pub(crate) async fn resubmit(&self, body: Value) -> Answer {
        self.post("/dead-letter-queue/resubmit?wait=10s", body).await
    }

    pub(crate) async fn status(&self, id: &str) -> String {
        self.get(&format!("/tasks/{id}")).await.expect(200)["status"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_failed_task_is_found_looked_at_and_sent_again() {
    let bench = bench().await;
    bench.fail("a", "resize", "no user 17 in \"eu\"").await;
    let letters = bench.archived(1).await;
    let told = &letters[0];
    assert_eq!(
        (&told["id"], &told["name"], &told["status"], &told["state"], &told["attempt"], &told["kind"]),
        (&json!("a"), &json!("resize"), &json!("failed"), &json!("dead"), &json!(1), &json!("fatal"))
    );
    assert_eq!((&told["error"], &told["fingerprint"]), (&json!("no user 17 in \"eu\""), &json!("no user # in \"…\"")));
    let whole = bench.get("/dead-letter-queue/a").await;
    assert!(whole.text.contains(r#""parameters":{"deep":{"a":[1],"big":0.1},"n":1}"#), "{}", whole.text);
    assert_eq!(whole.expect(200)["task"]["errors"].as_array().unwrap().len(), 1);
    let answer = bench.resubmit(json!({"ids": ["a"]})).await.expect(200);
    assert_eq!((&answer["state"], &answer["resubmitted"], &answer["total"]), (&json!("done"), &json!(1), &json!(1)));
    assert_eq!(bench.status("a").await, "submitted");
    let again = bench.resubmit(json!({"ids": ["a"]})).await.expect(200);
    assert_eq!((&again["resubmitted"], &again["outcomes"]), (&json!(0), &json!({"already_resubmitted": 1})));
    bench.fail_again("boom").await;
    bench.archived(1).await;
    let history = bench.get("/dead-letter-queue/a/history").await.expect(200);
    let messages: Vec<&str> =
        history["failures"].as_array().unwrap().iter().map(|it| it["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["no user 17 in \"eu\"", "boom"], "it grows");
    let all = bench.get("/dead-letter-queue?state=all").await.expect(200);
    let states: Vec<&str> =
        all["dead_letters"].as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["dead", "resubmitted"]);
    assert_eq!(bench.engine.health().await.unwrap().outbox, 0);
    bench.server.stop().await;
}

#[tokio::test]
async fn pruning_the_store_empties_no_dead_letter() {
    let bench = bench().await;
    bench.fail("a", "resize", "boom").await;
    bench.archived(1).await;
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let request = PruneRequest { scope, limit: 10, dry_run: false, cursor: None };
    assert_eq!(bench.engine.prune(request).await.unwrap().removed, 1);
    bench.get("/tasks/a").await.refused(410, "gone");
    bench.post("/tasks/a/resubmit", "").await.expect(200);
    assert_eq!(bench.status("a").await, "submitted");
    let claimed = bench.claim("default", 1).await;
    assert_eq!(claimed[0].parameters.bytes, &br#"{"deep":{"a":[1],"big":0.1},"n":1}"#[..]);
}

#[tokio::test]
async fn a_filter_takes_the_oldest_and_all_is_one_operation() {
    let bench = bench().await;
    for n in 0..6 {
        bench.fail(&format!("t{n}"), if n % 2 == 0 { "even" } else { "odd" }, &format!("boom {n}")).await;
    }
    bench.archived(6).await;
    let dry = bench.resubmit(json!({"name": "even", "limit": 2, "dry_run": true})).await.expect(200);
    assert_eq!(dry, json!({"dry_run": true, "matched": 3, "changed": 2}));
    let two = bench.resubmit(json!({"name": "even", "limit": 2})).await.expect(200);
    let ids: Vec<&str> = two["tasks"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["t0", "t2"]);
    let stats = bench.get("/dead-letter-queue/stats").await.expect(200);
    assert_eq!((&stats["total"], &stats["groups"][0]["count"]), (&json!(4), &json!(3)));
    assert_eq!(stats["groups"][0]["fingerprint"], "boom #");
    let odd = bench.resubmit(json!({"error": "BOOM", "all": true})).await.expect(200);
    assert_eq!(odd["resubmitted"], 4);
    let by_id = bench.get(&format!("/dead-letter-queue/operations/{}", odd["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(by_id, odd);
    assert_eq!(bench.claim("default", 9).await.len(), 6);
}

#[tokio::test]
async fn parameters_are_patched_and_queues_changed() {
    let bench = bench().await;
    bench.post("/queues", json!({"name": "slow"})).await.expect(201);
    bench.fail("a", "resize", "boom").await;
    bench.archived(1).await;
    let body = json!({"ids": ["a"], "to_queue": "slow", "parameters": {"n": 2, "deep": {"a": null}}});
    bench.resubmit(body).await.expect(200);
    let claimed = bench.claim("slow", 1).await;
    assert_eq!(claimed[0].parameters.bytes, &br#"{"deep":{"big":0.1},"n":2}"#[..]);
    assert_eq!(claimed[0].attempt, 1);
}

#[tokio::test]
async fn what_can_t_be_sent_again_is_answered_task_by_task() {
    let bench = bench().await;
    let image = Payload { content_type: Some("image/x".into()), bytes: vec![0, 159].into() };
    let (id, name) = ("binary".parse().unwrap(), "x".parse().unwrap());
    let tasks = vec![NewTask::new(id, name, "default".parse().unwrap(), image)];
    bench.engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
    bench.fail_again("boom").await;
    bench.fail("running", "x", "boom").await;
    bench.archived(2).await;
    let again = Resubmit::of_store("running".parse().unwrap());
    bench.engine.resubmit(vec![again]).await.unwrap();
    let body = json!({"ids": ["binary", "running", "nobody"], "parameters": {"n": 2}});
    let answer = bench.resubmit(body).await.expect(200);
    let told: Vec<(&str, &str)> = answer["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["id"].as_str().unwrap(), it["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("binary", "bad_parameters"), ("running", "live"), ("nobody", "unknown")]);
    let letters = bench.archived(1).await;
    assert_eq!(letters[0]["id"], "binary", "it is dead still");
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_refused() {
    let bench = bench().await;
    let thousand_and_one: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    for (body, code, status) in [
        (json!({}), "invalid_request", 422),
        (json!({"reset_retry_count": false}), "invalid_request", 422),
        (json!({"ids": ["a"], "queue": "default"}), "invalid_request", 422),
        (json!({"ids": ["a"], "all": true}), "invalid_request", 422),
        (json!({"ids": []}), "invalid_request", 422),
        (json!({"ids": ["not an id"]}), "invalid_request", 422),
        (json!({"ids": thousand_and_one}), "batch_too_large", 413),
        (json!({"queue": "default", "limit": 0}), "invalid_request", 422),
        (json!({"queue": "default", "limit": 1_001}), "invalid_request", 422),
        (json!({"queue": "default", "limit": 5, "all": true}), "invalid_request", 422),
        (json!({"queue": "default", "rate": 0}), "invalid_request", 422),
        (json!({"queue": "default", "rate": -1}), "invalid_request", 422),
        (json!({"queue": "default", "rate": 1e-300}), "invalid_request", 422),
        (json!({"queue": "default", "rate": 10_001}), "invalid_request", 422),
        (json!({"queue": "default", "parameters": []}), "invalid_request", 422),
        (json!({"queue": "default", "parameters": 5}), "invalid_request", 422),
        (json!({"all": true, "parameters": "x", "dry_run": true}), "invalid_request", 422),
        (json!({"queue": "default", "to_queue": "nowhere"}), "unknown_queue", 404),
        (json!({"queue": "default", "colour": "red"}), "invalid_request", 422),
        (json!({"error": ""}), "invalid_request", 422),
        (json!({"error": "", "queue": "default"}), "invalid_request", 422),
        (json!({"fingerprint": ""}), "invalid_request", 422),
        (json!([["a"]]), "invalid_request", 422),
        (json!({"ids": ["a"], "task_ids": ["a"]}), "invalid_request", 422),
        (json!({"version": 1, "task_version": 1}), "invalid_request", 422),
        (json!({"failed_until": "2026-01-01T00:00:00Z"}), "invalid_request", 422),
    ] {
        bench.resubmit(body).await.refused(status, code);
    }
    for body in [
        json!({}),
        json!({"ids": ["a"], "queue": "q"}),
        json!({"queue": "q", "limit": 1_001}),
        json!({"error": ""}),
        json!({"fingerprint": "", "queue": "q"}),
    ] {
        bench.send(bench.json(Method::DELETE, "/dead-letter-queue", body)).await.refused(422, "invalid_request");
    }
    for path in [
        "?limit=0",
        "?limit=1001",
        "?state=lost",
        "?cursor=x",
        "?colour=red",
        "?version=x",
        "?task_version=x",
        "?name=t&task_name=t",
        "?failed_from=2026-01-01T00:00:00Z",
    ] {
        bench.get(&format!("/dead-letter-queue{path}")).await.refused(400, "invalid_parameter");
    }
    let lost = bench.get("/dead-letter-queue?state=lost").await.refused(400, "invalid_parameter");
    assert!(lost["detail"].as_str().unwrap().contains("state: \"lost\" is no state: dead, "), "{lost}");
    bench.get("/dead-letter-queue/operations/nothing?wait=61s").await.refused(400, "invalid_parameter");
    let sent = bench.post("/dead-letter-queue/resubmit?wait=61s", json!({"all": true})).await;
    sent.refused(400, "invalid_parameter");
    bench.get("/dead-letter-queue/nobody").await.refused(404, "unknown_dead_letter");
    bench.get("/dead-letter-queue/nobody/history").await.refused(404, "unknown_dead_letter");
    bench.get("/dead-letter-queue/operations/nothing").await.refused(404, "unknown_operation");
}

#[tokio::test]
async fn letters_are_deleted_by_id_and_by_filter() {
    let bench = bench().await;
    for n in 0..4 {
        bench.fail(&format!("t{n}"), if n == 0 { "first" } else { "other" }, "boom").await;
    }
    bench.archived(4).await;
    let delete = |body: Value| bench.send(bench.json(Method::DELETE, "/dead-letter-queue", body));
    let dry = delete(json!({"name": "other", "dry_run": true})).await.expect(200);
    assert_eq!((&dry["matched"], &dry["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(delete(json!({"ids": ["t0", "nobody"]})).await.expect(200)["changed"], 1);
    assert_eq!(delete(json!({"name": "other", "limit": 2})).await.expect(200)["changed"], 2);
    assert_eq!(bench.archived(1).await[0]["id"], "t3");
    assert_eq!(bench.status("t0").await, "failed", "the task is not touched");
}

#[tokio::test]
async fn one_task_is_sent_again_by_its_own_path() {
    let bench = bench().await;
    bench.post("/tasks", json!({"id": "a", "name": "x"})).await.expect(201);
    bench.post("/tasks/a/resubmit", "").await.refused(409, "task_live");
    bench.post("/tasks/a/cancel", "").await.expect(200);
    bench.post("/tasks/a/resubmit?to_queue=nowhere", "").await.refused(404, "unknown_queue");
    assert_eq!(bench.post("/tasks/a/resubmit", "").await.expect(200), json!({"id": "a", "status": "submitted"}));
    let claimed = bench.claim("default", 1).await;
    bench.post("/tasks/a/resubmit", "").await.refused(409, "task_live");
    bench.settle(&claimed[0], Outcome::Completed { result: None }).await;
    bench.post("/tasks/a/resubmit", "").await.refused(409, "task_completed");
    bench.post("/tasks/nobody/resubmit", "").await.refused(404, "unknown_task");
    bench.post("/tasks/a/resubmit?colour=red", "").await.refused(400, "invalid_parameter");
    bench.post("/tasks/a/resubmit", json!({"colour": "red"})).await.refused(422, "invalid_request");
    bench.post("/tasks/a/resubmit", "{").await.refused(400, "malformed_json");
    let twice = bench.post("/tasks/a/resubmit?to_queue=default", json!({"to_queue": "default"})).await;
    twice.refused(422, "invalid_request");
    bench.fail("kept", "x", "boom").await;
    bench.post("/tasks/kept/resubmit", json!({"to_queue": "nowhere"})).await.refused(404, "unknown_queue");
    bench.post("/queues", json!({"name": "slow"})).await.expect(201);
    bench.post("/tasks/kept/resubmit", json!({"to_queue": "slow"})).await.expect(200);
    assert_eq!(bench.get("/tasks/kept").await.expect(200)["queue"], "slow", "as the body says");
    let all = bench.get("/dead-letter-queue?state=resubmitted").await.expect(200);
    assert_eq!(all["dead_letters"][0]["id"], "kept", "its letter knows");
}

#[tokio::test]
async fn every_manager_answers_for_dead_letters_and_names_no_other() {
    let keeper = bench().await;
    for (id, number) in [("a", 1), ("b", 2), ("c", 3)] {
        keeper.fail(id, "x", &format!("boom {number}")).await;
    }
    keeper.archived(3).await;
    let none = Config { dlq_path: "none".to_owned(), tick: Duration::from_millis(20), ..Config::default() };
    for (config, id) in [(config(&keeper.folder), "a"), (none, "b")] {
        let other = Server::with(Arc::clone(&keeper.engine), config).await;
        let other = Bench { server: other, folder: tempfile::tempdir().unwrap() };
        // Its client follows no redirect.
        let path = format!("/dead-letter-queue/{id}");
        let found = other.until(&path, |answer| answer.status == 200).await;
        assert_eq!(found["id"], id);
        let named =
            other.send(other.request(Method::GET, "/dead-letter-queue/none").header("x-request-id", "mine")).await;
        named.refused(404, "unknown_dead_letter");
        assert_eq!(named.headers["x-request-id"], "mine");
        other.get("/dead-letter-queue?state=odd").await.refused(400, "invalid_parameter");
        assert_eq!(
            other.get("/dead-letter-queue?name=x&limit=1").await.expect(200)["dead_letters"].as_array().unwrap().len(),
            1
        );
        let again = json!({"ids": [id]});
        let send =
            || other.json(Method::POST, "/dead-letter-queue/resubmit?wait=10s", &again).header("idempotency-key", id);
        let sent = other.send(send()).await.expect(200);
        assert_eq!(other.send(send()).await.expect(200)["id"], sent["id"], "the key was passed on");
        let operation = format!("/dead-letter-queue/operations/{}", sent["id"].as_str().unwrap());
        assert_eq!(other.get(&operation).await.expect(200)["resubmitted"], 1);
        let page = other.get("/ui/letters").await;
        assert!(page.status == 200 && page.text.contains("boom"), "the pages too: {}", page.text);
        let large = json!({"ids": ["x".repeat(40_000_000)]});
        other.send(other.json(Method::DELETE, "/dead-letter-queue", large)).await.refused(413, "body_too_large");
        other.server.stop().await;
    }
    let other =
        Server::with(Arc::clone(&keeper.engine), Config { dlq_path: "none".to_owned(), ..Config::default() }).await;
    let other = Bench { server: other, folder: tempfile::tempdir().unwrap() };
    other.until("/dead-letter-queue/c", |answer| answer.status == 200).await;
    other.post("/tasks/c/resubmit", "").await.expect(200);
    let deleted = other.send(other.json(Method::DELETE, "/dead-letter-queue", json!({"all": true}))).await.expect(200);
    assert_eq!(deleted["changed"], 0, "none is left that was not sent again: {deleted}");
}

#[tokio::test]
async fn a_caller_s_rights_are_those_of_its_key_at_every_manager() {
    let quick = |config: Config| Config { config_refresh: Duration::from_millis(20), ..config };
    let folder = tempfile::tempdir().unwrap();
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let keeper = Bench { server: Server::with(Arc::clone(&engine), quick(config(&folder))).await, folder };
    keeper.fail("a", "x", "boom").await;
    keeper.archived(1).await;
    let other = Server::with(Arc::clone(&engine), quick(Config::default())).await;
    let (viewer, _) = create(&*engine, Some(AccessRole::Viewer), &[]).await;
    let (worker, _) = create(&*engine, Some(AccessRole::Worker), &[]).await;
    let asks_for_keys = |answer: Answer| answer.status == 401;
    soon(async { while !asks_for_keys(other.get("/queues").await) || !asks_for_keys(keeper.get("/queues").await) {} })
        .await;
    let by =
        async |key: &KeyText, request: reqwest::RequestBuilder| other.send(request.bearer_auth(key.as_str())).await;
    assert_eq!(by(&viewer, other.request(Method::GET, "/dead-letter-queue/a")).await.expect(200)["id"], "a");
    let resubmit = || other.json(Method::POST, "/dead-letter-queue/resubmit", json!({"all": true}));
    by(&viewer, resubmit()).await.refused(403, "scope_missing");
    by(&worker, other.request(Method::GET, "/dead-letter-queue/a")).await.refused(403, "scope_missing");
    other.send(resubmit()).await.refused(401, "key_required");
    // The mark of a request that was passed on opens nothing.
    other.send(resubmit().header("jobbers-passed-on", "1")).await.refused(401, "key_required");
    keeper
        .send(keeper.request(Method::GET, "/dead-letter-queue").header("jobbers-passed-on", "1"))
        .await
        .refused(401, "key_required");
    other.stop().await;
}

#[tokio::test]
async fn a_request_is_passed_on_once_and_a_keeper_that_is_gone_is_waited_for() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::with_system_clock());
    let server = Server::with(Arc::clone(&engine), Config::default()).await;
    let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let keeps = async |holder: &str, url: String| {
        let note = json!({"url": url, "archive": "x"}).to_string();
        let (duty, holder) = (DutyName::new(DEAD_LETTERS_DUTY).unwrap(), HolderId::new(holder).unwrap());
        engine.claim_duty(DutyClaim { duty, holder, note, ttl: Duration::from_secs(60) }).await.unwrap();
    };
    keeps("h", format!("http://{gone}")).await;
    let unreachable = |answer: &Answer| answer.text.contains("can't be asked");
    let answer = soon(async {
        loop {
            let answer = server.get("/dead-letter-queue").await;
            if unreachable(&answer) {
                return answer;
            }
        }
    })
    .await;
    let detail = answer.refused(503, "archive_unavailable")["detail"].to_string();
    assert!(detail.contains(&gone.to_string()), "{detail}");
    assert_eq!(answer.headers["retry-after"], "1");
    keeps("h", "https://localhost:1?ca=/none/ca.pem".to_owned()).await;
    let detail = server.get("/dead-letter-queue").await.refused(503, "archive_unavailable")["detail"].to_string();
    assert!(detail.contains("/none/ca.pem"), "a file of the address is missing here: {detail}");
    let second = Server::with(Arc::clone(&engine), Config::default()).await;
    keeps("h", format!("http://{}", second.address)).await;
    // It believes another to be the keeper, as the first does.
    let answer = server.get("/dead-letter-queue").await;
    let detail = answer.refused(503, "archive_unavailable")["detail"].to_string();
    assert!(detail.contains("where this one is") || detail.contains("passed this request on"), "{detail}");
    keeps("h", format!("http://{gone}")).await;
    let marked = second.send(second.request(Method::GET, "/dead-letter-queue").header("jobbers-passed-on", "1")).await;
    let detail = marked.refused(503, "archive_unavailable")["detail"].to_string();
    assert!(detail.contains("has just changed hands"), "{detail}");
    assert_eq!(marked.headers["retry-after"], "1");
    second.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_manager_that_stops_is_followed_at_once() {
    let first = bench().await;
    let second = Server::with(Arc::clone(&first.engine), config(&first.folder)).await;
    let second = Bench { server: second, folder: tempfile::tempdir().unwrap() };
    let Bench { server, folder } = first;
    server.stop().await;
    second.until("/dead-letter-queue", |answer| answer.status == 200).await;
    drop(folder);
}

#[tokio::test]
async fn a_file_that_can_t_be_used_leaves_letters_in_the_store_and_raises_an_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("corrupt"), "no database at all, but long enough to be looked at as one").unwrap();
    std::fs::create_dir(path("a-folder")).unwrap();
    drop(Archive::open(&path("newer"), Options::default()).unwrap());
    rusqlite::Connection::open(path("newer")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    rusqlite::Connection::open(path("foreign")).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    for (file, status, code) in [
        ("corrupt", 500, "archive_corrupt"),
        ("newer", 500, "archive_schema"),
        ("foreign", 503, "archive_unavailable"),
        ("a-folder", 503, "archive_unavailable"),
    ] {
        let config =
            Config { dlq_path: path(file).display().to_string(), tick: Duration::from_millis(20), ..Config::default() };
        let server = Server::with(Arc::new(ModelEngine::with_system_clock()), config).await;
        let bench = Bench { server, folder: tempfile::tempdir().unwrap() };
        bench.fail("a", "x", "boom").await;
        bench.until("/dead-letter-queue", |answer| answer.json()["code"] == code).await;
        bench.get("/dead-letter-queue").await.refused(status, code);
        let ready = bench.get("/health/ready").await.expect(200);
        assert!(ready["warnings"].to_string().contains("1 dead letters wait in the store"), "{ready}");
        assert_eq!(ready["outbox"], 1);
        assert_eq!(bench.status("a").await, "failed");
        bench.server.stop().await;
    }
}

#[tokio::test]
async fn a_full_archive_leaves_letters_in_the_store_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(ModelEngine::with_system_clock());
    let small = Config { dlq_max_bytes: 1, ..config(&folder) };
    let server = Server::with(Arc::clone(&engine) as Arc<dyn Engine>, small).await;
    let bench = Bench { server, folder };
    bench.fail("a", "x", "boom").await;
    let is_warned = |ready: &Value| ready["warnings"].to_string().contains("is full");
    bench.until("/health/ready", |answer| is_warned(&answer.json())).await;
    let copies: Vec<DeadTask> = engine.dead_letters(0, 9).await.unwrap().copies;
    assert_eq!((copies.len(), copies[0].task.status), (1, Status::Failed));
    let Bench { server, folder } = bench;
    server.stop().await;
    let server = Server::with(engine, config(&folder)).await;
    Bench { server, folder }.archived(1).await;
}

#[tokio::test]
async fn the_names_of_the_first_jobbers_mean_the_same_on_these_routes() {
    let bench = bench().await;
    for (task, name) in [("a", "resize"), ("b", "resize"), ("c", "other")] {
        bench.fail(task, name, "boom").await;
    }
    bench.archived(3).await;
    let found = async |query: &str| bench.get(&format!("/dead-letter-queue?{query}")).await.expect(200);
    assert_eq!(found("name=resize&version=1").await, found("task_name=resize&task_version=1").await);
    assert_eq!(found("task_name=resize").await["dead_letters"].as_array().map(Vec::len), Some(2));
    assert_eq!(found("task_version=2").await["dead_letters"], json!([]));
    let sent = bench.resubmit(json!({"task_ids": ["a"]})).await.expect(200);
    assert_eq!((&sent["total"], &sent["tasks"][0]["id"]), (&json!(1), &json!("a")));
    let sent = bench.resubmit(json!({"task_name": "resize", "task_version": 1})).await.expect(200);
    assert_eq!((&sent["total"], &sent["tasks"][0]["id"]), (&json!(1), &json!("b")));
    let deleted = bench.send(bench.json(Method::DELETE, "/dead-letter-queue", json!({"task_ids": ["c"]}))).await;
    assert_eq!(deleted.expect(200)["changed"], 1);
    let once = bench.resubmit(json!({"task_ids": ["a", "a"]})).await.expect(200);
    assert_eq!(once["total"], 1, "a task that is named twice is one task");
}
