//! Limits of a queue: how many tasks run, how many start, how many wait.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use jobbers_common::{
    engine::{
        ClaimRequest, Cycle, Deleted, Error, OnConflict, PutMode, QueueClaim, QueuePlace, Settlement, Submit,
        SubmittedHow,
    },
    lifecycle::Status,
    queue::{QueueConfig, rate::RateLimit},
    task::{NewTask, Priority, Start},
    time::Clock,
};

use crate::conformance::{DONE, Fixture, LEASE, id, ids, queue, retry, seconds, task, task_in, worker};

fn limited() -> QueueConfig {
    QueueConfig::new(queue("default"))
}

async fn put(f: &Fixture, config: QueueConfig) {
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

async fn submit_many(f: &Fixture, count: usize) {
    f.submit((0..count).map(|n| task(&format!("t{n:04}"))).collect()).await;
}

fn rate(tasks: u32, per: Duration) -> QueueConfig {
    QueueConfig { rate_limit: Some(RateLimit { tasks, per, burst: None }), ..limited() }
}

pub async fn no_more_run_than_max_concurrent(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(3), ..limited() }).await;
    submit_many(&f, 10).await;
    let first = f.claim(2).await;
    let second = f.cycle_as("w2", &["default"], 10, Vec::new()).await.claimed;
    assert_eq!((ids(&first), ids(&second)), (vec!["t0000", "t0001"], vec!["t0002"]));
    assert!(f.cycle_as("w3", &["default"], 10, Vec::new()).await.claimed.is_empty());
    f.settle(&first[0], DONE).await;
    assert_eq!(ids(&f.claim(10).await), ["t0003"], "one ended: one may start");
    f.settle(&first[1], retry(seconds(5))).await;
    assert_eq!(ids(&f.claim(10).await), ["t0004"], "a retry gives its slot back");
}

pub async fn a_worker_that_settles_may_claim_the_slot_in_the_same_cycle(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(1), ..limited() }).await;
    submit_many(&f, 2).await;
    let held = f.claim_one().await;
    let settlement = Settlement::new(held.id, held.fence, DONE);
    let reply = f.cycle_as("w1", &["default"], 5, vec![settlement]).await;
    assert_eq!(ids(&reply.claimed), ["t0001"]);
}

pub async fn a_slot_comes_back_when_its_lease_ends(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(1), ..limited() }).await;
    submit_many(&f, 2).await;
    f.claim_one().await;
    assert!(f.claim(5).await.is_empty());
    f.advance(LEASE + seconds(1));
    assert_eq!(ids(&f.claim(5).await), ["t0000"], "the lost one first, and no other beside it");
}

pub async fn a_limit_that_is_lowered_takes_nothing_away(f: Fixture) {
    submit_many(&f, 5).await;
    let held = f.claim(3).await;
    put(&f, QueueConfig { max_concurrent: Some(1), ..limited() }).await;
    assert_eq!(f.count(Status::Started).await, 3);
    for task in &held[..2] {
        f.settle(task, DONE).await;
        assert!(f.claim(5).await.is_empty());
    }
    f.settle(&held[2], DONE).await;
    assert_eq!(f.claim(5).await.len(), 1);
}

pub async fn queues_are_limited_each_for_itself(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, QueueConfig { max_concurrent: Some(1), ..limited() }).await;
    f.submit(vec![task("a"), task("b"), task_in("c", "mail"), task_in("d", "mail")]).await;
    assert_eq!(ids(&f.claim_from(&["default", "mail"], 10).await), ["a", "c", "d"]);
}

pub async fn many_claimers_at_once_do_not_exceed_max_concurrent(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(3), ..limited() }).await;
    submit_many(&f, 50).await;
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
    assert_eq!((claimed, f.count(Status::Started).await), (3, 3));
}

pub async fn the_end_of_a_task_wakes_who_waits_for_its_slot(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(1), ..limited() }).await;
    submit_many(&f, 2).await;
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
        engine.wait(&worker("w2"), seconds(30)).await;
        start.elapsed()
    });
    f.settle(&held, DONE).await;
    let waited = waiting.await.unwrap();
    assert!(waited < Duration::from_millis(900), "woken at once, not after {waited:?}");
    assert_eq!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.len(), 1);
}

pub async fn a_task_submitted_after_the_slot_came_free_wakes_a_worker(f: Fixture) {
    put(&f, QueueConfig { max_concurrent: Some(1), ..limited() }).await;
    submit_many(&f, 1).await;
    let held = f.claim_one().await;
    assert!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.is_empty());
    f.settle(&held, DONE).await;
    f.engine.wait(&worker("w2"), seconds(30)).await;
    assert!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed.is_empty(), "there is nothing yet");
    f.submit_ids(&["later"]).await;
    let start = Instant::now();
    f.engine.wait(&worker("w2"), seconds(30)).await;
    assert!(start.elapsed() < Duration::from_millis(900));
    assert_eq!(ids(&f.cycle_as("w2", &["default"], 1, Vec::new()).await.claimed), ["later"]);
}

pub async fn a_rate_holds_and_says_when_to_come_back(f: Fixture) {
    put(&f, rate(50, seconds(1))).await;
    submit_many(&f, 1_000).await;
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
        if f.clock.now().after(wait).since(start) > seconds(10) {
            break;
        }
        f.advance(wait);
    }
    assert!((495..=506).contains(&started), "{started} in ten seconds");
    assert!(asked < 2 * started, "it was asked {asked} times");
    let all = f.count(Status::Submitted).await + f.count(Status::Started).await;
    assert_eq!(all, 1_000, "what waits is not lost");
}

pub async fn a_quiet_time_saves_up_a_burst_and_no_more(f: Fixture) {
    let bursting = RateLimit { tasks: 10, per: seconds(1), burst: Some(4) };
    put(&f, QueueConfig { rate_limit: Some(bursting), ..limited() }).await;
    submit_many(&f, 20).await;
    f.advance(seconds(3_600));
    assert_eq!(f.claim(3).await.len(), 3);
    assert_eq!(f.claim(10).await.len(), 1);
    assert!(f.claim(10).await.is_empty());
    f.advance(Duration::from_millis(250));
    assert_eq!(f.claim(10).await.len(), 2);
    f.advance(Duration::from_millis(50));
    assert_eq!(f.claim(10).await.len(), 1, "the half that was left counts");
}

pub async fn a_slow_rate_lets_one_start_at_a_time(f: Fixture) {
    put(&f, rate(2, seconds(60))).await;
    submit_many(&f, 3).await;
    assert_eq!(f.claim(10).await.len(), 1);
    let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.next_due), (0, Some(seconds(30))));
    f.advance(seconds(30) - Duration::from_micros(1));
    assert!(f.claim(10).await.is_empty());
    f.advance(Duration::from_micros(1));
    assert_eq!(f.claim(10).await.len(), 1);
}

pub async fn a_rate_counts_every_start(f: Fixture) {
    put(&f, rate(1, seconds(10))).await;
    f.submit_ids(&["a"]).await;
    let held = f.claim_one().await;
    f.settle(&held, retry(Duration::ZERO)).await;
    assert!(f.claim(1).await.is_empty(), "a retry starts too");
    f.advance(seconds(10));
    assert_eq!(f.claim_one().await.attempt, 2);
}

pub async fn a_new_rate_holds_at_once(f: Fixture) {
    put(&f, rate(1, seconds(3_600))).await;
    submit_many(&f, 20).await;
    assert_eq!(f.claim(10).await.len(), 1);
    put(&f, rate(100, seconds(1))).await;
    f.advance(Duration::from_millis(100));
    assert_eq!(f.claim(10).await.len(), 10);
    put(&f, limited()).await;
    assert_eq!(f.claim(10).await.len(), 9, "without a rate nothing waits");
}

pub async fn the_next_due_task_and_the_rate_are_told_whichever_is_sooner(f: Fixture) {
    f.create_queue("mail").await;
    put(&f, rate(1, seconds(60))).await;
    submit_many(&f, 2).await;
    f.claim_one().await;
    let later = NewTask { start: Start::After(seconds(5)), ..task_in("later", "mail") };
    f.submit(vec![later]).await;
    assert_eq!(f.cycle_as("w1", &["default", "mail"], 5, Vec::new()).await.next_due, Some(seconds(5)));
    assert_eq!(f.cycle_as("w1", &["default"], 5, Vec::new()).await.next_due, Some(seconds(60)));
}

pub async fn a_ready_task_has_a_place_in_its_queue(f: Fixture) {
    f.create_queue("mail").await;
    f.submit_ids(&["a", "b"]).await;
    f.submit(vec![NewTask { priority: Priority::new(9).unwrap(), ..task("first") }, task_in("alone", "mail")]).await;
    f.submit(vec![NewTask { start: Start::After(seconds(5)), ..task("later") }]).await;
    let place = async |name: &str| f.engine.place(&id(name)).await.unwrap();
    for (name, ahead) in [("first", 0), ("a", 1), ("b", 2), ("alone", 0)] {
        assert_eq!(
            place(name).await,
            Some(QueuePlace { ahead, rate_wait: None, held_back: Vec::new(), probations: Vec::new() }),
            "{name}"
        );
    }
    let held = f.claim_one().await;
    f.settle(&held, DONE).await;
    f.claim_one().await;
    assert_eq!(
        place("b").await,
        Some(QueuePlace { ahead: 0, rate_wait: None, held_back: Vec::new(), probations: Vec::new() })
    );
    for name in ["first", "a", "later", "never"] {
        assert_eq!(place(name).await, None, "{name}");
    }
}

pub async fn a_ready_task_s_place_knows_the_rate(f: Fixture) {
    put(&f, rate(2, seconds(60))).await;
    submit_many(&f, 2).await;
    assert_eq!(
        f.engine.place(&id("t0001")).await,
        Ok(Some(QueuePlace { ahead: 1, rate_wait: None, held_back: Vec::new(), probations: Vec::new() }))
    );
    f.claim_one().await;
    f.advance(seconds(10));
    let place = f.engine.place(&id("t0001")).await.unwrap();
    assert_eq!(
        place,
        Some(QueuePlace { ahead: 0, rate_wait: Some(seconds(20)), held_back: Vec::new(), probations: Vec::new() })
    );
}

pub async fn limits_of_none_are_refused(f: Fixture) {
    let bad = [
        QueueConfig { max_concurrent: Some(0), ..limited() },
        QueueConfig { max_length: Some(0), ..limited() },
        rate(0, seconds(1)),
        rate(1, Duration::ZERO),
    ];
    for bad in bad {
        assert!(matches!(f.engine.put_queue(bad.clone(), PutMode::Upsert).await, Err(Error::Invalid(_))), "{bad:?}");
    }
}

fn full() -> Error {
    Error::QueueFull { queue: queue("default"), max_length: 3 }
}

async fn bounded(f: &Fixture) {
    put(f, QueueConfig { max_length: Some(3), ..limited() }).await;
}

pub async fn a_full_queue_takes_nothing_in(f: Fixture) {
    bounded(&f).await;
    f.submit(vec![task("a"), NewTask { start: Start::After(seconds(60)), ..task("b") }]).await;
    let refused = f.try_submit(vec![task("c"), task("d")], OnConflict::Fail).await;
    assert_eq!(refused, Err(full()), "the whole batch");
    assert_eq!(f.engine.get(&id("c")).await, Ok(None));
    f.submit_ids(&["c"]).await;
    assert_eq!(f.try_submit(vec![task("d")], OnConflict::Fail).await, Err(full()));
    let held = f.claim_one().await;
    f.submit_ids(&["d"]).await;
    f.settle(&held, retry(Duration::ZERO)).await;
    assert_eq!(f.count(Status::Submitted).await, 3, "what comes back is never turned away");
    assert_eq!(f.try_submit(vec![task("e")], OnConflict::Fail).await, Err(full()));
    f.assert_conserved().await;
}

pub async fn a_full_queue_answers_what_it_has(f: Fixture) {
    bounded(&f).await;
    f.submit_ids(&["a", "b", "c"]).await;
    let again = f.submit(vec![task("a")]).await;
    assert_eq!(again[0].how, SubmittedHow::Existing, "sent again, it needs no room");
    let other = NewTask { version: 2, ..task("b") };
    let replaced = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!(replaced[0].how, SubmittedHow::Replaced, "in the place of another, it needs none");
    let conflict = f.try_submit(vec![task("d"), NewTask { version: 3, ..task("c") }], OnConflict::Fail).await;
    assert!(matches!(conflict, Err(Error::Conflict { .. })), "a conflict goes first: {conflict:?}");
}

pub async fn a_batch_over_the_max_length_never_goes_in(f: Fixture) {
    bounded(&f).await;
    let many = |count: usize| (0..count).map(|n| task(&format!("t{n}"))).collect::<Vec<_>>();
    let refused = f.try_submit(many(4), OnConflict::Fail).await;
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("at most 3")), "{refused:?}");
    f.submit_ids(&["t0"]).await;
    assert_eq!(f.try_submit(vec![task("a"), task("b"), task("c")], OnConflict::Fail).await, Err(full()));
    assert_eq!(f.try_submit(many(4), OnConflict::Fail).await, Err(full()), "what is there needs no room");
    f.submit(many(3)).await;
    f.assert_conserved().await;
}

pub async fn a_full_queue_fills_no_other(f: Fixture) {
    f.create_queue("mail").await;
    bounded(&f).await;
    let many = |into: &str| (0..3).map(|n| task_in(&format!("{into}{n}"), into)).collect();
    f.submit_ids(&["a"]).await;
    assert_eq!(f.try_submit(many("default"), OnConflict::Fail).await, Err(full()));
    assert_eq!(f.submit(many("mail")).await.len(), 3);
}

pub async fn many_submitters_at_once_do_not_exceed_max_length(f: Fixture) {
    bounded(&f).await;
    let submitters: Vec<_> = (0..16)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let batch = Submit { tasks: vec![task(&format!("t{n}"))], on_conflict: OnConflict::Fail };
            tokio::spawn(async move { engine.submit(batch).await })
        })
        .collect();
    let mut taken = 0;
    for submitter in submitters {
        match submitter.await.unwrap() {
            Ok(_) => taken += 1,
            refused => assert_eq!(refused, Err(full())),
        }
    }
    assert_eq!((taken, f.count(Status::Submitted).await), (3, 3));
}

pub async fn a_queue_made_again_starts_from_nothing(f: Fixture) {
    let mail = QueueConfig { name: queue("mail"), ..rate(1, seconds(3_600)) };
    put(&f, mail.clone()).await;
    f.submit(vec![task_in("a", "mail")]).await;
    let held = f.claim_from(&["mail"], 1).await;
    f.settle(&held[0], DONE).await;
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await, Ok(Deleted::Done));
    put(&f, mail).await;
    f.submit(vec![task_in("b", "mail")]).await;
    assert_eq!(f.claim_from(&["mail"], 1).await.len(), 1);
}
