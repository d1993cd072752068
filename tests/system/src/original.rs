//! What the Python original lost, and what must not be lost here: W1 to W24, each seen happening there.
//!
//! A test carries the number of the fault it keeps out, and runs on both engines with real programs. Where the original
//! lost something in a feature of another shape (its cron table, its callbacks), the test is of the promise that was
//! broken, on the feature that carries it here. `docs/reference/lessons.md` lists all of them.

use std::collections::BTreeSet;

use jobbers_test_support::api::Api;
use serde_json::{Value, json};

use crate::stack::Stack;

mod claiming;
mod dead_letters;
mod ending;
mod submitting;
mod timing;

/// Submits tasks like `task` in one batch, with the ids `<prefix>0`, `<prefix>1` …, and answers these.
async fn submit_many(api: &Api, prefix: &str, count: usize, task: &Value) -> Vec<String> {
    let ids: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
    let tasks: Vec<Value> = ids
        .iter()
        .map(|id| {
            let mut task = task.clone();
            task["id"] = json!(id);
            task
        })
        .collect();
    api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    ids
}

/// Waits until tasks are over, which must all end as `status`.
async fn all_end_as(api: &Api, ids: &[String], status: &str) {
    for id in ids {
        let task = api.finished(id).await;
        assert_eq!(task["status"], status, "{task}");
    }
}

/// Each of these tasks did its work once, and no other task did any.
fn assert_each_ran_once(stack: &Stack, ids: &[String]) {
    let done = stack.effects.count("done");
    let expected: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(done.keys().collect::<BTreeSet<_>>(), expected, "the tasks that did their work");
    let more: Vec<_> = done.iter().filter(|(_, times)| **times != 1).collect();
    assert!(more.is_empty(), "executed more than once: {more:?}");
}
