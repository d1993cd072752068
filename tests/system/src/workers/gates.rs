//! Limits by key and by task that hold over several worker processes, seen from what the tasks themselves noted.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jobbers_test_support::{effects::Effect, wait::until};
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

on_both_engines!(
    no_more_of_a_key_or_a_task_than_may_run_at_any_instant_in_four_workers,
    a_customer_with_many_tasks_keeps_nobody_else_waiting,
    a_killed_worker_s_slots_come_free,
);

const PATIENCE: Duration = Duration::from_secs(90);

/// Tasks of one customer, by the parameter that gives the key: `acme-0`, `acme-1`, ….
async fn submit_many(manager: &Manager, name: &str, customer: &str, count: usize) {
    let task = |n: usize| json!({"id": format!("{customer}-{n}"), "name": name, "parameters": {"customer": customer}});
    for first in (0..count).step_by(1_000) {
        let tasks: Vec<_> = (first..count.min(first + 1_000)).map(task).collect();
        manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    }
}

async fn completed(manager: &Manager) -> u64 {
    manager.api.get("/queues/default").await.ok()["tasks"]["completed"].as_u64().unwrap_or(0)
}

fn customer(effect: &Effect) -> String {
    effect.task.rsplit_once('-').map_or("", |(customer, _)| customer).to_owned()
}

/// How many tasks of each group ran at most at any instant. The lines of all processes stand in one file, in the order in
/// which they were written.
fn most_at_once(effects: &[Effect], group: impl Fn(&Effect) -> String) -> BTreeMap<String, i64> {
    let (mut running, mut most) = (BTreeMap::<String, i64>::new(), BTreeMap::new());
    for effect in effects {
        let group = group(effect);
        let now = running.entry(group.clone()).or_default();
        *now += if effect.event == "started" { 1 } else { -1 };
        let before = most.entry(group).or_insert(0);
        *before = (*before).max(*now);
    }
    assert!(running.values().all(|left| *left == 0), "all that started ended: {running:?}");
    most
}

async fn no_more_of_a_key_or_a_task_than_may_run_at_any_instant_in_four_workers(kind: Kind) {
    const TASKS: usize = 20;
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let limits = json!({
        "key_parameter": "customer", "max_concurrent_per_key": 2, "task_limits": {"nap": {"max_concurrent": 5}}
    });
    manager.api.put("/queues/default", &limits).await.ok();
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(stack.worker_with(&[("WORKER_CONCURRENT_TASKS", "3")]).await);
    }
    let customers = ["acme", "bolt", "coil", "dyne"];
    for customer in customers {
        submit_many(&manager, "nap", customer, TASKS).await;
    }
    let all = (customers.len() * TASKS) as u64;
    until(PATIENCE, "all have run", async || (completed(&manager).await == all).then_some(())).await;
    let effects = stack.effects.all();
    let by_customer = most_at_once(&effects, customer);
    assert!(by_customer.values().all(|most| *most <= 2), "{by_customer:?}");
    let together = most_at_once(&effects, |_| "nap".to_owned())["nap"];
    assert!(together <= 5, "{together} of the task at a time");
    let used: BTreeSet<u32> = effects.iter().map(|effect| effect.pid).collect();
    assert!(used.len() > 1, "several workers had a share");
    stack.examined().await;
}

async fn a_customer_with_many_tasks_keeps_nobody_else_waiting(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"key_parameter": "customer", "max_concurrent_per_key": 1})).await.ok();
    submit_many(&manager, "hold", "acme", 5_000).await;
    submit_many(&manager, "note", "bolt", 20).await;
    let _worker = stack.worker_with(&[("WORKER_CONCURRENT_TASKS", "4")]).await;
    until(PATIENCE, "the other's have run", async || (completed(&manager).await == 20).then_some(())).await;
    assert_eq!(stack.effects.count("started").len(), 1, "one of the first customer's, which holds its slot");
    let told = manager.api.get("/tasks/acme-1/explain").await.ok();
    let reason = &told["reasons"][0];
    assert_eq!((&reason["code"], &reason["tasks"]), (&json!("max_concurrent_per_key"), &json!(["acme-0"])), "{told}");
    stack.release();
    stack.effects.happened("done", "acme-1").await;
}

async fn a_killed_worker_s_slots_come_free(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"key_parameter": "customer", "max_concurrent_per_key": 2})).await.ok();
    submit_many(&manager, "hold", "acme", 4).await;
    let mut first = stack.worker().await;
    let held = until(PATIENCE, "two run", async || {
        let started: Vec<String> = stack.effects.count("started").into_keys().collect();
        (started.len() == 2).then_some(started)
    })
    .await;
    assert_eq!(held, ["acme-0", "acme-1"]);
    let _second = stack.worker().await;
    first.kill().await;
    // From here on a started task ends by itself.
    stack.release();
    until(PATIENCE, "all have run", async || (completed(&manager).await == 4).then_some(())).await;
    for id in held {
        let task = manager.api.finished(&id).await;
        assert_eq!(task["crashes"], 1, "{task}");
    }
    stack.examined().await;
}
