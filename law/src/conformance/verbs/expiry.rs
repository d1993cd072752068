//! Tasks whose first attempt must begin before a time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{LostTask, OnConflict, PutMode, Resubmit, Resubmitted, Submit, backup::Restored},
    lifecycle::Status,
    name::{TaskName, WorkerId},
    policy::{DeadLetter, PolicyOverrides},
    queue::{QueueConfig, gate::GateLimits},
    task::{
        AttemptFailure, FailureKind, NewTask, Priority, Start, Task,
        unique::{Unique, UniqueKey},
    },
    time::Clock,
};

use crate::conformance::{
    Fixture, RELEASED, SettleAnswer::Accepted, Settlement, audit::assert_sound, id, ids, queue, retry, seconds, task,
    task_in,
};

fn expiring(text: &str, late: u64) -> NewTask {
    let overrides = PolicyOverrides { expires_in: Some(seconds(late)), ..PolicyOverrides::default() };
    NewTask { overrides, ..task(text) }
}

fn after(text: &str, on: &str, policy: DependencyPolicy) -> NewTask {
    NewTask { depends_on: vec![Dependency { on: id(on), policy }], ..task(text) }
}

/// Claims until nothing is left, and returns what was dropped.
async fn claim_all(f: &Fixture) -> (Vec<String>, Vec<LostTask>) {
    let (mut claimed, mut expired) = (Vec::new(), Vec::new());
    loop {
        let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
        let is_last = reply.claimed.is_empty() && reply.expired.is_empty();
        claimed.extend(reply.claimed.into_iter().map(|task| task.id.to_string()));
        expired.extend(reply.expired);
        if is_last {
            return (claimed, expired);
        }
    }
}

pub async fn a_task_that_is_asked_for_too_late_is_dropped_and_never_runs(f: Fixture) {
    let new = expiring("late", 10);
    f.submit(vec![new.clone(), task("plain")]).await;
    assert_eq!(f.get("late").await.expires_at(), Some(f.clock.now().after(seconds(10))));
    assert_eq!(f.get("plain").await.expires_at(), None);
    f.advance(seconds(10));
    assert_eq!(f.status("late").await, Status::Submitted, "nothing asked for it yet");
    let reply = f.cycle_as("w1", &["default"], 2, Vec::new()).await;
    assert_eq!(ids(&reply.claimed), ["plain"]);
    let lost = LostTask {
        queue: queue("default"),
        name: TaskName::new("echo").unwrap(),
        version: 1,
        status: Status::Dropped,
        dead_letter: true,
    };
    assert_eq!((reply.expired, reply.more), (vec![lost], true));
    let over = f.get("late").await;
    assert_eq!((over.status, over.attempt, over.started_at, &over.worker), (Status::Dropped, 0, None, &None));
    assert_eq!((over.completed_at, &over.lease, over.dead_letter), (Some(f.clock.now()), &None, true));
    let AttemptFailure { kind, message, .. } = AttemptFailure::expired();
    let error = &over.errors[0];
    assert_eq!((error.kind, &error.message, error.attempt, error.at), (kind, &message, 1, f.clock.now()));
    assert_eq!((error.worker.clone(), kind), (WorkerId::new("w1").unwrap(), FailureKind::Expired));
    let copies = f.engine.dead_letters(0, 10).await.unwrap().copies;
    assert_eq!((copies.len(), &copies[0].task, copies[0].fingerprint), (1, &over, new.fingerprint()));
    f.assert_conserved().await;
}

pub async fn a_task_is_run_until_it_expires(f: Fixture) {
    // One of each unit in which durations are stored, and the longest.
    let day = seconds(24 * 3_600);
    for late in [Duration::from_micros(7), Duration::from_millis(1_500), seconds(10), seconds(120), 5 * day, 366 * day]
    {
        let overrides = PolicyOverrides { expires_in: Some(late), ..PolicyOverrides::default() };
        let of = |what: &str| NewTask { overrides: overrides.clone(), ..task(&format!("{what}-{}", late.as_micros())) };
        f.submit(vec![of("in-time"), of("late")]).await;
        f.advance(late - Duration::from_micros(1));
        let claimed = f.claim_one().await;
        assert_eq!(claimed.id, of("in-time").id);
        assert_eq!(f.get(claimed.id.as_str()).await.expires_at(), None, "its first attempt began");
        f.settle(&claimed, crate::conformance::DONE).await;
        f.advance(Duration::from_micros(1));
        let (claimed, expired) = claim_all(&f).await;
        assert_eq!((claimed.len(), expired.len()), (0, 1), "{late:?}");
        assert_eq!(f.status(of("late").id.as_str()).await, Status::Dropped);
    }
}

pub async fn nothing_expires_that_was_leased_once(f: Fixture) {
    for (text, outcome) in [("given-back", Some(RELEASED)), ("retried", Some(retry(seconds(5)))), ("lost", None)] {
        f.submit(vec![expiring(text, 10)]).await;
        let claimed = f.claim_one().await;
        f.advance(seconds(20));
        match outcome {
            Some(outcome) => {
                f.settle(&claimed, outcome).await;
            }
            None => assert_eq!(f.engine.reclaim_expired(10).await.unwrap().requeued, 1),
        }
        f.advance(seconds(20));
        let again = f.claim_one().await;
        assert_eq!(again.id, claimed.id);
        f.settle(&again, crate::conformance::DONE).await;
    }
}

pub async fn the_time_counts_from_when_the_task_is_due(f: Fixture) {
    let later = NewTask { start: Start::After(seconds(30)), ..expiring("later", 10) };
    let overrides = expiring("x", 10).overrides;
    let waits = NewTask { overrides, ..after("waits", "first", DependencyPolicy::default()) };
    f.submit(vec![later, task("first"), waits]).await;
    let due = f.clock.now().after(seconds(30));
    assert_eq!(f.get("later").await.expires_at(), Some(due.after(seconds(10))));
    assert_eq!(f.get("waits").await.expires_at(), None, "when it is due is not known yet");
    f.advance(seconds(35));
    let claimed = f.claim(5).await;
    assert_eq!(ids(&claimed), ["first", "later"], "a promoted task is due since its time");
    for claimed in &claimed {
        f.settle(claimed, crate::conformance::DONE).await;
    }
    f.advance(seconds(9));
    assert_eq!(ids(&f.claim(5).await), ["waits"]);
}

pub async fn successors_and_unique_keys_follow_the_drop(f: Fixture) {
    let unique = Unique::new(UniqueKey::new("k").unwrap());
    let keyed = NewTask { unique: Some(Box::new(unique)), ..expiring("keyed", 5) };
    f.submit(vec![keyed.clone()]).await;
    f.submit(vec![
        expiring("late", 5),
        after("aborted", "late", DependencyPolicy::AbortSuccessors),
        after("runs", "late", DependencyPolicy::RunOnError),
    ])
    .await;
    f.advance(seconds(5));
    let (claimed, expired) = claim_all(&f).await;
    assert_eq!((claimed, expired.len()), (vec!["runs".to_owned()], 2));
    assert_eq!(f.status("aborted").await, Status::Aborted);
    f.try_submit(vec![NewTask { id: id("next"), ..keyed }], OnConflict::Fail).await.unwrap();
    assert_eq!(ids(&f.claim(1).await), ["next"]);
    f.assert_conserved().await;
}

pub async fn no_copy_is_made_of_an_expired_task_that_wants_none(f: Fixture) {
    let mut quiet = expiring("quiet", 1);
    quiet.overrides.dead_letter = Some(DeadLetter::None);
    f.submit(vec![quiet]).await;
    f.advance(seconds(1));
    assert!(claim_all(&f).await.0.is_empty());
    assert_eq!(f.engine.dead_letters(0, 10).await.unwrap().copies.len(), 0);
    assert!(!f.get("quiet").await.dead_letter);
}

pub async fn a_task_that_is_sent_again_does_not_expire(f: Fixture) {
    f.submit(vec![expiring("kept", 1), expiring("gone", 1)]).await;
    f.advance(seconds(1));
    claim_all(&f).await;
    let copies = f.engine.dead_letters(0, 10).await.unwrap().copies;
    let gone = copies.into_iter().find(|copy| copy.task.id == id("gone")).unwrap();
    f.engine.delete_tasks(&[id("gone")], true).await.unwrap();
    let batch = vec![Resubmit::of_store(id("kept")), Resubmit::of_archive(gone)];
    assert_eq!(f.engine.resubmit(batch).await.unwrap(), [Resubmitted::Done, Resubmitted::Done]);
    f.advance(seconds(100));
    for text in ["kept", "gone"] {
        let Task { overrides, .. } = f.get(text).await;
        assert_eq!((overrides.expires_in, f.get(text).await.expires_at()), (None, None), "{text}");
    }
    assert_eq!(f.claim(5).await.len(), 2);
}

pub async fn a_claim_drops_a_bounded_number_and_is_repeated_at_once(f: Fixture) {
    for batch in 0..3 {
        let tasks = (0..500).map(|n| expiring(&format!("e{batch}-{n:03}"), 1)).collect();
        f.submit(tasks).await;
    }
    f.submit_ids(&["last"]).await;
    f.advance(seconds(1));
    let (mut dropped, mut calls) = (0, 0);
    loop {
        calls += 1;
        let reply = f.cycle_as("w1", &["default"], 7, Vec::new()).await;
        assert!(reply.expired.len() <= 300, "{} in one call", reply.expired.len());
        dropped += reply.expired.len();
        if !reply.claimed.is_empty() {
            assert_eq!(ids(&reply.claimed), ["last"]);
            break;
        }
        assert_eq!((reply.more, reply.next_due), (false, Some(Duration::ZERO)), "there may be more at once");
    }
    assert!(dropped == 1_500 && calls >= 5, "{dropped} in {calls} calls");
    f.assert_conserved().await;
}

pub async fn expired_tasks_are_dropped_wherever_they_wait(f: Fixture) {
    f.create_queue("old").await;
    let urgent = NewTask { priority: Priority::new(9).unwrap(), ..expiring("urgent", 5) };
    let later = NewTask { start: Start::After(seconds(1)), ..expiring("later", 5) };
    let moved = NewTask { queue: queue("old"), ..expiring("moved", 5) };
    f.submit(vec![expiring("a", 5), urgent, later, task("b"), moved, expiring("c", 60)]).await;
    assert_eq!(f.engine.move_tasks(&queue("old"), &queue("default"), 10).await.unwrap(), 1);
    let aside = f.cycle_refusing("w1", &["echo"], 10, Vec::new()).await;
    assert_eq!((aside.claimed.len(), aside.expired.len()), (0, 0));
    f.advance(seconds(10));
    let aside = f.cycle_refusing("w1", &["echo"], 10, Vec::new()).await;
    assert_eq!((aside.claimed.len(), aside.expired.len()), (0, 0), "it is for others to ask for them");
    let (claimed, expired) = claim_all(&f).await;
    assert_eq!(claimed, ["b", "c"]);
    assert_eq!(expired.len(), 4);
    for text in ["a", "urgent", "later", "moved"] {
        assert_eq!(f.status(text).await, Status::Dropped, "{text}");
    }
    f.assert_conserved().await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_claim_that_drops_still_leases_what_it_may(f: Fixture) {
    f.create_queue("other").await;
    for n in 0..4 {
        f.submit(vec![expiring(&format!("late-{n}"), 1), task(&format!("good-{n}"))]).await;
    }
    f.submit(vec![task_in("good-4", "other")]).await;
    f.advance(seconds(1));
    let reply = f.cycle_as("w1", &["default", "other"], 3, Vec::new()).await;
    assert_eq!((ids(&reply.claimed), reply.expired.len(), reply.more), (vec!["good-0", "good-1", "good-2"], 3, true));
    let reply = f.cycle_as("w1", &["default", "other"], 3, Vec::new()).await;
    assert_eq!((ids(&reply.claimed), reply.expired.len(), reply.more), (vec!["good-3", "good-4"], 1, true));
    f.assert_conserved().await;
}

pub async fn an_expired_task_no_longer_counts_as_waiting(f: Fixture) {
    let bounds = QueueConfig { max_length: Some(2), max_bytes: Some(100), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(bounds, PutMode::Replace).await.unwrap();
    f.submit(vec![expiring("a", 1), expiring("b", 1)]).await;
    f.try_submit(vec![task("c")], OnConflict::Fail).await.unwrap_err();
    f.advance(seconds(1));
    assert_eq!(claim_all(&f).await.1.len(), 2);
    assert_eq!(f.stats("default").await.waiting_bytes, Some(0));
    f.submit(vec![task("c"), task("d")]).await;
    assert_sound(&f, 7, false).await;
}

pub async fn a_restored_task_expires_when_it_would_have(f: Fixture) {
    let later = NewTask { start: Start::After(seconds(20)), ..expiring("later", 10) };
    f.submit(vec![expiring("begun", 10)]).await;
    let begun = f.claim_one().await;
    f.settle(&begun, RELEASED).await;
    f.submit(vec![expiring("ready", 10), later]).await;
    let all = [id("begun"), id("ready"), id("later")];
    let backup = Arc::clone(&f.engine).backup();
    f.advance(seconds(5));
    let dumped: Vec<_> = backup.dump(&all).await.unwrap().into_iter().flatten().collect();
    f.engine.delete_tasks(&all, false).await.unwrap();
    assert_eq!(backup.restore(dumped.clone()).await.unwrap(), vec![Restored::Done; 3]);
    for stored in dumped {
        assert_eq!(f.get(stored.task.id.as_str()).await.expires_at(), stored.task.expires_at());
    }
    f.advance(seconds(5));
    let (claimed, expired) = claim_all(&f).await;
    assert_eq!((claimed, expired.len()), (vec!["begun".to_owned()], 1));
    assert_eq!(f.status("ready").await, Status::Dropped);
    f.advance(seconds(20));
    assert_eq!(claim_all(&f).await.1.len(), 1);
    assert_eq!(f.status("later").await, Status::Dropped);
    assert_sound(&f, 7, false).await;
}

pub async fn an_expired_task_uses_up_no_slot_of_a_limit(f: Fixture) {
    let gate = GateLimits { max_concurrent: Some(1), rate_limit: None };
    let limits = BTreeMap::from([(TaskName::new("echo").unwrap(), gate)]);
    let config = QueueConfig { task_limits: limits, max_concurrent: Some(2), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Replace).await.unwrap();
    f.submit(vec![task("runs"), expiring("late", 1), expiring("late-too", 1), task("next")]).await;
    let first = f.cycle_as("w1", &["default"], 4, Vec::new()).await;
    assert_eq!((ids(&first.claimed), first.expired.len()), (vec!["runs"], 0), "the others wait behind the limit");
    f.advance(seconds(2));
    let done =
        first.claimed.iter().map(|it| Settlement::new(it.id.clone(), it.fence, crate::conformance::DONE)).collect();
    let mut reply = f.cycle_as("w1", &["default"], 4, done).await;
    assert_eq!(reply.settled, [Accepted(Status::Completed)]);
    let mut dropped = reply.expired.len();
    while reply.claimed.is_empty() {
        reply = f.cycle_as("w1", &["default"], 4, Vec::new()).await;
        dropped += reply.expired.len();
    }
    assert_eq!((ids(&reply.claimed), dropped), (vec!["next"], 2));
}

pub async fn an_expiry_is_part_of_the_submission(f: Fixture) {
    f.submit(vec![expiring("a", 9)]).await;
    f.submit(vec![expiring("a", 9)]).await;
    let other = Submit { tasks: vec![expiring("a", 8)], on_conflict: OnConflict::Fail };
    assert_eq!(f.engine.submit(other).await.unwrap_err().kind(), "conflict");
}
