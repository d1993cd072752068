//! Clients of TaskStore that post, claim and remove tasks. Their protocol has no way to repeat a request safely, so each is
//! sent once, and what a lost answer leaves open stays open. One of them posts to a bridge.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::soak::{
    ledger::Action,
    world::{Request, World},
};

const TURN: Duration = Duration::from_millis(600);
const BRIDGE_TURN: Duration = Duration::from_secs(1);
pub(crate) const CLAIM_MS: i64 = 4_000;
/// The group of the clients, and that of the bridge.
pub(crate) const GROUP: &str = "work";
pub(crate) const BRIDGED: &str = "bridged";

/// Posts a task. Returns its id, if an answer came.
pub(crate) async fn post(world: &World, turn: usize, client: u64, group: &str, data: &str) -> Option<u64> {
    let body = json!({"clientid": client, "adds": [{"group": group, "data": data}]});
    let asked = world.ledger.asks(Action::Post, data, json!({"group": group}));
    let id = world.once(turn, &Request::post("/taskstore/update", &body)).await?.ok()["tasks"][0]["id"].as_u64();
    asked.answered(json!({"id": id}));
    id
}

/// Claims a task. Returns its id and data, if it got one.
pub(crate) async fn claim(world: &World, turn: usize, client: u64) -> Option<(u64, String)> {
    let body = json!({"clientid": client, "group": GROUP, "duration": CLAIM_MS});
    let asked = world.ledger.asks(Action::Claim, &client.to_string(), json!({"lease_ms": CLAIM_MS}));
    let answer = world.once(turn, &Request::post("/taskstore/claim", &body)).await?.ok();
    let task = &answer["tasks"][0];
    asked.answered(json!({"id": task["id"], "data": task["data"]}));
    Some((task["id"].as_u64()?, task["data"].as_str()?.to_owned()))
}

/// Removes a task that it claimed.
async fn remove(world: &World, turn: usize, client: u64, id: u64, data: &str) {
    let body = json!({"clientid": client, "deletes": [id]});
    let asked = world.ledger.asks(Action::Remove, data, json!({"id": id}));
    if let Some(answer) = world.once(turn, &Request::post("/taskstore/update", &body)).await {
        asked.answered(json!({"removed": answer.ok()["error"].is_null()}));
    }
}

/// Posts, claims and removes until the end.
pub(crate) async fn work(world: World, number: u64, seed: u64) {
    let client = number + 1;
    let mut random = StdRng::seed_from_u64(seed.rotate_left(7) ^ number);
    let mut pace = world.pace(TURN);
    for turn in 0.. {
        if !pace.turn().await {
            return;
        }
        post(&world, turn, client, GROUP, &format!("{client}-{turn}")).await;
        let Some((id, data)) = claim(&world, turn, client).await else { continue };
        // Some are forgotten: others find them when the claim is over.
        if random.random_range(0..100) < 85 {
            remove(&world, turn, client, id, &data).await;
        }
    }
}

/// Posts to the bridge until the end.
pub(crate) async fn post_to_the_bridge(world: World) {
    let mut pace = world.pace(BRIDGE_TURN);
    for turn in 0.. {
        if !pace.turn().await {
            return;
        }
        post(&world, turn, 99, BRIDGED, &json!({"n": turn}).to_string()).await;
    }
}

/// The tasks of a group, claimed or not: the data by the id.
pub(crate) async fn list(world: &World, group: &str) -> Vec<(u64, Value)> {
    let path = format!("/taskstore/group/{group}?owned=1");
    let request = Request { method: reqwest::Method::GET, path: &path, headers: &[], body: None };
    let listed = world.send(0, &request).await.ok();
    let one = |task: &Value| (task["id"].as_u64().unwrap(), task["data"].clone());
    listed.as_array().into_iter().flatten().map(one).collect()
}
