//! Handing tasks in: twice, wrongly, too much, and by whom.

use jobbers_test_support::program::Program;
use serde_json::{Value, json};

use super::{all_end_as, assert_each_ran_once, submit_many};
use crate::{engines::Kind, stack::Stack};

/// The exit code of a program with an invalid configuration (`jobbers_process::exit`).
const CONFIG: i32 = 64;

on_both_engines!(
    w03_what_is_over_a_limit_waits_or_is_refused_and_is_never_dropped,
    w08_a_known_id_is_answered_and_never_overwritten,
    w13_a_failed_run_neither_blocks_the_next_nor_lets_two_overlap,
    w20_nonsense_is_refused_and_named_and_nothing_is_stored,
    w21_everything_is_bounded,
    w22_nobody_outside_is_served_and_nobody_sets_what_is_not_theirs,
);

async fn w03_what_is_over_a_limit_waits_or_is_refused_and_is_never_dropped(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.post("/queues", &json!({"name": "slow", "rate_limit": {"tasks": 10, "per": "500ms"}})).await.ok();
    manager.api.post("/queues", &json!({"name": "short", "max_length": 3})).await.ok();
    manager.api.put("/roles/default", &json!({"queues": ["slow", "short"]})).await.ok();
    let mut ids = submit_many(&manager.api, "slow", 30, &json!({"name": "note", "queue": "slow"})).await;
    ids.extend(submit_many(&manager.api, "short", 2, &json!({"name": "note", "queue": "short"})).await);
    let one = json!({"name": "note", "queue": "short"});
    for body in [json!({"tasks": [one, one]}), json!({"tasks": [one, one, one]})] {
        let refused = manager.api.post("/tasks", &body).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (429, "queue_full"), "{}", refused.body);
        assert!(refused.retry_after.is_some(), "it says when to come back");
    }
    let _workers = [stack.worker().await, stack.worker().await];
    all_end_as(&manager.api, &ids, "completed").await;
    assert_each_ran_once(&stack, &ids);
}

async fn w08_a_known_id_is_answered_and_never_overwritten(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let mut ids = submit_many(&manager.api, "over", 20, &json!({"name": "note"})).await;
    for id in &ids {
        assert_eq!(manager.api.finished(id).await["status"], "completed");
    }
    let running = json!({"id": "running", "name": "hold"});
    manager.api.submit(&running).await;
    stack.effects.happened("started", "running").await;

    // A client that never got the answer sends the same again; nothing starts again.
    for id in &ids {
        let answer = manager.api.post("/tasks", &json!({"id": id, "name": "note"})).await.ok();
        assert_eq!(answer["status"], "completed", "{answer}");
    }
    assert_eq!(manager.api.post("/tasks", &running).await.ok()["status"], "started");
    // Another task under a known id is refused, be that one over or running.
    for id in [ids[0].as_str(), "running"] {
        let other = json!({"id": id, "name": "note", "parameters": {"other": true}});
        let answer = manager.api.post("/tasks", &other).await;
        assert_eq!(answer.status, 409, "{}", answer.body);
    }
    stack.release();
    assert_eq!(manager.api.finished("running").await["status"], "completed");
    ids.push("running".to_owned());
    assert_each_ran_once(&stack, &ids);
}

async fn w13_a_failed_run_neither_blocks_the_next_nor_lets_two_overlap(kind: Kind) {
    let stack = Stack::on(kind).await;
    let managers = [stack.manager().await, stack.manager().await];
    let mut worker = stack.worker().await;
    let run = |retries: u32| {
        json!({"name": "fail-until-open", "unique_key": "nightly", "on_duplicate": "return", "max_retries": retries,
               "retry_delay": "100ms", "backoff": "constant"})
    };
    // One that failed for good blocks no other.
    let failed = managers[0].api.submit(&run(0)).await;
    assert_eq!(managers[0].api.finished(&failed).await["status"], "failed");
    let next = managers[1].api.post("/tasks", &run(1_000)).await.ok();
    assert_eq!(next["created"], true, "{next}");
    // One that fails, waits for its retry and runs again is one run all along for every client; also while its worker is
    // dead, and when it has another.
    for n in 0..60 {
        let answer = managers[n % 2].api.post("/tasks", &run(0)).await.ok();
        assert_eq!((&answer["id"], &answer["created"]), (&next["id"], &json!(false)), "{answer}");
        if n == 30 {
            worker.kill().await;
        }
    }
    let _second = stack.worker().await;
    stack.release();
    let id = next["id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(managers[0].api.finished(&id).await["status"], "completed");
    let last = managers[0].api.submit(&run(0)).await;
    assert_ne!(last, id, "it is over, and blocks nobody");
    assert_eq!(managers[1].api.finished(&last).await["status"], "completed");
    assert_each_ran_once(&stack, &[id, last]);
}

async fn w20_nonsense_is_refused_and_named_and_nothing_is_stored(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let cases: [(Value, &str); 6] = [
        (json!({}), "name"),
        (json!({"name": 7}), "/name"),
        (json!({"name": "note", "id": "a b"}), "/id"),
        (json!({"name": "note", "priority": "urgent"}), "/priority"),
        (json!({"name": "note", "timeout": -1}), "/timeout"),
        (json!({"tasks": [{"name": "note"}, {"nmae": "note"}]}), "nmae"),
    ];
    for (body, words) in cases {
        let answer = manager.api.post("/tasks", &body).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (422, "invalid_request"), "{body}: {}", answer.body);
        assert!(answer.body.to_string().contains(words), "{body}: {}", answer.body);
    }
    let ghost = manager.api.post("/tasks", &json!({"name": "note", "queue": "nowhere"})).await;
    assert_eq!((ghost.status.as_u16(), ghost.code()), (404, "unknown_queue"), "{}", ghost.body);
    // One invalid id among many does not affect the others.
    let id = manager.api.submit(&json!({"name": "note"})).await;
    let answer = manager.api.post("/tasks/cancel", &json!({"ids": [id, "never-was"]})).await.ok();
    assert_eq!((&answer["cancelled"], &answer["unknown"]), (&json!(1), &json!(1)), "{answer}");
    assert_eq!(manager.api.get("/queues/default").await.ok()["accepted"], 1);
}

async fn w21_everything_is_bounded(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let large = json!({"name": "note", "parameters": {"padding": "x".repeat(300_000)}});
    let many: Vec<Value> = (0..1_001).map(|_| json!({"name": "note"})).collect();
    let ids: Vec<String> = (0..1_001).map(|n| format!("t{n}")).collect();
    for (path, body) in [("/tasks", large), ("/tasks", json!({"tasks": many})), ("/tasks/cancel", json!({"ids": ids}))]
    {
        let answer = manager.api.post(path, &body).await;
        assert!(answer.status.is_client_error() && !answer.code().is_empty(), "{path}: {}", answer.body);
    }
    let answer = manager.api.get("/tasks?limit=1001").await;
    assert!(answer.status.is_client_error(), "{}", answer.body);
    assert_eq!(manager.api.get("/queues/default").await.ok()["accepted"], 0);
}

async fn w22_nobody_outside_is_served_and_nobody_sets_what_is_not_theirs(kind: Kind) {
    let stack = Stack::on(kind).await;
    let arguments = ["--engine-url", stack.url(), "--listen", "0.0.0.0:0"];
    let mut open = Program::start("manager", stack.folder(), &arguments, &[]);
    assert_eq!(open.exit().await.code(), Some(CONFIG), "{}", open.said());
    open.line("--insecure").await;

    let manager = stack.manager().await;
    for field in ["status", "result", "errors", "attempt", "crashes", "finished_at", "revision", "worker"] {
        let answer = manager.api.post("/tasks", &json!({"name": "note", field: "completed"})).await;
        assert_eq!(answer.status, 422, "{field}: {}", answer.body);
    }
    assert_eq!(manager.api.get("/queues/default").await.ok()["accepted"], 0);
}
