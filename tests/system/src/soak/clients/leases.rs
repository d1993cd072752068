//! A worker that leases tasks over HTTP, and does with them what such workers do: completes them, extends first, gives
//! them back, forgets them, or comes too late.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::soak::{
    ledger::Action,
    world::{Request, World},
};

const TURN: Duration = Duration::from_millis(700);
pub(crate) const LEASE_MS: i64 = 4_000;
const LIMIT: usize = 4;

/// Leases tasks, once: an answer that is lost costs its tasks their leases.
pub(crate) async fn lease(world: &World, turn: usize, worker: &str) -> Vec<Value> {
    let body = json!({"worker": worker, "queues": ["remote"], "tasks": ["remote@1"], "limit": LIMIT, "lease": "4s"});
    let asked = world.ledger.asks(Action::Lease, worker, json!({"lease_ms": LEASE_MS}));
    let Some(answer) = world.once(turn, &Request::post("/leases", &body)).await else { return Vec::new() };
    let leases = answer.ok()["leases"].take();
    let held: Vec<Value> =
        leases.as_array().into_iter().flatten().map(|it| json!({"id": it["id"], "fence": it["fence"]})).collect();
    asked.answered(json!(held));
    leases.as_array().cloned().unwrap_or_default()
}

/// Ends a lease, as often as it takes until that is answered. Returns whether it was accepted.
pub(crate) async fn end(world: &World, turn: usize, worker: &str, lease: &Value, outcome: &str) -> bool {
    let id = lease["id"].as_str().unwrap();
    let result = json!({"by": worker, "turn": turn});
    let with = json!({"fence": lease["fence"], "outcome": outcome, "result": result});
    let asked = world.ledger.asks(Action::Return, id, with);
    let mut entry = json!({"id": id, "token": lease["token"], "outcome": outcome});
    if outcome == "completed" {
        entry["result"] = result;
    }
    let body = json!({"worker": worker, "leases": [entry]});
    let answer = world.post(turn, "/leases/return", &body).await.ok()["leases"][0].take();
    let is_accepted = answer["accepted"] == true;
    asked.answered(json!({"accepted": is_accepted, "status": answer["status"]}));
    is_accepted
}

async fn extend(world: &World, turn: usize, worker: &str, lease: &Value) {
    let id = lease["id"].as_str().unwrap();
    let with = json!({"fence": lease["fence"], "lease_ms": LEASE_MS});
    let asked = world.ledger.asks(Action::Extend, id, with);
    let body = json!({"worker": worker, "lease": "4s", "leases": [{"id": id, "token": lease["token"]}]});
    if let Some(answer) = world.once(turn, &Request::post("/leases/extend", &body)).await {
        asked.answered(json!({"extended": answer.ok()["leases"][0]["extended"]}));
    }
}

/// Works until the end, and returns what it holds then.
pub(crate) async fn work(world: World, number: u64, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed ^ number);
    let worker = format!("remote-{number}");
    let mut pace = world.pace(TURN);
    let mut late: Vec<(usize, Value)> = Vec::new();
    for turn in 0.. {
        let goes_on = pace.turn().await;
        // Those that it took up long ago: their leases are over, and some are others'.
        for (_, lease) in late.extract_if(.., |(since, _)| turn > *since + 10) {
            end(&world, turn, &worker, &lease, "completed").await;
        }
        if !goes_on {
            return;
        }
        for lease in lease(&world, turn, &worker).await {
            // Only what was never lost is lost on purpose, or it would soon be poison.
            let is_fresh = lease["crashes"] == 0;
            match random.random_range(0..100) {
                0..6 if is_fresh => {}
                6..12 if is_fresh => late.push((turn, lease)),
                12..24 => drop(end(&world, turn, &worker, &lease, "released").await),
                24..44 => {
                    extend(&world, turn, &worker, &lease).await;
                    end(&world, turn, &worker, &lease, "completed").await;
                }
                _ => drop(end(&world, turn, &worker, &lease, "completed").await),
            }
        }
    }
}

/// Completes all that is left.
pub(crate) async fn finish(world: &World) {
    let worker = "remote-last";
    for turn in 0.. {
        let left = world.post(turn, "/tasks/statuses", &json!({"queues": ["remote"]})).await.ok();
        let live = ["waiting", "scheduled", "submitted", "started"];
        let live: u64 = live.iter().filter_map(|status| left["queues"][0]["tasks"][*status].as_u64()).sum();
        if live == 0 {
            return;
        }
        for lease in lease(world, turn, worker).await {
            end(world, turn, worker, &lease, "completed").await;
        }
    }
}
