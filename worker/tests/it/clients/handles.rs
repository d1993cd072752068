//! What a program does with a task that it has submitted, and what errors mean to it.

use jobbers_common::lifecycle::Status;
use jobbers_worker::{
    Cancelled, Handle, Progress, ResultError, SubmitError, SubmittedHow, TryStreamExt as _, policy::OnDuplicate,
    prelude::*,
};

use crate::bench::{Bench, probe};

/// Reports a step each time it is let on.
#[task]
async fn steps(ctx: Context, count: u32) -> Result<u32, TaskError> {
    for step in 1..=count {
        ctx.progress(f64::from(step) / f64::from(count), format!("step {step}")).await?;
        probe(&ctx).pass().await;
    }
    Ok(count)
}

#[task(max_retries = 0)]
async fn declines(ctx: Context) -> Result<(), TaskError> {
    match ctx.label("how") {
        Some("word") => Err(TaskError::fatal("no money").kind("declined")),
        _ => Err(std::io::Error::other("no line"))?,
    }
}

#[tokio::test]
async fn a_handle_is_cloned_and_asked_and_cancels() {
    let bench = Bench::new();
    let handle = steps.delay(&bench.client, 1).await.unwrap();
    let copy: Handle<u32> = handle.clone();
    assert_eq!((copy.id.clone(), copy.status().await.unwrap()), (handle.id.clone(), Status::Submitted));
    let _worker = bench.worker();
    bench.until(&handle.id, |task| task.progress.is_some()).await;
    assert_eq!(copy.status().await.unwrap(), Status::Started);
    assert_eq!(copy.cancel().await.unwrap(), Cancelled::Requested);
    assert_eq!(bench.over(&handle.id).await.status, Status::Cancelled);
    assert_eq!(copy.cancel().await.unwrap(), Cancelled::AlreadyOver(Status::Cancelled));
    let nobody = bench.client.task::<u32>("nobody".parse().unwrap());
    assert!(matches!(nobody.status().await, Err(ResultError::Unknown)));
    assert_eq!(nobody.cancel().await.unwrap(), Cancelled::Unknown);
}

#[tokio::test]
async fn progress_comes_as_it_is_reported_and_ends_with_the_task() {
    let bench = Bench::new();
    let handle = steps.delay(&bench.client, 3).await.unwrap();
    let _worker = bench.worker();
    let reports = handle.progress(Duration::from_millis(50));
    let mut reports = std::pin::pin!(reports);
    let mut seen: Vec<Progress> = Vec::new();
    while let Some(progress) = reports.try_next().await.unwrap() {
        seen.push(progress);
        bench.open(1);
    }
    let messages: Vec<&str> = seen.iter().map(|progress| progress.message.as_str()).collect();
    assert_eq!(messages, ["step 1", "step 2", "step 3"]);
    assert_eq!(handle.result(Duration::ZERO).await.unwrap(), 3, "it is over");
    assert_eq!(
        handle.progress(Duration::ZERO).try_collect::<Vec<_>>().await.unwrap(),
        seen[2..],
        "its last report stays"
    );
}

#[tokio::test]
async fn the_error_of_a_result_has_the_kind_of_the_task_s_error() {
    let bench = Bench::new();
    let _worker = bench.worker();
    let by_word = declines.with(NoParameters).label("how", "word").submit(&bench.client).await.unwrap();
    let error = by_word.result(crate::bench::PATIENCE).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (Some("declined"), false), "{error}");
    let by_type = declines.delay(&bench.client, NoParameters).await.unwrap();
    assert_eq!(by_type.result(crate::bench::PATIENCE).await.unwrap_err().kind(), Some("std::io::error::Error"));
}

#[tokio::test]
async fn a_duplicate_says_who_holds_its_key() {
    let bench = Bench::new();
    let once = || steps.with(1).unique_key("one");
    let first = once().submit(&bench.client).await.unwrap();
    let refused = once().submit(&bench.client).await.unwrap_err();
    assert_eq!((refused.code(), refused.holder(), refused.is_duplicate()), ("duplicate", Some(&first.id), true));
    assert!(!refused.is_transient());
    let returned = once().on_duplicate(OnDuplicate::Return).submit(&bench.client).await.unwrap();
    assert_eq!((returned.id, returned.how), (first.id, SubmittedHow::Existing));
    let nowhere = steps.with(1).queue("nowhere").submit(&bench.client).await.unwrap_err();
    assert_eq!((nowhere.code(), nowhere.is_transient(), nowhere.holder()), ("unknown_queue", false, None));
    let unsaid = bench.client.signal(&"no-such-task".parse().unwrap(), "approved").await.unwrap_err();
    assert_eq!(unsaid.code(), "unknown_task");
    assert_eq!(steps.with(1).priority(10).submit(&bench.client).await.unwrap_err().code(), "invalid_request");
}

#[tokio::test]
async fn each_task_has_its_own_idempotency_keys() {
    let bench = Bench::new();
    let stepping = || steps.with(1).idempotency_key("order-1");
    let declining = || declines.with(NoParameters).idempotency_key("order-1");
    let (first, other) =
        (stepping().submit(&bench.client).await.unwrap(), declining().submit(&bench.client).await.unwrap());
    assert_ne!(first.id, other.id);
    for again in
        [stepping().submit(&bench.client).await.unwrap().id, declining().submit(&bench.client).await.unwrap().id]
    {
        assert!([&first.id, &other.id].contains(&&again));
    }
}

/// Every type of a signature that a program meets has a name in the library.
#[test]
fn the_types_of_signatures_can_be_named() {
    use jobbers_worker::{
        AttemptError, CancellationToken, CarriedError, ConfigError, Error, Label, LabelName, Labels, Metadata,
        MissingState, NameError, NeededState, Payload, PendingResult, Priority, QueueForbidden, Task, TelemetryError,
        WorkerError,
        policy::{ErrorKind, PolicyError},
    };
    fn tenant(labels: &Labels, name: &LabelName) -> Option<String> {
        labels.get(name).map(str::to_owned)
    }
    fn attempts(task: &Task) -> &[AttemptError] {
        &task.errors
    }
    type Errors =
        (Error, ConfigError, NameError, PolicyError, QueueForbidden, TelemetryError, WorkerError, SubmitError);
    type Values =
        (CancellationToken, CarriedError, ErrorKind, Label, Metadata, MissingState, NeededState, Payload, Priority);
    assert!(size_of::<(Errors, Values, PendingResult<u8>)>() > 0);
    assert_eq!(tenant(&Labels::default(), &"tenant".parse().unwrap()), None);
    let _: fn(&Task) -> &[AttemptError] = attempts;
}
