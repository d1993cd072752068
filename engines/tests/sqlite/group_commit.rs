//! Callers that share a commit do not share their failures.

use std::sync::Arc;

use futures_util::future::join_all;
use jobbers_common::{
    engine::{Error, OnConflict},
    payload::Payload,
    task::NewTask,
};
use jobbers_law::conformance::{id, task, task_in};

use super::open;

#[tokio::test]
async fn a_failing_verb_does_not_undo_its_neighbours() {
    let f = open().await;
    f.submit_ids(&["taken"]).await;
    let taken = || NewTask { parameters: Payload::json(&b"2"[..]), ..task("taken") };
    // All at once, so that they share transactions; every third one stores a task before it fails.
    let submissions = (0..300).map(|n| {
        let own = format!("t{n}");
        let tasks = match n % 3 {
            0 => vec![task(&own)],
            1 => vec![task(&own), taken()],
            _ => vec![task(&own), task_in(&format!("u{n}"), "nowhere")],
        };
        f.try_submit(tasks, OnConflict::Fail)
    });
    let answers = join_all(submissions).await;
    for (n, answer) in answers.iter().enumerate() {
        match (n % 3, answer) {
            (0, Ok(_)) | (1, Err(Error::Conflict { .. })) | (2, Err(Error::UnknownQueue(_))) => {}
            (_, answer) => panic!("submission {n}: {answer:?}"),
        }
        let stored = f.engine.get(&id(&format!("t{n}"))).await.unwrap();
        assert_eq!(stored.is_some(), n % 3 == 0, "submission {n}");
    }
    let stats = f.stats("default").await;
    assert_eq!((stats.accepted, stats.removed), (101, 0));
    f.assert_conserved().await;
}

#[tokio::test]
async fn what_a_caller_no_longer_waits_for_happens_all_the_same() {
    let f = open().await;
    let engine = Arc::clone(&f.engine);
    let submission = tokio::spawn(async move {
        let batch = jobbers_common::engine::Submit { tasks: vec![task("a")], on_conflict: OnConflict::Fail };
        // Polled once, so that it is on its way, then dropped.
        futures_util::FutureExt::now_or_never(engine.submit(batch))
    });
    assert!(submission.await.unwrap().is_none());
    // The writer takes what waits in the order it came.
    f.submit_ids(&["b"]).await;
    assert_eq!(f.get("a").await.id, id("a"));
}
