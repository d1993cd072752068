//! Moving what waits from one queue to another.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Extension, Heartbeat, OnConflict, Outcome, SubmittedHow},
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_BATCH},
    payload::Payload,
    task::{
        NewTask, Priority, Start, Task,
        unique::{Unique, UniqueKey},
    },
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, failure, id, ids, queue, retry, seconds, task, task_in, worker,
};

async fn moved(f: &Fixture, from: &str, to: &str, limit: usize) -> u64 {
    f.engine.move_tasks(&queue(from), &queue(to), limit).await.unwrap()
}

/// Without what a move changes.
fn plain(task: Task) -> Task {
    Task { queue: queue("default"), revision: 0, ..task }
}

pub async fn what_waits_moves_and_keeps_its_order(f: Fixture) {
    f.create_queue("old").await;
    let urgent = Priority::new(9).unwrap();
    f.submit(vec![task_in("a", "old"), task("b"), task_in("c", "old")]).await;
    f.submit(vec![NewTask { priority: urgent, ..task_in("d", "old") }, task("e")]).await;
    assert_eq!(moved(&f, "old", "default", MAX_BATCH).await, 3);
    assert_eq!(moved(&f, "old", "default", MAX_BATCH).await, 0, "safe to repeat");
    assert_eq!(ids(&f.claim(10).await), ["d", "a", "b", "c", "e"], "as if they had been there all along");
    let (old, new) = (f.stats("old").await, f.stats("default").await);
    assert_eq!((old.accepted, old.removed, new.accepted), (3, 3, 5));
    f.assert_conserved().await;
}

pub async fn a_moved_task_is_what_it_was(f: Fixture) {
    f.create_queue("old").await;
    let unique = Some(Box::new(Unique::new(UniqueKey::new("k").unwrap())));
    let large = Payload::json(vec![b'7'; KEPT_PARAMETER_BYTES + 1]);
    let new = NewTask { unique, parameters: large, trace: Some("00-ab-cd-01".into()), ..task_in("a", "old") };
    let later = NewTask { start: Start::After(seconds(100)), ..task_in("later", "old") };
    f.submit(vec![new.clone(), later, task_in("backoff", "old")]).await;
    for claimed in f.claim_from(&["old"], 2).await {
        let heartbeat = Heartbeat { progress: None, checkpoint: Some(Payload::json("1")) };
        let extension = Extension { id: claimed.id.clone(), fence: claimed.fence, heartbeat: Some(heartbeat) };
        f.engine.extend(&worker("w1"), LEASE, vec![extension]).await.unwrap();
        let delay = if claimed.id == id("a") { Duration::ZERO } else { seconds(50) };
        f.settle(&claimed, retry(delay)).await;
    }
    f.advance(seconds(3));
    let before = [f.get("a").await, f.get("later").await, f.get("backoff").await];
    assert_eq!(moved(&f, "old", "default", MAX_BATCH).await, 3);
    for task in before {
        let after = f.get(task.id.as_str()).await;
        assert_eq!(after.queue, queue("default"));
        assert!(after.revision > task.revision, "it has changed");
        assert_eq!(plain(after), plain(task));
    }
    assert_eq!(f.submit(vec![new]).await[0].how, SubmittedHow::Existing, "its submission is known as before");
    let claimed = f.claim(10).await;
    assert_eq!((ids(&claimed), claimed[0].attempt, claimed[0].checkpoint.is_some()), (vec!["a"], 2, true));
    f.settle(&claimed[0], DONE).await;
    f.advance(seconds(50));
    let claimed = f.claim(10).await;
    assert_eq!(ids(&claimed), ["backoff"]);
    f.settle(&claimed[0], DONE).await;
    f.advance(seconds(50));
    assert_eq!(ids(&f.claim(10).await), ["later"]);
    f.assert_conserved().await;
}

pub async fn what_runs_or_is_over_stays(f: Fixture) {
    f.create_queue("old").await;
    f.submit(vec![task_in("over", "old"), task_in("runs", "old"), task_in("fails", "old")]).await;
    let claimed = f.claim_from(&["old"], 3).await;
    f.settle(&claimed[0], DONE).await;
    assert_eq!(moved(&f, "old", "default", MAX_BATCH).await, 0);
    f.settle(&claimed[1], RELEASED).await;
    f.settle(&claimed[2], Outcome::Failed { failure: failure("no"), dead_letter: false }).await;
    assert_eq!(moved(&f, "old", "default", MAX_BATCH).await, 1, "what came back goes along");
    assert_eq!(ids(&f.claim(10).await), ["runs"]);
    assert_eq!((f.get("over").await.queue, f.get("fails").await.queue), (queue("old"), queue("old")));
    f.assert_conserved().await;
}

pub async fn a_move_is_bounded_and_begins_with_what_is_next(f: Fixture) {
    f.create_queue("old").await;
    let later = |n: u64| NewTask { start: Start::After(seconds(n)), ..task_in(&format!("later{n}"), "old") };
    f.submit(vec![later(9), later(5), task_in("a", "old"), task_in("b", "old")]).await;
    let mut steps = Vec::new();
    for at_first in [["a"].as_slice(), &["a", "b"], &["a", "b", "later5"], &["a", "b", "later5", "later9"]] {
        steps.push(moved(&f, "old", "default", 1).await);
        for text in ["a", "b", "later5", "later9"] {
            let expected = if at_first.contains(&text) { "default" } else { "old" };
            assert_eq!(f.get(text).await.queue, queue(expected), "{text} after {steps:?}");
        }
        f.assert_conserved().await;
    }
    assert_eq!((steps, moved(&f, "old", "default", 1).await), (vec![1, 1, 1, 1], 0));
    assert_eq!(f.stats("old").await.tasks.values().sum::<u64>(), 0);
}

pub async fn a_moved_task_can_be_cancelled_purged_replaced_and_listed(f: Fixture) {
    f.create_queue("old").await;
    f.submit(vec![task_in("a", "old"), task_in("b", "old"), task_in("c", "old")]).await;
    assert_eq!(moved(&f, "old", "default", MAX_BATCH).await, 3);
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_eq!((f.status("a").await, f.get("a").await.queue), (Status::Cancelled, queue("default")));
    f.try_submit(vec![task_in("b", "old")], OnConflict::Skip).await.unwrap();
    let replaced =
        f.try_submit(vec![NewTask { version: 2, ..task_in("b", "old") }], OnConflict::Replace).await.unwrap();
    assert_eq!((replaced[0].how, &replaced[0].queue), (SubmittedHow::Replaced, &queue("old")));
    assert_eq!(f.engine.purge_queue(&queue("default"), 10).await.unwrap(), 1);
    let listed = f.list(jobbers_common::engine::TaskFilter::default(), 10).await;
    assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    f.assert_conserved().await;
}

pub async fn a_move_past_its_bounds_is_refused(f: Fixture) {
    f.create_queue("old").await;
    f.submit(vec![task_in("a", "old")]).await;
    let call = |from, to, limit| {
        let (engine, from, to) = (std::sync::Arc::clone(&f.engine), queue(from), queue(to));
        async move { engine.move_tasks(&from, &to, limit).await }
    };
    assert_eq!(call("nowhere", "default", 1).await, Err(Error::UnknownQueue(queue("nowhere"))));
    assert_eq!(call("old", "nowhere", 1).await, Err(Error::UnknownQueue(queue("nowhere"))));
    for (from, to, limit) in [("old", "old", 1), ("old", "default", 0), ("old", "default", MAX_BATCH + 1)] {
        assert!(matches!(call(from, to, limit).await, Err(Error::Invalid(_))), "{from} {to} {limit}");
    }
    assert_eq!(f.get("a").await.queue, queue("old"));
}
