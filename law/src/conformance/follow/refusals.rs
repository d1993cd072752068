//! Claims that leave kinds of tasks to workers that know them: these tasks keep their places and lose no time.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::Instant};

use jobbers_common::{
    engine::{Cancelled, ClaimRequest, Cycle, Error, OnConflict, Outcome, PutMode, QueueClaim, Refusal, TaskFilter},
    lifecycle::Status,
    name::TaskName,
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::{ClaimedTask, FailureKind, NewTask, Priority},
    time::Clock,
    worker::task_kind::TaskKind,
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, audit::assert_sound, failure, id, ids, queue, retry, seconds, task, task_in, worker,
};

/// Longer than any wake-up may take, and far shorter than [`LONG`].
const SOON: Duration = Duration::from_millis(900);
const LONG: Duration = Duration::from_secs(30);

/// A task that the refusing workers of these cases do not know.
fn mine(id: &str) -> NewTask {
    NewTask { name: TaskName::new("mine").unwrap(), ..task(id) }
}

/// What a worker that does not know `mine` claims.
async fn claim_refusing(f: &Fixture, limit: usize) -> Vec<ClaimedTask> {
    f.cycle_refusing("stock", &["mine"], limit, Vec::new()).await.claimed
}

async fn submit_many(f: &Fixture, count: usize) {
    let tasks: Vec<NewTask> = (0..count).map(|n| mine(&format!("m{n:04}"))).collect();
    for batch in tasks.chunks(1_000) {
        f.submit(batch.to_vec()).await;
    }
}

pub async fn a_refused_kind_is_left_to_others_at_its_place(f: Fixture) {
    for new in [mine("a"), task("b"), mine("c"), task("d")] {
        f.submit(vec![new]).await;
    }
    assert_eq!(ids(&claim_refusing(&f, 10).await), ["b", "d"]);
    let (left, held) = (f.get("a").await, f.get("b").await);
    assert_eq!((left.status, left.attempt, left.worker), (Status::Submitted, 0, None), "nobody leased it");
    assert_eq!(held.status, Status::Started);
    assert!(claim_refusing(&f, 10).await.is_empty());
    f.submit_ids(&["e"]).await;
    assert_eq!(ids(&f.claim(10).await), ["a", "c", "e"], "as they became ready");
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_refusal_holds_for_its_queue_and_its_version(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![mine("a"), NewTask { version: 2, ..mine("b") }]).await;
    f.submit(vec![NewTask { name: TaskName::new("mine").unwrap(), ..task_in("c", "mail") }]).await;
    let queues = ["default", "mail"].map(|name| QueueClaim { queue: queue(name), limit: 10 }).to_vec();
    let refused = vec![Refusal { queue: queue("default"), kind: TaskKind { name: mine("a").name, version: 1 } }];
    let claim = Some(ClaimRequest { queues, limit: 10, refused, lease: LEASE });
    let cycle = Cycle { worker: worker("stock"), settlements: Vec::new(), claim };
    assert_eq!(ids(&f.engine.cycle(cycle).await.unwrap().claimed), ["b", "c"]);
}

pub async fn what_was_set_aside_is_claimed_in_its_order(f: Fixture) {
    let of = |id: &str, priority: u8| NewTask { priority: Priority::new(priority).unwrap(), ..mine(id) };
    f.submit(vec![of("low", 1), of("a", 5), of("b", 5), of("urgent", 9)]).await;
    assert!(claim_refusing(&f, 10).await.is_empty());
    f.submit(vec![task("known"), of("c", 5), of("higher", 7)]).await;
    let listed = f.list(TaskFilter { statuses: vec![Status::Submitted], ..TaskFilter::default() }, 2).await;
    let listed: Vec<&str> = listed.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(listed, ["urgent", "higher", "a", "b", "known", "c", "low"]);
    assert_eq!(f.engine.place(&id("known")).await.unwrap().unwrap().ahead, 4);
    assert_eq!(ids(&f.claim(3).await), ["urgent", "higher", "a"]);
    assert!(f.cycle_refusing("stock", &["mine", "echo"], 10, Vec::new()).await.claimed.is_empty());
    assert_eq!(ids(&f.claim(10).await), ["b", "known", "c", "low"]);
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_is_set_aside_is_submitted_like_any_other(f: Fixture) {
    f.engine
        .put_queue(QueueConfig { max_length: Some(4), ..QueueConfig::new(queue("default")) }, PutMode::Upsert)
        .await
        .unwrap();
    let start = f.clock.now();
    submit_many(&f, 4).await;
    f.advance(seconds(1));
    assert!(claim_refusing(&f, 10).await.is_empty());
    let stats = f.stats("default").await;
    assert_eq!((stats.tasks.get(&Status::Submitted), stats.oldest_ready_at), (Some(&4), Some(start)));
    let refused = f.try_submit(vec![task("z")], OnConflict::Fail).await;
    assert!(matches!(refused, Err(Error::QueueFull { .. })), "it takes room: {refused:?}");
    assert!(f.engine.delete_queue(&queue("default"), None).await.is_err());
    assert_eq!(f.engine.cancel(&[id("m0001")]).await.unwrap(), [Cancelled::Done]);
    let other = NewTask { version: 2, ..mine("m0002") };
    f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!(ids(&f.claim(10).await), ["m0000", "m0003", "m0002"], "the replaced one went to the end");
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_is_set_aside_can_be_purged_and_moved(f: Fixture) {
    f.create_queue("mail").await;
    submit_many(&f, 6).await;
    assert!(claim_refusing(&f, 10).await.is_empty());
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 2).await, Ok(2));
    assert_sound(&f, 1_000, false).await;
    assert_eq!(f.engine.purge_queue(&queue("default"), 3).await, Ok(3));
    assert_eq!(ids(&f.claim_from(&["mail"], 10).await), ["m0000", "m0001"]);
    assert_eq!(f.claim(10).await.len(), 1);
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

pub async fn what_every_worker_refused_is_claimed_once_one_does_not(f: Fixture) {
    submit_many(&f, 3).await;
    for name in ["w1", "w2"] {
        assert!(f.cycle_refusing(name, &["mine"], 10, Vec::new()).await.claimed.is_empty());
    }
    let leased = f.cycle_as("w1", &["default"], 2, Vec::new()).await.claimed;
    assert_eq!(ids(&leased), ["m0000", "m0001"], "the worker stopped refusing: the last one that knew them is gone");
    let failure = failure("no worker knows it");
    let outcome = Outcome::Unknown { delay: Duration::ZERO, patience: Duration::ZERO, failure, dead_letter: false };
    f.settle(&leased[0], outcome).await;
    assert_eq!(f.status("m0000").await, Status::Dropped, "its patience is judged");
}

pub async fn a_flood_of_a_refused_kind_does_not_block_what_is_known(f: Fixture) {
    submit_many(&f, 3_000).await;
    f.submit_ids(&["known"]).await;
    let mut calls = 0;
    loop {
        calls += 1;
        assert!(calls <= 30, "after {calls} calls");
        let reply = f.cycle_refusing("stock", &["mine"], 2, Vec::new()).await;
        if reply.claimed.is_empty() {
            assert_eq!(reply.next_due, Some(Duration::ZERO), "there is more to look at: call again");
            continue;
        }
        assert_eq!(ids(&reply.claimed), ["known"]);
        break;
    }
    // The model does it in one step. An engine begins with few, for others may take them before the worker comes again.
    assert!(calls == 1 || calls > 5, "after {calls} calls");
    let reply = f.cycle_refusing("stock", &["mine"], 2, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.next_due), (0, None), "nobody walks past them again");
    let mut claimed = 0;
    while claimed < 3_000 {
        let some = f.claim(1_000).await;
        assert_eq!(some[0].id.as_str(), format!("m{claimed:04}"));
        claimed += some.len();
    }
    assert_sound(&f, 1_000, false).await;
}

pub async fn suspects_of_a_refused_kind_are_left_to_others(f: Fixture) {
    f.submit(vec![mine("a"), task("b")]).await;
    for _ in 0..2 {
        assert_eq!(f.claim(2).await.len(), 2);
        f.advance(LEASE);
        assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 2);
    }
    assert!(f.get("a").await.suspicion.is_suspect());
    assert_eq!(ids(&claim_refusing(&f, 10).await), ["b"]);
    assert_eq!(ids(&f.cycle_as("w2", &["default"], 10, Vec::new()).await.claimed), ["a"]);
    assert_sound(&f, 1_000, false).await;
}

pub async fn limits_by_key_hold_for_what_was_set_aside(f: Fixture) {
    let limited = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limited, PutMode::Upsert).await.unwrap();
    let of = |new: NewTask, key: &str| NewTask {
        concurrency_key: Some(ConcurrencyKey::new(key).unwrap()),
        key_is_explicit: true,
        ..new
    };
    for n in 0..3 {
        f.submit(vec![of(mine(&format!("a{n}")), "acme"), of(mine(&format!("b{n}")), "bolt")]).await;
        f.submit(vec![of(task(&format!("k{n}")), "known")]).await;
    }
    assert_eq!(ids(&claim_refusing(&f, 10).await), ["k0"]);
    let mut over = 0;
    while over < 6 {
        let held = f.claim(10).await;
        let held: Vec<_> = held.into_iter().filter(|task| task.name.as_str() == "mine").collect();
        assert!((1..=2).contains(&held.len()), "{over} are over: {:?}", ids(&held));
        assert!(claim_refusing(&f, 10).await.is_empty());
        for task in &held {
            f.settle(task, DONE).await;
            over += 1;
        }
    }
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_released_task_is_handed_on_at_once(f: Fixture) {
    f.submit(vec![mine("a"), mine("b")]).await;
    let leased = f.cycle_as("stock", &["default"], 1, Vec::new()).await.claimed;
    let settlement = jobbers_common::engine::Settlement::new(leased[0].id.clone(), leased[0].fence, RELEASED);
    let reply = f.cycle_refusing("stock", &["mine"], 10, vec![settlement]).await;
    assert!(reply.claimed.is_empty());
    let claimed = f.claim(10).await;
    assert_eq!(ids(&claimed), ["a", "b"], "at its old place");
    assert_eq!((claimed[0].attempt, claimed[0].ready_at), (1, claimed[0].submitted_at));
    f.settle(&claimed[0], retry(seconds(5))).await;
    f.advance(seconds(5));
    assert!(claim_refusing(&f, 10).await.is_empty(), "retries are refused alike");
    assert_eq!(ids(&f.claim(10).await), ["a"]);
}

/// A worker that waits until it is woken, claims, and goes on so until it has leased something.
async fn work(
    engine: Arc<dyn jobbers_common::engine::Engine>,
    name: String,
    refused: &'static str,
) -> (String, Duration) {
    let start = Instant::now();
    loop {
        engine.wait(&worker(&name), LONG).await;
        if cycle(&engine, &name, refused).await > 0 {
            return (name, start.elapsed());
        }
    }
}

async fn cycle(engine: &Arc<dyn jobbers_common::engine::Engine>, name: &str, refused: &str) -> usize {
    let kind = TaskKind { name: TaskName::new(refused).unwrap(), version: 1 };
    let refused = vec![Refusal { queue: queue("default"), kind }];
    let queues = vec![QueueClaim { queue: queue("default"), limit: 1 }];
    let claim = Some(ClaimRequest { queues, limit: 1, refused, lease: LEASE });
    let cycle = Cycle { worker: worker(name), settlements: Vec::new(), claim };
    engine.cycle(cycle).await.unwrap().claimed.len()
}

pub async fn a_refused_task_wakes_a_worker_that_takes_it(f: Fixture) {
    let mut workers = JoinSet::new();
    let names = (0..6).map(|n| (format!("stock{n}"), "mine")).chain([("own".to_owned(), "echo")]);
    for (name, refused) in names {
        assert_eq!(cycle(&f.engine, &name, refused).await, 0);
        workers.spawn(work(Arc::clone(&f.engine), name, refused));
    }
    f.submit(vec![mine("a")]).await;
    let (first, waited) = workers.join_next().await.unwrap().unwrap();
    assert_eq!(first, "own");
    assert!(waited < SOON, "woken at once, not after {waited:?}");
}

pub async fn a_worker_that_refuses_nothing_is_woken_first(f: Fixture) {
    for n in 0..3 {
        assert_eq!(cycle(&f.engine, &format!("stock{n}"), "mine").await, 0);
    }
    assert!(f.claim(1).await.is_empty());
    f.submit(vec![mine("a")]).await;
    let start = Instant::now();
    f.engine.wait(&worker("w1"), LONG).await;
    assert!(start.elapsed() < SOON);
    assert_eq!(f.claim(1).await.len(), 1);
}

pub async fn a_claim_that_refuses_too_much_is_invalid(f: Fixture) {
    let kind = |n: u32| TaskKind { name: TaskName::new("mine").unwrap(), version: n };
    let refused = (0..101).map(|n| Refusal { queue: queue("default"), kind: kind(n) }).collect();
    let claim = Some(ClaimRequest { queues: Vec::new(), limit: 1, refused, lease: LEASE });
    let cycle = Cycle { worker: worker("w1"), settlements: Vec::new(), claim };
    assert!(matches!(f.engine.cycle(cycle).await, Err(Error::Invalid(_))));
}

pub async fn delays_of_give_backs_are_time_in_the_queue(f: Fixture) {
    let start = f.clock.now();
    f.submit(vec![mine("a")]).await;
    for delay in [1, 2, 4] {
        f.advance(seconds(1));
        let leased = f.claim_one().await;
        assert_eq!(leased.ready_at, start);
        let failure = jobbers_common::task::AttemptFailure::new(FailureKind::Unknown, "unknown");
        let (delay, patience) = (seconds(delay), seconds(60));
        f.settle(&leased, Outcome::Unknown { delay, patience, failure, dead_letter: false }).await;
        assert_eq!(f.get("a").await.ready_at, f.clock.now().after(delay), "when it is tried again");
        f.advance(delay);
    }
    let claimed = f.claim_one().await;
    assert_eq!((claimed.ready_at, f.get("a").await.ready_at), (start, start), "it waited all the time");
    f.settle(&claimed, retry(seconds(3))).await;
    f.advance(seconds(3));
    assert_eq!(f.claim_one().await.ready_at, f.clock.now(), "it ran: a retry is ready when it is due");
}
