//! The store moves from one node of a Cluster to another under load, and stays half-way until clients were refused.
//!
//! Clients keep a ledger. The control is the same run with clients that follow `ASK`, as most do: the ledger must cry then.

use std::time::Duration;

use jobbers_test_support::{
    redis_fleet::{FleetKind, FleetSize, RedisFleet},
    redis_server::{Persistence, RedisOptions},
};

use super::failovers::{Clients, doubled, unfinished};
use crate::stack::Stack;

/// So many answers acknowledge nothing while the store is half-way.
const REFUSED: usize = 10;
/// How long clients may wait for a task to be accepted after the move.
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
    wrong.extend(doubled(&stack));
    let report = stack.examination().await;
    if report["found"] != 0 {
        wrong.push(format!("the doctor found {}: {}", report["found"], report["findings"]));
    }
    wrong
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
