//! The store moves from one node of a Cluster to another under load, and stays half-way until clients were refused.
//!
//! Clients keep a ledger. The control is the same run with clients that follow `ASK`, as most do: the ledger must cry then.

use std::{collections::BTreeSet, time::Duration};

use jobbers_test_support::{
    redis_fleet::{FleetKind, FleetSize, RedisFleet},
    redis_server::{Persistence, RedisOptions},
    wait::until,
};
use serde_json::json;

use super::failovers::Clients;
use crate::stack::{Manager, Stack};

/// So many answers acknowledge nothing while the store is half-way.
const REFUSED: usize = 10;
/// How long all tasks may take to end afterwards, and how long a client waits for another answer.
const PATIENCE: Duration = Duration::from_secs(30);

fn options() -> RedisOptions {
    RedisOptions { persistence: Persistence::EverySecond, ..RedisOptions::default() }
}

/// Moves the store under load, and says everything that is wrong afterwards.
async fn wrong_after_a_move(fleet: RedisFleet) -> Vec<String> {
    let stack = Stack::at(&fleet.url());
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let clients = Clients::of(&manager);
    clients.more(200).await;
    fleet.move_store(0, clients.without_acknowledgement(REFUSED)).await;
    let mut wrong = Vec::new();
    if tokio::time::timeout(PATIENCE, clients.more(100)).await.is_err() {
        wrong.push("no task is accepted after the move".to_owned());
    }
    let ledger = clients.end().await;
    let strange = ledger.strange.lock().unwrap().clone();
    wrong.extend(strange.first().map(|first| format!("{} strange answers, first {first}", strange.len())));
    let acknowledged: Vec<String> = ledger.acknowledged.lock().unwrap().keys().cloned().collect();
    wrong.extend(unfinished(&manager, &acknowledged).await);
    let mut runs = BTreeSet::new();
    let twice =
        stack.effects.all().into_iter().filter(|run| !runs.insert((run.event.clone(), run.task.clone(), run.fence)));
    wrong.extend(twice.take(1).map(|run| format!("a fence was given twice: {run:?}")));
    let report = stack.examination().await;
    if report["found"] != 0 {
        wrong.push(format!("the doctor found {}: {}", report["found"], report["findings"]));
    }
    wrong
}

/// Those of some tasks that are not there, or do not complete in time.
async fn unfinished(manager: &Manager, tasks: &[String]) -> Option<String> {
    let mut left = tasks.to_vec();
    let all = until(2 * PATIENCE, "all tasks complete", async || {
        let mut still = Vec::new();
        for ids in left.chunks(1_000) {
            let answer = manager.api.post("/tasks/statuses", &json!({"ids": ids})).await;
            let tasks = answer.body["tasks"].as_array().into_iter().flatten();
            let completed = tasks.filter(|task| task["status"] == "completed").filter_map(|task| task["id"].as_str());
            let completed: BTreeSet<&str> = completed.collect();
            still.extend(ids.iter().filter(|id| !completed.contains(id.as_str())).cloned());
        }
        left = still;
        left.is_empty().then_some(())
    });
    let is_in_time = tokio::time::timeout(PATIENCE, all).await.is_ok();
    (!is_in_time).then(|| {
        format!("{} of {} acknowledged tasks did not complete, first {:?}", left.len(), tasks.len(), left.first())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_moves_loses_and_doubles_nothing() {
    let size = FleetSize { primaries: 3, replicas: 0, sentinels: 0 };
    let fleet = RedisFleet::start_with(FleetKind::Cluster, size, &options()).await;
    assert_eq!(wrong_after_a_move(fleet).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_cries_when_clients_follow_ask() {
    let fleet = RedisFleet::start_with_ask_followers(&options()).await;
    let wrong = wrong_after_a_move(fleet).await;
    assert!(!wrong.is_empty(), "a client that follows ASK did no harm");
    println!("{wrong:#?}");
}
