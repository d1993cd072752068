//! Hooks: what a program learns of its tasks' attempts.

use std::sync::Arc;

use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{
    AttemptFailure, Hooks,
    prelude::*,
    testing::{Faults, LEASE, TestBench},
};
use parking_lot::Mutex;

use crate::bench::Bench;

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn note(&self, what: &str, ctx: &Context, more: &str) {
        self.0.lock().push(format!("{what} {}/{} {more}", ctx.id(), ctx.attempt()).trim_end().to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Hooks for Notes {
    fn started(&self, ctx: &Context) {
        self.note("started", ctx, "");
    }

    fn completed(&self, ctx: &Context) {
        self.note("completed", ctx, "");
    }

    fn retried(&self, ctx: &Context, failure: &AttemptFailure, delay: Duration) {
        self.note("retried", ctx, &format!("{} after {}s", failure.kind.as_str(), delay.as_secs()));
    }

    fn failed(&self, ctx: &Context, failure: &AttemptFailure) {
        self.note("failed", ctx, failure.kind.as_str());
    }

    fn dead_lettered(&self, ctx: &Context, failure: &AttemptFailure) {
        self.note("dead", ctx, &failure.message);
    }
}

#[task(name = "hooked", unlisted, max_retries = 1, retry_delay = "7s", backoff = "constant")]
async fn hooked(how: String) -> Result<(), TaskError> {
    match how.as_str() {
        "well" => Ok(()),
        "panics" => panic!("it fell over"),
        "cancelled" => Err(TaskError::Cancelled),
        "fatal" => Err(TaskError::fatal("never")),
        _ => Err(TaskError::retry("not yet")),
    }
}

#[task(name = "hooked-quiet", unlisted, max_retries = 0, dead_letter = "none")]
async fn hooked_quiet() -> Result<(), TaskError> {
    Err(TaskError::retry("who cares"))
}

/// Panics wherever it is called.
struct Broken;

impl Hooks for Broken {
    fn started(&self, _: &Context) {
        panic!("a broken hook");
    }

    fn failed(&self, _: &Context, _: &AttemptFailure) {
        panic!("a broken hook");
    }
}

#[tokio::test]
async fn hooks_learn_how_every_attempt_ends() {
    let notes = Notes::default();
    let builder = TestBench::builder().task(&hooked).task(&hooked_quiet).hooks(Broken).hooks(notes.clone());
    let bench = builder.build().await.unwrap();
    for (how, expected) in [
        ("well", &["started well/1", "completed well/1"][..]),
        ("fatal", &["started fatal/1", "failed fatal/1 fatal", "dead fatal/1 never"]),
        (
            "later",
            &[
                "started later/1",
                "retried later/1 error after 7s",
                "started later/2",
                "failed later/2 error",
                "dead later/2 not yet",
            ],
        ),
        ("cancelled", &["started cancelled/1"]),
    ] {
        hooked.with(how.to_owned()).id(how).submit(bench.client()).await.unwrap();
        bench.drain_scheduled().await.unwrap();
        assert_eq!(notes.take(), expected);
    }
    hooked.with("panics".to_owned()).id("panics").max_retries(0).submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    let seen = notes.take();
    assert_eq!(seen[..2], ["started panics/1", "failed panics/1 panic"]);
    assert!(seen[2].starts_with("dead panics/1 it fell over"), "{seen:?}");
    hooked_quiet.with(NoParameters).id("quiet").submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(notes.take(), ["started quiet/1", "failed quiet/1 error"], "it is no dead letter");
}

#[tokio::test]
async fn an_attempt_without_an_end_has_none_for_hooks() {
    let (notes, faults) = (Notes::default(), Faults::default());
    let bench = TestBench::builder().task(&hooked).hooks(notes.clone()).faults(&faults).build().await.unwrap();
    faults.crash_before(&hooked);
    hooked.with("well".to_owned()).id("a").submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(notes.take(), Vec::<String>::new());
    bench.advance(LEASE).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(notes.take(), ["started a/1", "completed a/1"]);
}

#[tokio::test]
async fn a_worker_has_hooks_too() {
    let (bench, notes, shutdown) = (Bench::new(), Notes::default(), Shutdown::new());
    let worker = Worker::new(bench.config.clone(), bench.engine.clone()).task(&hooked).hooks(notes.clone());
    let running = tokio::spawn(worker.run_until(shutdown.clone()));
    let id = bench.submit(&hooked, "well".to_owned()).await;
    bench.over(&id).await;
    shutdown.drain.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(notes.take(), [format!("started {id}/1"), format!("completed {id}/1")]);
}

#[task(name = "carrying", unlisted)]
async fn carrying(ctx: Context) -> Result<Vec<String>, TaskError> {
    Ok(ctx.carried().map(|(name, value)| format!("{name}={value}")).collect())
}

#[tokio::test]
async fn a_task_sees_what_is_carried_along() {
    let builder = TestBench::builder().task(&carrying).carry_labels(["tenant", "locale"]);
    let bench = builder.build().await.unwrap();
    let labelled = carrying.with(NoParameters).label("tenant", "acme").label("shop", "7");
    let id = labelled.submit(bench.client()).await.unwrap().id;
    bench.drain().await.unwrap();
    assert_eq!(bench.result::<Vec<String>>(&id).await.unwrap(), ["tenant=acme"]);
    let long =
        carrying.with(NoParameters).label("tenant", "x".repeat(1 << 20)).submit(bench.client()).await.unwrap_err();
    assert!(long.to_string().contains("the value of label tenant is at most 256 bytes"), "{long}");
}
