//! Why a task does not run now.

use jobbers_common::worker::{BlockingThreads, HeldThread, WorkerReport, WorkerState};
use serde_json::{Value, json};

use crate::server::{Server, worker};

fn report() -> WorkerReport {
    WorkerReport {
        id: worker(),
        host: "here".to_owned(),
        pid: 7,
        version: "1".to_owned(),
        role: "default".parse().unwrap(),
        queues: vec!["default".parse().unwrap()],
        slots: 4,
        running: 0,
        state: WorkerState::Running,
        tasks: vec!["t@1".to_owned()],
        settled: 0,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: None,
    }
}

async fn register(server: &Server, report: WorkerReport) {
    server.engine.register_worker(report, std::time::Duration::from_secs(60)).await.unwrap();
}

async fn submit(server: &Server, id: &str) {
    server.post("/tasks", json!({"id": id, "name": "t"})).await.expect(201);
}

async fn explain(server: &Server, id: &str) -> Value {
    let told = server.get(&format!("/tasks/{id}/explain")).await.expect(200);
    assert!(told["reasons"].as_array().unwrap().iter().all(|reason| !reason["message"].as_str().unwrap().is_empty()));
    told
}

async fn codes(server: &Server, id: &str) -> Vec<String> {
    let told = explain(server, id).await;
    told["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_task_that_nothing_holds_back_is_next() {
    let server = Server::start().await;
    register(&server, report()).await;
    submit(&server, "a").await;
    submit(&server, "b").await;
    assert_eq!(codes(&server, "a").await, ["next"]);
    let second = explain(&server, "b").await;
    assert_eq!((&second["ahead"], &second["reasons"][0]["code"]), (&json!(1), &json!("behind_others")));
    server.get("/tasks/none/explain").await.refused(404, "unknown_task");
}

fn thread(id: &str, attempt: u32) -> HeldThread {
    HeldThread {
        id: id.parse().unwrap(),
        queue: "default".parse().unwrap(),
        name: "t".parse().unwrap(),
        attempt,
        held_for: std::time::Duration::from_secs(90),
    }
}

/// A worker with two threads, for which `t` is a blocking task.
fn with_threads(held: &[&str]) -> WorkerReport {
    let held: Vec<_> = held.iter().map(|id| thread(id, 1)).collect();
    let busy = u32::try_from(held.len()).unwrap();
    let blocking = Some(BlockingThreads { threads: 2, tasks: vec!["t@1".to_owned()], busy, waiting: 1, held });
    WorkerReport { blocking, ..report() }
}

#[tokio::test]
async fn a_blocking_task_without_a_free_thread_says_which_tasks_hold_them() {
    let server = Server::start().await;
    for id in ["a", "b", "c"] {
        submit(&server, id).await;
    }
    server.claim("default", 2).await;
    register(&server, with_threads(&["a"])).await;
    assert_eq!(codes(&server, "c").await, ["next"], "a thread is free");
    let runs = explain(&server, "a").await["reasons"][0].clone();
    let seen = server.get("/workers").await.expect(200)["workers"][0].clone();
    assert_eq!((&runs["code"], &runs["since"]), (&json!("running"), &seen["blocking"]["held"][0]["since"]));
    let pool = &seen["blocking"];
    assert_eq!((&pool["threads"], &pool["busy"], &pool["waiting"]), (&json!(2), &json!(1), &json!(1)));

    register(&server, with_threads(&["a", "x"])).await;
    // One is claimed, one is ready: both wait for a thread.
    for id in ["b", "c"] {
        let waits = explain(&server, id).await["reasons"][0].clone();
        assert_eq!((&waits["code"], &waits["tasks"]), (&json!("waits_for_thread"), &json!(["a", "x"])), "{waits}");
        assert!(waits["since"].is_string(), "{waits}");
    }
    let other = WorkerReport { id: "other".parse().unwrap(), ..with_threads(&[]) };
    register(&server, other).await;
    assert_eq!(codes(&server, "c").await, ["next"], "another worker has free threads");
}

#[tokio::test]
async fn a_thread_that_its_earlier_attempt_still_holds_is_told() {
    let server = Server::start().await;
    submit(&server, "a").await;
    let hung_threads = vec![thread("a", 2), thread("other", 7)];
    register(&server, WorkerReport { hung_threads, ..report() }).await;
    let now = server.get("/workers").await.expect(200)["workers"][0]["seen_at"].clone();
    let told = explain(&server, "a").await["reasons"].clone();
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told[0]["code"], "holds_thread");
    let workers = server.get("/workers").await.expect(200)["workers"][0]["hung_threads"].clone();
    let [first, second] = &workers.as_array().unwrap()[..] else { panic!("{workers}") };
    assert_eq!((&first["id"], &first["name"], &first["attempt"]), (&json!("a"), &json!("t"), &json!(2)));
    assert_eq!(second["id"], "other");
    let millis = |time: &Value| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond();
    assert_eq!(millis(&now) - millis(&first["since"]), 90_000);
    let message = told[0]["message"].as_str().unwrap();
    assert!(message.contains("attempt 2") && message.contains("process 7 on here"), "{message}");
    assert_eq!(told[0]["since"], first["since"]);
}

#[tokio::test]
async fn everything_in_its_way_is_told_at_once() {
    let server = Server::start().await;
    submit(&server, "a").await;
    server.post("/queues/default/pause", "").await.expect(200);
    assert_eq!(codes(&server, "a").await, ["queue_paused", "no_worker_for_queue"]);
}

#[tokio::test]
async fn limits_are_told_with_who_uses_them_up() {
    let server = Server::start().await;
    register(&server, report()).await;
    server.put("/queues/default", json!({"max_concurrent": 1})).await.expect(200);
    submit(&server, "a").await;
    submit(&server, "b").await;
    server.claim("default", 1).await;
    let told = explain(&server, "b").await;
    assert_eq!((&told["reasons"][0]["code"], &told["reasons"][0]["tasks"]), (&json!("max_concurrent"), &json!(["a"])));

    server.put("/queues/default", json!({"rate_limit": {"tasks": 1, "per": "1h"}})).await.expect(200);
    server.claim("default", 1).await;
    submit(&server, "c").await;
    let told = explain(&server, "c").await;
    assert_eq!(told["reasons"][0]["code"], "rate_limited");
    assert!(told["reasons"][0]["until"].is_string(), "{told}");
}

#[tokio::test]
async fn what_the_workers_lack_is_told() {
    let server = Server::start().await;
    submit(&server, "a").await;
    server.post("/queues", json!({"name": "lonely"})).await.expect(201);
    server.post("/tasks", json!({"id": "l", "name": "t", "queue": "lonely"})).await.expect(201);
    assert_eq!(codes(&server, "l").await, ["no_role_for_queue"]);
    assert_eq!(codes(&server, "a").await, ["no_worker_for_queue"]);
    for (changed, code) in [
        (WorkerReport { tasks: vec!["t@2".to_owned()], ..report() }, "no_worker_for_task"),
        (WorkerReport { state: WorkerState::Draining, ..report() }, "workers_draining"),
        (WorkerReport { running: 4, ..report() }, "workers_busy"),
        (report(), "next"),
    ] {
        register(&server, changed).await;
        assert_eq!(codes(&server, "a").await, [code]);
    }
}

#[tokio::test]
async fn the_store_and_the_workers_that_can_t_run_it_are_named() {
    let server = Server::start().await;
    submit(&server, "a").await;
    let told = explain(&server, "a").await;
    assert_eq!(told["store"], server.get("/health/ready").await.expect(200)["store"]);
    let reason = &told["reasons"][0];
    assert!(reason["message"].as_str().unwrap().ends_with("the store has no live worker"), "{reason}");
    assert!(reason.get("workers").is_none() && reason.get("further_workers").is_none(), "{reason}");

    // Workers of another queue.
    let other = WorkerReport { queues: vec!["other".parse().unwrap()], ..report() };
    register(&server, WorkerReport { id: "elsewhere".parse().unwrap(), ..other }).await;
    let reason = explain(&server, "a").await["reasons"][0].clone();
    assert_eq!(
        (&reason["code"], &reason["workers"]),
        (&json!("no_worker_for_queue"), &json!([{"id": "elsewhere", "host": "here"}]))
    );

    // Workers of its queue that do not know it.
    for n in 0..12 {
        let id = format!("w{n:02}").parse().unwrap();
        register(&server, WorkerReport { id, tasks: vec!["t@2".to_owned()], ..report() }).await;
    }
    let reason = explain(&server, "a").await["reasons"][0].clone();
    assert_eq!((&reason["code"], &reason["further_workers"]), (&json!("no_worker_for_task"), &json!(2)));
    let named: Vec<&str> =
        reason["workers"].as_array().unwrap().iter().map(|worker| worker["id"].as_str().unwrap()).collect();
    assert_eq!(named, ["w00", "w01", "w02", "w03", "w04", "w05", "w06", "w07", "w08", "w09"]);
}

#[tokio::test]
async fn a_task_that_is_elsewhere_says_where() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "later", "name": "t", "delay": "1h"})).await.expect(201);
    let told = explain(&server, "later").await;
    assert_eq!(
        (&told["reasons"][0]["code"], &told["reasons"][1]["code"]),
        (&json!("not_due"), &json!("no_worker_for_queue"))
    );
    assert!(told["reasons"][0]["until"].is_string() && told.get("ahead").is_none(), "{told}");
    submit(&server, "a").await;
    server.claim("default", 1).await;
    assert_eq!(codes(&server, "a").await, ["running"]);
    server.post("/tasks/later/cancel", "").await.expect(200);
    assert_eq!(codes(&server, "later").await, ["over"]);
}

#[tokio::test]
async fn queues_that_its_workers_empty_first_are_told() {
    let server = Server::start().await;
    server.post("/queues", json!({"name": "first"})).await.expect(201);
    server.put("/roles/default", json!({"queues": ["first", "default"]})).await.expect(200);
    register(&server, WorkerReport { queues: ["first", "default"].map(|it| it.parse().unwrap()).into(), ..report() })
        .await;
    submit(&server, "a").await;
    assert_eq!(codes(&server, "a").await, ["next"]);
    server.post("/tasks", json!({"id": "b", "name": "t", "queue": "first"})).await.expect(201);
    let told = explain(&server, "a").await;
    assert_eq!(told["reasons"][0]["code"], "earlier_queues");
    assert!(told["reasons"][0]["message"].as_str().unwrap().contains("first, with 1 ready, by role default"), "{told}");
    assert_eq!(codes(&server, "b").await, ["next"]);
    server.post("/queues/first/pause", "").await.expect(200);
    assert_eq!(codes(&server, "a").await, ["next"], "a paused queue holds nobody up");
    server.post("/queues/first/resume", "").await.expect(200);
    let weighted = json!({"queues": ["first", "default"], "order": "weighted"});
    server.put("/roles/default", weighted).await.expect(200);
    assert_eq!(codes(&server, "a").await, ["next"]);
}

#[tokio::test]
async fn a_role_that_matches_the_queue_by_a_pattern_is_named_if_it_serves_it() {
    let server = Server::start().await;
    let create = async |name: &str| server.post("/queues", json!({"name": name})).await.expect(201);
    create("zz").await;
    server.post("/tasks", json!({"id": "a", "name": "t", "queue": "zz"})).await.expect(201);
    assert_eq!(codes(&server, "a").await, ["no_role_for_queue"]);
    server.post("/roles", json!({"name": "all", "queues": ["*"]})).await.expect(201);
    let told = explain(&server, "a").await;
    assert_eq!(told["reasons"][0]["code"], "no_worker_for_queue");
    assert!(told["reasons"][0]["message"].as_str().unwrap().contains("roles that would: all"), "{told}");
    for n in 0..1_024 {
        create(&format!("q{n:04}")).await;
    }
    let told = explain(&server, "a").await;
    assert_eq!(told["reasons"][0]["code"], "no_role_for_queue");
    let message = told["reasons"][0]["message"].as_str().unwrap();
    assert!(message.contains("role all has a pattern for it, and serves 1024 others"), "{told}");
}

#[tokio::test]
async fn a_task_that_is_given_back_because_nobody_knows_it_says_so() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "later", "name": "t", "delay": "1h"})).await.expect(201);
    register(&server, WorkerReport { tasks: vec!["t@2".to_owned()], ..report() }).await;
    assert_eq!(codes(&server, "later").await, ["not_due", "no_worker_for_task"]);
    register(&server, report()).await;
    assert_eq!(codes(&server, "later").await, ["not_due"]);
}

#[tokio::test]
async fn a_limit_of_each_worker_is_told() {
    let server = Server::start().await;
    let other = WorkerReport { id: "w2".parse().unwrap(), ..report() };
    register(&server, report()).await;
    server.put("/queues/default", json!({"max_per_worker": 1})).await.expect(200);
    submit(&server, "a").await;
    submit(&server, "b").await;
    server.claim("default", 1).await;
    let told = explain(&server, "b").await;
    assert_eq!((&told["reasons"][0]["code"], &told["reasons"][0]["tasks"]), (&json!("max_per_worker"), &json!(["a"])));
    register(&server, other).await;
    assert_eq!(codes(&server, "b").await, ["next"], "another worker may take it");
}

async fn queue_codes(server: &Server, queue: &str) -> (Value, Vec<String>) {
    let why = server.get(&format!("/queues/{queue}/explain")).await.expect(200);
    let reasons = why["reasons"].as_array().unwrap();
    let codes = reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect();
    (why, codes)
}

#[tokio::test]
async fn a_queue_that_does_not_move_says_why_and_since_when() {
    let server = Server::start().await;
    server.get("/queues/nowhere/explain").await.refused(404, "unknown_queue");
    let (why, codes) = queue_codes(&server, "default").await;
    assert_eq!(codes, ["nothing_ready", "no_worker_for_queue"]);
    assert_eq!((why.get("next"), why.get("last_start_at")), (None, None));

    server.post("/tasks", json!({"id": "later", "name": "t", "delay": "1h"})).await.expect(201);
    let (why, _) = queue_codes(&server, "default").await;
    assert_eq!((&why["later"], why["reasons"][0]["until"].is_string()), (&json!(1), true));

    register(&server, report()).await;
    submit(&server, "a").await;
    submit(&server, "b").await;
    let (why, codes) = queue_codes(&server, "default").await;
    assert_eq!((codes, &why["next"], &why["ready"]), (vec!["next".to_owned()], &json!("a"), &json!(2)));
    assert!(why["oldest_ready_at"].is_string());

    assert_eq!(server.claim("default", 1).await.len(), 1);
    server.put("/queues/default", json!({"max_concurrent": 1, "paused": true})).await.expect(200);
    let (why, codes) = queue_codes(&server, "default").await;
    assert_eq!(codes, ["queue_paused", "max_concurrent"]);
    assert_eq!((&why["next"], &why["running"], &why["reasons"][1]["tasks"]), (&json!("b"), &json!(1), &json!(["a"])));
    assert!(why["last_start_at"].is_string(), "a started in this minute");
    server.stop().await;
}
