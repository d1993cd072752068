//! Signals from outside while managers are killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jobbers_test_support::{api::Api, wait::within};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

const GATES: usize = 250;
const SIGNALS: [&str; 2] = ["reviewed", "approved"];
const ROUNDS: usize = 4;
const SENDERS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

on_both_engines!(
    every_acknowledged_signal_counts_once_though_managers_are_killed,
    a_timeout_outlives_the_manager_that_accepted_it
);

fn gate(n: usize) -> String {
    format!("gate-{n}")
}

/// What a gate shows of itself: its status, and the states of its signals.
async fn look(manager: &Manager, id: &str) -> (Value, BTreeMap<String, String>) {
    let task = manager.api.get(&format!("/tasks/{id}")).await.ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let external = task["dependencies"]["external"].as_array().unwrap();
    let states = external.iter().map(|signal| (text(&signal["name"]), text(&signal["state"]))).collect();
    (task, states)
}

/// Sends every signal to some gates, in their order, until an answer is missing.
async fn send_all(api: Api, first: usize, acknowledge: mpsc::UnboundedSender<(usize, &'static str)>) {
    for n in (first..GATES).step_by(SENDERS) {
        for name in SIGNALS {
            let (path, body) = (format!("/tasks/{}/signal", gate(n)), json!({"name": name}));
            match api.send(Method::POST, &path, &[], Some(&body)).await {
                Ok(answer) if answer.status.is_success() => acknowledge.send((n, name)).unwrap(),
                _ => return,
            }
        }
    }
}

async fn every_acknowledged_signal_counts_once_though_managers_are_killed(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    let gates: Vec<Value> = (0..GATES).map(|n| json!({"id": gate(n), "name": "note", "signals": SIGNALS})).collect();
    manager.api.post("/tasks", &json!({"tasks": gates})).await.ok();
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let (acknowledge, mut heard) = mpsc::unbounded_channel();
        let mut senders = JoinSet::new();
        for first in 0..SENDERS {
            senders.spawn(send_all(manager.api.clone(), first, acknowledge.clone()));
        }
        drop(acknowledge);
        // Killed after another number of signals each time, while others are under way.
        for _ in 0..=round * 40 {
            acknowledged.insert(heard.recv().await.unwrap());
        }
        manager.program.kill().await;
        senders.join_all().await;
        while let Ok(signal) = heard.try_recv() {
            acknowledged.insert(signal);
        }
        manager = stack.manager().await;
        for n in 0..GATES {
            let (task, states) = look(&manager, &gate(n)).await;
            let received = states.values().filter(|state| *state == "received").count();
            for name in SIGNALS {
                assert!(states[name] == "received" || !acknowledged.contains(&(n, name)), "{name} is lost: {task}");
            }
            assert_eq!(task["dependencies"]["signals"], received, "{task}");
            assert_eq!(task["status"], if received == SIGNALS.len() { "submitted" } else { "waiting" }, "{task}");
        }
    }
    assert!(acknowledged.len() < GATES * SIGNALS.len(), "each manager was killed before the last signal");

    for (n, name) in (0..GATES).flat_map(|n| SIGNALS.map(|name| (n, name))) {
        let answer = manager.api.post(&format!("/tasks/{}/signal", gate(n)), &json!({"name": name})).await.ok();
        assert!(answer["is_new"] == false || !acknowledged.contains(&(n, name)), "{answer}");
    }
    let _worker = stack.worker().await;
    for n in 0..GATES {
        let task = within(PATIENCE, "the gates are passed", manager.api.finished(&gate(n))).await;
        assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
    }
    stack.examined().await;
}

async fn a_timeout_outlives_the_manager_that_accepted_it(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut first = stack.manager().await;
    let gate = |id: &str, on_timeout: &str| {
        let signal = json!({"name": "approved", "timeout": "2s", "on_timeout": on_timeout});
        json!({"id": id, "name": "note", "signals": [signal]})
    };
    first.api.post("/tasks", &json!({"tasks": [gate("strict", "abort"), gate("lenient", "run")]})).await.ok();
    first.program.kill().await;
    let second = stack.manager().await;
    let _worker = stack.worker().await;
    for (id, status) in [("strict", "aborted"), ("lenient", "completed")] {
        let task = within(PATIENCE, "the signal times out", second.api.finished(id)).await;
        assert_eq!(task["status"], status, "{task}");
        assert_eq!(task["dependencies"]["external"][0]["state"], "timed_out", "{task}");
        let late = second.api.post(&format!("/tasks/{id}/signal"), &json!({"name": "approved"})).await;
        assert_eq!((late.status.as_u16(), late.code()), (409, "signal_late"));
    }
    stack.examined().await;
}
