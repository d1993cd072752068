//! A disk that is full under load: what runs is settled once, and the store takes tasks in again by itself.

use std::{collections::BTreeMap, time::Duration};

use jobbers_test_support::{
    small_disk::SmallDisk,
    wait::{until, until_none},
};
use serde_json::{Value, json};

use crate::stack::{Manager, Stack, all_tasks};

/// Submits batches until the store refuses one because it is full, and answers the ids that it took.
async fn fill(manager: &Manager) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let pad = "x".repeat(2_000);
        let batch: Vec<Value> = (0..50)
            .map(|n| json!({"id": format!("fill-{}", ids.len() + n), "name": "note", "queue": "rest", "parameters": {"pad": pad}}))
            .collect();
        let answer = manager.api.post("/tasks", &json!({"tasks": batch})).await;
        if answer.status.is_success() {
            ids.extend(batch.iter().map(|task| task["id"].as_str().unwrap().to_owned()));
            continue;
        }
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "store_full"), "{}", answer.body);
        assert!(answer.retry_after.is_some() && answer.body["detail"].as_str().unwrap().contains("disk"));
        return ids;
    }
}

async fn warnings(manager: &Manager) -> String {
    manager.api.get("/health/ready").await.ok()["warnings"].to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_stops_submissions_and_nothing_else() {
    let Some(disk) = SmallDisk::of(64) else { return };
    let stack = Stack::on_disk(&disk);
    let manager = stack.manager().await;
    manager.api.put("/queues/rest", &json!({})).await.ok();
    let worker = stack.worker().await;
    let held: Vec<Value> = (0..8).map(|n| json!({"id": format!("held-{n}"), "name": "hold"})).collect();
    manager.api.post("/tasks", &json!({"tasks": held})).await.ok();
    for n in 0..8 {
        manager.api.standing(&format!("held-{n}"), "started").await;
    }
    disk.fill();
    let waiting = fill(&manager).await;
    assert!(warnings(&manager).await.contains("the disk is full"));

    // What runs keeps its lease for longer than one lasts, ends, and does not run again.
    let before = manager.api.task("held-0").await["lease"]["expires_at"].clone();
    until(Duration::from_secs(30), "the leases are renewed on the full disk", async || {
        (manager.api.task("held-0").await["lease"]["expires_at"] != before).then_some(())
    })
    .await;
    stack.release();
    let mut attempts = BTreeMap::new();
    for n in 0..8 {
        let id = format!("held-{n}");
        let task = manager.api.finished(&id).await;
        attempts.insert(id, (task["status"].clone(), task["attempt"].clone()));
    }
    assert!(attempts.values().all(|it| *it == (json!("completed"), json!(1))), "{attempts:?}");

    // An operator can make room.
    for id in waiting.iter().take(20) {
        manager.api.post(&format!("/tasks/{id}/cancel"), &json!({})).await.ok();
    }
    manager.api.post("/queues/rest/purge", &json!({})).await.ok();
    assert!(all_tasks(&manager.api, "/tasks?queue=rest&status=submitted").await.is_empty());
    disk.free();
    let id = until(Duration::from_secs(30), "the store takes tasks in again", async || {
        let answer = manager.api.post("/tasks", &json!({"name": "note"})).await;
        answer.status.is_success().then(|| answer.body["id"].as_str().unwrap().to_owned())
    })
    .await;
    assert_eq!(manager.api.finished(&id).await["status"], "completed");
    until_none(Duration::from_secs(20), "warnings of the disk", async || {
        let said = warnings(&manager).await;
        if said.contains("disk") { vec![said] } else { Vec::new() }
    })
    .await;
    drop(worker);
    stack.examined().await;
}
