//! What workers can run, and what that means for submissions; and workers that drain on request.

use std::time::Duration;

use jobbers_common::{
    engine::Engine,
    name::{TaskName, WorkerId},
    policy::{CrashPolicy, DeadLetter, PolicyOverrides},
    worker::{
        WorkerReport, WorkerState,
        registry::{Catalogue, TaskSpec},
    },
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    archive::dead_letters,
    server::{Server, soon},
};

const TTL: Duration = Duration::from_secs(60);

fn report(id: &str, tasks: &[&str]) -> WorkerReport {
    WorkerReport {
        id: WorkerId::new(id).unwrap(),
        host: format!("host-of-{id}"),
        pid: 7,
        version: "1.2.3".to_owned(),
        role: "default".parse().unwrap(),
        queues: vec!["default".parse().unwrap()],
        slots: 64,
        running: 0,
        state: WorkerState::Running,
        tasks: tasks.iter().map(ToString::to_string).collect(),
        settled: 0,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: None,
    }
}

/// A worker of this id that runs nothing.
pub(crate) async fn register(engine: &dyn Engine, id: &str) {
    engine.register_worker(report(id, &[]), TTL).await.unwrap();
}

/// A worker that runs these tasks, described by a catalogue.
pub(crate) async fn register_described(engine: &dyn Engine, id: &str, tasks: Vec<TaskSpec>) {
    let names: Vec<String> = tasks.iter().map(|task| format!("{}@{}", task.name, task.version)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let catalogue = engine.keep_catalogue(&Catalogue { tasks }, TTL).await.unwrap();
    engine.register_worker(WorkerReport { catalogue: Some(catalogue), ..report(id, &names) }, TTL).await.unwrap();
}

/// A worker that runs `resize@2`, whose parameters have a schema, and `echo@1`, which takes anything.
async fn register_resizer(engine: &dyn Engine) {
    let schema = json!({
        "type": "object",
        "properties": {
            "sizes": {"type": "array", "items": {"type": "object", "properties": {"width": {"type": "integer"}}}},
        },
        "required": ["sizes"],
        "additionalProperties": false,
    });
    let spec = |name: &str, version, parameters, description: &str| TaskSpec {
        name: TaskName::new(name).unwrap(),
        version,
        parameters,
        description: description.to_owned(),
        on_crash: CrashPolicy::default(),
        policy: PolicyOverrides { max_retries: (name == "resize").then_some(7), ..PolicyOverrides::default() },
        sensitive: false,
    };
    let tasks = vec![spec("echo", 1, None, ""), spec("resize", 2, Some(schema), "Makes images smaller.")];
    let catalogue = engine.keep_catalogue(&Catalogue { tasks }, TTL).await.unwrap();
    let report = WorkerReport { catalogue: Some(catalogue), ..report("w1", &["echo@1", "resize@2"]) };
    engine.register_worker(report, TTL).await.unwrap();
}

/// Submits until the manager has read the workers again.
async fn until(server: &Server, task: &Value, holds: impl Fn(&Value) -> bool) -> Value {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    soon(async {
        loop {
            ticks.tick().await;
            let answer = server.post("/tasks", task).await.json();
            if holds(&answer) {
                return answer;
            }
        }
    })
    .await
}

#[tokio::test]
async fn the_registry_is_what_live_workers_can_run() {
    let server = Server::start().await;
    assert_eq!(server.get("/tasks/registry").await.expect(200), json!({"tasks": []}));
    register_resizer(server.engine.as_ref()).await;
    let other = WorkerReport { state: WorkerState::Draining, ..report("w2", &["echo@1", "garbage", "a b@1"]) };
    server.engine.register_worker(other, TTL).await.unwrap();
    let tasks = server.get("/tasks/registry").await.expect(200)["tasks"].clone();
    assert_eq!(
        tasks[0],
        json!({"name": "echo", "version": 1, "workers": 2, "queues": ["default"], "roles": ["default"]})
    );
    assert_eq!((&tasks[1]["name"], &tasks[1]["version"]), (&json!("resize"), &json!(2)));
    assert_eq!(tasks[1]["description"], "Makes images smaller.");
    assert_eq!(tasks[1]["parameters"]["required"], json!(["sizes"]));
    assert_eq!(tasks.as_array().unwrap().len(), 2);
    for id in ["w1", "w2"] {
        server.engine.deregister_worker(&WorkerId::new(id).unwrap()).await.unwrap();
    }
    assert_eq!(server.get("/tasks/registry").await.expect(200), json!({"tasks": []}));
}

#[tokio::test]
async fn a_schema_that_can_be_used_in_part_holds_in_its_rest() {
    let server = Server::start().await;
    let schema = json!({
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^(?!x)"}, "width": {"type": "integer"}},
    });
    let spec = TaskSpec {
        name: TaskName::new("resize").unwrap(),
        version: 1,
        parameters: Some(schema),
        description: String::new(),
        on_crash: CrashPolicy::default(),
        policy: PolicyOverrides::default(),
        sensitive: false,
    };
    let catalogue = server.engine.keep_catalogue(&Catalogue { tasks: vec![spec] }, TTL).await.unwrap();
    let report = WorkerReport { catalogue: Some(catalogue), ..report("w1", &["resize@1"]) };
    server.engine.register_worker(report, TTL).await.unwrap();
    let listed = server.get("/tasks/registry").await.expect(200)["tasks"][0].clone();
    let unchecked = listed["unchecked"][0].as_str().unwrap();
    assert!(unchecked.starts_with("/properties/code/pattern is not checked: "), "{listed}");
    let wrong = json!({"name": "resize", "parameters": {"code": "x", "width": "wide"}});
    server.post("/tasks", wrong).await.refused(422, "schema_mismatch");
    let taken =
        server.post("/tasks", json!({"name": "resize", "parameters": {"code": "x", "width": 1}})).await.expect(201);
    assert_eq!(taken["warnings"][0]["code"], "schema_unchecked", "{taken}");
    assert_eq!(taken["warnings"].as_array().unwrap().len(), 1, "{taken}");
}

#[tokio::test]
async fn a_task_shows_the_policy_that_holds_for_it() {
    let server = Server::start().await;
    register_resizer(server.engine.as_ref()).await;
    assert_eq!(server.get("/tasks/registry").await.expect(200)["tasks"][1]["policy"], json!({"max_retries": 7}));
    let task = json!({"name": "resize", "version": 2, "id": "a", "parameters": {"sizes": []}, "retry_delay": "2s"});
    server.post("/tasks", &task).await.expect(201);
    let task = server.get("/tasks/a").await.expect(200);
    assert_eq!(task["policy"], json!({"retry_delay": "2s"}), "what the submission said");
    let holds = &task["policy_in_force"];
    assert_eq!((&holds["max_retries"], &holds["retry_delay"]), (&json!(7), &json!("2s")), "{task}");
    assert_eq!((&holds["dead_letter"], &holds["max_crashes"]), (&json!("save"), &json!(3)), "the default: {task}");
    server.post("/tasks", &json!({"name": "unknown", "id": "b"})).await.expect(201);
    assert_eq!(server.get("/tasks/b").await.expect(200).get("policy_in_force"), None, "no live worker knows it");
}

#[tokio::test]
async fn a_submission_carries_what_the_task_s_author_says_of_crashes_and_stays_the_same_submission() {
    let server = Server::start().await;
    let body = json!({"name": "fragile", "id": "early"});
    server.post("/tasks", &body).await.expect(201);
    until(&server, &json!({"name": "fragile"}), |answer| answer.get("warnings").is_some()).await;
    let on_crash = CrashPolicy { max_crashes: Some(7), dead_letter: Some(DeadLetter::Save) };
    let spec = TaskSpec {
        name: TaskName::new("fragile").unwrap(),
        version: 1,
        parameters: None,
        description: String::new(),
        on_crash,
        policy: PolicyOverrides::default(),
        sensitive: false,
    };
    let catalogue = server.engine.keep_catalogue(&Catalogue { tasks: vec![spec] }, TTL).await.unwrap();
    let worker = WorkerReport { catalogue: Some(catalogue), ..report("w1", &["fragile@1"]) };
    server.engine.register_worker(worker, TTL).await.unwrap();
    let registered = server.get("/tasks/registry").await.expect(200)["tasks"][0].clone();
    assert_eq!((&registered["max_crashes"], &registered["dead_letter"]), (&json!(7), &json!("save")));
    until(&server, &json!({"name": "fragile"}), |answer| answer.get("warnings").is_none()).await;

    let again = server.post("/tasks", &body).await.json();
    assert_eq!(again["created"], false, "the same submission, though nothing was known of the task the first time");
    server.post("/tasks", json!({"name": "fragile", "id": "a"})).await.expect(201);
    server
        .post("/tasks", json!({"name": "fragile", "id": "b", "max_crashes": 1, "dead_letter": "none"}))
        .await
        .expect(201);
    let policy = async |id: &str| server.get(&format!("/tasks/{id}")).await.expect(200)["policy"].clone();
    assert_eq!(policy("a").await, json!({"max_crashes": 7, "dead_letter": "save"}));
    assert_eq!(policy("b").await, json!({"max_crashes": 1, "dead_letter": "none"}), "the submitter's word stands");
}

#[tokio::test]
async fn a_submission_that_no_live_worker_can_run_is_taken_in_with_a_warning() {
    let server = Server::start().await;
    let warned = |answer: &Value| answer["warnings"][0]["code"] == "no_worker";
    let first = server.post("/tasks", json!({"name": "echo"})).await.expect(201);
    assert!(warned(&first), "however soon after the start: {first}");
    register_resizer(server.engine.as_ref()).await;
    let answer = until(&server, &json!({"name": "echo"}), |answer| !warned(answer)).await;
    assert_eq!((&answer["status"], answer.get("warnings")), (&json!("submitted"), None));
    server.post("/queues", json!({"name": "lonely"})).await.expect(201);
    let batch =
        json!({"tasks": [{"name": "echo"}, {"name": "echo", "queue": "lonely"}, {"name": "echo", "version": 2}]});
    let tasks = server.post("/tasks", batch).await.expect(201)["tasks"].clone();
    assert_eq!(tasks[0].get("warnings"), None);
    for (task, part) in [(&tasks[1], "queue lonely"), (&tasks[2], "echo@2")] {
        assert!(task["warnings"][0]["detail"].as_str().unwrap().contains(part), "{task}");
    }
}

#[tokio::test]
async fn a_strict_queue_refuses_what_no_live_worker_can_run() {
    let server = Server::start().await;
    server.put("/queues/default", json!({"strict": true})).await.expect(200);
    assert_eq!(server.get("/queues/default").await.expect(200)["strict"], true);
    let problem = server.post("/tasks", json!({"name": "echo"})).await.refused(422, "no_worker");
    assert_eq!(problem["pointer"], "/name");
    let batch = json!({"tasks": [{"name": "echo", "id": "a"}]});
    assert_eq!(server.post("/tasks", batch).await.refused(422, "no_worker")["pointer"], "/tasks/0/name");
    server.get("/tasks/a").await.refused(404, "unknown_task");
    // At once, however old the snapshot.
    register_resizer(server.engine.as_ref()).await;
    server.post("/tasks", json!({"name": "echo"})).await.expect(201);
}

#[tokio::test]
async fn parameters_that_do_not_fit_their_schema_are_refused_with_their_path() {
    let server = Server::start().await;
    register_resizer(server.engine.as_ref()).await;
    let task = |parameters: Value| json!({"name": "resize", "version": 2, "parameters": parameters});
    until(&server, &task(json!(7)), |answer| answer["code"] == "schema_mismatch").await;
    for (parameters, pointer) in [
        (json!({"sizes": [{"width": 1}, {"width": "wide"}]}), "/parameters/sizes/1/width"),
        (json!({}), "/parameters"),
        (json!({"sizes": [], "colour": "red"}), "/parameters"),
    ] {
        let problem = server.post("/tasks", task(parameters.clone())).await.refused(422, "schema_mismatch");
        assert_eq!(problem["pointer"], pointer, "{parameters}: {problem}");
        let place = pointer.strip_prefix("/parameters").unwrap();
        let says_where = problem["detail"].as_str().unwrap().contains(&format!("at {place}: "));
        assert_eq!(says_where, !place.is_empty(), "{problem}");
        let batch = json!({"tasks": [task(json!({"sizes": []})), task(parameters)]});
        let problem = server.post("/tasks", batch).await.refused(422, "schema_mismatch");
        assert_eq!(problem["pointer"], format!("/tasks/1{pointer}"));
    }
    for unreadable in [r#"{"sizes": ["\ud800"]}"#, r#"{"sizes": [1e999]}"#] {
        let body = format!(r#"{{"name": "resize", "version": 2, "parameters": {unreadable}}}"#);
        let problem = server.post("/tasks", body).await.refused(422, "schema_mismatch");
        assert_eq!(problem["pointer"], "/parameters", "{problem}");
    }
    server.post("/tasks", task(json!({"sizes": [{"width": 1}]}))).await.expect(201);
    server.post("/tasks", json!({"name": "echo", "parameters": [1, "anything"]})).await.expect(201);
    // Its worker decodes it and judges.
    server.post("/tasks", task(json!({"jobbers:codec": "k1", "jobbers:data": "AA=="}))).await.expect(201);
    server.post("/tasks", task(json!({"jobbers:data": "AA=="}))).await.refused(422, "schema_mismatch");
}

#[tokio::test]
async fn what_was_accepted_is_answered_again_whatever_the_workers_say_now() {
    let server = Server::start().await;
    let accepted = json!({"id": "a", "name": "resize", "version": 2, "parameters": {"n": 1}});
    server.post("/tasks", &accepted).await.expect(201);
    let send_with_key = |key: &str, body: &Value| {
        let request = server.json(Method::POST, "/tasks", body).header("idempotency-key", key);
        server.send(request)
    };
    let keyed = json!({"name": "resize", "version": 2, "parameters": {"n": 1}});
    let id = send_with_key("k", &keyed).await.expect(201)["id"].clone();
    register_resizer(server.engine.as_ref()).await;
    until(&server, &keyed, |answer| answer["code"] == "schema_mismatch").await;

    assert_eq!(server.post("/tasks", &accepted).await.expect(200)["created"], false);
    assert_eq!(send_with_key("k", &keyed).await.expect(200)["id"], id);
    let strict = json!({"strict": true});
    server.put("/queues/default", &strict).await.expect(200);
    server.engine.deregister_worker(&WorkerId::new("w1").unwrap()).await.unwrap();
    let fresh = json!({"name": "resize", "version": 2, "parameters": {"n": 1}});
    until(&server, &fresh, |answer| answer["code"] == "no_worker").await;
    assert_eq!(server.post("/tasks", &accepted).await.expect(200)["created"], false);

    let other = json!({"id": "a", "name": "resize", "version": 2, "parameters": {"n": 2}});
    server.post("/tasks", &other).await.refused(409, "task_exists");
    let instead = json!({"id": "a", "name": "resize", "version": 2, "parameters": 7, "on_conflict": "replace"});
    server.post("/tasks", &instead).await.refused(422, "no_worker");
}

#[tokio::test]
async fn workers_are_told_to_drain_and_to_claim_again() {
    let server = Server::start().await;
    server.post("/workers/w1/drain", "").await.refused(404, "unknown_worker");
    for id in ["w1", "w2"] {
        server.engine.register_worker(report(id, &[]), TTL).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(server.post("/workers/w1/drain", "").await.expect(200), json!({"workers": ["w1"]}));
    }
    let draining =
        async || server.engine.config().await.unwrap().draining.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(draining().await, ["w1"]);
    let workers = server.get("/workers").await.expect(200)["workers"].clone();
    assert!(workers[0]["draining_since"].is_string() && workers[1].get("draining_since").is_none(), "{workers}");
    assert_eq!(server.post("/workers/w1/resume", "").await.expect(200), json!({"workers": ["w1"]}));
    assert!(draining().await.is_empty());

    let by_version = json!({"version": "1.2.3"});
    assert_eq!(server.post("/workers/drain", &by_version).await.expect(200), json!({"workers": ["w1", "w2"]}));
    let by_host = json!({"host": "host-of-w2", "version": "1.2.3"});
    assert_eq!(server.post("/workers/resume", by_host).await.expect(200), json!({"workers": ["w2"]}));
    assert_eq!(draining().await, ["w1"]);
    assert_eq!(server.post("/workers/drain", json!({"host": "elsewhere"})).await.expect(200), json!({"workers": []}));
    server.post("/workers/drain", json!({})).await.refused(422, "invalid_request");
    server.post("/workers/drain", json!({"hosts": []})).await.refused(422, "invalid_request");
}

#[tokio::test]
async fn letters_that_do_not_fit_their_task_stay_dead() {
    let bench = dead_letters::bench().await;
    for (id, version, parameters) in
        [("fits", 2, json!({"sizes": []})), ("lacks", 2, json!({})), ("other-version", 1, json!({}))]
    {
        let body = json!({"id": id, "name": "resize", "version": version, "parameters": parameters});
        bench.post("/tasks", body).await.expect(201);
        bench.fail_again("boom").await;
    }
    bench.archived(3).await;
    register_resizer(&*bench.engine).await;
    let ids = ["fits", "lacks", "other-version"];
    let patched = bench.resubmit(json!({"ids": ids, "parameters": {"sizes": [{"width": "wide"}]}})).await.expect(200);
    assert_eq!(outcomes(&patched), ["bad_parameters", "bad_parameters", "resubmitted"], "{patched}");
    let detail = patched["tasks"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("at /sizes/0/width: resize@2 does not take this"), "{detail}");
    let as_they_are = bench.resubmit(json!({"ids": ["fits", "lacks"]})).await.expect(200);
    assert_eq!(outcomes(&as_they_are), ["resubmitted", "bad_parameters"], "{as_they_are}");
    assert_eq!(bench.claim("default", 9).await[1].parameters.bytes, &br#"{"sizes":[]}"#[..], "no patch was kept");
    let told = bench.post("/tasks/lacks/resubmit", "").await.refused(422, "schema_mismatch");
    assert!(told["detail"].as_str().unwrap().contains("sizes"), "{told}");
    assert_eq!(bench.archived(1).await[0]["id"], "lacks", "it is dead still");
    let mended = bench.resubmit(json!({"ids": ["lacks"], "parameters": {"sizes": []}})).await.expect(200);
    assert_eq!(outcomes(&mended), ["resubmitted"]);
    bench.server.stop().await;
}

fn outcomes(operation: &Value) -> Vec<&str> {
    operation["tasks"].as_array().unwrap().iter().map(|task| task["outcome"].as_str().unwrap()).collect()
}
