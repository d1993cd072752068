//! Dead letters with real programs: the walk of an operator, and a manager that is killed while it sends many again.

use std::time::{Duration, Instant};

use jobbers_test_support::{authority::Authority, port::free_port, program::Program, wait::until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    secrets::{keys::create, tls::secure_manager},
    stack::{Manager, Stack},
};

const LONG: Duration = Duration::from_secs(120);

on_both_engines!(
    w16_on_any_store_a_dead_letter_is_found_sent_again_and_completes,
    w02_a_silent_task_is_stalled_and_can_be_sent_again,
    a_killed_manager_loses_and_doubles_no_resubmission,
    w17_pruning_the_store_empties_no_dead_letter,
    old_dead_letters_are_deleted_by_the_cleaner,
    both_of_two_managers_answer_for_dead_letters_by_tls_and_with_keys,
);

async fn answered(manager: &Manager, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    until(LONG, path, async || {
        // While a killed manager still has the duty, the others pass requests on to its dead address.
        let answer = manager.api.send(Method::GET, path, &[], None).await.ok()?;
        (answer.status.is_success() && is_so(&answer.body)).then_some(answer.body)
    })
    .await
}

/// The total that the statistics tell.
async fn archived(manager: &Manager, count: u64) {
    answered(manager, "/dead-letter-queue/stats", |stats| stats["total"] == count).await;
}

async fn w16_on_any_store_a_dead_letter_is_found_sent_again_and_completes(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, _worker) = (stack.manager().await, stack.worker().await);
    let id = manager.api.submit(&json!({"name": "fail-until-open", "dead_letter": "save", "max_retries": 1})).await;
    assert_eq!(manager.api.finished(&id).await["status"], "failed");
    let page = answered(&manager, "/dead-letter-queue", |page| page["dead_letters"][0]["id"] == *id).await;
    assert_eq!((&page["dead_letters"][0]["attempt"], &page["dead_letters"][0]["state"]), (&json!(2), &json!("dead")));
    let history = manager.api.get(&format!("/dead-letter-queue/{id}/history")).await.ok();
    assert_eq!(history["failures"].as_array().unwrap().len(), 2);
    stack.release();
    let sent = manager.api.post("/dead-letter-queue/resubmit", &json!({"ids": [id]})).await.ok();
    assert_eq!(sent["total"], 1);
    assert_eq!(
        answered(&manager, &format!("/tasks/{id}?wait=20s"), |task| task["status"] == "completed").await["attempt"],
        1
    );
    archived(&manager, 0).await;
}

async fn w02_a_silent_task_is_stalled_and_can_be_sent_again(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, _worker) = (stack.manager().await, stack.worker().await);
    let silent = json!({
        "name": "hold", "max_heartbeat_interval": "200ms", "on_stall": "stall", "dead_letter": "save",
    });
    let id = manager.api.submit(&silent).await;
    let stalled = manager.api.finished(&id).await;
    assert_eq!((&stalled["status"], &stalled["errors"][0]["kind"]), (&json!("stalled"), &json!("stall")));
    let page = manager.api.get("/dead-letter-queue?status=stalled").await.ok();
    assert_eq!(page["dead_letters"][0]["id"], *id);
    stack.release();
    assert_eq!(manager.api.post(&format!("/tasks/{id}/resubmit"), &json!({})).await.ok()["status"], "submitted");
    assert_eq!(manager.api.finished(&id).await["status"], "completed");
}

async fn w17_pruning_the_store_empties_no_dead_letter(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, _worker) = (stack.manager().await, stack.worker().await);
    manager.api.put("/queues/default", &json!({"retention": {"age": "0s", "count": 0}})).await.ok();
    let id = manager.api.submit(&json!({"name": "fail-until-open", "dead_letter": "save", "max_retries": 0})).await;
    archived(&manager, 1).await;
    until(LONG, "the store forgets the task", async || {
        (manager.api.get(&format!("/tasks/{id}")).await.status == 404).then_some(())
    })
    .await;
    stack.release();
    manager.api.post("/dead-letter-queue/resubmit", &json!({"all": true})).await.ok();
    stack.effects.happened("done", &id).await;
}

async fn old_dead_letters_are_deleted_by_the_cleaner(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, _worker) = (stack.manager().await, stack.worker().await);
    manager.api.submit(&json!({"name": "doomed", "dead_letter": "save"})).await;
    archived(&manager, 1).await;
    let url = format!("http://{}", manager.address);
    let cleaned = async |age: &str, more: &[&str]| {
        let asked = ["--dead-letters-older-than", age, "--manager", &url, "--json", "--engine-url", stack.url()];
        let mut cleaner = Program::start("cleaner", stack.folder(), &[&asked[..], more].concat(), &[]);
        assert_eq!(cleaner.exit().await.code(), Some(0), "{}", cleaner.said());
        let report: Value = serde_json::from_str(&cleaner.line("passes").await).unwrap();
        report["removed"].as_u64().unwrap()
    };
    assert_eq!(cleaned("1h", &[]).await, 0);
    assert_eq!(cleaned("0s", &["--dry-run"]).await, 1);
    archived(&manager, 1).await;
    assert_eq!(cleaned("0s", &[]).await, 1);
    archived(&manager, 0).await;
}

/// Two managers that speak TLS with certificates of an authority of their own, as behind a proxy. Only one has a file.
async fn both_of_two_managers_answer_for_dead_letters_by_tls_and_with_keys(kind: Kind) {
    let (stack, authority) = (Stack::on(kind).await, Authority::new());
    let file = |name: &str| authority.file(name).display().to_string();
    let (ca, cert, key) = (file("ca.pem"), file("client.pem"), file("client.key"));
    let port = free_port();
    let query = format!("?ca={ca}&cert={cert}&key={key}");
    let advertised = format!("https://localhost:{port}{query}");
    let listen = format!("127.0.0.1:{port}");
    let known = ["--tls-client-ca", &ca];
    let of_keeper = [&known[..], &["--advertise-url", &advertised]].concat();
    let (_keeper, keeper, _) = secure_manager(&stack, &authority, &listen, &of_keeper).await;
    let (_other, other, _) =
        secure_manager(&stack, &authority, "127.0.0.1:0", &[&known[..], &["--dlq-path", "none"]].concat()).await;
    let _worker = stack.worker().await;
    let admin = create(&stack, "ops", "admin").await;
    std::fs::write(stack.folder().join("ops.key"), &admin).unwrap();
    let run = async |port: u16, line: &[&str]| {
        let url = format!("https://localhost:{port}{query}");
        let line = [line, &["--manager", &url, "--key-file", "ops.key"]].concat();
        let mut command = Program::start("jobbers", stack.folder(), &line, &[]);
        let succeeds = command.exit().await.success();
        (succeeds, command.said())
    };
    let (succeeds, said) = run(other.port(), &["submit", "doomed", "--id", "a"]).await;
    assert!(succeeds, "{said}");
    for port in [keeper.port(), other.port()] {
        until(LONG, "each manager lists the letter", async || {
            let (succeeds, said) = run(port, &["dlq", "list"]).await;
            (succeeds && said.contains("doomed")).then_some(())
        })
        .await;
    }
    let (succeeds, said) = run(other.port(), &["dlq", "resubmit", "a", "--yes"]).await;
    assert!(succeeds, "{said}");
}

async fn a_killed_manager_loses_and_doubles_no_resubmission(kind: Kind) {
    resubmitted_under_fire(kind, 1_500).await;
}

/// `many` dead letters sent again by one filter, while the manager is killed three times: each runs exactly once more.
/// Answers the figures.
async fn resubmitted_under_fire(kind: Kind, many: u64) -> String {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    let worker = stack.worker().await;
    for first in (0..many).step_by(500) {
        let task =
            |n: u64| json!({"id": format!("t{n}"), "name": "fail-until-open", "dead_letter": "save", "max_retries": 0});
        let tasks: Vec<Value> = (first..many.min(first + 500)).map(task).collect();
        manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    }
    archived(&manager, many).await;
    stack.release();
    let began_at = Instant::now();
    let rate = json!({"queue": "default", "all": true, "rate": 1_000});
    let begun = manager.api.post("/dead-letter-queue/resubmit?wait=0s", &rate).await.ok();
    assert_eq!(begun["total"], many);
    let path = format!("/dead-letter-queue/operations/{}", begun["id"].as_str().unwrap());
    let mut left = Vec::new();
    for third in 1..=3 {
        // In the middle: after a quarter, a half and three quarters.
        let operation =
            answered(&manager, &path, |operation| operation["pending"].as_u64().unwrap() <= many * (4 - third) / 4)
                .await;
        left.push(operation["pending"].as_u64().unwrap());
        manager.program.kill().await;
        manager = stack.manager().await;
    }
    let done = answered(&manager, &path, |operation| operation["state"] == "done").await;
    assert_eq!((&done["resubmitted"], &done["pending"]), (&json!(many), &json!(0)));
    let runs = until(LONG, "each has run", async || {
        let runs = stack.effects.count("done");
        (runs.len() as u64 == many).then_some(runs)
    })
    .await;
    for n in 0..many {
        assert_eq!(manager.api.finished(&format!("t{n}")).await["status"], "completed");
    }
    drop(worker);
    assert!(runs.values().all(|runs| *runs == 1), "each ran exactly once more");
    assert_eq!(stack.effects.count("done"), runs);
    let (took, executions) = (began_at.elapsed(), runs.values().sum::<usize>());
    format!(
        "{kind:?}: {many} dead letters, manager killed with {left:?} pending, {} resubmitted, {executions} executions of {} \
         tasks, {took:.1?}",
        done["resubmitted"],
        runs.len()
    )
}

#[ignore = "long: ten thousand letters on each engine"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_on_sqlite() {
    println!("{}", resubmitted_under_fire(Kind::Sqlite, 10_000).await);
}

#[ignore = "long: ten thousand letters on each engine"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_on_redis() {
    println!("{}", resubmitted_under_fire(Kind::Redis, 10_000).await);
}
