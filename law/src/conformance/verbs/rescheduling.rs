//! Scheduled tasks that get another time.

use jobbers_common::{
    engine::Rescheduled,
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskId,
    task::{NewTask, Priority, Start},
    time::Clock,
};

use crate::conformance::{DONE, Fixture, failed, id, retry, seconds, task, task_in};

const NOW: Rescheduled = Rescheduled::Done(Status::Submitted);
const LATER: Rescheduled = Rescheduled::Done(Status::Scheduled);

async fn reschedule(f: &Fixture, text: &str, start: Start) -> Rescheduled {
    f.engine.reschedule(&[id(text)], start).await.unwrap()[0]
}

fn named(texts: &[&str]) -> Vec<TaskId> {
    texts.iter().map(|text| id(text)).collect()
}

/// A task that is due after so many seconds.
fn later(text: &str, after: u64) -> NewTask {
    NewTask { start: Start::After(seconds(after)), ..task(text) }
}

pub async fn a_scheduled_task_is_run_at_once(f: Fixture) {
    f.submit(vec![later("a", 3_600), task("b")]).await;
    let before = f.get("a").await.revision;
    f.advance(seconds(1));
    assert_eq!(reschedule(&f, "a", Start::Now).await, NOW);
    let moved = f.get("a").await;
    assert_eq!((moved.status, moved.ready_at), (Status::Submitted, f.clock.now()));
    assert!(moved.revision > before);
    let claimed: Vec<_> = f.claim(2).await.into_iter().map(|task| task.id).collect();
    assert_eq!(claimed, named(&["b", "a"]), "at the end of its priority");
    f.assert_conserved().await;
}

pub async fn a_scheduled_task_gets_an_earlier_and_a_later_time(f: Fixture) {
    f.submit(vec![later("a", 100), later("b", 100)]).await;
    let start = f.clock.now();
    assert_eq!(reschedule(&f, "a", Start::At(start.after(seconds(10)))).await, LATER);
    assert_eq!(reschedule(&f, "b", Start::After(seconds(200))).await, LATER);
    assert_eq!((f.get("a").await.status, f.get("b").await.status), (Status::Scheduled, Status::Scheduled));
    assert_eq!(f.get("a").await.ready_at, start.after(seconds(10)));
    f.advance(seconds(9));
    assert_eq!(f.claim(2).await.len(), 0);
    f.advance(seconds(1));
    assert_eq!(f.claim_one().await.id, id("a"));
    f.advance(seconds(150));
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 0, "its first time does not count any more");
    f.advance(seconds(40));
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 1);
    f.assert_conserved().await;
}

pub async fn a_retry_is_run_at_once_and_keeps_its_attempts(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let first = f.claim_one().await;
    f.settle(&first, retry(seconds(60))).await;
    assert_eq!(reschedule(&f, "a", Start::Now).await, NOW);
    let again = f.claim_one().await;
    assert_eq!((again.id.as_str(), again.attempt), ("a", 2));
    assert_eq!(f.get("a").await.errors.len(), 1);
    f.settle(&again, DONE).await;
    f.assert_conserved().await;
}

pub async fn a_time_that_has_passed_is_now(f: Fixture) {
    f.submit(vec![later("a", 60)]).await;
    let past = f.clock.now();
    f.advance(seconds(5));
    assert_eq!(reschedule(&f, "a", Start::At(past)).await, NOW);
    assert_eq!((f.get("a").await.status, f.get("a").await.ready_at), (Status::Submitted, f.clock.now()));
}

pub async fn only_scheduled_tasks_get_another_time(f: Fixture) {
    f.submit_ids(&["running", "over", "ready"]).await;
    let claimed = f.claim(2).await;
    f.settle(&claimed[1], failed(false)).await;
    let several = named(&["running", "over", "ready", "nobody"]);
    let before = [f.get("running").await, f.get("over").await, f.get("ready").await];
    let said = f.engine.reschedule(&several, Start::After(seconds(5))).await.unwrap();
    let is = Rescheduled::NotScheduled;
    assert_eq!(said, [is(Status::Started), is(Status::Failed), is(Status::Submitted), Rescheduled::Unknown]);
    assert_eq!([f.get("running").await, f.get("over").await, f.get("ready").await], before);
}

pub async fn a_task_that_is_named_twice_is_moved_twice(f: Fixture) {
    f.submit(vec![later("a", 60), later("b", 60)]).await;
    let later_twice = f.engine.reschedule(&named(&["a", "a"]), Start::After(seconds(90))).await.unwrap();
    assert_eq!(later_twice, [LATER; 2]);
    let now_twice = f.engine.reschedule(&named(&["b", "b"]), Start::Now).await.unwrap();
    assert_eq!(now_twice, [NOW, Rescheduled::NotScheduled(Status::Submitted)]);
    f.assert_conserved().await;
}

pub async fn a_call_reschedules_a_bounded_number(f: Fixture) {
    f.submit((0..MAX_BATCH).map(|n| later(&format!("t{n}"), 60)).collect()).await;
    let many: Vec<_> = (0..=MAX_BATCH).map(|n| id(&format!("t{n}"))).collect();
    assert_eq!(f.engine.reschedule(&many, Start::Now).await.unwrap_err().kind(), "invalid");
    assert_eq!(f.engine.reschedule(&many[..MAX_BATCH], Start::Now).await.unwrap(), vec![NOW; MAX_BATCH]);
    assert_eq!(f.engine.reschedule(&[], Start::Now).await.unwrap(), []);
    assert_eq!(f.claim(MAX_BATCH).await.len(), MAX_BATCH);
}

pub async fn tasks_of_several_queues_are_run_by_their_priorities(f: Fixture) {
    f.create_queue("mail").await;
    let urgent = NewTask { priority: Priority::new(9).unwrap(), ..later("urgent", 60) };
    f.submit(vec![later("a", 60), urgent]).await;
    f.submit(vec![NewTask { start: Start::After(seconds(60)), ..task_in("m", "mail") }]).await;
    f.engine.reschedule(&named(&["a", "urgent", "m"]), Start::Now).await.unwrap();
    let claimed: Vec<_> = f.claim_from(&["default", "mail"], 3).await.into_iter().map(|task| task.id).collect();
    assert_eq!(claimed, named(&["urgent", "a", "m"]));
    f.assert_conserved().await;
}
