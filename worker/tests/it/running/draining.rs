//! How a worker ends.

use std::time::Duration;

use jobbers_common::{
    engine::{Workers, reads::first_queues},
    lifecycle::Status,
    policy::{OnShutdown, PolicyOverrides},
    task::FailureKind,
    worker::{WorkerReport, WorkerState},
};
use jobbers_worker::{Config, prelude::*};

use crate::bench::{Bench, json, probe};

#[task]
async fn gated(ctx: Context) -> Result<u32, TaskError> {
    let probe = probe(&ctx);
    probe.tell("started");
    tokio::select! {
        () = probe.pass() => Ok(1),
        () = ctx.cancelled() => {
            probe.tell("told");
            Err(TaskError::Cancelled)
        }
    }
}

fn when_stopped(on_shutdown: OnShutdown) -> PolicyOverrides {
    PolicyOverrides { on_shutdown: Some(on_shutdown), ..PolicyOverrides::default() }
}

#[tokio::test]
async fn a_task_that_is_to_finish_is_waited_for_and_nothing_new_is_claimed() {
    let bench = Bench::new();
    let id = bench.submit(&gated, NoParameters).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    worker.shutdown.drain.cancel();
    bench.until_report(|report| report.state == WorkerState::Draining).await;
    let late = bench.submit(&gated, NoParameters).await;
    bench.open(1);
    assert_eq!(bench.over(&id).await.result, Some(json("1")));
    let report = worker.end().await;
    assert_eq!((report.settled, report.late), (1, false));
    assert_eq!(bench.get(&late).await.status, Status::Submitted);
    assert!(bench.engine.workers().await.unwrap().is_empty(), "a worker that leaves in good order is forgotten");
}

#[tokio::test]
async fn a_task_that_is_to_be_requeued_is_told_and_given_back_with_nothing_lost() {
    let bench = Bench::new();
    let id = bench.submit_with(&gated, NoParameters, when_stopped(OnShutdown::Requeue)).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    let report = worker.drain().await;
    assert_eq!(bench.event().await, "told");
    assert!(!report.late);
    let task = bench.get(&id).await;
    assert_eq!((task.status, task.attempt, task.crashes), (Status::Submitted, 0, 0));
    assert!(task.errors.is_empty());
}

#[tokio::test]
async fn a_task_that_is_to_fail_is_told_and_failed() {
    let bench = Bench::new();
    let id = bench.submit_with(&gated, NoParameters, when_stopped(OnShutdown::Fail)).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    worker.drain().await;
    let task = bench.get(&id).await;
    assert_eq!((task.status, task.errors[0].kind), (Status::Failed, FailureKind::Shutdown));
}

#[tokio::test]
async fn a_second_signal_gives_back_what_still_runs() {
    let bench = Bench::new();
    let id = bench.submit(&gated, NoParameters).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    worker.shutdown.drain.cancel();
    bench.until_report(|report| report.state == WorkerState::Draining).await;
    assert_eq!(bench.get(&id).await.status, Status::Started);
    worker.shutdown.now.cancel();
    let report = worker.end().await;
    assert!(report.late);
    let task = bench.get(&id).await;
    assert_eq!((task.status, task.attempt, task.errors.len()), (Status::Submitted, 0, 0));
}

#[tokio::test]
async fn at_the_drain_deadline_what_still_runs_is_given_back() {
    let bench = Bench::new();
    let id = bench.submit(&gated, NoParameters).await;
    let worker = bench.worker_with(Config { drain_deadline: Duration::from_millis(50), ..bench.config.clone() });
    assert_eq!(bench.event().await, "started");
    let report = worker.drain().await;
    assert!(report.late);
    assert_eq!(bench.get(&id).await.status, Status::Submitted);
}

#[tokio::test]
async fn what_a_call_under_way_claims_after_the_signal_is_given_back_without_being_started() {
    let bench = Bench::new();
    bench.engine.hold_claims();
    let id = bench.submit(&gated, NoParameters).await;
    let worker = bench.worker();
    bench.until_status(&id, Status::Started).await;
    worker.shutdown.drain.cancel();
    bench.until_report(|report| report.state == WorkerState::Draining).await;
    bench.engine.let_claims_go();
    let report = worker.end().await;
    assert!(!report.late);
    let task = bench.get(&id).await;
    assert_eq!((task.status, task.attempt), (Status::Submitted, 0));
    assert!(bench.is_quiet().await, "it was never started");
}

#[task(blocking)]
fn never_ends(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("started");
    loop {
        std::thread::park();
    }
}

#[tokio::test]
async fn even_a_blocking_task_that_never_ends_is_given_back_and_left_behind() {
    let bench = Bench::new();
    let id = bench.submit(&never_ends, NoParameters).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    worker.shutdown.now.cancel();
    let report = worker.end().await;
    assert!(report.late);
    assert_eq!(bench.get(&id).await.status, Status::Submitted);
}

#[tokio::test]
async fn an_idle_worker_ends_at_once() {
    let bench = Bench::new();
    let report = bench.worker().drain().await;
    assert_eq!((report.settled, report.late), (0, false));
}

#[tokio::test]
async fn a_worker_with_a_ttl_runs_that_many_tasks_and_ends() {
    let bench = Bench::new();
    bench.open(10);
    for _ in 0..10 {
        bench.submit(&gated, NoParameters).await;
    }
    let report = bench.worker_with(Config { ttl: 5, ..bench.config.clone() }).end().await;
    assert_eq!((report.settled, report.late), (5, false));
    let stats = first_queues(&*bench.engine, 1).await.unwrap();
    assert_eq!(stats[0].tasks[&Status::Submitted], 5, "it claimed no more than it was to run");
    assert_eq!(stats[0].tasks[&Status::Completed], 5);
}

#[tokio::test]
async fn a_worker_that_nobody_waits_for_any_more_stops() {
    let bench = Bench::new();
    let id = bench.submit(&gated, NoParameters).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    worker.abandon().await;
    let task = bench.until_status(&id, Status::Submitted).await;
    assert_eq!(task.attempt, 0);
}

#[tokio::test]
async fn a_worker_told_to_drain_claims_nothing_more_until_it_is_told_otherwise() {
    let bench = Bench::new();
    let minute = PolicyOverrides { timeout: Some(Duration::from_secs(60)), ..PolicyOverrides::default() };
    let running = bench.submit_with(&gated, NoParameters, minute).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    bench.until_report(|report| report.catalogue.is_some()).await;
    let me = bench.engine.workers().await.unwrap()[0].report.id.clone();
    bench.engine.set_draining(&me, true).await.unwrap();
    let told = |report: &WorkerReport| {
        let soon = report.done_within.is_some_and(|left| left <= Duration::from_secs(61));
        report.state == WorkerState::Draining && report.left == [running.clone()] && soon
    };
    bench.until_report(told).await;
    let late = bench.submit(&gated, NoParameters).await;
    bench.open(2);
    assert_eq!(bench.over(&running).await.result, Some(json("1")));
    bench.until_report(|report| report.left.is_empty() && report.done_within == Some(Duration::ZERO)).await;
    assert_eq!(bench.get(&late).await.status, Status::Submitted);
    bench.engine.set_draining(&me, false).await.unwrap();
    assert_eq!(bench.over(&late).await.result, Some(json("1")), "it lived on, and claims again");
    bench.until_report(|report| report.state == WorkerState::Running).await;
    assert!(!worker.drain().await.late);
}
