//! Reads what is left after a soak, through the API alone.

use std::{collections::BTreeMap, time::Duration};

use jobbers_test_support::wait::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    audit::{Books, Fired, Task},
    clients::{boards, schedules},
    fleet::Fleet,
    world::{Request, World},
};
use crate::executions::{Executions, Record};

/// The queues of a soak.
pub(crate) const QUEUES: [&str; 4] = ["default", "narrow", schedules::TICKS, "remote"];
const LIVE: [&str; 4] = ["waiting", "scheduled", "submitted", "started"];
const STATUSES: [&str; 10] = [
    "waiting",
    "scheduled",
    "submitted",
    "started",
    "completed",
    "failed",
    "stalled",
    "dropped",
    "aborted",
    "cancelled",
];
/// Leases end, suspects run apart, retries come: on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

async fn get(world: &World, path: &str) -> Value {
    world.send(0, &Request { method: Method::GET, path, headers: &[], body: None }).await.ok()
}

/// All entries of a list.
async fn pages(world: &World, path: &str, field: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(world, &format!("{path}{cursor}")).await;
        all.extend(page[field].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// What is not over yet.
async fn left(world: &World) -> Vec<String> {
    let counted = world.post(0, "/tasks/statuses", &json!({"queues": QUEUES})).await.ok();
    let mut left = Vec::new();
    for queue in counted["queues"].as_array().unwrap() {
        let live: u64 = LIVE.iter().filter_map(|status| queue["tasks"][*status].as_u64()).sum();
        if live > 0 {
            left.push(format!("{} of the queue {}: {}", live, queue["queue"], queue["tasks"]));
        }
    }
    for state in ["submitting", "running"] {
        let runs = get(world, &format!("/workflows?state={state}&limit=1000")).await;
        let runs = runs["workflows"].as_array().unwrap().len();
        left.extend((runs > 0).then(|| format!("{runs} workflows are {state}")));
    }
    let bridged = boards::list(world, boards::BRIDGED).await.len();
    left.extend((bridged > 0).then(|| format!("{bridged} tasks of the bridge")));
    left
}

/// Waits until everything is over. What is not after a long time is for the audit.
pub(crate) async fn settle(world: &World) {
    let settled = until(PATIENCE * 2, "everything is over", async || left(world).await.is_empty().then_some(()));
    if tokio::time::timeout(PATIENCE, settled).await.is_err() {
        println!("not over after {PATIENCE:?}: {:?}", left(world).await);
    }
}

/// Waits until the archive has a letter for each task that failed; fewer are for the audit.
async fn letters(world: &World, failed: usize) -> BTreeMap<String, usize> {
    let archived = until(PATIENCE, "the letters are in the archive", async || {
        (get(world, "/dead-letter-queue/stats").await["total"] == failed).then_some(())
    });
    let _ = tokio::time::timeout(PATIENCE / 6, archived).await;
    let mut letters = BTreeMap::new();
    for letter in pages(world, "/dead-letter-queue?state=dead&limit=1000", "dead_letters").await {
        *letters.entry(letter["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    letters
}

async fn tasks(world: &World) -> BTreeMap<String, Task> {
    let mut tasks = BTreeMap::new();
    for status in STATUSES {
        for task in pages(world, &format!("/tasks?status={status}&include=result&limit=1000"), "tasks").await {
            let record = if LIVE.contains(&status) { Record::live(&task) } else { Record::of(&task) };
            let id = task["id"].as_str().unwrap().to_owned();
            let before = tasks.insert(id, Task { record, result: task["result"].clone() });
            assert!(before.is_none(), "in two states at once: {task}");
        }
    }
    tasks
}

/// Nothing of a schedule that does not exist.
pub(crate) async fn fired(world: &World, name: &str) -> Fired {
    let path = format!("/schedules/{name}");
    let schedule = world.send(0, &Request { method: Method::GET, path: &path, headers: &[], body: None }).await.body;
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    // Only the tasks of ticks have a queue of their own.
    let accepted =
        if name == schedules::TICKS { number(&get(world, &format!("/queues/{name}")).await["accepted"]) } else { 0 };
    Fired { fired: number(&schedule["fired"]), missed: number(&schedule["missed"]), accepted }
}

/// Reads everything.
pub(crate) async fn read(world: &World, fleet: &Fleet) -> Books {
    let tasks = tasks(world).await;
    let failed = tasks.values().filter(|task| task.record.status == "failed").count();
    let runs = pages(world, "/workflows?limit=1000", "workflows").await;
    let state = |run: Value| (run["id"].as_str().unwrap().to_owned(), run["state"].as_str().unwrap().to_owned());
    let replies = boards::list(world, "replies").await;
    let effects = fleet.stack.effects.all();
    let mut books = Books {
        deeds: world.ledger.deeds(),
        letters: letters(world, failed).await,
        workflows: runs.into_iter().map(state).collect(),
        schedules: BTreeMap::from([
            (schedules::TICKS.to_owned(), fired(world, schedules::TICKS).await),
            (schedules::ROUNDS.to_owned(), fired(world, schedules::ROUNDS).await),
        ]),
        board: boards::list(world, boards::GROUP).await.into_iter().map(|(_, data)| data).collect(),
        replies: replies.iter().map(|(_, data)| serde_json::from_str(data.as_str().unwrap()).unwrap()).collect(),
        executions: Executions::new(&effects, &fleet.logs(), &fleet.blows),
        effects,
        tasks,
    };
    books.forget_earlier_lives();
    books
}
