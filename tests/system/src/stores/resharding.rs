//! The store moves from one node of a Cluster to another under load: in one step, as Valkey does it, or so that it stays
//! half-way until clients were refused.
//!
//! Clients keep a ledger. The control is the same run with clients that follow `ASK`, as most do: the ledger must cry then.

use std::time::{Duration, Instant};

use jobbers_test_support::{
    redis_fleet::{FleetKind, FleetSize, RedisFleet},
    redis_server::{Persistence, RedisOptions},
};

use super::ledger::{Clients, doubled, unfinished};
use crate::stack::Stack;

/// So many answers acknowledge nothing while the store is half-way.
const REFUSED: usize = 10;
/// How long clients may wait for a task to be accepted after the move.
const PATIENCE: Duration = Duration::from_secs(30);

fn options() -> RedisOptions {
    RedisOptions { persistence: Persistence::EverySecond, ..RedisOptions::default() }
}

/// How a store moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    /// Key by key.
    Halfway,
    AtOnce,
}

/// Moves the store under load, and says everything that is wrong afterwards.
async fn wrong_after_a_move(fleet: RedisFleet, way: Move) -> Vec<String> {
    let stack = Stack::at(&fleet.url());
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let clients = Clients::of(&manager);
    clients.more(200).await;
    match way {
        Move::Halfway => fleet.move_store(0, clients.without_acknowledgement(REFUSED)).await,
        Move::AtOnce => fleet.move_store_at_once(0).await,
    }
    let moved_at = Instant::now();
    let mut wrong = Vec::new();
    let go_on = async {
        let again_at = clients.acknowledged_after(moved_at).await;
        clients.more(100).await;
        again_at
    };
    match tokio::time::timeout(PATIENCE, go_on).await {
        Ok(again_at) => println!("{way:?}: accepted again {:.3} s after the move", (again_at - moved_at).as_secs_f64()),
        Err(_) => wrong.push("no task is accepted after the move".to_owned()),
    }
    let ledger = clients.end().await;
    let refused = ledger.refused.lock().unwrap().len();
    if way == Move::AtOnce && refused > 0 {
        wrong.push(format!("{refused} tasks were refused"));
    }
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
    assert_eq!(wrong_after_a_move(fleet, Move::Halfway).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "on Valkey"]
async fn on_valkey_a_store_that_moves_in_one_step_refuses_nothing() {
    let size = FleetSize { primaries: 3, replicas: 0, sentinels: 0 };
    let fleet = RedisFleet::start_with(FleetKind::Cluster, size, &options()).await;
    assert_eq!(wrong_after_a_move(fleet, Move::AtOnce).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_cries_when_clients_follow_ask() {
    let fleet = RedisFleet::start_with_ask_followers(&options()).await;
    let wrong = wrong_after_a_move(fleet, Move::Halfway).await;
    assert!(!wrong.is_empty(), "a client that follows ASK did no harm");
    println!("{wrong:#?}");
}
