//! The worker of the guide "A worker in any language", run as it is printed there.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use jobbers_test_support::{program::Program, wait::until};
use nix::{sys::stat::Mode, unistd::mkfifo};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack, all_ids},
};

const GUIDE: &str = "../../docs/guides/any-language.md";
/// About forty lines, as the guide says.
const LINES: std::ops::RangeInclusive<usize> = 35..=60;
/// Tasks before the one during which the worker is killed, and after it.
const TASKS: usize = 10;

/// The script that the guide prints, as a file.
pub(crate) fn script(stack: &Stack) -> std::path::PathBuf {
    let path = stack.folder().join("worker.py");
    // Written once: a worker that is starting may be reading it, and would end at once if it found an empty file.
    if path.exists() {
        return path;
    }
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join(GUIDE);
    let text = std::fs::read_to_string(guide).unwrap();
    let script = text.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    assert!(LINES.contains(&script.lines().count()), "{} lines", script.lines().count());
    std::fs::write(&path, script).unwrap();
    path
}

fn start(stack: &Stack, manager: &Manager) -> Program {
    let url = format!("http://{}", manager.address);
    Program::start_python(&script(stack), stack.folder(), &[("JOBBERS_URL", &url), ("NO_PROXY", "*")])
}

async fn submit(manager: &Manager, id: &str, path: &str) {
    let task =
        json!({"id": id, "name": "count_words", "parameters": {"path": path}, "max_retries": 1, "retry_delay": 0});
    manager.api.submit(&task).await;
}

/// A task as soon as `what` holds of it.
async fn when(manager: &Manager, id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    until(Duration::from_secs(60), &format!("{id} {what}"), async || {
        let task = manager.api.task(id).await;
        holds(&task).then_some(task)
    })
    .await
}

on_both_engines!(
    the_worker_of_the_guide_is_killed_halfway_and_nothing_is_lost,
    an_outage_of_the_manager_is_not_blamed_on_the_tasks_of_http_workers,
);

async fn the_worker_of_the_guide_is_killed_halfway_and_nothing_is_lost(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    std::fs::write(stack.folder().join("story"), "once upon a time").unwrap();
    // The reader of this pipe waits until the test writes to it.
    mkfifo(&stack.folder().join("endless"), Mode::S_IRWXU).unwrap();
    for n in 0..TASKS {
        submit(&manager, &format!("before-{n}"), "story").await;
    }
    submit(&manager, "halfway", "endless").await;
    for n in 0..TASKS {
        submit(&manager, &format!("after-{n}"), "story").await;
    }
    submit(&manager, "broken", "no such file").await;

    let mut first = start(&stack, &manager);
    let begun = when(&manager, "halfway", "runs", |task| task["status"] == "started").await;
    let name = begun["worker"].as_str().unwrap().to_owned();
    let until_first = begun["lease"]["expires_at"].as_str().unwrap().to_owned();
    let extended = |task: &Value| task["lease"]["expires_at"].as_str() > Some(until_first.as_str());
    when(&manager, "halfway", "is kept beyond its first lease", extended).await;
    let listed = manager.api.get("/workers").await.ok()["workers"][0].clone();
    assert_eq!(
        (&listed["id"], &listed["role"], &listed["tasks"][0]),
        (&json!(name), &json!("http"), &json!("count_words@1"))
    );
    first.kill().await;

    let second = start(&stack, &manager);
    let again = when(&manager, "halfway", "runs elsewhere", |task| {
        task["status"] == "started" && task["worker"] != json!(name)
    })
    .await;
    assert_eq!((&again["attempt"], &again["crashes"]), (&json!(1), &json!(1)), "a crash is no failure");
    let endless = stack.folder().join("endless");
    tokio::task::spawn_blocking(move || std::fs::write(endless, "and they lived happily")).await.unwrap().unwrap();
    second.line("halfway completed").await;

    for id in ["before", "after"].iter().flat_map(|part| (0..TASKS).map(move |n| format!("{part}-{n}"))) {
        let task = manager.api.finished(&id).await;
        assert_eq!((&task["status"], &task["result"]), (&json!("completed"), &json!({"words": 4})), "{task}");
        assert_eq!((&task["attempt"], &task["crashes"]), (&json!(1), &json!(0)), "{task}");
    }
    let halfway = manager.api.finished("halfway").await;
    assert_eq!((&halfway["status"], &halfway["result"]), (&json!("completed"), &json!({"words": 4})));
    let broken = manager.api.finished("broken").await;
    assert_eq!((&broken["status"], &broken["dead_letter"]), (&json!("failed"), &json!(true)));
    assert_eq!((&broken["attempt"], &broken["errors"][1]["error_kind"]), (&json!(2), &json!("FileNotFoundError")));
    assert_eq!(all_ids(&manager.api, "/tasks?status=completed").await.len(), 2 * TASKS + 1);
    assert_eq!(all_ids(&manager.api, "/tasks?status=submitted,scheduled,started").await.len(), 0);
    println!("{}", stack.examined().await);
}

/// Waits until a worker extends the lease of a task.
async fn kept(manager: &Manager, id: &str) {
    let before = when(manager, id, "is there", |_| true).await["lease"]["expires_at"].clone();
    when(manager, id, "is kept", |task| task["lease"]["expires_at"].as_str() > before.as_str()).await;
}

async fn an_outage_of_the_manager_is_not_blamed_on_the_tasks_of_http_workers(kind: Kind) {
    const WORKERS: usize = 7;
    /// Longer than a lease of the guide's worker lasts.
    const OUTAGE: Duration = Duration::from_secs(8);
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    let ids: Vec<String> = (0..WORKERS).map(|n| format!("slow-{n}")).collect();
    let mut workers = Vec::new();
    for id in &ids {
        mkfifo(&stack.folder().join(id), Mode::S_IRWXU).unwrap();
        submit(&manager, id, id).await;
        workers.push(start(&stack, &manager));
    }
    // Each worker knows its task: a manager that dies before it has answered takes the lease along.
    for id in &ids {
        when(&manager, id, "runs", |task| task["status"] == "started").await;
        kept(&manager, id).await;
    }
    let address = manager.address.to_string();
    manager.program.kill().await;
    let gone = Instant::now();
    until(OUTAGE * 2, "the outage is over", async || (gone.elapsed() >= OUTAGE).then_some(())).await;
    let manager = stack.manager_at(&address, &[]).await;
    for id in &ids {
        let path = stack.folder().join(id);
        kept(&manager, id).await;
        tokio::task::spawn_blocking(move || std::fs::write(path, "the end")).await.unwrap().unwrap();
    }
    let mut crashes = 0;
    for id in &ids {
        let task = manager.api.finished(id).await;
        assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
        crashes += task["crashes"].as_u64().unwrap();
    }
    println!("{kind:?}: a manager away for {OUTAGE:?}: {crashes} of {WORKERS} tasks of HTTP workers lost their lease");
    assert_eq!(crashes, 0);
    stack.examined().await;
}
