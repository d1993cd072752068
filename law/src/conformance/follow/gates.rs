//! Limits by key and by task: what is over them waits in its place, and lets the others pass.

mod change;
mod held;
mod rates;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Outcome, PutMode, QueueClaim, Settlement},
    lifecycle::Status,
    name::TaskName,
    queue::{
        QueueConfig,
        gate::{ConcurrencyKey, GateLimits},
        rate::RateLimit,
    },
    task::NewTask,
};

use crate::conformance::{
    DONE, Fixture, LEASE, audit::assert_sound, failure, ids, queue, retry, seconds, task, task_in, worker,
};

pub use self::{change::*, held::*, rates::*};

fn key(text: &str) -> ConcurrencyKey {
    ConcurrencyKey::new(text).unwrap()
}

fn name(text: &str) -> TaskName {
    TaskName::new(text).unwrap()
}

fn of(customer: &str, id: &str) -> NewTask {
    NewTask { concurrency_key: Some(key(customer)), key_is_explicit: true, ..task(id) }
}

fn named(task_name: &str, id: &str) -> NewTask {
    NewTask { name: name(task_name), ..task(id) }
}

fn plain() -> QueueConfig {
    QueueConfig::new(queue("default"))
}

fn per_key(most: u32) -> QueueConfig {
    QueueConfig { max_concurrent_per_key: Some(most), ..plain() }
}

fn per_task(task_name: &str, limits: GateLimits) -> QueueConfig {
    QueueConfig { task_limits: BTreeMap::from([(name(task_name), limits)]), ..plain() }
}

fn at_most(most: u32) -> GateLimits {
    GateLimits { max_concurrent: Some(most), rate_limit: None }
}

fn rate(tasks: u32, per: Duration, burst: u32) -> RateLimit {
    RateLimit { tasks, per, burst: Some(burst) }
}

async fn put(f: &Fixture, config: QueueConfig) {
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

/// So many tasks of one customer: `acme0000`, `acme0001`, ….
async fn submit_many(f: &Fixture, customer: &str, count: usize) {
    let tasks: Vec<NewTask> = (0..count).map(|n| of(customer, &format!("{customer}{n:04}"))).collect();
    for batch in tasks.chunks(1_000) {
        f.submit(batch.to_vec()).await;
    }
}

/// Claims until nothing more comes at this moment.
async fn claim_all(f: &Fixture) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let reply = f.cycle_as("w1", &["default"], 100, Vec::new()).await;
        if reply.claimed.is_empty() && reply.next_due != Some(Duration::ZERO) {
            return all;
        }
        all.extend(ids(&reply.claimed).into_iter().map(str::to_owned));
    }
}

pub async fn no_more_of_a_key_run_than_its_limit(f: Fixture) {
    put(&f, per_key(2)).await;
    submit_many(&f, "acme", 5).await;
    submit_many(&f, "bolt", 3).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["acme0000", "acme0001", "bolt0000", "bolt0001"]);
    assert!(f.claim(10).await.is_empty());
    f.settle(&held[0], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["acme0002"], "one of its own ended");
    f.settle(&held[2], DONE).await;
    f.settle(&held[3], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["bolt0002"]);
    assert_eq!(f.count(Status::Submitted).await, 2);
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_task_without_a_key_has_no_limit_by_key(f: Fixture) {
    put(&f, per_key(1)).await;
    f.submit(vec![of("acme", "a"), of("acme", "b"), task("c"), task("d")]).await;
    assert_eq!(ids(&f.claim(10).await), ["a", "c", "d"]);
}

pub async fn a_key_without_a_limit_changes_nothing(f: Fixture) {
    f.submit(vec![of("acme", "a"), of("acme", "b")]).await;
    assert_eq!(f.get("a").await.concurrency_key, Some(key("acme")));
    assert_eq!(ids(&f.claim(10).await), ["a", "b"]);
}

pub async fn a_key_at_its_limit_stands_in_nobody_s_way(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 3_000).await;
    f.submit(vec![of("bolt", "other")]).await;
    let (mut claimed, mut calls) = (Vec::new(), 0);
    while !claimed.contains(&"other".to_owned()) {
        calls += 1;
        assert!(calls <= 30, "after {calls} calls: {claimed:?}");
        let reply = f.cycle_as("w1", &["default"], 2, Vec::new()).await;
        assert!(!reply.claimed.is_empty() || reply.next_due == Some(Duration::ZERO), "told to call again at once");
        claimed.extend(ids(&reply.claimed).into_iter().map(str::to_owned));
    }
    assert_eq!(claimed, ["acme0000", "other"]);
    f.submit(vec![of("bolt", "next"), of("coil", "third")]).await;
    assert_eq!(ids(&f.claim(2).await), ["third"], "nobody walks past them again");
    assert_eq!(f.count(Status::Submitted).await, 3_000);
}

pub async fn however_a_task_ends_its_slot_is_free(f: Fixture) {
    put(&f, per_key(1)).await;
    let failed = |dead_letter| Outcome::Failed { failure: failure("no"), dead_letter };
    let stalled = Outcome::Stalled { failure: failure("silent"), dead_letter: false };
    let unknown = Outcome::Unknown {
        delay: seconds(60),
        patience: seconds(3_600),
        failure: failure("unknown"),
        dead_letter: false,
    };
    let later = Outcome::Released { delay: seconds(60) };
    let outcomes = [DONE, retry(seconds(60)), failed(true), failed(false), stalled, unknown, later, Outcome::Cancelled];
    submit_many(&f, "acme", outcomes.len() + 2).await;
    for outcome in outcomes {
        let held = f.claim(10).await;
        assert_eq!(held.len(), 1, "before {outcome:?}");
        f.settle(&held[0], outcome).await;
    }
    let held = f.claim(10).await;
    f.engine.cancel(std::slice::from_ref(&held[0].id)).await.unwrap();
    f.advance(LEASE + seconds(1));
    let held = f.claim(10).await;
    assert_eq!((ids(&held), f.status("acme0008").await), (vec!["acme0009"], Status::Cancelled), "a lost one too");
    f.advance(LEASE + seconds(1));
    assert_eq!(ids(&f.claim(10).await), ["acme0009"], "it comes back and has its own slot");
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_slot_comes_back_when_its_lease_ends(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 2).await;
    f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.advance(LEASE + seconds(1));
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 1);
    assert_eq!(ids(&f.claim(5).await), ["acme0000"], "the lost one first, and no other beside it");
}

pub async fn a_lost_lease_that_is_extended_holds_no_slot(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 2).await;
    let lost = f.claim_one().await;
    f.advance(LEASE + seconds(1));
    let held = f.claim_one().await;
    assert_eq!(held.id, lost.id);
    f.settle(&lost, DONE).await;
    assert!(f.claim(5).await.is_empty(), "a ghost frees nothing");
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(5).await), ["acme0001"]);
}

pub async fn a_worker_that_settles_may_claim_the_slot_in_the_same_cycle(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 2).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    let settlement = Settlement::new(held.id, held.fence, DONE);
    let reply = f.cycle_as("w1", &["default"], 5, vec![settlement]).await;
    assert_eq!(ids(&reply.claimed), ["acme0001"]);
}

pub async fn keys_are_limited_in_each_queue_for_itself(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, per_key(1)).await;
    put(&f, QueueConfig { name: queue("mail"), ..per_key(1) }).await;
    let mail = |name: &str| NewTask { concurrency_key: Some(key("acme")), ..task_in(name, "mail") };
    f.submit(vec![of("acme", "a"), of("acme", "b"), mail("c"), mail("d")]).await;
    assert_eq!(ids(&f.claim_from(&["default", "mail"], 10).await), ["a", "c"]);
}

pub async fn a_task_s_own_limit_holds_for_its_name(f: Fixture) {
    put(&f, per_task("email", at_most(1))).await;
    f.submit(vec![named("email", "a"), NewTask { version: 2, ..named("email", "b") }, task("c"), task("d")]).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["a", "c", "d"], "whatever its version");
    f.settle(&held[1], DONE).await;
    assert!(f.claim(10).await.is_empty());
    f.settle(&held[0], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["b"]);
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_task_passes_both_its_gates(f: Fixture) {
    let config = per_task("email", at_most(2));
    put(&f, QueueConfig { max_concurrent_per_key: Some(1), ..config }).await;
    let email = |customer: &str, id: &str| NewTask { name: name("email"), ..of(customer, id) };
    f.submit(vec![email("acme", "a1"), email("acme", "a2"), email("bolt", "b1"), email("coil", "c1")]).await;
    f.submit(vec![of("acme", "a3"), of("coil", "c2")]).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["a1", "b1", "c2"]);
    assert!(f.claim(10).await.is_empty());
    f.settle(&held[1], DONE).await;
    assert!(f.claim(10).await.is_empty(), "c1's name has a slot, its key has none");
    f.settle(&held[2], DONE).await;
    assert_eq!(claim_all(&f).await, ["c1"]);
    f.settle(&held[0], DONE).await;
    assert_eq!(claim_all(&f).await, ["a2"], "of a's tasks the first, and the name has a slot again");
    assert_sound(&f, 1_000, false).await;
}

pub async fn the_limits_of_the_queue_hold_beside_those_of_its_keys(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(3), ..per_key(2) }).await;
    submit_many(&f, "acme", 3).await;
    submit_many(&f, "bolt", 3).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["acme0000", "acme0001", "bolt0000"]);
    assert!(f.claim(10).await.is_empty());
    f.settle(&held[2], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["bolt0001"]);
    f.settle(&held[0], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["acme0002"]);
}

pub async fn many_claimers_at_once_do_not_exceed_the_limit_of_a_key(f: Fixture) {
    put(&f, per_key(3)).await;
    submit_many(&f, "acme", 50).await;
    submit_many(&f, "bolt", 50).await;
    let claimers: Vec<_> = (0..16)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let queues = vec![QueueClaim { queue: queue("default"), limit: 2 }];
            let claim = Some(ClaimRequest { queues, limit: 2, refused: Vec::new(), lease: LEASE });
            let cycle = Cycle { worker: worker(&format!("w{n}")), settlements: Vec::new(), claim };
            tokio::spawn(async move { engine.cycle(cycle).await.unwrap().claimed.len() })
        })
        .collect();
    let mut claimed = 0;
    for claimer in claimers {
        claimed += claimer.await.unwrap();
    }
    assert_eq!((claimed, f.count(Status::Started).await), (6, 6));
}

pub async fn the_end_of_a_task_wakes_who_waits_for_the_slot_of_its_key(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 2).await;
    let held = f.claim_one().await;
    // A wake-up left over from before may end one wait early; the second is the one that counts.
    for _ in 0..2 {
        assert!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.is_empty());
        f.engine.wait(&worker("w2"), Duration::from_millis(50)).await;
    }
    assert!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.is_empty());
    let engine = Arc::clone(&f.engine);
    let waiting = tokio::spawn(async move {
        let start = Instant::now();
        engine.wait(&worker("w2"), seconds(60)).await;
        start.elapsed()
    });
    f.settle(&held, DONE).await;
    let waited = waiting.await.unwrap();
    assert!(waited < seconds(30), "woken, not after {waited:?}");
    assert_eq!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.len(), 1);
}
