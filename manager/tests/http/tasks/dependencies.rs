//! Dependencies over `POST /tasks`.

use jobbers_common::{engine::Outcome, limits::MAX_DEPENDENCIES};
use serde_json::{Value, json};

use crate::server::Server;

const DONE: Outcome = Outcome::Completed { result: None };

/// A task that waits for others.
fn after(id: &str, depends_on: &Value) -> Value {
    json!({"id": id, "name": "echo", "depends_on": depends_on})
}

#[tokio::test]
async fn a_task_waits_shows_for_whom_and_runs_when_they_have_ended() {
    let server = Server::start().await;
    let batch = json!({"tasks": [
        after("c", &json!(["a", {"id": "b", "policy": "run_with_failures"}])),
        {"id": "a", "name": "echo"},
        {"id": "b", "name": "echo"},
    ]});
    let answer = server.post("/tasks", &batch).await.expect(201);
    assert_eq!(
        (&answer["tasks"][0]["status"], &answer["tasks"][1]["status"]),
        (&json!("waiting"), &json!("submitted"))
    );
    let open = json!([{"id": "a", "policy": "abort_successors"}, {"id": "b", "policy": "run_with_failures"}]);
    let task = server.get("/tasks/c").await.expect(200);
    assert_eq!(task["dependencies"], json!({"total": 2, "signals": 0, "waits_for": open}));
    assert_eq!(server.get("/tasks/a").await.expect(200).get("dependencies"), None);

    let explained = server.get("/tasks/c/explain").await.expect(200);
    let [reason] = explained["reasons"].as_array().unwrap().as_slice() else { panic!("{explained}") };
    assert_eq!((&reason["code"], &reason["tasks"]), (&json!("waits_for_tasks"), &json!(["a", "b"])));
    assert_eq!(reason["message"], "it waits for 2 of 2 tasks to end");
    assert_eq!(reason["since"], task["submitted_at"]);

    let waiting = server.get("/tasks?status=waiting").await.expect(200);
    let shown = &waiting["tasks"][0];
    assert_eq!((&shown["id"], &shown["dependencies"]), (&json!("c"), &json!({"total": 2, "signals": 0})));

    let claimed = server.claim("default", 10).await;
    server.settle(&claimed[0], DONE).await;
    assert_eq!(server.get("/tasks/c").await.expect(200)["dependencies"]["signals"], 1);
    server.settle(&claimed[1], DONE).await;
    let task = server.get("/tasks/c").await.expect(200);
    assert_eq!((&task["status"], &task["dependencies"]), (&json!("submitted"), &json!({"total": 2, "signals": 2})));
    // The same submission is safe to send again, whatever has become of it.
    assert_eq!(server.post("/tasks", &batch).await.expect(200)["tasks"][0]["status"], "submitted");
}

#[tokio::test]
async fn a_cancelled_predecessor_aborts_those_that_need_it() {
    let server = Server::start().await;
    let batch = json!({"tasks": [{"id": "a", "name": "echo"}, after("b", &json!(["a"])), after("c", &json!(["b"]))]});
    server.post("/tasks", batch).await.expect(201);
    server.post("/tasks", after("d", &json!([{"id": "c", "policy": "run_on_error"}]))).await.expect(201);
    server.post("/tasks/a/cancel", json!({})).await.expect(200);
    for (id, status) in [("b", "aborted"), ("c", "aborted"), ("d", "submitted")] {
        assert_eq!(server.get(&format!("/tasks/{id}")).await.expect(200)["status"], status, "{id}");
    }
    let aborted = server.get("/tasks?status=aborted").await.expect(200);
    assert_eq!(aborted["tasks"].as_array().unwrap().len(), 2);
    // An aborted task may be sent again, by itself.
    server.post("/tasks/b/resubmit", json!({})).await.expect(200);
    assert_eq!(server.get("/tasks/b").await.expect(200)["status"], "submitted");
}

#[tokio::test]
async fn an_unknown_predecessor_is_named_with_its_place_and_nothing_is_taken_in() {
    let server = Server::start().await;
    let problem = server.post("/tasks", after("b", &json!(["ghost"]))).await.refused(422, "unknown_predecessor");
    assert_eq!(problem["pointer"], "/depends_on/0");
    assert!(problem["detail"].as_str().unwrap().contains("ghost"), "{problem}");
    let batch = json!({"tasks": [{"id": "a", "name": "echo"}, after("b", &json!(["a", {"id": "ghost"}]))]});
    let problem = server.post("/tasks", batch).await.refused(422, "unknown_predecessor");
    assert_eq!(problem["pointer"], "/tasks/1/depends_on/1");
    server.get("/tasks/a").await.refused(404, "unknown_task");
}

#[tokio::test]
async fn nonsense_about_dependencies_is_refused_and_named() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "a", "name": "echo"})).await.expect(201);
    let many: Vec<String> = (0..=MAX_DEPENDENCIES).map(|n| format!("t{n}")).collect();
    let cases = [
        (json!("a"), "/depends_on"),
        (json!(null), "/depends_on"),
        (json!([7]), "/depends_on/0"),
        (json!(["a", "no spaces"]), "/depends_on/1"),
        (json!([{"policy": "run_on_error"}]), "/depends_on/0"),
        (json!([{"id": "a", "policy": "hope"}]), "/depends_on/0/policy"),
        (json!([{"id": "a", "extra": 1}]), "/depends_on/0"),
    ];
    for (depends_on, pointer) in cases {
        let problem = server.post("/tasks", after("b", &depends_on)).await.refused(422, "invalid_request");
        assert!(problem["pointer"].as_str().unwrap_or_default().starts_with(pointer), "{depends_on}: {problem}");
    }
    for (depends_on, said) in [
        (json!(["b"]), "depends on itself"),
        (json!(["a", {"id": "a", "policy": "run_on_error"}]), "twice"),
        (json!(many), "the most are 10000"),
    ] {
        let problem = server.post("/tasks", after("b", &depends_on)).await.refused(422, "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
    }
    let cycle = json!({"tasks": [after("x", &json!(["y"])), after("y", &json!(["x"]))]});
    let problem = server.post("/tasks", cycle).await.refused(422, "invalid_request");
    assert!(
        problem["detail"].as_str().unwrap().contains("would wait for each other: x -> y -> x")
            || problem["detail"].as_str().unwrap().contains("would wait for each other: y -> x -> y"),
        "{problem}"
    );
    let mut both = after("b", &json!(["a"]));
    both["unique_key"] = json!("k");
    let problem = server.post("/tasks", both).await.refused(422, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("not both"), "{problem}");
    server.get("/tasks/b").await.refused(404, "unknown_task");
}

#[tokio::test]
async fn a_stored_task_waits_for_further_tasks() {
    let server = Server::start().await;
    let batch = json!({"tasks": [
        {"id": "a", "name": "echo"}, {"id": "b/1", "name": "echo"}, {"id": "c", "name": "echo"}, after("d", &json!(["a"])),
    ]});
    server.post("/tasks", batch).await.expect(201);
    let wanted = json!({"depends_on": ["a", {"id": "c", "policy": "run_on_error"}]});
    for expected in [json!({"added": 2, "existing": 0}), json!({"added": 0, "existing": 2})] {
        assert_eq!(server.post("/tasks/b%2F1/dependencies", &wanted).await.expect(200), expected);
    }
    let task = server.get("/tasks/b%2F1").await.expect(200);
    let open = json!([{"id": "a", "policy": "abort_successors"}, {"id": "c", "policy": "run_on_error"}]);
    assert_eq!(task["status"], "waiting");
    assert_eq!(task["dependencies"], json!({"total": 2, "signals": 0, "waits_for": open}));
    let pairs = json!({"dependencies": [{"run": "d", "after": "c"}, {"run": "d", "after": "a"}]});
    assert_eq!(server.post("/dependencies", pairs).await.expect(200), json!({"added": 1, "existing": 1}));
    assert_eq!(server.get("/tasks/d").await.expect(200)["dependencies"]["total"], 2);
}

#[tokio::test]
async fn a_dependency_that_can_t_be_added_is_refused_and_named() {
    let server = Server::start().await;
    let batch = json!({"tasks": [
        {"id": "over", "name": "echo"}, {"id": "running", "name": "echo"}, {"id": "a", "name": "echo"},
        after("b", &json!(["a"])), {"id": "free", "name": "echo"},
    ]});
    server.post("/tasks", batch).await.expect(201);
    let claimed = server.claim("default", 2).await;
    server.settle(&claimed[0], DONE).await;
    for (run, after, status, code) in [
        ("ghost", "a", 404, "unknown_task"),
        ("running", "a", 409, "task_started"),
        ("over", "a", 409, "task_over"),
        ("b", "ghost", 422, "unknown_predecessor"),
        ("b", "over", 409, "predecessor_over"),
        ("a", "a", 422, "circular_dependency"),
    ] {
        let bad = json!({"dependencies": [{"run": "free", "after": "a"}, {"run": run, "after": after}]});
        let problem = server.post("/dependencies", bad).await.refused(status, code);
        let pointer = if code == "circular_dependency" { "/dependencies" } else { "/dependencies/1" };
        assert_eq!(problem["pointer"], pointer, "{problem}");
    }
    let circle = json!({"depends_on": ["b"]});
    let problem = server.post("/tasks/a/dependencies", circle).await.refused(422, "circular_dependency");
    assert_eq!(problem["detail"], "these tasks would wait for each other: a -> b -> a");
    let other = json!({"depends_on": [{"id": "a", "policy": "run_on_error"}]});
    server.post("/tasks/b/dependencies", other).await.refused(409, "dependency_exists");
    let many: Vec<String> = (0..501).map(|n| format!("t{n}")).collect();
    for bad in [json!([]), json!(["a", "a"]), json!(many)] {
        let problem = server.post("/tasks/free/dependencies", json!({"depends_on": bad})).await;
        assert_eq!(problem.refused(422, "invalid_request")["pointer"], "/depends_on");
    }
    server.post("/tasks/free/dependencies", json!({})).await.refused(422, "invalid_request");
    assert_eq!(server.get("/tasks/free").await.expect(200)["status"], "submitted");
}

#[tokio::test]
async fn a_task_waits_for_a_signal_and_shows_it() {
    let server = Server::start().await;
    let gated = json!({"id": "deploy/7", "name": "echo", "signals": [
        "tested", {"name": "approved", "timeout": "24h", "on_timeout": "run"},
    ]});
    assert_eq!(server.post("/tasks", &gated).await.expect(201)["status"], "waiting");
    let task = server.get("/tasks/deploy%2F7").await.expect(200);
    let external = &task["dependencies"]["external"];
    assert_eq!((&external[0]["name"], &external[0]["on_timeout"]), (&json!("approved"), &json!("run")));
    assert!(external[0]["due"].is_string());
    assert_eq!(external[1], json!({"name": "tested", "state": "waiting", "on_timeout": "abort"}));
    let explained = server.get("/tasks/deploy%2F7/explain").await.expect(200);
    let reason = &explained["reasons"][0];
    assert_eq!(reason["code"], "waits_for_signals");
    assert_eq!(reason["message"], "it waits for signals from outside: approved, tested");
    assert_eq!(reason["until"], external[0]["due"]);

    let send = |name: &str| server.post("/tasks/deploy%2F7/signal", json!({"name": name}));
    let first = json!({"id": "deploy/7", "is_new": true, "status": "waiting"});
    assert_eq!(send("tested").await.expect(200), first);
    assert_eq!(send("tested").await.expect(200), json!({"id": "deploy/7", "is_new": false}));
    assert_eq!(send("approved").await.expect(200)["status"], "submitted");
    let task = server.get("/tasks/deploy%2F7").await.expect(200);
    assert_eq!((&task["dependencies"]["total"], &task["dependencies"]["signals"]), (&json!(2), &json!(2)));
    assert_eq!(task["dependencies"]["external"][1]["state"], "received");
}

#[tokio::test]
async fn a_signal_is_kept_for_a_task_on_request() {
    let server = Server::start().await;
    let send = |keep_for: &str| server.post("/tasks/a/signal", json!({"name": "s", "keep_for": keep_for}));
    let kept = send("1h").await.expect(200);
    assert_eq!((&kept["is_new"], kept["status"].is_null(), kept["kept_until"].is_string()), (&json!(true), true, true));
    for bad in ["0s", "2d"] {
        assert_eq!(send(bad).await.refused(422, "invalid_request")["pointer"], "/keep_for");
    }
    let created = server.post("/tasks", json!({"id": "a", "name": "echo", "signals": ["s", "t"]})).await.expect(201);
    assert_eq!(created["status"], "waiting");
    assert_eq!(send("1h").await.expect(200), json!({"id": "a", "is_new": false}));
    let last = server.post("/tasks/a/signal", json!({"name": "t", "keep_for": "1h"})).await.expect(200);
    assert_eq!(last, json!({"id": "a", "is_new": true, "status": "submitted"}));
}

#[tokio::test]
async fn a_signal_that_goes_nowhere_is_refused() {
    let server = Server::start().await;
    server.post("/tasks", json!({"id": "a", "name": "echo", "signals": ["s"]})).await.expect(201);
    server.post("/tasks/ghost/signal", json!({"name": "s"})).await.refused(404, "unknown_task");
    let unknown = server.post("/tasks/a/signal", json!({"name": "t"})).await.refused(404, "unknown_signal");
    assert_eq!(unknown["pointer"], "/name");
    for bad in ["no such name".to_owned(), String::new(), "s".repeat(129)] {
        server.post("/tasks/a/signal", json!({"name": bad})).await.refused(422, "invalid_request");
    }
    server.post("/tasks/a/signal", json!({})).await.refused(422, "invalid_request");
    server.post("/tasks/a/cancel", json!({})).await.expect(200);
    let late = server.post("/tasks/a/signal", json!({"name": "s"})).await.refused(409, "signal_late");
    assert_eq!(late["detail"], "task a does not wait for signal s any more: it is unneeded");
    let many: Vec<String> = (0..17).map(|n| format!("s{n}")).collect();
    for bad in [json!("s"), json!([7]), json!(["s", "s"]), json!(many), json!([{"name": "s", "timeout": "0s"}])] {
        server.post("/tasks", json!({"name": "echo", "signals": bad})).await.refused(422, "invalid_request");
    }
    let unique = json!({"name": "echo", "signals": ["s"], "unique_key": "k"});
    server.post("/tasks", unique).await.refused(422, "invalid_request");
    let schedule = json!({"name": "nightly", "every": "1d", "task": {"name": "echo", "signals": ["s"]}});
    let problem = server.post("/schedules", schedule).await.refused(422, "invalid_request");
    assert_eq!(problem["pointer"], "/task/signals");
}

#[tokio::test]
async fn a_spontaneous_task_ends_without_a_worker_and_what_waits_for_it_runs() {
    let server = Server::start().await;
    let join = |id: &str, on: &Value| json!({"id": id, "name": "join", "depends_on": on, "spontaneous": true});
    let batch = json!({"tasks": [
        {"id": "a", "name": "echo"}, join("j", &json!(["a"])), after("z", &json!(["j"])), join("alone", &json!([])),
    ]});
    let answer = server.post("/tasks", &batch).await.expect(201);
    assert_eq!(
        (&answer["tasks"][1]["status"], &answer["tasks"][3]["status"]),
        (&json!("waiting"), &json!("completed"))
    );
    // No worker is alive: of a task that none runs that is no warning.
    assert!(answer["tasks"][0]["warnings"].is_array() && answer["tasks"][1].get("warnings").is_none(), "{answer}");
    assert_eq!(server.get("/tasks/j").await.expect(200)["dependencies"]["spontaneous"], true);
    let claimed = server.claim("default", 10).await;
    assert_eq!(claimed.len(), 1);
    server.settle(&claimed[0], DONE).await;
    let ended = server.get("/tasks/j?wait=1s").await.expect(200);
    assert_eq!((&ended["status"], &ended["attempt"]), (&json!("completed"), &json!(0)));
    assert_eq!(server.claim("default", 10).await[0].id.as_str(), "z");
    assert_eq!(server.post("/tasks", &batch).await.expect(200)["tasks"][1]["status"], "completed");

    server.post("/tasks", json!({"id": "b", "name": "echo"})).await.expect(201);
    server.post("/tasks", join("never", &json!(["b"]))).await.expect(201);
    server.post("/tasks/b/cancel", json!({})).await.expect(200);
    let problem = server.post("/tasks/never/resubmit", json!({})).await.refused(409, "task_completed");
    assert!(problem["detail"].as_str().unwrap().contains("spontaneous"), "{problem}");
    for (field, value) in [("delay", json!("5s")), ("unique_key", json!("k"))] {
        let mut bad = join("bad", &json!([]));
        bad[field] = value;
        server.post("/tasks", bad).await.refused(422, "invalid_request");
    }
}
