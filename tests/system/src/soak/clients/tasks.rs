//! Submits tasks of all kinds: batches with ids, and single ones under an `Idempotency-Key`.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::soak::{
    kinds,
    ledger::Action,
    world::{Request, World},
};

/// A batch at each turn.
const TURN: Duration = Duration::from_millis(500);
const BATCH: [&str; 11] =
    ["quick", "nap", "doze", "doze", "doze", "delayed", "flaky", "narrow", "narrow", "panicky", "remote"];
/// A task that kills its worker, once in so many turns.
const POISON: usize = 60;

/// Submits these kinds, as one batch.
pub(crate) async fn batch(world: &World, turn: usize, kinds: &[&str]) {
    let named: Vec<(String, Value)> = kinds
        .iter()
        .enumerate()
        .map(|(place, kind)| {
            let (id, mut task) = (format!("{kind}.{turn}.{place}"), kinds::task(kind));
            task["id"] = json!(id);
            (id, task)
        })
        .collect();
    let asked: Vec<_> = named.iter().map(|(id, _)| world.ledger.asks(Action::Submit, id, json!({}))).collect();
    let tasks: Vec<&Value> = named.iter().map(|(_, task)| task).collect();
    let answer = world.post(turn, "/tasks", &json!({"tasks": tasks})).await;
    for one in asked {
        one.answered(json!({"status": answer.status.as_u16(), "code": answer.code()}));
    }
}

/// Submits a task without an id. With a key it is the same task however often it is sent.
pub(crate) async fn unnamed(world: &World, turn: usize, key: Option<&str>) {
    let body = json!({"name": "note"});
    let asked = world.ledger.asks(Action::Submit, "", json!({"idempotency_key": key}));
    let key = key.map(|key| ("Idempotency-Key", key));
    let request = Request { method: Method::POST, path: "/tasks", headers: key.as_slice(), body: Some(&body) };
    let answer = world.send(turn, &request).await;
    asked.answered(json!({"status": answer.status.as_u16(), "code": answer.code(), "id": answer.body["id"]}));
}

async fn cancel(world: &World, turn: usize, id: &str) {
    let asked = world.ledger.asks(Action::Cancel, id, json!({}));
    let answer = world.post(turn, &format!("/tasks/{id}/cancel"), &json!({})).await;
    asked.answered(json!({"status": answer.status.as_u16(), "code": answer.code()}));
}

/// Submits until the end.
pub(crate) async fn submit(world: World) {
    let mut pace = world.pace(TURN);
    for turn in 0.. {
        if !pace.turn().await {
            return;
        }
        batch(&world, turn, &BATCH).await;
        unnamed(&world, turn, Some(&format!("key-{turn}"))).await;
        if turn % 2 == 0 {
            batch(&world, turn, &["letter", "cancelled"]).await;
            pace.turn().await;
            cancel(&world, turn, &format!("cancelled.{turn}.1")).await;
        }
        if turn % POISON == POISON / 3 {
            batch(&world, turn, &["poison"]).await;
        }
    }
}
