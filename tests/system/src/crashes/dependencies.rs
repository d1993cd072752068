//! A graph of tasks whose workers are killed half-way.

use std::{collections::BTreeMap, time::Duration};

use jobbers_test_support::{
    effects::Effects,
    wait::{until, within},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{engines::Kind, stack::Stack};

const LAYERS: usize = 6;
const WIDTH: usize = 12;
/// Tasks of the layer before that each task waits for.
const EDGES: usize = 4;
/// Half a layer, so that every worker gets some of each.
const SLOTS: [(&str, &str); 1] = [("WORKER_CONCURRENT_TASKS", "6")];
const PATIENCE: Duration = Duration::from_secs(60);

on_both_engines!(
    a_graph_runs_in_its_order_though_its_workers_are_killed,
    a_task_waits_for_10000_though_the_manager_that_took_it_is_killed,
);

fn id(layer: usize, place: usize) -> String {
    format!("g.{layer}.{place}")
}

/// What a task of the graph waits for.
fn predecessors(layer: usize, place: usize) -> Vec<String> {
    let before = layer.checked_sub(1);
    before.map_or_else(Vec::new, |before| (0..EDGES).map(|n| id(before, (place + n * 5) % WIDTH)).collect())
}

fn nodes() -> impl Iterator<Item = (usize, usize)> {
    (0..LAYERS).flat_map(|layer| (0..WIDTH).map(move |place| (layer, place)))
}

/// When something happened to each task for the first time.
fn first(effects: &Effects, event: &str) -> BTreeMap<String, i64> {
    let mut times = BTreeMap::new();
    for effect in effects.all().into_iter().filter(|effect| effect.event == event) {
        let time = times.entry(effect.task).or_insert(effect.at);
        *time = effect.at.min(*time);
    }
    times
}

/// The tasks that began before one that they wait for had ended.
fn too_early(started: &BTreeMap<String, i64>, done: &BTreeMap<String, i64>) -> Vec<String> {
    let is_early = |(layer, place): &(usize, usize)| {
        predecessors(*layer, *place).iter().any(|on| started[&id(*layer, *place)] < done[on])
    };
    nodes().filter(is_early).map(|(layer, place)| id(layer, place)).collect()
}

async fn a_graph_runs_in_its_order_though_its_workers_are_killed(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    // The last layer first: the order in a batch does not matter.
    let task = |(layer, place): (usize, usize)| json!({"id": id(layer, place), "name": "nap", "depends_on": predecessors(layer, place), "max_crashes": 50});
    let mut tasks: Vec<Value> = nodes().map(task).collect();
    tasks.reverse();
    manager.api.post("/tasks", &json!({ "tasks": tasks })).await.ok();

    let _steady = stack.worker_with(&SLOTS).await;
    for _ in 0..2 {
        let mut victim = stack.worker_with(&SLOTS).await;
        let pid = victim.pid();
        until(PATIENCE, "the victim runs some of it", async || {
            stack.effects.all().into_iter().find(|effect| effect.event == "started" && effect.pid == pid)
        })
        .await;
        victim.kill().await;
    }
    for (layer, place) in nodes() {
        let task = within(PATIENCE, "the graph ends", manager.api.finished(&id(layer, place))).await;
        assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
        let edges = predecessors(layer, place).len();
        let expected = if edges == 0 { Value::Null } else { json!({"total": edges, "signals": edges}) };
        assert_eq!(task["dependencies"], expected, "{task}");
    }
    let (started, mut done) = (first(&stack.effects, "started"), first(&stack.effects, "done"));
    assert_eq!(too_early(&started, &done), [""; 0]);
    // The books would show a task that began too early.
    done.insert(id(2, 5), i64::MAX);
    assert!(!too_early(&started, &done).is_empty());

    stack.examined().await;
}

async fn a_task_waits_for_10000_though_the_manager_that_took_it_is_killed(kind: Kind) {
    const MANY: usize = 10_000;
    let stack = Stack::on(kind).await;
    let (mut taker, other) = (stack.manager().await, stack.manager().await);
    let ids: Vec<String> = (0..MANY).map(|n| format!("p{n:05}")).collect();
    for ids in ids.chunks(1_000) {
        let tasks: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "note"})).collect();
        other.api.post("/tasks", &json!({ "tasks": tasks })).await.ok();
    }
    // Killed as soon as the task is stored: most of its edges are not yet.
    let (api, all) = (taker.api.clone(), json!({"id": "all", "name": "note", "depends_on": ids}));
    let submitting = tokio::spawn(async move { api.send(Method::POST, "/tasks", &[], Some(&all)).await.ok() });
    until(PATIENCE, "the task is stored", async || {
        let status = other.api.get("/tasks/all").await.status;
        (status == 200).then_some(())
    })
    .await;
    taker.program.kill().await;
    submitting.await.unwrap();

    let _worker = stack.worker().await;
    let task = within(PATIENCE, "all have run", other.api.finished("all")).await;
    assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
    assert_eq!(task["dependencies"], json!({"total": MANY, "signals": MANY}));
    let counts = other.api.get("/queues/default").await.ok();
    assert_eq!(counts["tasks"]["completed"], MANY + 1, "{counts}");
    stack.examined().await;
}
