//! An operator who sends dead letters again, mended: each at most once.

use std::{collections::BTreeSet, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};

use crate::soak::{
    ledger::{Action, Asked},
    world::{Request, World},
};

const TURN: Duration = Duration::from_secs(2);
/// At most so many at a time.
const BATCH: usize = 50;

/// The ids of letters that are dead, and are of the kind that can be mended.
async fn dead(world: &World, turn: usize) -> Option<Vec<String>> {
    let path = format!("/dead-letter-queue?name=obey&state=dead&limit={BATCH}");
    let request = Request { method: Method::GET, path: &path, headers: &[], body: None };
    let page = world.once(turn, &request).await.filter(|answer| answer.status.is_success())?.body;
    let id = |letter: &Value| letter["id"].as_str().unwrap().to_owned();
    Some(page["dead_letters"].as_array()?.iter().map(id).collect())
}

/// Sends these again under a key, and waits until the operation is done. Its outcomes by task.
async fn operation(world: &World, turn: usize, ids: &[String], key: &str) -> Vec<Value> {
    let body = json!({"ids": ids, "parameters": {"fails": false}});
    let headers = [("Idempotency-Key", key)];
    let path = "/dead-letter-queue/resubmit?wait=2s";
    let mut operation =
        world.send(turn, &Request { method: Method::POST, path, headers: &headers, body: Some(&body) }).await.ok();
    while operation["state"] != "done" {
        let path = format!("/dead-letter-queue/operations/{}?wait=2s", operation["id"].as_str().unwrap());
        let request = Request { method: Method::GET, path: &path, headers: &[], body: None };
        operation = world.send(turn, &request).await.ok();
    }
    operation["tasks"].as_array().cloned().unwrap_or_default()
}

/// Sends letters again until the end.
pub(crate) async fn send_again(world: World) {
    let mut pace = world.pace(TURN);
    let mut sent = BTreeSet::new();
    for turn in 0.. {
        if !pace.turn().await {
            return;
        }
        send_all_again(&world, turn, &mut sent).await;
    }
}

/// Sends all that are dead again; those of earlier operations are left to these.
pub(crate) async fn send_all_again(world: &World, turn: usize, sent: &mut BTreeSet<String>) {
    let Some(mut ids) = dead(world, turn).await else { return };
    ids.retain(|id| !sent.contains(id));
    if ids.is_empty() {
        return;
    }
    let asked: Vec<(String, Asked)> =
        ids.iter().map(|id| (id.clone(), world.ledger.asks(Action::Resubmit, id, json!({})))).collect();
    let outcomes = operation(world, turn, &ids, &format!("letters-{turn}")).await;
    for (id, one) in asked {
        let outcome = outcomes.iter().find(|it| it["id"] == id.as_str()).map_or(&Value::Null, |it| &it["outcome"]);
        if outcome == "resubmitted" {
            sent.insert(id);
        }
        one.answered(json!({"outcome": outcome}));
    }
}
