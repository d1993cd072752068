//! Limits by key and by task: what is over them waits in its place, and lets the others pass.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    DONE, Fixture, LEASE, RELEASED, audit::assert_sound, failure, id, ids, queue, retry, seconds, task, task_in, worker,
};
use crate::{
    engine::{
        ClaimRequest, Cycle, Deleted, Error, OnConflict, Outcome, PutMode, QueueClaim, QueuePlace, Resubmit,
        Settlement, SubmittedHow, TaskFilter,
    },
    gate::{ConcurrencyKey, Gate, GateLimits, ShutGate},
    lifecycle::Status,
    name::TaskName,
    policy::{DeadLetter, PolicyOverrides},
    queue::QueueConfig,
    rate::RateLimit,
    task::{NewTask, Priority, Start},
    time::Clock,
    unique::{OnDuplicate, Unique, UniqueKey},
};

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

pub async fn what_waits_for_its_key_keeps_its_place(f: Fixture) {
    put(&f, per_key(1)).await;
    f.submit(vec![of("acme", "a1"), of("acme", "a2")]).await;
    f.submit(vec![NewTask { priority: Priority::new(9).unwrap(), ..of("acme", "urgent") }]).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["urgent"]);
    f.submit(vec![of("bolt", "b1"), of("acme", "a3"), task("c")]).await;
    let listed = f.list(TaskFilter { statuses: vec![Status::Submitted], ..TaskFilter::default() }, 2).await;
    assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["a1", "a2", "b1", "a3", "c"]);
    f.settle(&held[0], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["a1", "b1", "c"], "as they became ready");
    let place = async |name: &str| f.engine.place(&id(name)).await.unwrap().unwrap().ahead;
    assert_eq!((place("a2").await, place("a3").await), (0, 1));
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
    let settlement = Settlement { id: held.id, fence: held.fence, outcome: DONE, span: None };
    let reply = f.cycle_as("w1", &["default"], 5, vec![settlement]).await;
    assert_eq!(ids(&reply.claimed), ["acme0001"]);
}

pub async fn a_release_at_once_goes_first_again(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 3).await;
    let held = f.claim(5).await;
    assert!(f.claim(5).await.is_empty());
    f.settle(&held[0], RELEASED).await;
    assert_eq!(ids(&f.claim(5).await), ["acme0000"], "it kept its place before those that wait");
}

pub async fn when_the_next_of_a_key_is_cancelled_the_one_after_it_is_next(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 5).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.engine.cancel(&[id("acme0001")]).await.unwrap();
    f.settle(&held, DONE).await;
    f.engine.cancel(&[id("acme0002")]).await.unwrap();
    // Empty calls and others in between must not use the turn up.
    assert!(f.claim_from(&["default"], 0).await.is_empty());
    let held = f.claim(5).await;
    assert_eq!(ids(&held), ["acme0003"]);
    put(&f, QueueConfig { paused: true, ..per_key(1) }).await;
    f.settle(&held[0], DONE).await;
    assert!(f.claim(5).await.is_empty());
    put(&f, per_key(1)).await;
    assert_eq!(ids(&f.claim(5).await), ["acme0004"]);
}

pub async fn what_is_held_back_is_submitted_like_any_other(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, QueueConfig { max_length: Some(5), ..per_key(1) }).await;
    let start = f.clock.now();
    submit_many(&f, "acme", 4).await;
    f.advance(seconds(1));
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.submit(vec![task("x"), task("y")]).await;
    let refused = f.try_submit(vec![task("z")], OnConflict::Fail).await;
    assert!(matches!(refused, Err(Error::QueueFull { .. })), "it takes room: {refused:?}");
    let stats = f.stats("default").await;
    assert_eq!((stats.tasks.get(&Status::Submitted), stats.oldest_ready_at), (Some(&5), Some(start)));
    assert!(f.engine.delete_queue(&queue("default")).await.is_err());
    assert_eq!(f.engine.cancel(&[id("acme0001")]).await.unwrap(), [crate::engine::Cancelled::Done]);
    let other = NewTask { version: 2, ..of("acme", "acme0002") };
    let replaced = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!((replaced[0].how, f.get("acme0002").await.version), (SubmittedHow::Replaced, 2));
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(1).await), ["acme0003"], "the replaced one went to the end");
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_is_held_back_can_be_purged(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 6).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    assert_eq!(f.engine.purge_queue(&queue("default"), 3).await, Ok(3));
    assert_eq!(f.engine.purge_queue(&queue("default"), 100).await, Ok(2));
    f.settle(&held, DONE).await;
    assert!(f.claim(5).await.is_empty());
    submit_many(&f, "bolt", 1).await;
    assert_eq!(ids(&f.claim(5).await), ["bolt0000"]);
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_is_held_back_moves_to_another_queue(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 4).await;
    let held = f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.submit(vec![NewTask { priority: Priority::new(9).unwrap(), ..task("first") }]).await;
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 3).await, Ok(3));
    assert_eq!(ids(&f.claim_from(&["mail"], 10).await), ["first", "acme0001", "acme0002"], "there nothing holds them");
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["acme0003"]);
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_later_word_for_what_is_held_back_is_kept(f: Fixture) {
    put(&f, per_key(1)).await;
    let last = |name: &str| NewTask {
        unique: Some(Box::new(Unique::new(UniqueKey::new("u").unwrap()).on_duplicate(OnDuplicate::KeepLast))),
        ..of("acme", name)
    };
    f.submit(vec![of("acme", "running")]).await;
    let held = f.claim_one().await;
    f.submit(vec![last("first"), of("acme", "second")]).await;
    assert!(f.claim(5).await.is_empty());
    let kept = f.submit(vec![NewTask { version: 3, ..last("third") }]).await;
    assert_eq!((kept[0].how, kept[0].id.as_str()), (SubmittedHow::Updated, "first"));
    f.settle(&held, DONE).await;
    assert_eq!(ids(&f.claim(5).await), ["second"], "what was said anew went to the end");
    assert_sound(&f, 1_000, false).await;
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

pub async fn a_rate_of_a_key_holds_and_says_when_to_come_back(f: Fixture) {
    put(&f, QueueConfig { rate_limit_per_key: Some(rate(2, seconds(10), 1)), ..plain() }).await;
    submit_many(&f, "acme", 3).await;
    submit_many(&f, "bolt", 1).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["acme0000", "bolt0000"]);
    for task in &held {
        f.settle(task, DONE).await;
    }
    let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.next_due), (0, Some(seconds(5))));
    f.advance(seconds(3));
    let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.next_due), (0, Some(seconds(2))));
    f.advance(seconds(2) - Duration::from_micros(1));
    assert!(f.claim(10).await.is_empty());
    f.advance(Duration::from_micros(1));
    let held = f.claim_one().await;
    assert_eq!(held.id, id("acme0001"));
    f.settle(&held, DONE).await;
    f.advance(seconds(3_600));
    assert_eq!(ids(&f.claim(10).await), ["acme0002"]);
    assert_eq!(f.cycle_as("w1", &["default"], 10, Vec::new()).await.next_due, None, "nothing waits any more");
}

pub async fn a_rate_of_a_task_lets_as_many_start_as_it_says(f: Fixture) {
    let limits = GateLimits { rate_limit: Some(rate(20, seconds(1), 5)), max_concurrent: None };
    put(&f, per_task("email", limits)).await;
    f.submit((0..80).map(|n| named("email", &format!("e{n:03}"))).collect()).await;
    let start = f.clock.now();
    let (mut started, mut asked) = (0, 0);
    loop {
        let reply = f.cycle_as("w1", &["default"], 100, Vec::new()).await;
        asked += 1;
        started += reply.claimed.len();
        if !reply.claimed.is_empty() {
            continue;
        }
        let wait = reply.next_due.expect("it says when to come back");
        assert!(wait > Duration::ZERO && wait <= seconds(1), "{wait:?}");
        if f.clock.now().after(wait).since(start) > seconds(2) {
            break;
        }
        f.advance(wait);
    }
    assert!((42..=46).contains(&started), "{started} in two seconds, asked {asked} times");
    assert_eq!(f.count(Status::Submitted).await + f.count(Status::Started).await, 80, "what waits is not lost");
    assert_sound(&f, 1_000, false).await;
}

pub async fn the_soonest_rate_is_told(f: Fixture) {
    let slow = GateLimits { rate_limit: Some(rate(1, seconds(60), 1)), max_concurrent: None };
    let config = per_task("email", slow);
    put(&f, QueueConfig { rate_limit_per_key: Some(rate(1, seconds(20), 1)), ..config }).await;
    f.submit(vec![named("email", "e1"), named("email", "e2"), of("acme", "a1"), of("acme", "a2")]).await;
    assert_eq!(ids(&f.claim(10).await), ["e1", "a1"]);
    assert_eq!(f.cycle_as("w1", &["default"], 10, Vec::new()).await.next_due, Some(seconds(20)));
    f.engine.cancel(&[id("a2")]).await.unwrap();
    assert_eq!(f.cycle_as("w1", &["default"], 10, Vec::new()).await.next_due, Some(seconds(60)), "a2 waits no more");
}

pub async fn limits_that_are_raised_lowered_or_taken_away_hold_at_once(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 12).await;
    let held = f.claim(10).await;
    assert!(f.claim(10).await.is_empty());
    put(&f, per_key(4)).await;
    assert_eq!(claim_all(&f).await, ["acme0001", "acme0002", "acme0003"]);
    put(&f, per_key(2)).await;
    assert!(claim_all(&f).await.is_empty());
    f.settle(&held[0], DONE).await;
    assert!(claim_all(&f).await.is_empty(), "three still run");
    put(&f, QueueConfig { rate_limit_per_key: Some(rate(1, seconds(60), 1)), ..plain() }).await;
    assert_eq!(claim_all(&f).await, ["acme0004"], "another limit is another question");
    put(&f, plain()).await;
    assert_eq!(claim_all(&f).await.len(), 7, "without a limit nothing waits");
    assert_sound(&f, 1_000, false).await;
}

pub async fn many_that_wait_come_free_when_the_limit_is_taken_away(f: Fixture) {
    put(&f, per_key(1)).await;
    for customer in 0..150 {
        submit_many(&f, &format!("c{customer:03}-"), 3).await;
    }
    submit_many(&f, "acme", 2_500).await;
    assert_eq!(claim_all(&f).await.len(), 151);
    put(&f, plain()).await;
    let rest = claim_all(&f).await;
    assert_eq!(rest.len(), 150 * 2 + 2_499);
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_new_limit_counts_what_runs_already(f: Fixture) {
    submit_many(&f, "acme", 4).await;
    f.submit(vec![named("email", "e1"), named("email", "e2")]).await;
    let held = f.claim(2).await;
    let email = f.claim(3).await;
    assert_eq!(ids(&email), ["acme0002", "acme0003", "e1"]);
    f.settle(&email[0], RELEASED).await;
    f.settle(&email[1], RELEASED).await;
    let config = per_task("email", at_most(1));
    put(&f, QueueConfig { max_concurrent_per_key: Some(2), ..config }).await;
    assert!(claim_all(&f).await.is_empty());
    f.settle(&held[0], DONE).await;
    f.settle(&email[2], DONE).await;
    assert_eq!(claim_all(&f).await, ["acme0002", "e2"]);
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

pub async fn a_retry_waits_for_its_key_like_any_other(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 2).await;
    let held = f.claim_one().await;
    f.settle(&held, retry(seconds(5))).await;
    let other = f.claim_one().await;
    f.advance(seconds(5));
    assert!(f.claim(5).await.is_empty());
    f.engine.promote_due(10).await.unwrap();
    f.settle(&other, DONE).await;
    assert_eq!(f.claim_one().await.attempt, 2);
    f.submit(vec![NewTask { start: Start::After(seconds(1)), ..of("acme", "later") }]).await;
    f.advance(seconds(2));
    assert!(f.claim(5).await.is_empty());
}

pub async fn many_claimers_at_once_do_not_exceed_the_limit_of_a_key(f: Fixture) {
    put(&f, per_key(3)).await;
    submit_many(&f, "acme", 50).await;
    submit_many(&f, "bolt", 50).await;
    let claimers: Vec<_> = (0..16)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let queues = vec![QueueClaim { queue: queue("default"), limit: 2 }];
            let claim = Some(ClaimRequest { queues, limit: 2, lease: LEASE });
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

pub async fn a_task_that_is_held_back_tells_by_what(f: Fixture) {
    let limits = GateLimits { rate_limit: Some(rate(2, seconds(60), 1)), max_concurrent: Some(1) };
    let config = per_task("echo", limits);
    put(&f, QueueConfig { max_concurrent_per_key: Some(2), ..config }).await;
    let other = |id: &str| NewTask { name: name("other"), ..of("acme", id) };
    f.submit(vec![other("a1"), other("a2"), of("acme", "both"), task("running")]).await;
    assert_eq!(f.engine.place(&id("both")).await.unwrap().unwrap().held_back, [], "nothing does yet");
    assert_eq!(claim_all(&f).await, ["a1", "a2", "running"]);
    f.advance(seconds(10));
    let key_gate =
        ShutGate { gate: Gate::Key(key("acme")), running: 2, holders: vec![id("a1"), id("a2")], rate_wait: None };
    let task_gate = ShutGate {
        gate: Gate::Task(name("echo")),
        running: 1,
        holders: vec![id("running")],
        rate_wait: Some(seconds(20)),
    };
    let place = QueuePlace { ahead: 0, rate_wait: None, held_back: vec![key_gate, task_gate] };
    assert_eq!(f.engine.place(&id("both")).await, Ok(Some(place)));
}

pub async fn a_key_goes_with_its_task_wherever_it_goes(f: Fixture) {
    put(&f, per_key(1)).await;
    let kept = PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() };
    f.submit(vec![NewTask { overrides: kept, ..of("acme", "a") }]).await;
    let held = f.claim_one().await;
    f.settle(&held, Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    let copy = f.engine.dead_letters(0, 10).await.unwrap().copies.remove(0);
    assert_eq!(copy.task.concurrency_key, Some(key("acme")));
    f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap();
    f.submit(vec![of("acme", "b")]).await;
    let held = f.claim(5).await;
    assert_eq!(ids(&held), ["a"]);
    f.settle(&held[0], Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    let copy = f.engine.dead_letters(copy.task.revision, 10).await.unwrap().copies.remove(0);
    let scope =
        crate::engine::PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let prune = crate::engine::PruneRequest { scope, limit: 100, dry_run: false, cursor: None };
    f.engine.prune(prune).await.unwrap();
    f.engine.resubmit(vec![Resubmit::of_archive(copy)]).await.unwrap();
    assert_eq!(f.get("a").await.concurrency_key, Some(key("acme")));
    assert_eq!(ids(&f.claim(5).await), ["b"]);
    assert!(f.claim(5).await.is_empty());
    let again = Resubmit::of_store(id("a"));
    f.engine.cancel(&[id("a")]).await.unwrap();
    f.engine.resubmit(vec![again]).await.unwrap();
    assert!(f.claim(5).await.is_empty(), "sent again, it waits again");
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_queue_made_again_remembers_no_gate(f: Fixture) {
    let config =
        QueueConfig { name: queue("mail"), rate_limit_per_key: Some(rate(1, seconds(3_600), 1)), ..per_key(1) };
    put(&f, config.clone()).await;
    let mail = |name: &str| NewTask { concurrency_key: Some(key("acme")), ..task_in(name, "mail") };
    f.submit(vec![mail("a"), mail("b")]).await;
    let held = f.claim_from(&["mail"], 5).await;
    assert!(f.claim_from(&["mail"], 5).await.is_empty());
    f.settle(&held[0], DONE).await;
    f.engine.cancel(&[id("b")]).await.unwrap();
    assert_eq!(f.engine.delete_queue(&queue("mail")).await, Ok(Deleted::Done));
    put(&f, config).await;
    f.submit(vec![mail("c")]).await;
    assert_eq!(f.claim_from(&["mail"], 5).await.len(), 1);
    assert_sound(&f, 1_000, false).await;
}

pub async fn limits_by_key_and_by_task_that_make_no_sense_are_refused(f: Fixture) {
    let many = (0..101).map(|n| (name(&format!("t{n}")), at_most(1))).collect();
    let bad = [
        per_key(0),
        per_task("email", at_most(0)),
        per_task("email", GateLimits::default()),
        QueueConfig { rate_limit_per_key: Some(rate(0, seconds(1), 1)), ..plain() },
        QueueConfig { key_parameter: Some(String::new()), ..plain() },
        QueueConfig { key_parameter: Some("/a~".to_owned()), ..plain() },
        QueueConfig { task_limits: many, ..plain() },
    ];
    for bad in bad {
        assert!(matches!(f.engine.put_queue(bad.clone(), PutMode::Upsert).await, Err(Error::Invalid(_))), "{bad:?}");
    }
}
