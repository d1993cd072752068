//! What a program runs around every attempt and every submission, and what the declarations of tasks set.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use jobbers_common::lifecycle::Status;
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{FailureKind, Start, WorkerError, layer_fn, logging, prelude::*, testing::TestBench};
use parking_lot::Mutex;
use tracing_subscriber::layer::SubscriberExt;

use crate::bench::{Bench, json};

type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, text: impl Into<String>) {
    log.lock().push(text.into());
}

#[task(unlisted, max_retries = 0)]
async fn wrapped(ctx: Context, fails: bool) -> Result<u32, TaskError> {
    note(ctx.state::<Log>()?, "runs");
    if fails { Err(TaskError::retry("it fails")) } else { Ok(1) }
}

#[task(unlisted, blocking, max_retries = 0)]
fn wrapped_blocking(ctx: Context, fails: bool) -> Result<u32, TaskError> {
    note(ctx.state::<Log>()?, "runs");
    if fails { Err(TaskError::retry("it fails")) } else { Ok(2) }
}

/// Notes when an attempt begins and what it answers.
fn logging(name: &'static str, log: &Log) -> impl Fn(&Context, Start) -> Start + Send + Sync + 'static {
    let log = Arc::clone(log);
    move |ctx, attempt| {
        let (before, after, id) = (Arc::clone(&log), Arc::clone(&log), ctx.id().clone());
        attempt
            .before(move || {
                note(&before, format!("{name} begins {id}"));
                Ok(())
            })
            .after(move |answer| {
                note(
                    &after,
                    format!("{name} ends {}", answer.as_ref().map_or_else(ToString::to_string, |_| "well".into())),
                );
                answer
            })
    }
}

#[tokio::test]
async fn layers_run_around_every_attempt_the_first_one_outermost() {
    let log = Log::default();
    let builder = TestBench::builder().state(Arc::clone(&log)).task(&wrapped).task(&wrapped_blocking);
    let bench = builder.layer(logging("outer", &log)).layer(logging("inner", &log)).build().await.unwrap();
    for (fails, end) in [(false, "well"), (true, "it fails")] {
        for task in [&wrapped, &wrapped_blocking] {
            task.with(fails).id(format!("{}-{fails}", task.name())).submit(bench.client()).await.unwrap();
            let drained = bench.drain().await.unwrap();
            assert_eq!((drained.completed, drained.failed), (u64::from(!fails), u64::from(fails)));
            let id = format!("{}-{fails}", task.name());
            let expected = [
                format!("outer begins {id}"),
                format!("inner begins {id}"),
                "runs".to_owned(),
                format!("inner ends {end}"),
                format!("outer ends {end}"),
            ];
            assert_eq!(std::mem::take(&mut *log.lock()), expected);
        }
    }
}

#[task(unlisted)]
async fn logs_a_line() -> Result<(), TaskError> {
    tracing::info!("inside");
    Ok(())
}

#[tokio::test]
async fn lines_of_a_program_s_own_subscriber_carry_the_attempt() {
    let (text, json) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let writer = |file: &tempfile::NamedTempFile| Arc::new(file.reopen().unwrap());
    let subscriber = tracing_subscriber::registry()
        .with(logging::text_layer(writer(&text)))
        .with(logging::json_layer(writer(&json)));
    let _installed = tracing::subscriber::set_default(subscriber);
    let bench = TestBench::builder().task(&logs_a_line).build().await.unwrap();
    logs_a_line.with(NoParameters).id("a").submit(bench.client()).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 1);
    tracing::info!("outside");
    let line = |file: &tempfile::NamedTempFile, word: &str| {
        let all = std::fs::read_to_string(file.path()).unwrap();
        all.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{word}: {all}")).to_owned()
    };
    assert!(
        line(&text, "inside").ends_with(" task.id=a task.name=logs_a_line task.attempt=1"),
        "{}",
        line(&text, "inside")
    );
    assert!(!line(&text, "outside").contains("task.id"), "{}", line(&text, "outside"));
    let inside: serde_json::Value = serde_json::from_str(&line(&json, "inside")).unwrap();
    assert_eq!((&inside["task"]["id"], &inside["task"]["attempt"]), (&"a".into(), &1.into()));
}

#[tokio::test]
async fn a_closure_without_types_is_a_layer() {
    let (log, seen) = (Log::default(), Log::default());
    let noting = Arc::clone(&seen);
    let layer = layer_fn(move |ctx, attempt| {
        note(&noting, ctx.name().as_str());
        attempt.after(|_| Err(TaskError::fatal("by the closure")))
    });
    let bench = TestBench::builder().state(Arc::clone(&log)).task(&wrapped).layer(layer).build().await.unwrap();
    wrapped.delay(bench.client(), false).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().failed, 1);
    assert_eq!((&**seen.lock(), &**log.lock()), (&["wrapped".to_owned()][..], &["runs".to_owned()][..]));
}

#[tokio::test]
async fn a_layer_answers_for_the_attempt_and_its_panic_is_a_failed_attempt() {
    let log = Log::default();
    let bench = |layer: fn(&Context, Start) -> Start| {
        TestBench::builder().state(Arc::clone(&log)).task(&wrapped).layer(layer).build()
    };
    let swallows: fn(&Context, Start) -> Start = |_, attempt| attempt.after(|answer| answer.or(Ok(None)));
    let refuses: fn(&Context, Start) -> Start = |_, attempt| attempt.before(|| Err(TaskError::fatal("not today")));
    let panics: fn(&Context, Start) -> Start = |_, _| panic!("the layer is broken");
    let panics_later: fn(&Context, Start) -> Start = |_, attempt| attempt.after(|_| panic!("broken at the end"));
    for (layer, status, message) in [
        (swallows, Status::Completed, None),
        (refuses, Status::Failed, Some("not today")),
        (panics, Status::Failed, Some("the layer is broken")),
        (panics_later, Status::Failed, Some("broken at the end")),
    ] {
        let bench = bench(layer).await.unwrap();
        let id = wrapped.delay(bench.client(), true).await.unwrap().id;
        bench.drain().await.unwrap();
        let task = bench.get(&id).await.unwrap().unwrap();
        assert_eq!(task.status, status, "{message:?}");
        let told = task.errors.first().map(|error| error.message.as_str());
        assert_eq!(told.is_some(), message.is_some());
        assert!(message.is_none_or(|message| told.unwrap().starts_with(message)), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_layer_is_the_attempt_s() {
    let ends = |layer: fn(&Context, Start) -> Start| async move {
        let builder = TestBench::builder().state(Log::default()).task(&wrapped).layer(layer);
        let bench = builder.build().await.unwrap();
        let limited = wrapped.with(false).timeout(Duration::from_secs(60));
        let id = limited.submit(bench.client()).await.unwrap().id;
        bench.drain().await.unwrap();
        let task = bench.get(&id).await.unwrap().unwrap();
        (task.status, task.errors.first().map(|error| error.kind))
    };
    let never: fn(&Context, Start) -> Start = |_, _| Start::Async(Box::pin(std::future::pending()));
    let slow: fn(&Context, Start) -> Start = |_, attempt| late(attempt, 59);
    let too_slow: fn(&Context, Start) -> Start = |_, attempt| late(attempt, 61);
    let timed_out = (Status::Failed, Some(FailureKind::Timeout));
    assert_eq!(ends(never).await, timed_out);
    assert_eq!(ends(too_slow).await, timed_out);
    assert_eq!(ends(slow).await, (Status::Completed, None));
}

/// The attempt, after so many seconds of the paused clock in a layer.
fn late(attempt: Start, seconds: u64) -> Start {
    let Start::Async(attempt) = attempt else { panic!("an async task") };
    Start::Async(Box::pin(async move {
        let passes = tokio::time::timeout(Duration::from_secs(seconds), std::future::pending::<()>());
        passes.await.unwrap_err();
        attempt.await
    }))
}

#[tokio::test]
async fn a_label_of_a_megabyte_is_refused_whoever_stamps_it() {
    let bench =
        TestBench::builder().task(&wrapped).state(Log::default()).carry_labels(["tenant"]).build().await.unwrap();
    let large = "x".repeat(1 << 20);
    let client = bench.client().layer(move |submission| submission.label("tenant", large.clone()));
    let refused = wrapped.delay(&client, false).await.unwrap_err();
    assert_eq!(refused.code(), "invalid_request");
    let text = refused.to_string();
    assert!(text.contains("label") && text.contains("256") && text.len() < 1_000, "{text:.1000}");
    assert_eq!(bench.drain().await.unwrap().attempts(), 0, "nothing is stored");
}

#[tokio::test]
async fn a_worker_has_layers_too() {
    let bench = Bench::new();
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let count = move |_: &Context, attempt: Start| {
        counted.fetch_add(1, Ordering::SeqCst);
        attempt
    };
    let shutdown = Shutdown::new();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone()).state(bench.probe()).state(Log::default());
    let running = tokio::spawn(worker.task(&wrapped).layer(count).run_until(shutdown.clone()));
    let id = bench.submit(&wrapped, false).await;
    assert_eq!(bench.over(&id).await.result, Some(json("1")));
    shutdown.drain.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_client_stamps_each_submission() {
    let bench = TestBench::builder().task(&wrapped).state(Log::default()).build().await.unwrap();
    let client = bench.client().layer(|submission| submission.label("tenant", "acme"));
    let client = client.layer(|submission| {
        let urgent = submission.label_value("tenant") == Some("acme") && submission.task_name() == "wrapped";
        if urgent { submission.priority(9) } else { submission }
    });
    let stamped = wrapped.delay(&client, false).await.unwrap().id;
    let plain = wrapped.delay(bench.client(), false).await.unwrap().id;
    let stamped = bench.get(&stamped).await.unwrap().unwrap();
    let plain = bench.get(&plain).await.unwrap().unwrap();
    assert_eq!((stamped.metadata.labels.iter().count(), stamped.priority.get()), (1, 9));
    assert_eq!((plain.metadata.labels.iter().count(), plain.priority.get()), (0, 5));
}

#[task(unlisted)]
async fn labelled_child() -> Result<(), TaskError> {
    Ok(())
}

#[task(unlisted)]
async fn labelled_parent(ctx: Context) -> Result<[String; 3], TaskError> {
    let plain = labelled_child.delay(ctx.client()?, NoParameters).await?;
    let other = labelled_child.with(NoParameters).label("tenant", "other").submit(ctx.client()?).await?;
    let spawned = ctx.spawn("more", labelled_child.with(NoParameters)).await?;
    Ok([plain.id.to_string(), other.id.to_string(), spawned.id().to_string()])
}

#[tokio::test]
async fn labels_that_are_carried_reach_the_children() {
    let builder = TestBench::builder().task(&labelled_parent).task(&labelled_child).carry_labels(["tenant"]);
    let bench = builder.build().await.unwrap();
    let id = labelled_parent
        .with(NoParameters)
        .label("tenant", "acme")
        .label("shop", "7")
        .submit(bench.client())
        .await
        .unwrap()
        .id;
    bench.drain().await.unwrap();
    let children: [String; 3] = bench.result(&id).await.unwrap();
    for (id, tenant) in children.iter().zip(["acme", "other", "acme"]) {
        let found = bench.get(&id.parse().unwrap()).await.unwrap().unwrap();
        let labels: Vec<_> = found.metadata.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(labels, [format!("tenant={tenant}")]);
    }
}

#[derive(Serialize, Deserialize)]
struct Order {
    customer: Option<u64>,
}

#[task(unlisted, priority = 7, labels = ["team=billing", "tier=gold"], concurrency_key = "customer")]
async fn bills(order: Order) -> Result<(), TaskError> {
    let Order { customer: _ } = order;
    Ok(())
}

#[tokio::test]
async fn what_a_task_says_of_its_submissions_holds_unless_they_say_otherwise() {
    let bench = TestBench::builder().task(&bills).build().await.unwrap();
    let order = |customer| bills.with(Order { customer });
    let plain = order(Some(42)).submit(bench.client()).await.unwrap().id;
    let other =
        order(None).priority(1).label("tier", "none").concurrency_key("all").submit(bench.client()).await.unwrap().id;
    let keyless = order(None).submit(bench.client()).await.unwrap().id;
    let mut found = Vec::new();
    for id in [&plain, &other, &keyless] {
        let task = bench.get(id).await.unwrap().unwrap();
        let labels = &task.metadata.labels;
        let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let key = task.concurrency_key.as_ref().map(ToString::to_string);
        found.push((task.priority.get(), labels.join(","), key));
    }
    let billing = |tier: &str| format!("team=billing,tier={tier}");
    assert_eq!(found[0], (7, billing("gold"), Some("42".to_owned())));
    assert_eq!(found[1], (1, billing("none"), Some("all".to_owned())));
    assert_eq!(found[2], (7, billing("gold"), None));
}

mod first {
    use super::*;

    #[task(name = "same-name", unlisted)]
    pub(super) async fn one() -> Result<(), TaskError> {
        Ok(())
    }
}

mod second {
    use super::*;

    #[task(name = "same-name", unlisted)]
    pub(super) async fn other() -> Result<(), TaskError> {
        Ok(())
    }
}

#[tokio::test]
async fn two_tasks_of_one_name_are_named_with_their_places() {
    let bench = Bench::new();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone()).task(&first::one).task(&second::other);
    let error = worker.run_until(Shutdown::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::DuplicateTask(_)));
    let text = error.to_string();
    for part in ["same-name@1", "layers::first at ", "layers::second at ", "layers.rs:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The library under another path, as a program sees it that renames or re-exports it.
mod facade {
    pub(super) use jobbers_worker as jobs;
}

use facade::jobs;

#[task(crate = "jobs", unlisted, unique, retry_on = [std::fmt::Error])]
async fn renamed(word: String) -> Result<String, TaskError> {
    Ok(word)
}

#[tokio::test]
async fn the_library_may_have_another_name() {
    let bench = TestBench::builder().task(&renamed).build().await.unwrap();
    let id = renamed.delay(bench.client(), "hello".to_owned()).await.unwrap().id;
    bench.drain().await.unwrap();
    assert_eq!(bench.result::<String>(&id).await.unwrap(), "hello");
}
