//! A workflow whose managers and workers are killed: each node runs after its predecessors, and the run ends as it must.

use std::{collections::BTreeMap, time::Duration};

use jobbers_test_support::{effects::Effects, wait::until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
    watching::telemetry::{scrape, value},
};

const LAYERS: usize = 5;
const WIDTH: usize = 12;
/// Nodes of the layer before that each node waits for.
const EDGES: usize = 4;
/// Nodes beside the layers, so that the workflow is submitted in several pieces.
const OTHERS: usize = 2_000;
const SLOTS: [(&str, &str); 1] = [("WORKER_CONCURRENT_TASKS", "6")];
const PATIENCE: Duration = Duration::from_secs(120);

on_both_engines!(
    a_workflow_ends_as_it_must_though_managers_and_workers_are_killed,
    two_managers_count_each_run_once_and_report_the_same_of_the_store,
);

fn name(layer: usize, place: usize) -> String {
    format!("n{layer}.{place}")
}

fn predecessors(layer: usize, place: usize) -> Vec<String> {
    let before = layer.checked_sub(1);
    before.map_or_else(Vec::new, |before| (0..EDGES).map(|n| name(before, (place + n * 5) % WIDTH)).collect())
}

fn layered() -> impl Iterator<Item = (usize, usize)> {
    (0..LAYERS).flat_map(|layer| (0..WIDTH).map(move |place| (layer, place)))
}

/// Layers of naps, some of which fail twice first; a node that fails for good with one that needs it and one that handles
/// it; and many small ones.
fn workflow() -> Value {
    let mut nodes: Vec<Value> = layered()
        .map(|(layer, place)| {
            let task = if place == 3 { "flaky" } else { "nap" };
            json!({"id": name(layer, place), "name": task, "depends_on": predecessors(layer, place),
                "max_crashes": 50, "max_retries": 3, "retry_delay": 0})
        })
        .collect();
    nodes.push(json!({"id": "doomed", "name": "doomed", "depends_on": [name(0, 0)]}));
    nodes.push(json!({"id": "in-vain", "name": "nap", "depends_on": ["doomed"]}));
    nodes.push(json!({"id": "handler", "name": "note", "depends_on": [{"id": "doomed", "policy": "run_on_error"}]}));
    nodes.push(json!({"id": "idle", "name": "note", "depends_on": [{"id": name(0, 0), "policy": "run_on_error"}]}));
    nodes.extend((0..OTHERS).map(|n| json!({"id": format!("o{n}"), "name": "note"})));
    // The last first: the order does not matter.
    nodes.reverse();
    json!({"id": "w", "name": "storm", "nodes": nodes})
}

/// When something happened to each node for the first time.
fn first(effects: &Effects, event: &str) -> BTreeMap<String, i64> {
    let mut times = BTreeMap::new();
    for effect in effects.all().into_iter().filter(|effect| effect.event == event) {
        let node = effect.task.strip_prefix("w/").unwrap_or_else(|| panic!("{} is no node", effect.task)).to_owned();
        let time = times.entry(node).or_insert(effect.at);
        *time = effect.at.min(*time);
    }
    times
}

/// The nodes that began before one that they wait for had ended.
fn too_early(started: &BTreeMap<String, i64>, done: &BTreeMap<String, i64>) -> Vec<String> {
    let is_early = |(layer, place): &(usize, usize)| {
        predecessors(*layer, *place).iter().any(|on| started[&name(*layer, *place)] < done[on])
    };
    layered().filter(is_early).map(|(layer, place)| name(layer, place)).collect()
}

async fn state(manager: &Manager) -> Option<String> {
    manager.api.get("/workflows/w").await.body["state"].as_str().map(str::to_owned)
}

async fn a_workflow_ends_as_it_must_though_managers_and_workers_are_killed(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (mut submitter, other) = (stack.manager().await, stack.manager().await);
    let _steady = stack.worker_with(&SLOTS).await;
    let mut victim = stack.worker_with(&SLOTS).await;
    let (api, body) = (submitter.api.clone(), workflow());
    let submitting = tokio::spawn(async move { api.send(Method::POST, "/workflows", &[], Some(&body)).await.ok() });
    // As soon as the run is stored: what is left of it is for the other manager.
    until(PATIENCE, "the run is stored", async || state(&other).await).await;
    submitter.program.kill().await;
    submitting.await.unwrap();
    let pid = victim.pid();
    until(PATIENCE, "the victim runs some of it", async || {
        stack.effects.all().into_iter().find(|effect| effect.event == "started" && effect.pid == pid)
    })
    .await;
    victim.kill().await;
    until(PATIENCE, "the run ends", async || {
        state(&other).await.filter(|state| !matches!(state.as_str(), "submitting" | "running"))
    })
    .await;

    let run = other.api.get("/workflows/w").await.ok();
    assert_eq!(run["state"], "failed", "{}", run["progress"]);
    let completed = LAYERS * WIDTH + OTHERS + 1;
    assert_eq!(run["progress"], json!({"completed": completed, "failed": 1, "aborted": 2}));
    let node = |id: &str| run["graph"].as_array().unwrap().iter().find(|node| node["id"] == id).unwrap().clone();
    for (id, status, skipped) in [
        ("doomed", "failed", false),
        ("in-vain", "aborted", false),
        ("handler", "completed", false),
        ("idle", "aborted", true),
    ] {
        assert_eq!((&node(id)["status"], &node(id)["skipped"]), (&json!(status), &json!(skipped)), "{id}");
    }
    let (started, mut done) = (first(&stack.effects, "started"), first(&stack.effects, "done"));
    assert_eq!(too_early(&started, &done), [""; 0]);
    assert!(!done.contains_key("in-vain") && !done.contains_key("idle"));
    let queue = other.api.get("/queues/default").await.ok();
    assert_eq!(queue["accepted"], completed + 3, "each node is one task: {queue}");
    // The books would show a node that began too early.
    done.insert(name(2, 5), i64::MAX);
    assert!(!too_early(&started, &done).is_empty());

    // The same submission is known to every manager, and a retry runs what failed once more.
    assert_eq!(other.api.post("/workflows", &workflow()).await.status, 200);
    other.api.post("/workflows/w/retry", &Value::Null).await.ok();
    until(PATIENCE, "the retry ends", async || state(&other).await.filter(|state| state == "failed")).await;
    let again = other.api.get("/workflows/w").await.ok();
    assert_eq!((&again["attempt"], &again["progress"]), (&json!(2), &run["progress"]));
    stack.examined().await;
}

/// Each manager submits some runs, and both look at all of them.
async fn two_managers_count_each_run_once_and_report_the_same_of_the_store(kind: Kind) {
    let stack = Stack::on(kind).await;
    let managers = [stack.manager().await, stack.manager().await];
    let _worker = stack.stock_worker().await;
    for n in 0..20 {
        let task = if n % 4 == 0 { "fail" } else { "echo" };
        let node = json!({"id": "only", "name": task, "parameters": {"kind": "fatal"}});
        managers[n % 2].api.post("/workflows", &json!({"name": "counted", "nodes": [node]})).await.ok();
    }
    let counts = [
        ("jobbers_workflows_started_total{workflow=\"counted\"}", 20.0),
        ("jobbers_workflows_ended_total{state=\"completed\",workflow=\"counted\"}", 15.0),
        ("jobbers_workflows_ended_total{state=\"failed\",workflow=\"counted\"}", 5.0),
        ("jobbers_workflows_ended_total{state=\"cancelled\",workflow=\"counted\"}", 0.0),
        ("jobbers_workflow_duration_seconds_count{state=\"completed\",workflow=\"counted\"}", 15.0),
    ];
    let gauges = [
        ("jobbers_workflows{state=\"completed\"}", 15.0),
        ("jobbers_workflows{state=\"failed\"}", 5.0),
        ("jobbers_workflows{state=\"running\"}", 0.0),
        ("jobbers_workflow_nodes{state=\"open\"}", 0.0),
    ];
    until(PATIENCE, "both report the same, and together each run", async || {
        let seen = [scrape(managers[0].address).await, scrape(managers[1].address).await];
        let sum = |series| seen.iter().filter_map(|lines| value(lines, series)).sum::<f64>();
        let counted = counts.iter().all(|(series, right)| (sum(series) - right).abs() < 0.5);
        let all = |(series, right): &(&str, f64)| seen.iter().all(|lines| value(lines, series) == Some(*right));
        (counted && gauges.iter().all(all)).then_some(())
    })
    .await;
}
