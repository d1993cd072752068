//! One failover after the other, of all kinds, under load: with what all replicas were to have, none of them loses anything.

use std::time::Duration;

use jobbers_test_support::{
    redis_fleet::{FleetKind, RedisFleet},
    redis_server::{Persistence, RedisOptions},
};

use super::{
    failovers::{Cause, all_replicas},
    ledger::{CLIENTS, Clients, doubled, unfinished},
};
use crate::stack::Stack;

/// After this time without another primary an operator asks for it again.
const GIVEN_UP: Duration = Duration::from_secs(30);
/// A pause between two submissions of a client: so slow that no task is pruned meanwhile.
const SLOWLY: Duration = Duration::from_millis(100);
/// So many tasks between two failovers are at least five seconds. A node of a Cluster that won an election less than four times
/// `cluster-node-timeout` ago takes itself for the primary without another, with an old epoch that no node accepts (Redis 7.0).
const AT_REST: usize = 5_000 / 100 * CLIENTS;

/// As many failovers as `JOBBERS_FAILOVERS` says.
async fn fail_over_again_and_again(kind: FleetKind) {
    let rounds = std::env::var("JOBBERS_FAILOVERS").map_or(100, |count| count.parse().unwrap());
    let options = RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() };
    let mut fleet = RedisFleet::start_in_network(kind, &options).await;
    let at_rest = match kind {
        FleetKind::Sentinels => 10,
        FleetKind::Cluster => AT_REST,
    };
    let stack = Stack::at(&format!("{}?durability=always,{}", fleet.url(), all_replicas(kind)));
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let clients = Clients::at_a_pace(&manager, SLOWLY);
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        clients.more(at_rest).await;
        fleet.whole().await;
        let before = fleet.primary().unwrap();
        let cause = Cause::REPLACING[round % Cause::REPLACING.len()];
        cause.begin(&mut fleet, before).await;
        // A replica that is asked for gives up after five seconds if the others do not agree: an operator asks again.
        while tokio::time::timeout(GIVEN_UP, fleet.primary_other_than(before)).await.is_err() {
            assert_eq!(cause, Cause::Planned, "{kind:?}, round {round}: no other server is the primary");
            fleet.fail_over().await;
        }
        cause.end(&mut fleet, before);
        let since = std::time::Instant::now();
        longest = longest.max(clients.acknowledged_after(since).await - since);
    }
    fleet.whole().await;
    clients.more(10).await;
    let ledger = clients.end().await;
    assert!(ledger.strange.lock().unwrap().is_empty(), "{:?}", ledger.strange);
    let acknowledged: Vec<String> = ledger.acknowledged.lock().unwrap().keys().cloned().collect();
    assert_eq!(unfinished(&manager, &acknowledged).await, None, "{kind:?}");
    assert_eq!(doubled(&stack), None, "{kind:?}");
    let refused = ledger.refused.lock().unwrap().len();
    let examined = stack.examined().await;
    println!(
        "{kind:?}: {rounds} failovers, {} acknowledged, {refused} refused, again after {:.2} s at most; {examined}",
        acknowledged.len(),
        longest.as_secs_f64(),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: a hundred failovers"]
async fn a_hundred_failovers_behind_sentinels_lose_nothing() {
    fail_over_again_and_again(FleetKind::Sentinels).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: a hundred failovers"]
async fn a_hundred_failovers_in_a_cluster_lose_nothing() {
    fail_over_again_and_again(FleetKind::Cluster).await;
}
