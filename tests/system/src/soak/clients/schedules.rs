//! Two schedules: a task each second, and a workflow every few seconds.

use reqwest::Method;
use serde_json::{Value, json};

use super::workflows::chord;
use crate::soak::{
    ledger::Action,
    world::{Request, World},
};

/// The schedule of a task each second, and its queue.
pub(crate) const TICKS: &str = "ticks";
/// The schedule of a workflow, and how often.
pub(crate) const ROUNDS: &str = "rounds";
pub(crate) const ROUND_S: i64 = 10;
/// The nodes of its workflows in the middle.
pub(crate) const WIDTH: usize = 2;

/// Creates both.
pub(crate) async fn create(world: &World) {
    let ticks =
        json!({"name": TICKS, "cron": "* * * * * *", "catch_up": "all", "task": {"name": "note", "queue": TICKS}});
    let rounds =
        json!({"name": ROUNDS, "cron": "*/10 * * * * *", "catch_up": "all", "workflow": {"nodes": chord(WIDTH)}});
    for schedule in [ticks, rounds] {
        let asked = world.ledger.asks(Action::Schedule, schedule["name"].as_str().unwrap(), schedule.clone());
        let path = format!("/schedules/{}", schedule["name"].as_str().unwrap());
        let request = Request { method: Method::PUT, path: &path, headers: &[], body: Some(&schedule) };
        let answer = world.send(0, &request).await;
        asked.answered(json!({"status": answer.status.as_u16(), "code": answer.code()}));
    }
}

/// Lets both rest, so that no further slot comes.
pub(crate) async fn pause(world: &World) {
    for name in [TICKS, ROUNDS] {
        world.post(0, &format!("/schedules/{name}/pause"), &Value::Null).await.ok();
    }
}
