//! Access keys in real processes: made and revoked by the command, followed by every manager, sent by every client, and shown
//! in no log.

use std::time::{Duration, Instant};

use jobbers_test_support::{program::Program, wait::until};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    shipped::any_language::script,
    stack::{Manager, Stack},
};

/// A change is followed within a second; this much more is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

on_both_engines!(keys_are_followed_by_every_manager_and_shown_in_no_log);

/// What `jobbers keys` prints.
pub(crate) async fn keys(stack: &Stack, arguments: &[&str]) -> String {
    let store = ["--engine-url", stack.url()];
    let mut command = Program::start("jobbers", stack.folder(), &[&["keys"][..], arguments, &store[..]].concat(), &[]);
    let code = command.exit().await;
    assert!(code.success(), "{arguments:?}: {}", command.said());
    command.said()
}

/// The text of a new key.
pub(crate) async fn create(stack: &Stack, name: &str, role: &str) -> String {
    let said = keys(stack, &["create", name, "--role", role]).await;
    said.lines().find(|line| line.starts_with("jb_")).unwrap_or_else(|| panic!("no key in {said}")).to_owned()
}

async fn get(manager: &Manager, key: Option<&str>, path: &str) -> (StatusCode, Value) {
    let header = key.map(|key| format!("Bearer {key}"));
    let headers: Vec<(&str, &str)> = header.iter().map(|header| ("authorization", header.as_str())).collect();
    let answer = manager.api.send(Method::GET, path, &headers, None).await.unwrap();
    (answer.status, answer.body)
}

/// Until both managers answer so, and how long that took.
async fn both_answer(managers: [&Manager; 2], key: Option<&str>, status: StatusCode) -> Duration {
    let since = Instant::now();
    for manager in managers {
        until(PATIENCE, "the keys are followed", async || {
            (get(manager, key, "/queues").await.0 == status).then_some(())
        })
        .await;
    }
    since.elapsed()
}

/// The audit log, in which each command that changed a key is.
async fn logged_commands(manager: &Manager, key: &str) -> String {
    let log = until(PATIENCE, "the keeper answers", async || {
        let (status, log) = get(manager, Some(key), "/audit?limit=1000").await;
        status.is_success().then_some(log)
    })
    .await;
    let changes = log["changes"].as_array().unwrap().iter().filter(|change| change["way"] == "cli").rev();
    let commands: Vec<(&str, &str)> =
        changes.map(|change| (change["operation"].as_str().unwrap(), change["outcome"].as_str().unwrap())).collect();
    let expected = ["create_key", "create_key", "revoke_key", "rotate_key"].map(|command| (command, "done"));
    assert_eq!(commands, expected, "{log}");
    log.to_string()
}

async fn keys_are_followed_by_every_manager_and_shown_in_no_log(kind: Kind) {
    let stack = Stack::on(kind).await;
    let verbose = [("JOBBERS_LOG", "debug")];
    let managers = [stack.manager_with(&verbose).await, stack.manager_with(&verbose).await];
    let both = [&managers[0], &managers[1]];
    assert_eq!(get(both[0], None, "/queues").await.0, StatusCode::OK, "a store without keys asks for none");

    let admin = create(&stack, "ops", "admin").await;
    let locked = both_answer(both, None, StatusCode::UNAUTHORIZED).await;
    both_answer(both, Some(&admin), StatusCode::OK).await;

    std::fs::write(stack.folder().join("story"), "once upon a time").unwrap();
    std::fs::write(stack.folder().join("ops.key"), format!("{admin}\n")).unwrap();
    let url = format!("http://{}", both[0].address);
    let submit = ["submit", "count_words", "path=story", "--id", "a", "--manager", &url, "--key-file", "ops.key"];
    let mut submitted = Program::start("jobbers", stack.folder(), &submit, &[]);
    assert!(submitted.exit().await.success(), "{}", submitted.said());

    let of_worker = create(&stack, "words", "worker").await;
    both_answer(both, Some(&of_worker), StatusCode::FORBIDDEN).await;
    let variables = [("JOBBERS_URL", url.as_str()), ("NO_PROXY", "*"), ("JOBBERS_KEY", of_worker.as_str())];
    let worker = Program::start_python(&script(&stack), stack.folder(), &variables);
    worker.line("a completed").await;
    let (_, task) = get(both[1], Some(&of_worker), "/tasks/a").await;
    assert_eq!(task["result"], json!({"words": 4}), "{task}");
    assert_eq!(get(both[1], Some(&of_worker), "/queues").await.0, StatusCode::FORBIDDEN);

    // A client that sends its key in the wrong place, where logs have it.
    get(both[0], Some(&admin), &format!("/tasks?{admin}=1")).await;
    get(both[0], None, &format!("/queues/{admin}")).await;
    let id = of_worker.split('_').nth(1).unwrap();
    keys(&stack, &["revoke", id, "--yes"]).await;
    let revoked = both_answer(both, Some(&of_worker), StatusCode::UNAUTHORIZED).await;
    println!("{kind:?}: the first key is followed after {locked:?}, a revocation after {revoked:?}");
    // Its long poll ended with the key.
    worker.line("key_refused").await;

    let rotated = keys(&stack, &["rotate", admin.split('_').nth(1).unwrap(), "--keep", "0"]).await;
    both_answer(both, Some(&admin), StatusCode::UNAUTHORIZED).await;
    let rotated = rotated.lines().find(|line| line.starts_with("jb_")).unwrap().to_owned();
    both_answer(both, Some(&rotated), StatusCode::OK).await;

    let listed = keys(&stack, &["list", "--json"]).await;
    let logged = logged_commands(&managers[0], &rotated).await;
    for (text, who) in [
        (&managers[0].program.said(), "a manager"),
        (&managers[1].program.said(), "the other"),
        (&listed, "the list"),
        (&logged, "the audit log"),
    ] {
        for key in [&admin, &of_worker, &rotated] {
            let secret = key.rsplit('_').next().unwrap();
            assert!(!text.contains(secret), "{who} shows a secret");
        }
    }
    assert!(
        managers[0].program.said().contains("[secret]"),
        "what was in the address is in the log, without the secret"
    );
    println!("{}", stack.examined().await);
}
