//! What attempts leave for the traces of those that come after them.

use std::time::Duration;

use jobbers_common::{
    engine::{
        Cycle, Error, Extension, Heartbeat, OnConflict, Outcome, PruneRequest, PruneScope, Resubmit, SettleAnswer,
        Settlement, TaskFilter,
    },
    lifecycle::Status,
    payload::Payload,
    task::{ClaimedTask, NewTask, Progress},
};

use crate::conformance::{DONE, Fixture, LEASE, RELEASED, failure, id, retry, seconds, task, worker};

use SettleAnswer::{Accepted, LeaseLost};

const SPAN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const LATER_SPAN: &str = "00-5bf92f3577b34da6a3ce929d0e0e4736-11f067aa0ba902b7-01";

async fn settle_with(f: &Fixture, task: &ClaimedTask, outcome: Outcome, span: Option<&str>) -> SettleAnswer {
    let settlement = Settlement { span: span.map(Box::from), ..Settlement::new(task.id.clone(), task.fence, outcome) };
    f.cycle_as("w1", &[], 0, vec![settlement]).await.settled[0]
}

pub async fn the_span_of_an_attempt_is_handed_to_the_next(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let first = f.claim_one().await;
    assert_eq!(first.last_span, None);
    assert_eq!(settle_with(&f, &first, retry(seconds(5)), Some(SPAN)).await, Accepted(Status::Scheduled));
    assert_eq!(f.get("a").await.last_span.as_deref(), Some(SPAN));
    f.advance(seconds(5));
    let second = f.claim_one().await;
    assert_eq!((second.attempt, second.last_span.as_deref()), (2, Some(SPAN)));
    settle_with(&f, &second, RELEASED, Some(LATER_SPAN)).await;
    let again = f.claim_one().await;
    assert_eq!((again.attempt, again.last_span.as_deref()), (2, Some(LATER_SPAN)), "also one that was given back");
    f.settle(&again, retry(Duration::ZERO)).await;
    let third = f.claim_one().await;
    assert_eq!(third.last_span.as_deref(), Some(LATER_SPAN), "one without a span leaves what was there");
    f.advance(LEASE);
    f.engine.reclaim_expired(10).await.unwrap();
    let after_a_crash = f.claim_one().await;
    let counts = (after_a_crash.crashes, after_a_crash.last_span.as_deref());
    assert_eq!(counts, (1, Some(LATER_SPAN)), "who vanishes says nothing");
    assert_eq!(settle_with(&f, &third, retry(Duration::ZERO), Some(SPAN)).await, LeaseLost);
    assert_eq!(f.get("a").await.last_span.as_deref(), Some(LATER_SPAN), "nor does who comes too late");
    settle_with(&f, &after_a_crash, DONE, Some(SPAN)).await;
    assert_eq!(f.get("a").await.last_span.as_deref(), Some(LATER_SPAN), "nothing follows the one that completes");
}

pub async fn a_span_and_a_heartbeat_are_in_nobody_s_way(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    for claimed in f.claim(2).await {
        settle_with(&f, &claimed, retry(Duration::ZERO), Some(SPAN)).await;
    }
    let claimed = f.claim(2).await;
    let heartbeat = Heartbeat {
        progress: Some(Progress { fraction: 0.5, message: "half".to_owned() }),
        checkpoint: Some(Payload::json("{\"at\":3}")),
    };
    let extension = Extension { id: id("a"), fence: claimed[0].fence, heartbeat: Some(heartbeat.clone()) };
    f.engine.extend(&worker("w1"), LEASE, vec![extension]).await.unwrap();
    let running = f.get("a").await;
    assert_eq!((running.progress, running.checkpoint), (heartbeat.progress, heartbeat.checkpoint.clone()));
    assert_eq!(running.last_span.as_deref(), Some(SPAN));
    let listed = f.list(TaskFilter::default(), 1).await;
    assert!(listed.iter().all(|task| task.last_span.as_deref() == Some(SPAN)), "{listed:?}");
    settle_with(&f, &claimed[0], retry(Duration::ZERO), Some(LATER_SPAN)).await;
    f.settle(&claimed[1], retry(Duration::ZERO)).await;
    let claimed = f.claim(2).await;
    let left: Vec<_> = claimed.into_iter().map(|task| (task.checkpoint, task.last_span)).collect();
    assert_eq!(left, [(heartbeat.checkpoint, Some(LATER_SPAN.into())), (None, Some(SPAN.into()))]);
    assert_eq!(f.get("a").await.progress, None, "progress belongs to its attempt");
}

pub async fn a_span_outlives_its_task_s_end(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let failed = Outcome::Failed { failure: failure("no"), dead_letter: true };
    settle_with(&f, &f.claim_one().await, failed.clone(), Some(SPAN)).await;
    let copy = f.engine.dead_letters(0, 1).await.unwrap().copies.remove(0);
    assert_eq!(copy.task.last_span.as_deref(), Some(SPAN));
    f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap();
    let claimed = f.claim_one().await;
    assert_eq!((claimed.attempt, claimed.last_span.as_deref()), (1, Some(SPAN)), "sent again where it lies");
    settle_with(&f, &claimed, failed, Some(LATER_SPAN)).await;
    let copy = f.engine.dead_letters(copy.task.revision, 1).await.unwrap().copies.remove(0);
    let request = PruneRequest {
        scope: PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None },
        limit: 10,
        dry_run: false,
        cursor: None,
    };
    f.engine.prune(request).await.unwrap();
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
    f.engine.resubmit(vec![Resubmit::of_archive(copy)]).await.unwrap();
    assert_eq!(f.claim_one().await.last_span.as_deref(), Some(LATER_SPAN), "made anew from its copy");
}

pub async fn a_replacement_knows_of_no_span(f: Fixture) {
    f.submit_ids(&["a"]).await;
    settle_with(&f, &f.claim_one().await, retry(Duration::ZERO), Some(SPAN)).await;
    f.try_submit(vec![NewTask { version: 2, ..task("a") }], OnConflict::Replace).await.unwrap();
    assert_eq!((f.get("a").await.last_span, f.claim_one().await.last_span), (None, None));
}

pub async fn a_span_that_is_none_is_refused(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    for bad in ["", "00-1-1-01", &SPAN[..54], &format!("{SPAN}0"), &SPAN.replace('f', "F"), &SPAN.replace('f', ";")] {
        let settlement = Settlement {
            span: Some(bad.into()),
            ..Settlement::new(claimed.id.clone(), claimed.fence, retry(Duration::ZERO))
        };
        let cycle = Cycle { worker: worker("w1"), settlements: vec![settlement], claim: None };
        assert!(matches!(f.engine.cycle(cycle).await, Err(Error::Invalid(_))), "{bad}");
    }
    assert_eq!(f.status("a").await, Status::Started);
}
