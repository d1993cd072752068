//! Cancelling running tasks.

use std::{sync::mpsc, time::Duration};

use jobbers_common::{engine::Tasks, lifecycle::Status};
use jobbers_worker::prelude::*;

use crate::bench::{Bench, probe};

#[task]
async fn listens(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("started");
    ctx.cancelled().await;
    probe(&ctx).tell("told");
    Err(TaskError::Cancelled)
}

#[tokio::test]
async fn a_running_task_is_told_at_once_and_ends_as_cancelled() {
    let mut bench = Bench::new();
    // So long that the cancel can't arrive with the answer to a renewal.
    bench.config.lease = Duration::from_secs(600);
    let id = bench.submit(&listens, NoParameters).await;
    let worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    bench.engine.cancel(std::slice::from_ref(&id)).await.unwrap();
    assert_eq!(bench.event().await, "told");
    assert_eq!(bench.over(&id).await.status, Status::Cancelled);
    worker.drain().await;
}

#[tokio::test]
async fn with_every_slot_taken_a_running_task_is_still_told() {
    let mut bench = Bench::new();
    bench.config.lease = Duration::from_secs(600);
    bench.config.concurrency = 1;
    let id = bench.submit(&listens, NoParameters).await;
    let _worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    bench.engine.cancel(std::slice::from_ref(&id)).await.unwrap();
    assert_eq!(bench.over(&id).await.status, Status::Cancelled);
}

#[task]
async fn deaf(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("started");
    std::future::pending().await
}

#[tokio::test]
async fn a_task_that_ignores_it_is_dropped_after_the_grace() {
    let bench = Bench::new();
    let id = bench.submit(&deaf, NoParameters).await;
    let _worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    bench.engine.cancel(std::slice::from_ref(&id)).await.unwrap();
    assert_eq!(bench.over(&id).await.status, Status::Cancelled);
}

#[task]
async fn finishes_all_the_same(ctx: Context) -> Result<u32, TaskError> {
    probe(&ctx).tell("started");
    ctx.cancelled().await;
    Ok(7)
}

#[tokio::test]
async fn however_it_ends_after_a_cancel_it_is_cancelled() {
    let bench = Bench::new();
    let id = bench.submit(&finishes_all_the_same, NoParameters).await;
    let _worker = bench.worker();
    assert_eq!(bench.event().await, "started");
    bench.engine.cancel(std::slice::from_ref(&id)).await.unwrap();
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.result), (Status::Cancelled, None));
}

/// What a blocking task waits for, which no token can interrupt.
struct Release(parking_lot::Mutex<mpsc::Receiver<()>>);

#[task(blocking)]
fn deaf_on_a_thread(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("started");
    ctx.state::<Release>()?.0.lock().recv().map_err(TaskError::from)
}

#[tokio::test]
async fn a_blocking_task_that_ignores_its_cancel_loses_its_slot_after_its_grace() {
    let mut bench = Bench::new();
    bench.config.concurrency = 1;
    let (release, released) = mpsc::channel();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone());
    let worker = worker.state(bench.probe()).state(Release(parking_lot::Mutex::new(released)));
    tokio::spawn(worker.run_until(jobbers_process::shutdown::Shutdown::new()));

    let id = bench.submit(&deaf_on_a_thread, NoParameters).await;
    assert_eq!(bench.event().await, "started");
    let next = bench.submit(&listens, NoParameters).await;
    bench.engine.cancel(std::slice::from_ref(&id)).await.unwrap();
    assert_eq!(bench.over(&id).await.status, Status::Cancelled);
    assert_eq!(bench.event().await, "started", "the next has the slot");
    bench.engine.cancel(std::slice::from_ref(&next)).await.unwrap();
    assert_eq!(bench.over(&next).await.status, Status::Cancelled);
    release.send(()).unwrap();
}

#[tokio::test]
async fn a_blocking_task_that_is_cancelled_while_it_waits_for_a_thread_never_starts() {
    let threads = std::thread::available_parallelism().unwrap().get();
    let mut bench = Bench::new();
    bench.config.concurrency = u32::try_from(threads).unwrap() + 1;
    let (release, released) = mpsc::channel();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone());
    let worker = worker.state(bench.probe()).state(Release(parking_lot::Mutex::new(released)));
    tokio::spawn(worker.run_until(jobbers_process::shutdown::Shutdown::new()));

    for _ in 0..threads {
        bench.submit(&deaf_on_a_thread, NoParameters).await;
        assert_eq!(bench.event().await, "started");
    }
    let id = bench.submit(&deaf_on_a_thread, NoParameters).await;
    bench.until_status(&id, Status::Started).await;
    bench.engine.cancel(std::slice::from_ref(&id)).await.unwrap();
    bench.renewals(1).await;
    for _ in 0..threads {
        release.send(()).unwrap();
    }
    assert_eq!(bench.over(&id).await.status, Status::Cancelled);
    assert!(bench.is_quiet().await, "it never ran");
}
