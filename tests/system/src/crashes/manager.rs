//! A manager that is killed in the middle of batch submits.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    engines::Kind,
    stack::{Stack, all_ids},
};

const ROUNDS: usize = 6;
const BATCH: usize = 100;
const CLIENTS: usize = 4;

on_both_engines!(every_acknowledged_batch_is_there_and_no_batch_is_there_in_part);

async fn every_acknowledged_batch_is_there_and_no_batch_is_there_in_part(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut sent: BTreeMap<String, bool> = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut manager = stack.manager().await;
        let mut clients = JoinSet::new();
        let (acknowledge, mut acknowledged) = tokio::sync::mpsc::unbounded_channel();
        for client in 0..CLIENTS {
            let (api, acknowledge) = (manager.api.clone(), acknowledge.clone());
            clients.spawn(async move {
                let mut batches = Vec::new();
                for n in 0.. {
                    let name = format!("r{round}-c{client}-b{n}");
                    let tasks: Vec<Value> =
                        (0..BATCH).map(|n| json!({"id": format!("{name}/{n}"), "name": "note"})).collect();
                    let body = json!({"tasks": tasks});
                    let answer = api.send(reqwest::Method::POST, "/tasks", &[], Some(&body)).await;
                    let taken = answer.as_ref().is_ok_and(|answer| answer.status.is_success());
                    batches.push((name, taken));
                    if !taken {
                        break;
                    }
                    acknowledge.send(()).ok();
                }
                batches
            });
        }
        // Killed after another number of batches each time, while other requests are under way.
        for _ in 0..=round {
            acknowledged.recv().await.unwrap();
        }
        manager.program.kill().await;
        sent.extend(clients.join_all().await.into_iter().flatten());
    }
    let manager = stack.manager().await;
    let ids: BTreeSet<String> = all_ids(&manager.api, "/tasks?status=submitted").await;
    let acknowledged = sent.values().filter(|taken| **taken).count();
    assert!(acknowledged >= ROUNDS && acknowledged < sent.len(), "some were cut off, and some were not");
    for (name, taken) in &sent {
        let there = (0..BATCH).filter(|n| ids.contains(&format!("{name}/{n}"))).count();
        assert!(there == BATCH || there == 0, "{there} of {BATCH} tasks of batch {name}");
        assert!(there == BATCH || !taken, "batch {name} was acknowledged and is lost");
    }
}
