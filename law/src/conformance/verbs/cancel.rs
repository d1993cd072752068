//! Cancelling: durable, and never undone by what races with it.

use std::time::Duration;

use jobbers_common::{
    engine::{Cancelled, ExtendAnswer, Extension, Outcome, SettleAnswer},
    lifecycle::Status,
    payload::Payload,
    task::{NewTask, Start},
    time::Clock,
};

use crate::conformance::{DONE, Fixture, LEASE, RELEASED, failure, id, ids, retry, seconds, task, worker};

async fn cancel(f: &Fixture, text: &str) -> Cancelled {
    f.engine.cancel(&[id(text)]).await.unwrap()[0]
}

pub async fn a_submitted_task_is_cancelled_at_once(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.advance(seconds(1));
    assert_eq!(cancel(&f, "a").await, Cancelled::Done);
    let task = f.get("a").await;
    assert_eq!((task.status, task.completed_at), (Status::Cancelled, Some(f.clock.now())));
    assert_eq!((task.attempt, task.worker), (0, None));
    assert!(task.parameters.is_some());
    f.assert_conserved().await;
}

pub async fn a_scheduled_task_is_cancelled_at_once(f: Fixture) {
    f.submit(vec![NewTask { start: Start::After(seconds(10)), ..task("a") }, task("b")]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, retry(seconds(10))).await;
    assert_eq!(f.engine.cancel(&[id("a"), id("b")]).await.unwrap(), [Cancelled::Done, Cancelled::Done]);
    f.advance(seconds(20));
    assert!(f.claim(10).await.is_empty());
    let retried = f.get("b").await;
    assert_eq!((retried.status, retried.errors.len(), retried.attempt), (Status::Cancelled, 1, 1));
}

pub async fn a_running_task_is_told(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let claimed = f.claim(2).await;
    assert_eq!(cancel(&f, "a").await, Cancelled::Requested);
    assert_eq!(cancel(&f, "a").await, Cancelled::Requested, "asking twice is no error");
    let task = f.get("a").await;
    assert_eq!((task.status, task.cancel_requested), (Status::Started, true));
    let reply = f.cycle_as("w1", &["default"], 1, Vec::new()).await;
    assert_eq!(reply.cancel_requested, [id("a")]);
    let reply = f.cycle_as("w1", &["default"], 1, Vec::new()).await;
    assert_eq!(reply.cancel_requested, [id("a")], "until it is settled");
    assert!(f.cycle_as("w2", &["default"], 1, Vec::new()).await.cancel_requested.is_empty());
    let extensions =
        claimed.iter().map(|task| Extension { id: task.id.clone(), fence: task.fence, heartbeat: None }).collect();
    assert_eq!(
        f.engine.extend(&worker("w1"), LEASE, extensions).await.unwrap(),
        [ExtendAnswer::Extended { cancel_requested: true }, ExtendAnswer::Extended { cancel_requested: false }]
    );
    assert_eq!(f.settle(&claimed[0], Outcome::Cancelled).await, SettleAnswer::Accepted(Status::Cancelled));
}

pub async fn a_completion_does_not_undo_a_cancel(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    cancel(&f, "a").await;
    let outcome = Outcome::Completed { result: Some(Payload::json(&b"1"[..])) };
    assert_eq!(f.settle(&claimed, outcome).await, SettleAnswer::Accepted(Status::Cancelled));
    let task = f.get("a").await;
    assert_eq!((task.status, task.result, task.cancel_requested), (Status::Cancelled, None, false));
    assert_eq!((f.count(Status::Cancelled).await, f.count(Status::Completed).await), (1, 0));
}

pub async fn a_retry_does_not_undo_a_cancel(f: Fixture) {
    f.submit_ids(&["retry", "fail", "release"]).await;
    let claimed = f.claim(3).await;
    for task in ["retry", "fail", "release"] {
        cancel(&f, task).await;
    }
    let outcomes = [retry(Duration::ZERO), Outcome::Failed { failure: failure("no"), dead_letter: true }, RELEASED];
    for (task, outcome) in claimed.iter().zip(outcomes) {
        assert_eq!(f.settle(task, outcome).await, SettleAnswer::Accepted(Status::Cancelled));
    }
    assert_eq!(f.get("retry").await.errors.len(), 1, "what went wrong is still told");
    assert!(!f.get("fail").await.dead_letter);
    assert_eq!(f.get("release").await.status, Status::Cancelled);
    assert!(f.claim(10).await.is_empty());
}

pub async fn a_crash_does_not_undo_a_cancel(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.claim(1).await;
    cancel(&f, "a").await;
    f.advance(LEASE);
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().count(Status::Cancelled), 1);
    let task = f.get("a").await;
    assert_eq!((task.status, task.crashes, task.cancel_requested), (Status::Cancelled, 1, false));
}

pub async fn a_finished_task_stays_as_it_is(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    let before = f.get("a").await;
    assert_eq!(cancel(&f, "a").await, Cancelled::AlreadyOver(Status::Completed));
    assert_eq!(f.get("a").await, before);
}

pub async fn an_unknown_task_is_said_to_be_unknown(f: Fixture) {
    assert_eq!(cancel(&f, "nobody").await, Cancelled::Unknown);
    assert!(f.engine.cancel(&[]).await.unwrap().is_empty());
}

pub async fn many_are_cancelled_at_once(f: Fixture) {
    f.submit((0..10).map(|n| task(&format!("t{n}"))).collect()).await;
    f.claim(3).await;
    let all: Vec<_> = (0..11).map(|n| id(&format!("t{n}"))).collect();
    let answers = f.engine.cancel(&all).await.unwrap();
    assert_eq!(answers[..3], [Cancelled::Requested; 3]);
    assert_eq!(answers[3..10], [Cancelled::Done; 7]);
    assert_eq!(answers[10], Cancelled::Unknown);
    let too_many: Vec<_> = (0..1_001).map(|n| id(&format!("x{n}"))).collect();
    assert!(f.engine.cancel(&too_many).await.is_err());
}

pub async fn a_cancelled_task_is_not_claimed(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    cancel(&f, "b").await;
    assert_eq!(ids(&f.claim(10).await), ["a", "c"]);
}

pub async fn a_cancel_request_ends_with_its_task(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    cancel(&f, "a").await;
    f.settle(&claimed, Outcome::Cancelled).await;
    assert!(f.cycle_as("w1", &["default"], 1, Vec::new()).await.cancel_requested.is_empty());
    let replacement = NewTask { version: 2, ..task("a") };
    f.try_submit(vec![replacement], jobbers_common::engine::OnConflict::Replace).await.unwrap();
    let reply = f.cycle_as("w1", &["default"], 1, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.cancel_requested.len()), (1, 0));
    assert!(!f.get("a").await.cancel_requested);
}
