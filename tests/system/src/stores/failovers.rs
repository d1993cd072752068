//! The primary of the store is replaced or cut off under load: by an operator, by a crash, because it is frozen, or by the
//! network. Clients submit all the time and keep a ledger of what was acknowledged.

use std::time::{Duration, Instant};

use jobbers_test_support::{
    redis_fleet::{Cut, FleetKind, RedisFleet},
    redis_server::{Persistence, RedisOptions},
    wait::until,
};

use super::ledger::{Clients, PATIENCE, completed, doubled};
use crate::stack::Stack;

/// How soon after another primary was chosen, or the network was mended, a task is accepted.
const BACK_WITHIN: Duration = Duration::from_secs(5);
/// The same where all replicas are to have each write: Sentinels demote the old primary after about ten seconds, and only
/// then the new one has as many replicas.
const ALL_FOLLOW_WITHIN: Duration = Duration::from_secs(40);
/// A replica may lack what was acknowledged so shortly before it took over.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// So many answers acknowledge nothing before the network is mended.
const REFUSED: usize = 6;

/// What happens to the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// An operator asks for another one.
    Planned,
    Killed,
    Frozen,
    /// Its clients still reach it; the Sentinels or the other nodes, and its replicas, do not.
    CutOff,
    /// Its clients do not reach it.
    CutFromClients,
    /// Its replicas do not reach it.
    CutFromReplicas,
}

impl Cause {
    const ALL: [Self; 6] =
        [Self::Planned, Self::Killed, Self::Frozen, Self::CutOff, Self::CutFromClients, Self::CutFromReplicas];
    /// Those after which another server is the primary.
    pub(super) const REPLACING: [Self; 4] = [Self::Killed, Self::Planned, Self::Frozen, Self::CutOff];

    pub(super) async fn begin(self, fleet: &mut RedisFleet, primary: usize) {
        match self {
            Self::Planned => fleet.fail_over().await,
            Self::Killed => fleet.kill_9(primary),
            Self::Frozen => fleet.freeze(primary),
            Self::CutOff => fleet.cut(primary, Cut::Others),
            Self::CutFromClients => fleet.cut(primary, Cut::Clients),
            Self::CutFromReplicas => fleet.cut(primary, Cut::Replicas),
        }
    }

    /// Has what is away come back.
    pub(super) fn end(self, fleet: &mut RedisFleet, primary: usize) {
        match self {
            Self::Planned => {}
            Self::Killed => fleet.restart(primary),
            Self::Frozen => fleet.thaw(primary),
            Self::CutOff | Self::CutFromClients | Self::CutFromReplicas => fleet.mend(primary),
        }
    }
}

/// The promise that every replica has what is acknowledged: any of them may take over.
pub(super) fn all_replicas(kind: FleetKind) -> &'static str {
    match kind {
        FleetKind::Sentinels => "replicated:2",
        FleetKind::Cluster => "replicated:1",
    }
}

/// What happens to the primary under load, and what it cost: prints a row.
async fn under_load(kind: FleetKind, cause: Cause, durability: &str) {
    let case = format!("{kind:?}, {cause:?}, {durability}");
    let options = RedisOptions { persistence: Persistence::EverySecond, ..RedisOptions::default() };
    let mut fleet = RedisFleet::start_in_network(kind, &options).await;
    let promise = if durability.is_empty() { String::new() } else { format!("?durability={durability}") };
    let stack = Stack::at(&format!("{}{promise}", fleet.url()));
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let clients = Clients::of(&manager);
    clients.more(100).await;
    fleet.followed().await;
    let (before, began_at) = (fleet.primary().unwrap(), Instant::now());
    cause.begin(&mut fleet, before).await;
    let replaces = Cause::REPLACING.contains(&cause);
    if replaces {
        fleet.primary_other_than(before).await;
    } else if cause == Cause::CutFromClients || !durability.is_empty() {
        clients.without_acknowledgement(REFUSED).await;
    } else {
        clients.more(100).await;
    }
    // A primary that is to have as many replicas as before does not acknowledge without the one that is away.
    let is_needed = !replaces || !durability.is_empty();
    if is_needed {
        cause.end(&mut fleet, before);
    }
    let since = Instant::now();
    let back_after = clients.acknowledged_after(since).await - since;
    let all_are_asked = kind == FleetKind::Sentinels && !durability.is_empty();
    let within = if all_are_asked { ALL_FOLLOW_WITHIN } else { BACK_WITHIN };
    assert!(back_after < within, "{case}: back after {back_after:?}");
    if !is_needed {
        cause.end(&mut fleet, before);
    }
    clients.more(100).await;
    let ledger = clients.end().await;
    until(PATIENCE, "the store answers", async || {
        (manager.api.get("/tasks?limit=1").await.status == 200).then_some(())
    })
    .await;
    assert!(ledger.strange.lock().unwrap().is_empty(), "{:?}", ledger.strange);
    let acknowledged = ledger.acknowledged.lock().unwrap().clone();
    let stored = completed(&manager.api, acknowledged.keys(), &case).await;
    let lost: Vec<Instant> = acknowledged.iter().filter(|(id, _)| !stored.contains(*id)).map(|(_, at)| *at).collect();
    assert_eq!(doubled(&stack), None);
    let examined = stack.examined().await;
    // A node that takes over in a Cluster because it was asked to has everything first; others may lack the last writes.
    let may_lose = replaces && durability.is_empty() && (kind, cause) != (FleetKind::Cluster, Cause::Planned);
    assert!(may_lose || lost.is_empty(), "{case}: {} were lost", lost.len());
    let are_last = lost.iter().all(|at| *at + LAST_WRITES > began_at && *at <= since + LAST_WRITES);
    assert!(are_last, "{case}: {} of those lost were not the last writes", lost.len());
    let mut times: Vec<Instant> = acknowledged.into_values().collect();
    times.sort_unstable();
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default().as_secs_f64();
    let (tasks, lost, refused) = (times.len(), lost.len(), ledger.refused.lock().unwrap().len());
    let after = back_after.as_secs_f64();
    println!("| {kind:?} | {cause:?} | {durability} | {tasks} | {lost} | {refused} | {longest:.2} | {after:.2} |");
    println!("{examined}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: the table of the guide"]
async fn whatever_happens_to_the_primary_costs_no_more_than_the_guide_says() {
    for kind in [FleetKind::Sentinels, FleetKind::Cluster] {
        for cause in Cause::ALL {
            under_load(kind, cause, "").await;
            under_load(kind, cause, all_replicas(kind)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_planned_failover_is_followed() {
    under_load(FleetKind::Sentinels, Cause::Planned, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_primary_that_crashed_is_left() {
    under_load(FleetKind::Sentinels, Cause::Killed, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_frozen_primary_is_left() {
    under_load(FleetKind::Sentinels, Cause::Frozen, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_planned_failover_loses_nothing() {
    under_load(FleetKind::Cluster, Cause::Planned, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_primary_that_crashed_is_left() {
    under_load(FleetKind::Cluster, Cause::Killed, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_frozen_primary_is_left() {
    under_load(FleetKind::Cluster, Cause::Frozen, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_primary_that_was_cut_off_is_left() {
    under_load(FleetKind::Cluster, Cause::CutOff, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_planned_failover_loses_nothing_that_all_replicas_were_to_have() {
    under_load(FleetKind::Sentinels, Cause::Planned, "replicated:2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_crash_loses_nothing_that_all_replicas_were_to_have() {
    under_load(FleetKind::Sentinels, Cause::Killed, "everysec,replicated:2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_primary_that_was_cut_off_loses_nothing_that_all_replicas_were_to_have() {
    under_load(FleetKind::Sentinels, Cause::CutOff, "replicated:2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_primary_is_used_again_once_the_network_is_mended() {
    under_load(FleetKind::Sentinels, Cause::CutFromClients, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_nothing_is_acknowledged_while_a_replica_that_is_to_have_it_is_cut_off() {
    under_load(FleetKind::Cluster, Cause::CutFromReplicas, "replicated:1").await;
}
