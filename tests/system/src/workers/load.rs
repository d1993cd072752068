//! Several managers and workers on one store.

use std::{collections::BTreeSet, time::Duration};

use jobbers_test_support::{program::Program, wait::until};
use serde_json::{Value, json};

use crate::{engines::Kind, stack::Stack};

const TASKS: usize = 5_000;
const BATCH: usize = 500;

on_both_engines!(two_managers_and_three_workers_run_each_of_5000_tasks_once);

async fn two_managers_and_three_workers_run_each_of_5000_tasks_once(kind: Kind) {
    let stack = Stack::on(kind).await;
    let managers = [stack.manager().await, stack.manager().await];
    let workers = [stack.worker().await, stack.worker().await, stack.worker().await];
    // All tasks exist before a worker may begin, so that all workers claim at once. The first batch waits for the gate: more
    // than two workers lease, so that it opens while each runs some. Else one could be done before another has woken.
    managers[0].api.post("/queues/default/pause", &json!({})).await.ok();
    for first in (0..TASKS).step_by(BATCH) {
        let name = if first == 0 { "hold" } else { "note" };
        let tasks: Vec<Value> = (first..first + BATCH).map(|n| json!({"id": format!("t{n}"), "name": name})).collect();
        managers[first / BATCH % 2].api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    }
    let all: BTreeSet<u32> = workers.iter().map(Program::pid).collect();
    let pids = |event: &str| -> BTreeSet<u32> {
        stack.effects.all().into_iter().filter(|effect| effect.event == event).map(|effect| effect.pid).collect()
    };
    managers[1].api.post("/queues/default/resume", &json!({})).await.ok();
    until(Duration::from_secs(60), "each worker runs a task", async || (pids("started") == all).then_some(())).await;
    stack.release();
    until(Duration::from_secs(120), "all tasks are completed", async || {
        let queue = managers[0].api.get("/queues/default").await.ok();
        (queue["tasks"]["completed"] == json!(TASKS)).then_some(())
    })
    .await;
    let executions = stack.effects.count("done");
    assert_eq!(executions.len(), TASKS);
    let twice: Vec<_> = executions.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "executed more than once: {twice:?}");
    assert_eq!(pids("done"), all);
}
