//! Queues that limit the bytes that wait in them.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Deleted, Error, OnConflict, Outcome, PutMode, Resubmit, Resubmitted, Submit, SubmittedHow, TaskFilter},
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_BATCH},
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides},
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::{
        NewTask, Start,
        unique::{OnDuplicate, Unique, UniqueKey},
    },
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, audit::assert_sound, failure, id, queue, retry, seconds, task, task_in,
};

/// Larger than what engines keep beside a task's other fields.
const LARGE: usize = KEPT_PARAMETER_BYTES + 1;

async fn limit(f: &Fixture, name: &str, max_bytes: Option<u64>) {
    let config = QueueConfig { max_bytes, ..QueueConfig::new(queue(name)) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

/// A task with parameters of so many bytes.
fn of(text: &str, bytes: usize) -> NewTask {
    NewTask { parameters: Payload::json(vec![b'7'; bytes]), ..task(text) }
}

fn full(max_bytes: u64) -> Error {
    Error::QueueBytesFull { queue: queue("default"), max_bytes }
}

async fn waiting(f: &Fixture) -> u64 {
    f.stats("default").await.waiting_bytes.expect("the queue limits them")
}

/// Checks the count against the tasks that are there.
async fn assert_counted(f: &Fixture, name: &str, at: &str) {
    let statuses = vec![Status::Waiting, Status::Scheduled, Status::Submitted];
    let filter = TaskFilter { statuses, queue: Some(queue(name)), ..TaskFilter::default() };
    let mut bytes = 0;
    for listed in f.list(filter, MAX_BATCH).await {
        bytes += f.get(listed.id.as_str()).await.parameters.unwrap().len() as u64;
    }
    assert_eq!(f.stats(name).await.waiting_bytes, Some(bytes), "{at}");
}

pub async fn a_queue_takes_in_no_more_bytes_than_may_wait(f: Fixture) {
    assert_eq!(f.stats("default").await.waiting_bytes, None, "nothing is counted without a limit");
    limit(&f, "default", Some(10)).await;
    f.submit(vec![of("a", 4), NewTask { start: Start::After(seconds(60)), ..of("b", 3) }]).await;
    assert_eq!(waiting(&f).await, 7, "what is scheduled waits too");
    let refused = f.try_submit(vec![of("c", 2), of("d", 2)], OnConflict::Fail).await;
    assert_eq!(refused, Err(full(10)), "the whole batch");
    assert_eq!((f.engine.get(&id("c")).await, waiting(&f).await), (Ok(None), 7));
    f.submit(vec![of("c", 3)]).await;
    assert_eq!(f.try_submit(vec![of("d", 1)], OnConflict::Fail).await, Err(full(10)));
    f.submit(vec![of("d", 0)]).await;
    assert_eq!(f.submit(vec![of("a", 4)]).await[0].how, SubmittedHow::Existing, "sent again, it needs no room");
    let held = f.claim_one().await;
    f.submit(vec![of("e", 4)]).await;
    f.settle(&held, retry(Duration::ZERO)).await;
    assert_eq!(waiting(&f).await, 14, "what comes back is never turned away");
    assert_eq!(f.try_submit(vec![of("f", 1)], OnConflict::Fail).await, Err(full(10)));
    let conflict = f.try_submit(vec![of("g", 1), of("a", 5)], OnConflict::Fail).await;
    assert!(matches!(conflict, Err(Error::Conflict { .. })), "a conflict goes first: {conflict:?}");
    limit(&f, "default", Some(20)).await;
    assert_eq!(waiting(&f).await, 14, "another limit counts nothing anew");
    f.submit(vec![of("f", 6)]).await;
    assert_sound(&f, 3, false).await;
}

pub async fn a_queue_that_limits_bytes_fills_no_other(f: Fixture) {
    f.create_queue("mail").await;
    limit(&f, "default", Some(10)).await;
    f.submit(vec![task_in("a", "mail")]).await;
    let batch = vec![NewTask { parameters: Payload::json(vec![b'7'; LARGE]), ..task_in("b", "mail") }, of("c", 10)];
    f.submit(batch).await;
    assert_eq!((waiting(&f).await, f.stats("mail").await.waiting_bytes), (10, None));
    let none = QueueConfig { max_bytes: Some(0), ..QueueConfig::new(queue("default")) };
    let refused = f.engine.put_queue(none, PutMode::Upsert).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}

pub async fn what_takes_the_place_of_another_counts_by_what_it_adds(f: Fixture) {
    limit(&f, "default", Some(LARGE as u64)).await;
    f.submit(vec![of("a", 1_000)]).await;
    let again = |bytes| f.try_submit(vec![NewTask { version: 2, ..of("a", bytes) }], OnConflict::Replace);
    assert_eq!(again(LARGE + 1).await, Err(full(LARGE as u64)));
    assert_eq!(again(LARGE).await.unwrap()[0].how, SubmittedHow::Replaced);
    assert_eq!(again(7).await.unwrap()[0].how, SubmittedHow::Replaced);
    assert_eq!(waiting(&f).await, 7);
    limit(&f, "default", Some(5)).await;
    assert_eq!(again(6).await.unwrap()[0].how, SubmittedHow::Replaced, "over the limit still, and less than before");
    let with_key = |text: &str, bytes, rule| {
        let unique = Unique::new(UniqueKey::new("k").unwrap()).on_duplicate(rule);
        NewTask { unique: Some(Box::new(unique)), ..of(text, bytes) }
    };
    limit(&f, "default", Some(20)).await;
    f.submit(vec![with_key("h", 10, OnDuplicate::Reject)]).await;
    let last = |bytes| f.try_submit(vec![with_key("i", bytes, OnDuplicate::KeepLast)], OnConflict::Fail);
    assert_eq!(last(15).await, Err(full(20)));
    assert_eq!(last(14).await.unwrap()[0].how, SubmittedHow::Updated);
    assert_eq!(waiting(&f).await, 20);
    let next = f.try_submit(vec![with_key("j", 14, OnDuplicate::Replace)], OnConflict::Fail).await.unwrap();
    assert_eq!((next[0].how, waiting(&f).await), (SubmittedHow::Replaced, 20));
    // One task of a batch takes the place of another of it.
    let both = vec![with_key("k", 2, OnDuplicate::KeepLast), with_key("l", 14, OnDuplicate::KeepLast)];
    f.submit(both).await;
    assert_counted(&f, "default", "updated twice").await;
    assert_eq!(waiting(&f).await, 20);
    assert_sound(&f, 3, false).await;
}

pub async fn waiting_bytes_follow_every_path(f: Fixture) {
    limit(&f, "default", Some(1_000_000)).await;
    limit(&f, "mail", Some(1_000_000)).await;
    let saved = PolicyOverrides { dead_letter: Some(DeadLetter::Save), ..PolicyOverrides::default() };
    let names: Vec<String> = (0..12).map(|n| format!("t{n:02}")).collect();
    let sizes = [3, LARGE, 0, 500];
    let new = |n: usize| NewTask { overrides: saved.clone(), ..of(&names[n], sizes[n % 4] + n) };
    f.submit((0..12).map(new).collect()).await;
    assert_counted(&f, "default", "submitted").await;
    let outcomes = [
        DONE,
        retry(Duration::ZERO),
        retry(seconds(5)),
        RELEASED,
        Outcome::Failed { failure: failure("no"), dead_letter: true },
        Outcome::Cancelled,
    ];
    for (claimed, outcome) in f.claim(6).await.iter().zip(outcomes) {
        f.settle(claimed, outcome).await;
        assert_counted(&f, "default", claimed.id.as_str()).await;
    }
    f.claim(2).await;
    f.advance(LEASE + seconds(1));
    f.engine.reclaim_expired(10).await.unwrap();
    assert_counted(&f, "default", "reclaimed").await;
    f.advance(seconds(5));
    f.engine.promote_due(10).await.unwrap();
    assert_counted(&f, "default", "promoted").await;
    f.engine.cancel(&[id("t10")]).await.unwrap();
    assert_counted(&f, "default", "cancelled").await;
    let other = Resubmit { parameters: Some(Payload::json(vec![b'8'; 2 * LARGE])), ..Resubmit::of_store(id("t04")) };
    let elsewhere = Resubmit { queue: Some(queue("mail")), ..Resubmit::of_store(id("t05")) };
    let copy = f.engine.dead_letters(0, 10).await.unwrap().copies.remove(0);
    assert_eq!(f.engine.resubmit(vec![other, elsewhere]).await, Ok(vec![Resubmitted::Done; 2]));
    assert_counted(&f, "default", "sent again").await;
    assert_counted(&f, "mail", "sent again").await;
    f.try_submit(vec![NewTask { version: 9, ..of("t10", 77) }], OnConflict::Replace).await.unwrap();
    assert_counted(&f, "default", "replaced").await;
    f.engine.move_tasks(&queue("default"), &queue("mail"), 4).await.unwrap();
    assert_counted(&f, "default", "moved").await;
    assert_counted(&f, "mail", "moved").await;
    assert_sound(&f, 3, false).await;
    f.engine.purge_queue(&queue("default"), 2).await.unwrap();
    assert_counted(&f, "default", "purged").await;
    f.engine.purge_queue(&queue("mail"), MAX_BATCH).await.unwrap();
    f.engine.purge_queue(&queue("default"), MAX_BATCH).await.unwrap();
    assert_eq!((waiting(&f).await, f.stats("mail").await.waiting_bytes), (0, Some(0)));
    // The copy creates its task again.
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_archive(copy)]).await, Ok(vec![Resubmitted::Done]));
    assert_counted(&f, "default", "made anew").await;
    assert_sound(&f, 3, false).await;
}

/// A queue that limits bytes, and lets one task of each key run.
async fn limit_with_keys(f: &Fixture, max_bytes: u64) {
    let max_bytes = Some(max_bytes);
    let config = QueueConfig { max_bytes, max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

fn of_acme(text: &str, bytes: usize) -> NewTask {
    NewTask { concurrency_key: Some(ConcurrencyKey::new("acme").unwrap()), key_is_explicit: true, ..of(text, bytes) }
}

pub async fn what_limits_by_key_hold_back_counts_as_waiting(f: Fixture) {
    f.create_queue("mail").await;
    limit_with_keys(&f, 100).await;
    f.submit((0..4).map(|n| of_acme(&format!("t{n}"), 20 + n)).collect()).await;
    let held = f.claim(4).await;
    assert_eq!((held.len(), waiting(&f).await), (1, 66), "the others stand aside, and count");
    assert_eq!(f.try_submit(vec![of("b", 35)], OnConflict::Fail).await, Err(full(100)));
    f.submit(vec![of("b", 34)]).await;
    assert_eq!(waiting(&f).await, 100);
    // None that passes them takes their room, and none that comes back is counted twice.
    let passed = f.claim(4).await;
    assert_eq!((passed[0].id.as_str(), waiting(&f).await), ("b", 66));
    f.settle(&held[0], retry(Duration::ZERO)).await;
    assert_counted(&f, "default", "one came back").await;
    let held = f.claim(4).await;
    assert_counted(&f, "default", "its turn went to another").await;
    assert_eq!(f.engine.cancel(&[id("t3")]).await.unwrap().len(), 1);
    assert_counted(&f, "default", "one that stands aside was cancelled").await;
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 1).await, Ok(1));
    assert_counted(&f, "default", "one was moved").await;
    // Counted again while some are set aside.
    limit(&f, "default", None).await;
    limit_with_keys(&f, 1_000).await;
    for _ in 0..10 {
        f.engine.promote_due(100).await.unwrap();
    }
    assert_counted(&f, "default", "the limit was set anew").await;
    f.settle(&held[0], DONE).await;
    f.engine.purge_queue(&queue("default"), MAX_BATCH).await.unwrap();
    assert_eq!(waiting(&f).await, 0);
    assert_sound(&f, 3, false).await;
}

pub async fn what_takes_the_place_of_a_task_held_back_counts_by_what_it_adds(f: Fixture) {
    let keyed = |text: &str, bytes, rule| {
        let unique = Unique::new(UniqueKey::new(if text < "m" { "k" } else { "l" }).unwrap()).on_duplicate(rule);
        NewTask { unique: Some(Box::new(unique)), ..of_acme(text, bytes) }
    };
    limit_with_keys(&f, 60).await;
    f.submit(vec![of_acme("a", 5), of_acme("b", 20), keyed("h", 20, OnDuplicate::Reject)]).await;
    let held = f.claim(3).await;
    assert_eq!((held[0].id.as_str(), waiting(&f).await), ("a", 40), "two stand aside");
    // By id.
    let again = |bytes| f.try_submit(vec![NewTask { version: 2, ..of_acme("b", bytes) }], OnConflict::Replace);
    assert_eq!(again(41).await, Err(full(60)));
    assert_eq!(waiting(&f).await, 40, "what is refused leaves its place as it was");
    assert_eq!(again(40).await.unwrap()[0].how, SubmittedHow::Replaced);
    assert_counted(&f, "default", "replaced by its id").await;
    assert_eq!(again(10).await.unwrap()[0].how, SubmittedHow::Replaced);
    // By unique key: the holder becomes what is said, then another takes its place.
    let last = |bytes| f.try_submit(vec![keyed("i", bytes, OnDuplicate::KeepLast)], OnConflict::Fail);
    assert_eq!(last(51).await, Err(full(60)));
    assert_eq!(last(50).await.unwrap()[0].how, SubmittedHow::Updated);
    assert_counted(&f, "default", "the holder has another word").await;
    let next = f.try_submit(vec![keyed("j", 30, OnDuplicate::Replace)], OnConflict::Fail).await.unwrap();
    assert_eq!((next[0].how, waiting(&f).await), (SubmittedHow::Replaced, 40));
    assert_counted(&f, "default", "the holder was replaced").await;
    // Out of the key's hands, into another's: what passes counts no more, what is held back does.
    f.settle(&held[0], DONE).await;
    let next = f.claim(5).await;
    assert_eq!(next.len(), 1, "one of the key at a time");
    assert_counted(&f, "default", "one of them runs").await;
    f.submit(vec![keyed("n", 10, OnDuplicate::Return)]).await;
    assert_counted(&f, "default", "another key of uniqueness").await;
    assert_sound(&f, 3, false).await;
}

pub async fn a_limit_set_on_a_queue_with_tasks_comes_to_count_them(f: Fixture) {
    f.create_queue("mail").await;
    let some = |from: usize, to: usize| (from..to).map(|n| of(&format!("t{n:04}"), 1 + n % 7)).collect::<Vec<_>>();
    for batch in 0..3 {
        f.submit(some(batch * MAX_BATCH, (batch + 1) * MAX_BATCH)).await;
    }
    let later = (0..500).map(|n| NewTask { start: Start::After(seconds(60)), ..of(&format!("s{n:04}"), LARGE) });
    f.submit(later.collect()).await;
    limit(&f, "default", Some(10_000_000)).await;
    assert_sound(&f, MAX_BATCH, false).await;
    for round in 0..20 {
        // What moves meanwhile is counted neither twice nor not at all.
        for claimed in f.claim(20).await.iter().enumerate() {
            let outcome = if claimed.0 % 2 == 0 { DONE } else { retry(Duration::ZERO) };
            f.settle(claimed.1, outcome).await;
        }
        f.submit(vec![of(&format!("n{round:02}"), 9)]).await;
        f.engine.cancel(&[id(&format!("t{:04}", 2_900 - round))]).await.unwrap();
        f.engine.move_tasks(&queue("default"), &queue("mail"), 3).await.unwrap();
        f.engine.move_tasks(&queue("mail"), &queue("default"), 1).await.unwrap();
        if round == 3 {
            f.advance(seconds(61));
        }
        f.engine.promote_due(100).await.unwrap();
        assert_sound(&f, MAX_BATCH, false).await;
    }
    assert_counted(&f, "default", "all were come to").await;
    limit(&f, "default", None).await;
    assert_eq!(f.stats("default").await.waiting_bytes, None);
    f.claim(5).await;
    limit(&f, "default", Some(5)).await;
    for _ in 0..20 {
        f.engine.promote_due(100).await.unwrap();
    }
    assert_counted(&f, "default", "set once more").await;
    assert_eq!(f.try_submit(vec![of("over", 1)], OnConflict::Fail).await, Err(full(5)));
    assert_sound(&f, MAX_BATCH, true).await;
}

pub async fn many_submitters_at_once_do_not_exceed_max_bytes(f: Fixture) {
    limit(&f, "default", Some(20)).await;
    let submitters: Vec<_> = (0..16)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let batch = Submit { tasks: vec![of(&format!("t{n:02}"), 6)], on_conflict: OnConflict::Fail };
            tokio::spawn(async move { engine.submit(batch).await })
        })
        .collect();
    let mut taken = 0;
    for submitter in submitters {
        match submitter.await.unwrap() {
            Ok(_) => taken += 1,
            refused => assert_eq!(refused, Err(full(20))),
        }
    }
    assert_eq!((taken, waiting(&f).await), (3, 18));
}

pub async fn a_queue_of_bytes_made_again_starts_from_nothing(f: Fixture) {
    limit(&f, "mail", Some(10)).await;
    f.submit(vec![NewTask { parameters: Payload::json(vec![b'7'; 9]), ..task_in("a", "mail") }]).await;
    let held = f.claim_from(&["mail"], 1).await;
    f.settle(&held[0], DONE).await;
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await, Ok(Deleted::Done));
    limit(&f, "mail", Some(10)).await;
    assert_eq!(f.stats("mail").await.waiting_bytes, Some(0));
    f.submit(vec![NewTask { parameters: Payload::json(vec![b'7'; 10]), ..task_in("b", "mail") }]).await;
    assert_counted(&f, "mail", "made again").await;
}
