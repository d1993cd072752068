//! How attempts end.

use std::time::Duration;

use jobbers_common::{
    engine::{Letters, Resubmit, Tasks},
    lifecycle::Status,
    policy::{DeadLetter, OnStall, PolicyOverrides, backoff::Backoff},
    task::FailureKind,
};
use jobbers_worker::{Raw, prelude::*};

use crate::bench::{Bench, json, probe};

#[derive(Serialize, Deserialize)]
struct Size {
    width: u32,
}

#[task]
async fn area(size: Size) -> Result<u32, TaskError> {
    Ok(size.width * size.width)
}

/// The same name, for submissions that expire by declaration.
#[task(name = "area", expires_in = "5s", unlisted)]
async fn area_in_time(_size: Size) -> Result<u32, TaskError> {
    Ok(0)
}

/// The same name, for submissions with the wrong parameters.
#[task(name = "area", unlisted)]
async fn area_of_anything(_anything: Raw) -> Result<u32, TaskError> {
    Ok(0)
}

#[tokio::test]
async fn a_task_that_expired_is_dropped_and_the_next_one_runs() {
    let bench = Bench::new();
    let of = |width| area.with(Size { width }).expires_in(Duration::from_secs(5));
    let late = of(2).submit(&bench.client).await.unwrap().id;
    let late_by_declaration = bench.submit(&area_in_time, Size { width: 2 }).await;
    bench.clock.advance(Duration::from_secs(5));
    let in_time = of(3).submit(&bench.client).await.unwrap().id;
    let worker = bench.worker();
    assert_eq!(bench.over(&in_time).await.result, Some(json("9")));
    for late in [late, late_by_declaration] {
        let late = bench.over(&late).await;
        assert_eq!((late.status, late.attempt, late.errors[0].kind), (Status::Dropped, 0, FailureKind::Expired));
    }
    worker.drain().await;
}

#[task(blocking)]
fn area_on_a_thread(size: Size) -> Result<u32, TaskError> {
    Ok(size.width * size.width)
}

#[tokio::test]
async fn a_task_that_answers_is_completed_with_its_result() {
    let bench = Bench::new();
    let id = bench.submit(&area, Size { width: 3 }).await;
    let blocking = bench.submit(&area_on_a_thread, Size { width: 4 }).await;
    let worker = bench.worker();
    for (id, result) in [(id, "9"), (blocking, "16")] {
        let task = bench.over(&id).await;
        assert_eq!((task.status, task.result), (Status::Completed, Some(json(result))));
    }
    let report = worker.drain().await;
    assert_eq!((report.settled, report.lost, report.late), (2, 0, false));
}

#[task(max_retries = 2, retry_delay = "10s", backoff = "exponential")]
async fn flaky(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell(format!("attempt {}", ctx.attempt()));
    Err("not yet".parse::<u32>().map(|_| ()).unwrap_err().into())
}

#[tokio::test]
async fn a_failed_attempt_is_tried_again_after_its_backoff_and_in_the_end_fails() {
    let bench = Bench::new();
    let id = bench.submit(&flaky, NoParameters).await;
    let _worker = bench.worker();
    for (attempt, delay) in [(1, 10), (2, 20)] {
        assert_eq!(bench.event().await, format!("attempt {attempt}"));
        let task = bench.until_status(&id, Status::Scheduled).await;
        let error = task.errors.last().unwrap();
        assert_eq!(task.ready_at.since(error.at), Duration::from_secs(delay));
        assert_eq!((error.kind, error.message.as_str()), (FailureKind::Error, "invalid digit found in string"));
        bench.clock.advance(Duration::from_secs(delay));
    }
    assert_eq!(bench.event().await, "attempt 3");
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.attempt, task.errors.len()), (Status::Failed, 3, 3));
}

#[task]
async fn hopeless() -> Result<(), TaskError> {
    Err(TaskError::fatal("never"))
}

#[task(max_retries = 5)]
async fn void() -> Result<(), TaskError> {
    Err(TaskError::abort("the order was withdrawn").kind("withdrawn"))
}

#[task]
async fn later() -> Result<(), TaskError> {
    Err(TaskError::retry_after(Duration::from_secs(7), "busy"))
}

#[tokio::test]
async fn the_error_says_what_becomes_of_the_task() {
    let bench = Bench::new();
    let (fatal, after) = (bench.submit(&hopeless, NoParameters).await, bench.submit(&later, NoParameters).await);
    let aborted = bench.submit(&void, NoParameters).await;
    let _worker = bench.worker();
    let task = bench.over(&fatal).await;
    assert_eq!((task.status, task.attempt, task.dead_letter), (Status::Failed, 1, true));
    assert_eq!(task.errors[0].kind, FailureKind::Fatal);
    let task = bench.until_status(&after, Status::Scheduled).await;
    assert_eq!(task.ready_at.since(task.errors[0].at), Duration::from_secs(7));
    let task = bench.over(&aborted).await;
    assert_eq!((task.status, task.attempt, task.dead_letter), (Status::Aborted, 1, false));
    assert_eq!(task.errors[0].error_kind.as_ref().unwrap().as_str(), "withdrawn");
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

#[task(max_retries = 0)]
async fn panics(how: String) -> Result<(), TaskError> {
    match how.as_str() {
        "at once" => panic!("at once"),
        "with a value that panics" => std::panic::panic_any(PanicsWhenDropped),
        _ => {
            let _bomb = PanicsWhenDropped;
            Ok(())
        }
    }
}

#[task(max_retries = 0, timeout = "10ms")]
async fn panics_when_it_is_dropped() -> Result<(), TaskError> {
    let _bomb = PanicsWhenDropped;
    std::future::pending().await
}

#[task(max_retries = 0, blocking)]
fn panics_on_a_thread() -> Result<(), TaskError> {
    panic!("on a thread")
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_and_the_worker_lives_on() {
    let bench = Bench::new();
    let worker = bench.worker();
    for (id, message) in [
        (bench.submit(&panics, "at once".to_owned()).await, "at once"),
        (bench.submit(&panics, "in drop".to_owned()).await, "in drop"),
        (bench.submit(&panics, "with a value that panics".to_owned()).await, "without a message"),
        (bench.submit(&panics_when_it_is_dropped, NoParameters).await, "in drop"),
        (bench.submit(&panics_on_a_thread, NoParameters).await, "on a thread"),
    ] {
        let task = bench.over(&id).await;
        assert_eq!((task.status, task.errors[0].kind), (Status::Failed, FailureKind::Panic), "{message}");
        // With its place in the source, so that it can be found.
        let said = &task.errors[0].message;
        let line = said.split_once("settling.rs:").and_then(|(_, rest)| rest.split(':').next()?.parse::<u32>().ok());
        assert!(said.contains(message) && line.is_some(), "{said}");
    }
    let id = bench.submit(&area, Size { width: 2 }).await;
    assert_eq!(bench.over(&id).await.status, Status::Completed);
    assert_eq!(worker.drain().await.lost, 0);
}

#[task(max_retries = 0)]
async fn endless(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("started");
    std::future::pending().await
}

#[tokio::test]
async fn a_task_that_runs_too_long_is_dropped() {
    let bench = Bench::new();
    let overrides = PolicyOverrides { timeout: Some(Duration::from_millis(20)), ..PolicyOverrides::default() };
    let id = bench.submit_with(&endless, NoParameters, overrides).await;
    let _worker = bench.worker();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.errors[0].kind), (Status::Failed, FailureKind::Timeout));
    assert_eq!(task.errors[0].message, "ran longer than 20ms");
}

#[task(max_retries = 0, max_heartbeat_interval = "200ms", on_stall = "fail")]
async fn goes_silent(ctx: Context) -> Result<(), TaskError> {
    for _ in 0..100 {
        ctx.heartbeat().await?;
    }
    std::future::pending().await
}

#[tokio::test]
async fn a_task_that_goes_silent_is_dropped() {
    let bench = Bench::new();
    let id = bench.submit(&goes_silent, NoParameters).await;
    let _worker = bench.worker();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.errors[0].message.as_str()), (Status::Failed, "no heartbeat for 200ms"));
    assert_eq!(task.errors[0].kind, FailureKind::Stall);
    assert!(task.heartbeat_at.is_some());
}

#[tokio::test]
async fn a_task_that_goes_silent_is_stalled_when_its_policy_says_so() {
    let bench = Bench::new();
    let overrides = PolicyOverrides {
        on_stall: Some(OnStall::Stall),
        dead_letter: Some(DeadLetter::Save),
        ..PolicyOverrides::default()
    };
    let id = bench.submit_with(&goes_silent, NoParameters, overrides).await;
    let _worker = bench.worker();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.errors[0].kind, task.dead_letter), (Status::Stalled, FailureKind::Stall, true));
    assert_eq!(bench.engine.dead_letters(0, 10).await.unwrap().copies[0].task, task);
}

#[tokio::test]
async fn parameters_that_do_not_fit_fail_for_good_and_stay_as_they_are() {
    let bench = Bench::new();
    let id = bench.submit(&area_of_anything, Raw(json(r#"{"width": "wide"}"#))).await;
    let _worker = bench.worker();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.attempt, task.errors[0].kind), (Status::Failed, 1, FailureKind::Fatal));
    assert!(task.errors[0].message.contains("width: invalid type"), "{task:?}");
    assert_eq!(task.parameters, Some(json(r#"{"width": "wide"}"#)));
}

#[task]
async fn verbose() -> Result<String, TaskError> {
    Ok("x".repeat(300 * 1024))
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_once() {
    let bench = Bench::new();
    let id = bench.submit(&verbose, NoParameters).await;
    let _worker = bench.worker();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.attempt), (Status::Failed, 1));
    assert_eq!(task.errors[0].message, "result is 307202 bytes; at most 262144");
}

#[task(max_retries = 3, retry_delay = "0s")]
async fn resumes(ctx: Context) -> Result<u32, TaskError> {
    let done = ctx.last_checkpoint::<u32>()?.unwrap_or(0);
    if done == 2 {
        return Ok(ctx.attempt());
    }
    ctx.checkpoint(&(done + 1)).await?;
    Err(TaskError::retry("to be continued"))
}

#[tokio::test]
async fn a_checkpoint_is_there_at_the_next_attempt() {
    let bench = Bench::new();
    let id = bench.submit(&resumes, NoParameters).await;
    let _worker = bench.worker();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.result), (Status::Completed, Some(json("3"))));
}

#[task]
async fn says_how_far(ctx: Context) -> Result<(), TaskError> {
    ctx.progress(0.25, "a quarter").await?;
    probe(&ctx).pass().await;
    Ok(())
}

#[tokio::test]
async fn progress_can_be_seen_while_the_task_runs() {
    let bench = Bench::new();
    let id = bench.submit(&says_how_far, NoParameters).await;
    let _worker = bench.worker();
    let task = bench.until(&id, |task| task.progress.is_some()).await;
    let progress = task.progress.unwrap();
    assert_eq!((progress.fraction, progress.message.as_str()), (0.25, "a quarter"));
    bench.open(1);
    assert_eq!(bench.over(&id).await.status, Status::Completed);
}

#[task]
async fn mirror(bytes: Raw) -> Result<Raw, TaskError> {
    Ok(bytes)
}

#[tokio::test]
async fn raw_bytes_come_back_as_they_went_in() {
    let bench = Bench::new();
    let bytes = jobbers_common::payload::Payload {
        content_type: Some("application/octet-stream".into()),
        bytes: vec![0, 255, 10].into(),
    };
    let id = bench.submit(&mirror, Raw(bytes.clone())).await;
    let _worker = bench.worker();
    assert_eq!(bench.over(&id).await.result, Some(bytes));
}

#[derive(Debug, thiserror::Error)]
#[error("no such address")]
struct NoSuchAddress;

#[task(fatal_on = [NoSuchAddress, "spam"])]
async fn deliver(what: String) -> Result<(), TaskError> {
    match what.as_str() {
        "to nobody" => Err(NoSuchAddress.into()),
        "spam" => Err(TaskError::retry_after(Duration::from_secs(1), "refused").kind("spam")),
        _ => Err(TaskError::retry("busy").kind("busy")),
    }
}

#[tokio::test]
async fn errors_the_policy_gives_up_on_are_not_tried_again() {
    let bench = Bench::new();
    let nobody = bench.submit(&deliver, "to nobody".to_owned()).await;
    let spam = bench.submit(&deliver, "spam".to_owned()).await;
    let fatal = PolicyOverrides { fatal_on: Some(vec!["busy".parse().unwrap()]), ..PolicyOverrides::default() };
    let overridden = bench.submit_with(&deliver, "letter".to_owned(), fatal).await;
    let slow = PolicyOverrides {
        retry_delay: Some(Duration::from_secs(9)),
        backoff: Some(Backoff::Constant),
        ..PolicyOverrides::default()
    };
    let letter = bench.submit_with(&deliver, "letter".to_owned(), slow).await;
    let _worker = bench.worker();
    for (id, kind) in [(nobody, "NoSuchAddress"), (spam, "spam"), (overridden, "busy")] {
        let task = bench.over(&id).await;
        assert_eq!((task.status, task.attempt, task.errors[0].kind), (Status::Failed, 1, FailureKind::Error));
        assert!(task.errors[0].error_kind.as_ref().unwrap().as_str().ends_with(kind), "{task:?}");
    }
    bench.until_status(&letter, Status::Scheduled).await;
}

#[tokio::test]
async fn retries_end_with_their_span_of_time() {
    let bench = Bench::new();
    let span = PolicyOverrides { retry_for: Some(Duration::from_secs(15)), ..PolicyOverrides::default() };
    let id = bench.submit_with(&flaky, NoParameters, span).await;
    let _worker = bench.worker();
    bench.until_status(&id, Status::Scheduled).await;
    bench.clock.advance(Duration::from_secs(10));
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.attempt), (Status::Failed, 2), "the third would begin 30 s after the submission");
    bench.clock.advance(Duration::from_secs(3_600));
    bench.engine.resubmit(vec![Resubmit::of_store(id.clone())]).await.unwrap();
    let task = bench.until_status(&id, Status::Scheduled).await;
    assert_eq!((task.attempt, task.errors.len()), (1, 3), "sent again from the start, it has its whole span again");
}

/// Saves a checkpoint that is written at once, and one that is held back for a quarter of the lease.
async fn leave_two(ctx: &Context) -> Result<(), TaskError> {
    ctx.checkpoint(&1).await?;
    probe(ctx).pass().await;
    ctx.checkpoint(&2).await?;
    probe(ctx).tell("left");
    Ok(())
}

#[task]
async fn fails_after_a_checkpoint(ctx: Context) -> Result<(), TaskError> {
    leave_two(&ctx).await?;
    Err(TaskError::fatal("out of paper"))
}

#[task(max_heartbeat_interval = "10m")]
async fn is_cancelled_after_a_checkpoint(ctx: Context) -> Result<(), TaskError> {
    leave_two(&ctx).await?;
    Err(TaskError::Cancelled)
}

#[tokio::test]
async fn what_is_sent_again_after_it_ended_without_a_result_begins_at_its_last_checkpoint() {
    let mut bench = Bench::new();
    bench.config.lease = Duration::from_secs(60);
    let failed = bench.submit(&fails_after_a_checkpoint, NoParameters).await;
    let cancelled = bench.submit(&is_cancelled_after_a_checkpoint, NoParameters).await;
    let _worker = bench.worker();
    for (id, status) in [(failed, Status::Failed), (cancelled, Status::Cancelled)] {
        bench.until(&id, |task| task.checkpoint.is_some()).await;
        bench.open(2);
        let task = bench.over(&id).await;
        assert_eq!((task.status, task.checkpoint), (status, Some(json("2"))));
    }
}
