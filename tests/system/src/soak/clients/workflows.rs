//! Submits workflows: one task, many that wait for it, and one that waits for all of these.

use std::time::Duration;

use serde_json::{Value, json};

use crate::soak::{ledger::Action, world::World};

/// With the schedule's, at most 1,000 in an hour: more than that are not kept by default.
const TURN: Duration = Duration::from_secs(8);
/// The width of most, and of each fifth.
const WIDTHS: (usize, usize) = (10, 60);

/// The nodes of a workflow with so many in its middle.
pub(crate) fn chord(width: usize) -> Vec<Value> {
    let middle: Vec<String> = (0..width).map(|n| format!("m{n}")).collect();
    let first = json!({"id": "first", "name": "note"});
    let last = json!({"id": "last", "name": "note", "depends_on": middle});
    let middle = middle.iter().map(|id| json!({"id": id, "name": "nap", "depends_on": ["first"]}));
    [first].into_iter().chain(middle).chain([last]).collect()
}

/// Submits a workflow.
pub(crate) async fn one(world: &World, turn: usize, id: &str, width: usize) {
    let asked = world.ledger.asks(Action::Workflow, id, json!({"width": width}));
    let body = json!({"id": id, "name": "chord", "nodes": chord(width)});
    let answer = world.post(turn, "/workflows", &body).await;
    asked.answered(json!({"status": answer.status.as_u16(), "code": answer.code()}));
}

/// Submits until the end.
pub(crate) async fn submit(world: World) {
    let mut pace = world.pace(TURN);
    for turn in 0.. {
        if !pace.turn().await {
            return;
        }
        let width = if turn % 5 == 4 { WIDTHS.1 } else { WIDTHS.0 };
        one(&world, turn, &format!("chord-{turn}"), width).await;
    }
}
