//! `/leases`: claimed, extended and returned over HTTP.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    name::{QueueName, RoleName, WorkerId},
    time::{ManualClock, Timestamp},
    worker::{WorkerReport, WorkerState},
};
use jobbers_law::{double::Double, model::ModelEngine};
use jobbers_manager::Config;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};

use crate::{
    fault::FaultyEngine,
    server::{Server, soon},
};

async fn submit(server: &Server, id: &str, more: Value) {
    let mut task = json!({"id": id, "name": "resize", "parameters": {"width": 7}});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post("/tasks", task).await.expect(201);
}

/// Leases up to `limit` tasks of the default queue.
async fn lease(server: &Server, limit: usize) -> Vec<Value> {
    let answer = server.post("/leases", json!({"worker": "py", "queues": ["default"], "limit": limit})).await;
    answer.expect(200)["leases"].as_array().unwrap().clone()
}

/// Returns a lease; `more` says how.
async fn give_back(server: &Server, lease: &Value, more: Value) -> Value {
    let mut returned = json!({"id": lease["id"], "token": lease["token"]});
    returned.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = server.post("/leases/return", json!({"worker": "py", "leases": [returned]})).await;
    answer.expect(200)["leases"][0].clone()
}

async fn extend(server: &Server, lease: &Value, more: Value) -> Value {
    let mut extension = json!({"id": lease["id"], "token": lease["token"]});
    extension.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = server.post("/leases/extend", json!({"worker": "py", "leases": [extension]})).await;
    answer.expect(200)["leases"][0].clone()
}

async fn status(server: &Server, id: &str) -> Value {
    server.get(&format!("/tasks/{id}")).await.expect(200)
}

#[tokio::test]
async fn a_leased_task_runs_like_any_other_and_completes() {
    let server = Server::start().await;
    submit(&server, "x", json!({"priority": 7, "timeout": "2m", "labels": {"team": "core"}})).await;
    let leased = lease(&server, 5).await;
    assert_eq!(leased.len(), 1);
    let task = &leased[0];
    assert_eq!((&task["id"], &task["name"], &task["version"]), (&json!("x"), &json!("resize"), &json!(1)));
    assert_eq!((&task["parameters"], &task["attempt"]), (&json!({"width": 7}), &json!(1)));
    assert_eq!((&task["priority"], &task["policy"]), (&json!(7), &json!({"timeout": "2m"})));
    assert_eq!(task["labels"], json!({"team": "core"}));
    let told = status(&server, "x").await;
    assert_eq!((&told["status"], &told["worker"]), (&json!("started"), &json!("py")));
    assert_eq!(told["lease"]["fence"], task["fence"]);
    assert_eq!(told["lease"]["expires_at"], task["expires_at"]);
    let reason = &server.get("/tasks/x/explain").await.expect(200)["reasons"][0];
    assert!(reason["code"] == "running" && reason["message"].as_str().unwrap().contains("worker py"), "{reason}");
    assert_eq!(server.get("/active-tasks").await.expect(200)["tasks"][0]["worker"], "py");

    let news = json!({"progress": {"fraction": 0.5, "message": "half"}, "checkpoint": {"at": 3}});
    assert_eq!(extend(&server, task, news).await, json!({"id": "x", "extended": true, "cancel_requested": false}));
    let told = status(&server, "x").await;
    assert_eq!(told["progress"], json!({"fraction": 0.5, "message": "half"}));
    assert_eq!(told["checkpoint"], json!({"at": 3}));
    assert!(told["heartbeat_at"].is_string() && told["lease"]["expires_at"].as_str() > task["expires_at"].as_str());

    let returned = give_back(&server, task, json!({"outcome": "completed", "result": {"height": 9}})).await;
    assert_eq!(returned, json!({"id": "x", "accepted": true, "status": "completed"}));
    let told = status(&server, "x").await;
    assert_eq!((&told["status"], &told["result"]), (&json!("completed"), &json!({"height": 9})));
    let again = give_back(&server, task, json!({"outcome": "completed", "result": {"height": 9}})).await;
    assert_eq!(again["accepted"], true, "what ended its task is answered like the first time");
    for other in [
        json!({"outcome": "completed", "result": 2}),
        json!({"outcome": "failed", "error": {"message": "no"}}),
        json!({"outcome": "released"}),
    ] {
        let refused = give_back(&server, task, other).await;
        assert_eq!((&refused["accepted"], &refused["code"]), (&json!(false), &json!("lease_lost")), "{refused}");
    }
    assert_eq!(status(&server, "x").await["result"], json!({"height": 9}));
}

#[tokio::test]
async fn the_policy_of_a_task_decides_what_becomes_of_a_failure() {
    let server = Server::start().await;
    let policy = json!({"max_retries": 1, "retry_delay": 0, "fatal_on": ["bad_input"]});
    for id in ["twice", "fatal", "kind"] {
        submit(&server, id, policy.clone()).await;
    }
    let error = json!({"message": "busy", "kind": "rate_limited"});
    for (lease, expected) in lease(&server, 3).await.iter().zip(["submitted", "failed", "failed"]) {
        let error = match lease["id"].as_str().unwrap() {
            "twice" => error.clone(),
            "fatal" => json!({"message": "never", "fatal": true}),
            _ => json!({"message": "never", "kind": "bad_input"}),
        };
        let returned = give_back(&server, lease, json!({"outcome": "failed", "error": error})).await;
        assert_eq!((&returned["accepted"], &returned["status"]), (&json!(true), &json!(expected)), "{lease}");
    }
    let second = lease(&server, 3).await.remove(0);
    assert_eq!((&second["id"], &second["attempt"]), (&json!("twice"), &json!(2)));
    let returned = give_back(&server, &second, json!({"outcome": "retry", "delay": "1h", "error": error})).await;
    assert_eq!(returned["status"], "failed", "its one retry is used up");
    let told = status(&server, "twice").await;
    assert_eq!((&told["dead_letter"], told["errors"].as_array().unwrap().len()), (&json!(true), 2));
    let attempt = &told["errors"][1];
    assert_eq!((&attempt["worker"], &attempt["kind"]), (&json!("py"), &json!("error")));
    assert_eq!((&attempt["error_kind"], &attempt["message"]), (&json!("rate_limited"), &json!("busy")));
    assert_eq!(status(&server, "fatal").await["errors"][0]["kind"], "fatal");
}

#[tokio::test]
async fn a_task_that_is_given_up_is_aborted_and_so_are_its_successors() {
    let server = Server::start().await;
    submit(&server, "a", json!({"max_retries": 9})).await;
    submit(&server, "b", json!({"depends_on": ["a"]})).await;
    submit(&server, "c", json!({"depends_on": [{"id": "a", "policy": "run_on_error"}]})).await;
    let leased = lease(&server, 3).await;
    assert_eq!(leased.len(), 1, "the others wait");
    let error = json!({"message": "no such branch", "kind": "void"});
    let aborted = json!({"outcome": "aborted", "error": error});
    for _ in 0..2 {
        let returned = give_back(&server, &leased[0], aborted.clone()).await;
        assert_eq!((&returned["accepted"], &returned["status"]), (&json!(true), &json!("aborted")));
    }
    let told = status(&server, "a").await;
    assert_eq!((&told["status"], &told["dead_letter"]), (&json!("aborted"), &json!(false)));
    assert_eq!((&told["errors"][0]["message"], &told["errors"][0]["error_kind"]), (&error["message"], &error["kind"]));
    let successor = status(&server, "b").await;
    let cause = json!({"id": "a", "status": "aborted"});
    assert_eq!((&successor["status"], &successor["dependencies"]["aborted_by"]), (&json!("aborted"), &cause));
    let reason = &server.get("/tasks/b/explain").await.expect(200)["reasons"][0];
    assert!(reason["message"].as_str().unwrap().contains("task a, which it depends on, ended as aborted"), "{reason}");
    assert_eq!(status(&server, "c").await["status"], "submitted");
}

#[tokio::test]
async fn a_task_may_be_retried_later_given_back_or_acknowledged_as_cancelled() {
    let server = Server::start().await;
    for id in ["later", "back", "over"] {
        submit(&server, id, json!({})).await;
    }
    let leased = lease(&server, 3).await;
    let returned = give_back(&server, &leased[0], json!({"outcome": "retry", "delay": "1h"})).await;
    assert_eq!(returned["status"], "scheduled");
    assert_eq!(status(&server, "later").await["attempt"], 1);
    let returned = give_back(&server, &leased[1], json!({"outcome": "released"})).await;
    assert_eq!(returned["status"], "submitted");
    let told = status(&server, "back").await;
    assert_eq!((&told["attempt"], &told["errors"]), (&json!(0), &json!([])), "as if it had not been claimed");
    server.post("/tasks/over/cancel", json!(null)).await.expect(202);
    let answer = server.post("/leases", json!({"worker": "py", "queues": ["default"], "tasks": ["none@1"]})).await;
    assert_eq!(answer.expect(200)["cancel_requested"], json!(["over"]));
    assert_eq!(extend(&server, &leased[2], json!({})).await["cancel_requested"], true);
    let returned = give_back(&server, &leased[2], json!({"outcome": "completed", "result": 1})).await;
    assert_eq!(returned["status"], "cancelled", "a cancel wins");
}

#[tokio::test]
async fn a_token_that_holds_nothing_is_answered_as_lost_and_harms_no_neighbour() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000)));
    let server = Server::with(Arc::new(ModelEngine::new(clock.clone())), Config::default()).await;
    for id in ["a", "b"] {
        submit(&server, id, json!({})).await;
    }
    let first = lease(&server, 2).await;
    clock.advance(Duration::from_secs(31));
    server.engine.reclaim_expired(10).await.unwrap();
    assert_eq!(status(&server, "a").await["crashes"], 1, "a worker that vanished crashed");
    let second = lease(&server, 1).await.remove(0);
    let stale = first.iter().find(|lease| lease["id"] == second["id"]).unwrap();
    let foreign = json!("x y");
    let leases = [(&second["id"], &stale["token"]), (&json!("none"), &second["token"]), (&json!("b"), &foreign)];
    let extensions: Vec<Value> = leases.iter().map(|(id, token)| json!({"id": id, "token": token})).collect();
    let answer = server.post("/leases/extend", json!({"worker": "py", "leases": extensions})).await.expect(200);
    for lease in answer["leases"].as_array().unwrap() {
        assert_eq!((&lease["extended"], &lease["code"]), (&json!(false), &json!("lease_lost")), "{lease}");
        assert!(lease["detail"].as_str().unwrap().contains(lease["id"].as_str().unwrap()));
    }
    let returns: Vec<Value> = ["completed", "failed", "released"]
        .iter()
        .zip(leases)
        .map(|(outcome, (id, token))| json!({"id": id, "token": token, "outcome": outcome}))
        .collect();
    let mine = json!({"id": second["id"], "token": second["token"], "outcome": "completed"});
    let body = json!({"worker": "py", "leases": returns});
    let answer = server.post("/leases/return", body).await.expect(200);
    for lease in answer["leases"].as_array().unwrap() {
        assert_eq!((&lease["accepted"], &lease["code"]), (&json!(false), &json!("lease_lost")), "{lease}");
    }
    let others = json!({"worker": "py", "leases": [mine, {"id": "b", "token": "7", "outcome": "cancelled"}]});
    let answer = server.post("/leases/return", others).await.expect(200);
    assert_eq!(
        (&answer["leases"][0]["status"], &answer["leases"][1]["accepted"]),
        (&json!("completed"), &json!(false))
    );
    assert_eq!(status(&server, "b").await["status"], "submitted");
}

#[tokio::test]
async fn a_waiting_request_is_answered_when_there_is_a_task() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    let body = json!({"worker": "py", "queues": ["default"], "wait": "60s"});
    let waiting = server.json(Method::POST, "/leases", body).send();
    let submitting = async {
        engine.claims(1).await;
        submit(&server, "x", json!({})).await;
    };
    let (answer, ()) = soon(async { tokio::join!(waiting, submitting) }).await;
    let leased: Value = serde_json::from_str(&answer.unwrap().text().await.unwrap()).unwrap();
    assert_eq!(leased["leases"][0]["id"], "x");
}

#[tokio::test]
async fn a_waiting_request_is_answered_with_nothing_when_the_manager_stops() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    let body = json!({"worker": "py", "queues": ["default"], "wait": "60s"});
    let waiting = tokio::spawn(server.json(Method::POST, "/leases", body).send());
    soon(engine.claims(1)).await;
    soon(server.stop()).await;
    let answer = soon(waiting).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.unwrap().contains(r#""leases":[]"#));
}

/// Sends a request for tasks, and reads nothing.
async fn ask_and_read_nothing(server: &Server, body: Value) -> TcpStream {
    // A receiver that takes little, so that an answer of some megabytes is not wholly in the sockets.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "POST /leases HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    stream
}

/// Waits until so many tasks of the default queue stand there.
async fn until(server: &Server, standing: &str, tasks: u64) {
    let reached = async {
        while server.get("/queues/default").await.expect(200)["tasks"][standing] != tasks {
            tokio::task::yield_now().await;
        }
    };
    soon(reached).await;
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_waits_takes_nothing() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    let body = json!({"worker": "gone", "queues": ["default"], "wait": "60s"});
    let waiting = ask_and_read_nothing(&server, body).await;
    soon(engine.claims(1)).await;
    drop(waiting);
    // Whether or not the manager has noticed by now.
    submit(&server, "x", json!({})).await;
    let leased = async {
        loop {
            if let Some(task) = lease(&server, 1).await.pop() {
                return task;
            }
        }
    };
    let task = soon(leased).await;
    assert_eq!((&task["id"], &task["attempt"], &task["crashes"]), (&json!("x"), &json!(1), &json!(0)));
}

#[tokio::test]
async fn a_claim_that_is_under_way_when_its_client_goes_away_is_given_back() {
    let engine = Arc::new(Double(FaultyEngine::new()));
    let server = Server::with(engine.clone(), Config::default()).await;
    submit(&server, "x", json!({})).await;
    engine.hold_claims(true);
    let waiting = ask_and_read_nothing(&server, json!({"worker": "gone", "queues": ["default"]})).await;
    soon(engine.claims(1)).await;
    assert_eq!(status(&server, "x").await["status"], "started");
    drop(waiting);
    // The manager notices the closed connection before it answers this on another one.
    server.get("/health/live").await.expect(200);
    engine.hold_claims(false);
    until(&server, "submitted", 1).await;
    let told = status(&server, "x").await;
    assert_eq!((&told["attempt"], &told["crashes"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn what_a_client_does_not_read_before_it_goes_away_is_given_back() {
    const TASKS: u64 = 80;
    let server = Server::start().await;
    // Far more than the sockets of both sides hold.
    let parameters = "x".repeat(250_000);
    for id in 0..TASKS {
        submit(&server, &format!("x{id}"), json!({"parameters": parameters})).await;
    }
    let body = json!({"worker": "gone", "queues": ["default"], "limit": TASKS});
    let reading_nothing = ask_and_read_nothing(&server, body).await;
    // An answer has about 8 MiB of parameters at most.
    let leased = async {
        while server.get("/queues/default").await.expect(200)["tasks"]["started"].as_u64() < Some(30) {
            tokio::task::yield_now().await;
        }
    };
    soon(leased).await;
    drop(reading_nothing);
    until(&server, "submitted", TASKS).await;
    let told = status(&server, "x0").await;
    assert_eq!((&told["attempt"], &told["crashes"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn a_worker_over_http_is_listed_and_drains() {
    let server = Server::start().await;
    for id in ["x", "y"] {
        submit(&server, id, json!({})).await;
    }
    let body = json!({"worker": "py", "version": "snake-3", "queues": ["default"], "tasks": ["resize", "crop@2"]});
    let request = server.json(Method::POST, "/leases", &body).header("user-agent", "Python-urllib/3.11");
    assert_eq!(server.send(request).await.expect(200)["leases"][0]["id"], "x");
    let listed = &server.get("/workers").await.expect(200)["workers"][0];
    assert_eq!((&listed["id"], &listed["role"], &listed["state"]), (&json!("py"), &json!("http"), &json!("running")));
    assert_eq!((&listed["host"], &listed["version"]), (&json!("127.0.0.1"), &json!("snake-3")));
    for version in ["", "a b", "\u{e4}", &"x".repeat(65)] {
        let wrong = json!({"worker": "py", "version": version, "queues": ["default"]});
        assert_eq!(server.post("/leases", wrong).await.refused(422, "invalid_request")["pointer"], "/version");
    }
    assert_eq!((&listed["queues"], &listed["tasks"]), (&json!(["default"]), &json!(["resize@1", "crop@2"])));
    let registered = server.get("/tasks/registry").await;
    assert!(registered.text.contains("crop"), "{}", registered.text);
    server.post("/workers/py/drain", "").await.expect(200);
    let answer = server.post("/leases", &body).await.expect(200);
    assert_eq!((&answer["leases"], &answer["draining"]), (&json!([]), &json!(true)));
    server.post("/workers/py/resume", "").await.expect(200);
    assert_eq!(server.post("/leases", &body).await.expect(200)["leases"][0]["id"], "y");
}

#[tokio::test]
async fn a_worker_is_given_what_it_knows_and_leaves_the_rest_to_others() {
    let server = Server::start().await;
    for (id, name) in [("theirs", "grind"), ("nobody_s", "strange"), ("ours", "resize")] {
        server.post("/tasks", json!({"id": id, "name": name})).await.expect(201);
    }
    let report = WorkerReport {
        id: WorkerId::new("other").unwrap(),
        host: "here".to_owned(),
        pid: 1,
        version: "1".to_owned(),
        role: RoleName::new("default").unwrap(),
        queues: vec![QueueName::new("default").unwrap()],
        slots: 1,
        running: 0,
        state: WorkerState::Running,
        tasks: vec!["grind@1".to_owned()],
        settled: 0,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: None,
    };
    server.engine.register_worker(report, Duration::from_secs(60)).await.unwrap();
    let body = json!({"worker": "py", "queues": ["default"], "tasks": ["resize@1"], "limit": 3});
    let leased = server.post("/leases", body).await.expect(200)["leases"].clone();
    assert_eq!((leased.as_array().unwrap().len(), &leased[0]["id"]), (1, &json!("ours")));
    let told = status(&server, "theirs").await;
    assert_eq!((&told["status"], &told["attempt"]), (&json!("submitted"), &json!(0)));
    assert_eq!(status(&server, "nobody_s").await["status"], "scheduled", "offered again when its delay is over");
}

#[tokio::test]
async fn a_worker_that_names_no_tasks_counts_as_able_to_run_any() {
    let server = Server::start().await;
    let strict = json!({"name": "strict", "strict": true});
    server.post("/queues", strict).await.expect(201);
    let task = |id: &str| json!({"id": id, "name": "anything", "version": 3, "queue": "strict"});
    server.post("/tasks", task("a")).await.refused(422, "no_worker");
    let body = json!({"worker": "py", "queues": ["strict"], "limit": 2});
    server.post("/leases", &body).await.expect(200);
    let created = server.post("/tasks", task("a")).await.expect(201);
    assert_eq!(created["warnings"], json!(null), "{created}");
    let explained = server.get("/tasks/a/explain").await.expect(200);
    let codes: Vec<&Value> = explained["reasons"].as_array().unwrap().iter().map(|reason| &reason["code"]).collect();
    assert!(!codes.contains(&&json!("no_worker_for_task")), "{explained}");
    let listed = server.get("/workers").await.expect(200);
    assert_eq!(listed["workers"][0]["tasks"], json!(["*"]));
    assert_eq!(server.post("/leases", &body).await.expect(200)["leases"][0]["id"], "a");
}

#[tokio::test]
async fn a_claim_is_not_refused_for_one_queue_of_many_that_does_not_exist() {
    let server = Server::start().await;
    submit(&server, "a", json!({})).await;
    let body = json!({"worker": "py", "queues": ["none", "default"]});
    let answer = server.post("/leases", &body).await.expect(200);
    assert_eq!((&answer["leases"][0]["id"], &answer["unknown_queues"]), (&json!("a"), &json!(["none"])));
    let answer = server.post("/leases", json!({"worker": "py", "queues": ["default"]})).await.expect(200);
    assert_eq!(answer["unknown_queues"], json!(null));
}

#[tokio::test]
async fn a_lease_is_extended_by_its_worker_alone() {
    let server = Server::start().await;
    submit(&server, "a", json!({})).await;
    let leased = lease(&server, 1).await.remove(0);
    let body = json!({"worker": "other", "leases": [{"id": "a", "token": leased["token"]}]});
    let answer = server.post("/leases/extend", body).await.expect(200)["leases"][0].clone();
    assert_eq!((&answer["extended"], &answer["code"]), (&json!(false), &json!("lease_lost")));
    assert_eq!(extend(&server, &leased, json!({})).await["extended"], true);
}

#[tokio::test]
async fn a_worker_holds_no_more_of_a_queue_than_one_worker_may() {
    let server = Server::start().await;
    server.put("/queues/default", json!({"max_per_worker": 2})).await.expect(200);
    for id in ["a", "b", "c"] {
        submit(&server, id, json!({})).await;
    }
    let first = lease(&server, 3).await;
    assert_eq!((first.len(), lease(&server, 3).await.len()), (2, 0));
    give_back(&server, &first[0], json!({"outcome": "completed"})).await;
    assert_eq!(lease(&server, 3).await.len(), 1);
}

#[tokio::test]
async fn bytes_of_any_type_come_and_go() {
    let server = Server::start().await;
    let bytes = json!({"parameters": "AAE=", "parameters_content_type": "image/png"});
    submit(&server, "x", bytes).await;
    let task = lease(&server, 1).await.remove(0);
    assert_eq!((&task["parameters"], &task["parameters_content_type"]), (&json!("AAE="), &json!("image/png")));
    extend(&server, &task, json!({"checkpoint": "Ag==", "checkpoint_content_type": "x/y"})).await;
    let result = json!({"outcome": "completed", "result": "AwQ=", "result_content_type": "application/pdf"});
    give_back(&server, &task, result).await;
    let told = status(&server, "x").await;
    assert_eq!((&told["result"], &told["result_content_type"]), (&json!("AwQ="), &json!("application/pdf")));
    let bad = json!({"name": "t", "parameters": {"a": 1}, "parameters_content_type": "image/png"});
    assert_eq!(server.post("/tasks", bad).await.refused(422, "invalid_request")["pointer"], "/parameters");
    let bad = json!({"tasks": [{"name": "t", "parameters_content_type": "image/png"}]});
    let problem = server.post("/tasks", bad).await.refused(422, "invalid_request");
    assert_eq!(problem["pointer"], "/tasks/0/parameters_content_type");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_field() {
    let server = Server::start().await;
    let ask = |more: Value| {
        let mut body = json!({"worker": "py", "queues": ["default"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let many: Vec<String> = (0..1_025).map(|n| format!("q{n}")).collect();
    for (body, pointer) in [
        (json!({"queues": ["default"]}), ""),
        (ask(json!({"worker": "a b"})), "/worker"),
        (ask(json!({"worker": ".."})), "/worker"),
        (ask(json!({"queues": []})), "/queues"),
        (ask(json!({ "queues": many })), "/queues"),
        (ask(json!({"limit": 0})), "/limit"),
        (ask(json!({"limit": 1001})), "/limit"),
        (ask(json!({"lease": "999ms"})), "/lease"),
        (ask(json!({"lease": "2d"})), "/lease"),
        (ask(json!({"wait": "61s"})), "/wait"),
        (ask(json!({"tasks": []})), "/tasks"),
        (ask(json!({"tasks": ["resize@1", "a b"]})), "/tasks/1"),
        (ask(json!({"role": "default"})), "/role"),
    ] {
        let problem = server.post("/leases", &body).await.refused(422, "invalid_request");
        assert_eq!(problem["pointer"].as_str().unwrap_or_default(), pointer, "{body}: {problem}");
    }
    server.post("/leases", ask(json!({"queues": ["none"]}))).await.refused(404, "unknown_queue");
    for (path, lease, pointer) in [
        ("extend", json!({"token": "1"}), "/leases/0"),
        ("extend", json!({"progress": {"fraction": 1.5}}), "/leases/0/progress"),
        ("extend", json!({"progress": {"fraction": 0, "message": "x".repeat(1_025)}}), "/leases/0/progress"),
        ("extend", json!({"checkpoint_content_type": "x/y"}), "/leases/0/checkpoint_content_type"),
        ("return", json!({}), "/leases/0"),
        ("return", json!({"outcome": "stalled"}), "/leases/0/outcome"),
        ("return", json!({"outcome": "failed", "result": 1}), "/leases/0/result"),
        ("return", json!({"outcome": "completed", "error": {}}), "/leases/0/error"),
        ("return", json!({"outcome": "retry", "error": {"fatal": true}}), "/leases/0/error"),
        ("return", json!({"outcome": "failed", "error": {"kind": "a\nb"}}), "/leases/0/error/kind"),
        ("return", json!({"outcome": "failed", "error": {"kind": "x".repeat(257)}}), "/leases/0/error/kind"),
        ("return", json!({"outcome": "failed", "delay": "1s"}), "/leases/0/delay"),
        ("return", json!({"outcome": "released", "delay": "367d"}), "/leases/0/delay"),
    ] {
        let mut whole = if lease.get("token").is_some() { json!({}) } else { json!({"id": "x", "token": "1"}) };
        whole.as_object_mut().unwrap().extend(lease.as_object().unwrap().clone());
        let body = json!({"worker": "py", "leases": [whole]});
        let answer = server.post(&format!("/leases/{path}"), &body).await.expect(200);
        let refused = &answer["leases"][0];
        assert_eq!((&refused["code"], &refused["pointer"]), (&json!("invalid_request"), &json!(pointer)), "{body}");
    }
    let lease = |id: usize| json!({"id": id.to_string(), "token": "1", "outcome": "cancelled"});
    let none = json!({"worker": "py", "leases": []});
    let many = json!({"worker": "py", "leases": (0..1_001).map(lease).collect::<Vec<_>>()});
    server.post("/leases/return", &none).await.refused(422, "invalid_request");
    server.post("/leases/extend", &none).await.refused(422, "invalid_request");
    server.post("/leases/return", many).await.refused(413, "batch_too_large");
    let large = json!({"id": "x", "token": "1", "outcome": "completed", "result": "x".repeat(300_000)});
    let body = json!({"worker": "py", "leases": [large]});
    let refused = server.post("/leases/return", body).await.expect(200)["leases"][0].clone();
    assert_eq!((&refused["code"], &refused["pointer"]), (&json!("payload_too_large"), &json!("/leases/0/result")));
}

#[tokio::test]
async fn a_leased_task_comes_with_the_results_it_waited_for() {
    let server = Server::start().await;
    submit(&server, "a", json!({"max_retries": 0})).await;
    submit(&server, "b", json!({})).await;
    submit(&server, "png", json!({})).await;
    submit(&server, "z", json!({"depends_on": ["b", "png", {"id": "a", "policy": "run_with_failures"}]})).await;
    let leased = lease(&server, 3).await;
    assert!(leased[0]["predecessors"].is_null(), "nothing was asked for");
    give_back(&server, &leased[0], json!({"outcome": "failed", "error": {"message": "no"}})).await;
    give_back(&server, &leased[1], json!({"outcome": "completed", "result": {"n": 1.0}})).await;
    let png = json!({"outcome": "completed", "result": "AAE=", "result_content_type": "image/png"});
    give_back(&server, &leased[2], png).await;
    let request = json!({"worker": "py", "queues": ["default"], "predecessors": true});
    let leases = server.post("/leases", request).await.expect(200)["leases"].clone();
    let expected = json!({"total": 3, "predecessors": [
        {"id": "b", "status": "completed", "result": {"n": 1.0}},
        {"id": "png", "status": "completed", "result": "AAE=", "result_content_type": "image/png"},
        {"id": "a", "status": "failed"},
    ]});
    assert_eq!(leases[0]["predecessors"], expected);
    assert_eq!(server.get("/tasks/z/predecessors").await.expect(200), expected);
    let page = server.get("/tasks/z/predecessors?limit=1").await.expect(200);
    let rest = format!("/tasks/z/predecessors?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    let page = server.get(&rest).await.expect(200);
    assert_eq!((&page["predecessors"][0]["id"], &page["next_cursor"]), (&json!("png"), &json!("2")));
    assert_eq!(server.get("/tasks/a/predecessors").await.expect(200), json!({"total": 0, "predecessors": []}));
    server.get("/tasks/nobody/predecessors").await.expect(404);
    for wrong in ["limit=0", "cursor=png", "cursor=-1", "from=1"] {
        let problem = server.get(&format!("/tasks/z/predecessors?{wrong}")).await.expect(400);
        assert_eq!(problem["code"], "invalid_parameter", "{wrong}");
    }
}

#[tokio::test]
async fn results_that_are_too_large_for_a_lease_are_read_by_page() {
    let server = Server::start().await;
    let ids: Vec<String> = (0..3).map(|n| format!("p{n}")).collect();
    for id in &ids {
        submit(&server, id, json!({})).await;
    }
    submit(&server, "z", json!({"depends_on": ids})).await;
    let large = "x".repeat(150 * 1024);
    for leased in lease(&server, 3).await {
        give_back(&server, &leased, json!({"outcome": "completed", "result": large})).await;
    }
    let request = json!({"worker": "py", "queues": ["default"], "predecessors": true});
    let leases = server.post("/leases", request).await.expect(200)["leases"].clone();
    let found = &leases[0]["predecessors"];
    assert_eq!((&found["total"], &found["next_cursor"]), (&json!(3), &json!("1")));
    assert_eq!(found["predecessors"].as_array().unwrap().len(), 1);
    let rest = server.get("/tasks/z/predecessors?cursor=1").await.expect(200);
    assert_eq!((rest["predecessors"].as_array().unwrap().len(), &rest["next_cursor"]), (2, &Value::Null));
}

#[tokio::test]
async fn an_answer_with_leases_is_bounded_by_its_bytes_and_the_rest_stays_in_the_queue() {
    let server = Server::start().await;
    let task = json!({"name": "large", "parameters": "x".repeat(250_000)});
    server.post("/tasks", json!({"tasks": vec![task; 60]})).await.expect(201);
    let mut leased = Vec::new();
    while leased.len() < 60 {
        let answer = server.post("/leases", json!({"worker": "w", "queues": ["default"], "limit": 100})).await;
        let leases = answer.expect(200)["leases"].as_array().unwrap().len();
        assert!(leases > 0 && answer.text.len() < 10 * 1024 * 1024, "{leases} leases, {} bytes", answer.text.len());
        leased.extend(answer.json()["leases"].as_array().unwrap().iter().map(|lease| lease["id"].to_string()));
    }
    leased.sort_unstable();
    leased.dedup();
    assert_eq!(leased.len(), 60, "each once");
    let small = json!({"name": "small"});
    server.post("/tasks", json!({"tasks": vec![small; 500]})).await.expect(201);
    let answer = server.post("/leases", json!({"worker": "w", "queues": ["default"], "limit": 400})).await;
    assert_eq!(answer.expect(200)["leases"].as_array().unwrap().len(), 400);
}
