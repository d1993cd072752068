//! The primary of the store is replaced under load: by an operator, by a crash, or because it is frozen. Clients submit all
//! the time and keep a ledger of what was acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_test_support::{
    api::Api,
    effects::Effect,
    redis_fleet::{FleetKind, RedisFleet},
    redis_server::{Persistence, RedisOptions},
    wait::until,
};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::stack::{Manager, Stack, all_ids};

/// How soon after another primary was chosen a task is accepted.
const BACK_WITHIN: Duration = Duration::from_secs(5);
/// The same where all replicas are to have each write: Sentinels demote the old primary after about ten seconds, and only
/// then the new one has as many replicas.
const ALL_FOLLOW_WITHIN: Duration = Duration::from_secs(40);
/// After this time without another primary an operator asks for it again.
const GIVEN_UP: Duration = Duration::from_secs(30);
/// A replica may lack what was acknowledged so shortly before it took over.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// A pause between two submissions of a client.
const EVERY: Duration = Duration::from_millis(5);
/// The same where failovers follow each other: so slow that no task is pruned meanwhile.
const SLOWLY: Duration = Duration::from_millis(100);
/// So many tasks between two failovers are at least five seconds. A node of a Cluster that won an election less than four times
/// `cluster-node-timeout` ago takes itself for the primary without another, with an old epoch that no node accepts (Redis 7.0).
const AT_REST: usize = 5_000 / 100 * CLIENTS;
const CLIENTS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

/// Why another server becomes the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Planned,
    Killed,
    Frozen,
}

/// What clients were acknowledged, with the time of the answer.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) acknowledged: Mutex<BTreeMap<String, Instant>>,
    refused: Mutex<Vec<Instant>>,
    /// Answers that no client may get.
    pub(super) strange: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

/// Submits one task after the other, each once: a task that was refused is not sent again.
async fn submit_on_and_on(api: Api, client: usize, every: Duration, ledger: Arc<Ledger>) {
    let mut pace = tokio::time::interval(every);
    for n in 0.. {
        pace.tick().await;
        if ledger.is_over.load(Ordering::SeqCst) {
            return;
        }
        let id = format!("c{client}-{n}");
        let answer = api.post("/tasks", &json!({"id": id, "name": "note"})).await;
        if answer.status.is_success() {
            ledger.acknowledged.lock().unwrap().insert(id, Instant::now());
        } else if answer.status == StatusCode::SERVICE_UNAVAILABLE && answer.retry_after.is_some() {
            ledger.refused.lock().unwrap().push(Instant::now());
        } else {
            ledger.strange.lock().unwrap().push(format!("{}: {}", answer.status, answer.body));
        }
    }
}

/// Clients that submit under load.
pub(super) struct Clients {
    ledger: Arc<Ledger>,
    clients: Vec<JoinHandle<()>>,
}

impl Clients {
    pub(super) fn of(manager: &Manager) -> Self {
        Self::at_a_pace(manager, EVERY)
    }

    fn at_a_pace(manager: &Manager, every: Duration) -> Self {
        let ledger = Arc::new(Ledger::default());
        let submit = |client| tokio::spawn(submit_on_and_on(manager.api.clone(), client, every, Arc::clone(&ledger)));
        let clients = (0..CLIENTS).map(submit).collect();
        Self { ledger, clients }
    }

    /// Waits for so many more acknowledged tasks.
    pub(super) async fn more(&self, tasks: usize) {
        let until_now = self.ledger.acknowledged.lock().unwrap().len();
        until(PATIENCE, "tasks are acknowledged", async || {
            (self.ledger.acknowledged.lock().unwrap().len() >= until_now + tasks).then_some(())
        })
        .await;
    }

    /// Waits for so many more answers that acknowledge nothing.
    pub(super) async fn without_acknowledgement(&self, answers: usize) {
        let count = || self.ledger.refused.lock().unwrap().len() + self.ledger.strange.lock().unwrap().len();
        let until_now = count();
        until(PATIENCE, "clients are refused", async || (count() >= until_now + answers).then_some(())).await;
    }

    /// Waits for a task that is acknowledged after a time.
    async fn acknowledged_after(&self, time: Instant) -> Instant {
        until(PATIENCE, "a task is acknowledged", async || {
            self.ledger.acknowledged.lock().unwrap().values().copied().filter(|at| *at > time).min()
        })
        .await
    }

    pub(super) async fn end(self) -> Arc<Ledger> {
        self.ledger.is_over.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.await.unwrap();
        }
        self.ledger
    }
}

/// Those of some tasks that are not there, or do not complete in time.
pub(super) async fn unfinished(manager: &Manager, tasks: &[String]) -> Option<String> {
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

/// What effects show of a fence that was given twice.
pub(super) fn doubled(stack: &Stack) -> Option<String> {
    let mut runs = BTreeSet::new();
    let twice = |run: &Effect| !runs.insert((run.event.clone(), run.task.clone(), run.fence));
    stack.effects.all().into_iter().find(twice).map(|run| format!("a fence was given twice: {run:?}"))
}

/// How a task ended; `None` if it does not exist. On a busy machine Sentinels may leave a primary that is only slow, after the one
/// that the test ended: then the store is away once more.
async fn end_of(api: &Api, id: &str) -> Option<Value> {
    until(PATIENCE, "a task is over", async || {
        let answer = api.get(&format!("/tasks/{id}?wait=10s")).await;
        match answer.status {
            StatusCode::SERVICE_UNAVAILABLE => None,
            StatusCode::NOT_FOUND => Some(None),
            _ => {
                let status = answer.ok()["status"].clone();
                (status != "submitted" && status != "started").then_some(Some(status))
            }
        }
    })
    .await
}

/// The tasks that there are, each of which completes. A primary that was replaced may have been asked for them, and they are lost
/// with it: then the next one is asked.
async fn completed(api: &Api, what: &str) -> BTreeSet<String> {
    until(PATIENCE, "no task is lost that was there", async || {
        let stored = all_ids(api, "/tasks?").await;
        for id in &stored {
            assert_eq!(end_of(api, id).await?, "completed", "{what}: {id}");
        }
        Some(stored)
    })
    .await
}

/// A failover under load, and what it cost.
async fn fail_over_under_load(kind: FleetKind, cause: Cause, promise: &str) {
    let options = RedisOptions { persistence: Persistence::EverySecond, ..RedisOptions::default() };
    let mut fleet = RedisFleet::start(kind, &options).await;
    let stack = Stack::at(&format!("{}?{promise}", fleet.url()));
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let clients = Clients::of(&manager);
    clients.more(100).await;
    fleet.followed().await;
    let before = fleet.primary().unwrap();
    let began_at = Instant::now();
    match cause {
        Cause::Planned => fleet.fail_over().await,
        Cause::Killed => fleet.kill_9(before),
        Cause::Frozen => fleet.freeze(before),
    }
    fleet.primary_other_than(before).await;
    let chosen_at = Instant::now();
    let back_at = clients.acknowledged_after(chosen_at).await;
    let within = if promise.contains("replicated:2") { ALL_FOLLOW_WITHIN } else { BACK_WITHIN };
    assert!(back_at - chosen_at < within, "{kind:?}, {cause:?}: back after {:?}", back_at - chosen_at);
    if cause == Cause::Frozen {
        fleet.thaw(before);
    }
    clients.more(100).await;
    let ledger = clients.end().await;
    until(PATIENCE, "the store answers", async || {
        (manager.api.get("/tasks?limit=1").await.status == 200).then_some(())
    })
    .await;
    assert!(ledger.strange.lock().unwrap().is_empty(), "{:?}", ledger.strange);
    let stored = completed(&manager.api, &format!("{kind:?}, {cause:?}")).await;
    let (mut lost, mut longest) = (Vec::new(), Duration::ZERO);
    let mut last = None;
    for (id, at) in ledger.acknowledged.lock().unwrap().iter() {
        if !stored.contains(id) {
            lost.push(*at);
        }
    }
    let mut times: Vec<Instant> = ledger.acknowledged.lock().unwrap().values().copied().collect();
    times.sort_unstable();
    for at in &times {
        longest = longest.max(last.map_or(Duration::ZERO, |last| *at - last));
        last = Some(*at);
    }
    assert_eq!(doubled(&stack), None);
    let examined = stack.examined().await;
    // A replica that was asked for takes over when it has everything; others may lack the last writes.
    if !promise.is_empty() || kind == FleetKind::Cluster && cause == Cause::Planned {
        assert!(lost.is_empty(), "{kind:?}, {cause:?}: {} were lost", lost.len());
    }
    let are_last = lost.iter().all(|at| *at + LAST_WRITES > began_at && *at <= chosen_at + LAST_WRITES);
    assert!(are_last, "{kind:?}, {cause:?}: {} of those lost were not the last writes", lost.len());
    let (acknowledged, refused, gap) = (times.len(), ledger.refused.lock().unwrap().len(), longest.as_secs_f64());
    println!(
        "| {kind:?} | {cause:?} | {promise} | {acknowledged} | {} | {refused} | {gap:.2} | {:.2} |",
        lost.len(),
        (back_at - chosen_at).as_secs_f64()
    );
    println!("{examined}");
}

/// Failovers of all kinds, one after the other, under load, as many as `JOBBERS_FAILOVERS` says. All replicas are to have each write:
/// of two replicas Sentinels may choose the other one.
async fn fail_over_again_and_again(kind: FleetKind) {
    let rounds = std::env::var("JOBBERS_FAILOVERS").map_or(100, |count| count.parse().unwrap());
    let options = RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() };
    let mut fleet = RedisFleet::start(kind, &options).await;
    let (replicas, at_rest) = match kind {
        FleetKind::Sentinels => (2, 10),
        FleetKind::Cluster => (1, AT_REST),
    };
    let stack = Stack::at(&format!("{}?durability=always,replicated:{replicas}", fleet.url()));
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let clients = Clients::at_a_pace(&manager, SLOWLY);
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        clients.more(at_rest).await;
        fleet.whole().await;
        let before = fleet.primary().unwrap();
        let cause = [Cause::Killed, Cause::Planned, Cause::Frozen][round % 3];
        match cause {
            Cause::Planned => fleet.fail_over().await,
            Cause::Killed => fleet.kill_9(before),
            Cause::Frozen => fleet.freeze(before),
        }
        // A replica that is asked for gives up after five seconds if the others do not agree: an operator asks again.
        while tokio::time::timeout(GIVEN_UP, fleet.primary_other_than(before)).await.is_err() {
            assert_eq!(cause, Cause::Planned, "{kind:?}, round {round}: no other server is the primary");
            fleet.fail_over().await;
        }
        let chosen_at = Instant::now();
        match cause {
            Cause::Planned => {}
            Cause::Killed => fleet.restart(before),
            Cause::Frozen => fleet.thaw(before),
        }
        longest = longest.max(clients.acknowledged_after(chosen_at).await - chosen_at);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_planned_failover_is_followed() {
    fail_over_under_load(FleetKind::Sentinels, Cause::Planned, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_primary_that_crashed_is_left() {
    fail_over_under_load(FleetKind::Sentinels, Cause::Killed, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_frozen_primary_is_left() {
    fail_over_under_load(FleetKind::Sentinels, Cause::Frozen, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_planned_failover_loses_nothing() {
    fail_over_under_load(FleetKind::Cluster, Cause::Planned, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_primary_that_crashed_is_left() {
    fail_over_under_load(FleetKind::Cluster, Cause::Killed, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_a_frozen_primary_is_left() {
    fail_over_under_load(FleetKind::Cluster, Cause::Frozen, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_planned_failover_loses_nothing_that_all_replicas_were_to_have() {
    fail_over_under_load(FleetKind::Sentinels, Cause::Planned, "durability=replicated:2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_sentinels_a_crash_loses_nothing_that_a_replica_was_to_have() {
    fail_over_under_load(FleetKind::Sentinels, Cause::Killed, "durability=everysec,replicated:1").await;
}
