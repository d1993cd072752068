//! Blocking tasks, and the queue for their threads.

use std::{
    sync::{Arc, mpsc},
    thread,
};

use jobbers_common::{
    engine::{Queues, Settings, reads::first_queues},
    lifecycle::Status,
    task::FailureKind,
    worker::{HeldThread, WorkerReport, WorkerState},
};
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{Report, WorkerError, prelude::*};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::bench::{Bench, probe};

/// What a blocking task waits for, which no token can interrupt.
struct Release(Arc<Mutex<mpsc::Receiver<()>>>);

#[task(blocking)]
fn grinds(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("grinds");
    ctx.state::<Release>()?.0.lock().recv().map_err(TaskError::from)
}

#[task]
async fn glances(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("glances");
    Ok(())
}

/// A worker with 64 slots, and far more to grind than it has threads.
struct Mill {
    bench: Bench,
    threads: usize,
    release: mpsc::Sender<()>,
    released: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Mill {
    async fn new() -> Self {
        let mut bench = Bench::new();
        bench.config.concurrency = 64;
        let (release, released) = mpsc::channel();
        let threads = thread::available_parallelism().unwrap().get();
        for _ in 0..5 * threads {
            bench.submit(&grinds, NoParameters).await;
        }
        Self { bench, threads, release, released: Arc::new(Mutex::new(released)) }
    }

    async fn start(&self) -> (Shutdown, JoinHandle<Result<Report, WorkerError>>) {
        let worker = Worker::new(self.bench.config.clone(), self.bench.engine.clone());
        let worker = worker.state(self.bench.probe()).state(Release(Arc::clone(&self.released)));
        let shutdown = Shutdown::new();
        let running = tokio::spawn(worker.run_until(shutdown.clone()));
        for _ in 0..self.threads {
            assert_eq!(self.bench.event().await, "grinds");
        }
        self.bench.cycles(1).await;
        (shutdown, running)
    }

    async fn at(&self, status: Status) -> usize {
        let stats = first_queues(&*self.bench.engine, 1).await.unwrap();
        usize::try_from(stats[0].tasks.get(&status).copied().unwrap_or(0)).unwrap()
    }
}

#[tokio::test]
async fn a_worker_leaves_to_others_the_blocking_tasks_it_has_no_thread_for() {
    let mill = Mill::new().await;
    let (first, _) = mill.start().await;
    let leased = mill.at(Status::Started).await;
    assert!(leased <= 2 * mill.threads, "{leased} are leased, {} run", mill.threads);
    // The queue for its own threads is full; another worker's is not.
    let (second, _) = mill.start().await;
    assert!(mill.at(Status::Started).await <= 4 * mill.threads);
    for _ in 0..5 * mill.threads {
        mill.release.send(()).unwrap();
    }
    for _ in 0..3 * mill.threads {
        assert_eq!(mill.bench.event().await, "grinds");
    }
    mill.bench.until_settled(5 * mill.threads as u64).await;
    first.now.cancel();
    second.now.cancel();
}

#[tokio::test]
async fn what_waits_for_a_thread_is_given_back_when_the_worker_drains() {
    let mill = Mill::new().await;
    let (shutdown, running) = mill.start().await;
    shutdown.drain.cancel();
    mill.bench.until_report(|report| report.state == WorkerState::Draining).await;
    let given_back = async {
        while mill.at(Status::Submitted).await != 4 * mill.threads {
            mill.bench.cycles(1).await;
        }
    };
    tokio::time::timeout(crate::bench::PATIENCE, given_back).await.expect("they are given back while others still run");
    for _ in 0..mill.threads {
        mill.release.send(()).unwrap();
    }
    let report = running.await.unwrap().unwrap();
    assert!(!report.late);
    assert_eq!((mill.at(Status::Completed).await, mill.at(Status::Submitted).await), (mill.threads, 4 * mill.threads));
    assert!(mill.bench.is_quiet().await, "none of them began");
}

#[tokio::test]
async fn a_full_line_for_threads_holds_up_no_other_queue() {
    let mill = Mill::new().await;
    let (_shutdown, _) = mill.start().await;
    let queue = jobbers_common::queue::QueueConfig::new(jobbers_common::name::QueueName::new("quick").unwrap());
    let serves = vec![jobbers_common::name::QueueName::new("default").unwrap(), queue.name.clone()];
    let role = jobbers_common::queue::RoleConfig::new(mill.bench.config.role.clone(), serves);
    mill.bench.engine.put_queue(queue, jobbers_common::engine::PutMode::Create).await.unwrap();
    mill.bench.engine.put_role(role, jobbers_common::engine::PutMode::Upsert).await.unwrap();
    for _ in 0..3 {
        glances.with(NoParameters).queue("quick").submit(&mill.bench.client).await.unwrap();
    }
    for _ in 0..3 {
        assert_eq!(mill.bench.event().await, "glances");
    }
}

#[tokio::test]
async fn a_full_line_for_threads_holds_up_no_async_task_of_its_queue() {
    let mill = Mill::new().await;
    let (_shutdown, _) = mill.start().await;
    for _ in 0..3 {
        mill.bench.submit(&glances, NoParameters).await;
    }
    for _ in 0..3 {
        assert_eq!(mill.bench.event().await, "glances");
    }
    assert!(mill.at(Status::Submitted).await >= 3 * mill.threads, "what it has no thread for waits at its place");
    for _ in 0..5 * mill.threads {
        mill.release.send(()).unwrap();
    }
    mill.bench.until_settled(5 * mill.threads as u64 + 3).await;
}

/// Never ends by itself and ignores stop requests.
#[task(blocking, timeout = "50ms", max_retries = 0)]
fn hangs(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("hangs");
    let released = ctx.state::<Release>()?.0.lock().recv().map_err(TaskError::from);
    probe(&ctx).tell("released");
    released
}

#[task(blocking, max_heartbeat_interval = "50ms")]
fn falls_silent(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("silent");
    ctx.state::<Release>()?.0.lock().recv().map_err(TaskError::from)
}

#[task(blocking)]
fn is_quick_on_a_thread(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell("quick");
    Ok(())
}

/// A worker whose blocking tasks wait for the test.
fn hanging(bench: &Bench) -> (mpsc::Sender<()>, JoinHandle<Result<Report, WorkerError>>) {
    let (release, released) = mpsc::channel();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone());
    let worker = worker.state(bench.probe()).state(Release(Arc::new(Mutex::new(released))));
    (release, tokio::spawn(worker.run_until(Shutdown::new())))
}

#[tokio::test]
async fn tasks_that_hang_are_settled_and_do_not_keep_others_from_a_thread() {
    let bench = Bench::new();
    let (release, _worker) = hanging(&bench);
    let hung = 4 * thread::available_parallelism().unwrap().get();
    let mut ids = Vec::new();
    for _ in 0..hung {
        ids.push(bench.submit(&hangs, NoParameters).await);
    }
    let quick = bench.submit(&is_quick_on_a_thread, NoParameters).await;
    for id in &ids {
        let task = bench.over(id).await;
        assert_eq!((task.status, task.errors[0].kind), (Status::Failed, FailureKind::Timeout));
    }
    assert_eq!(bench.over(&quick).await.status, Status::Completed, "more hung than there are threads");
    let revisions = [bench.get(&ids[0]).await.revision, bench.get(&ids[hung - 1]).await.revision];
    let mut events = Vec::new();
    for _ in 0..hung {
        release.send(()).unwrap();
    }
    while events.iter().filter(|event| *event == "released").count() < hung {
        events.push(bench.event().await);
    }
    let last = bench.submit(&is_quick_on_a_thread, NoParameters).await;
    bench.over(&last).await;
    let after = [bench.get(&ids[0]).await, bench.get(&ids[hung - 1]).await];
    assert_eq!(after.each_ref().map(|task| task.revision), revisions, "a late answer has no effect: {after:?}");
}

#[tokio::test]
async fn a_blocking_task_that_goes_silent_is_stalled() {
    let bench = Bench::new();
    let (release, _worker) = hanging(&bench);
    let id = bench.submit(&falls_silent, NoParameters).await;
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.errors[0].kind), (Status::Stalled, FailureKind::Stall));
    release.send(()).unwrap();
}

#[tokio::test]
async fn a_worker_reports_which_task_holds_which_thread() {
    let bench = Bench::new();
    let (release, _worker) = hanging(&bench);
    let id = bench.submit(&hangs, NoParameters).await;
    bench.over(&id).await;
    let is_named = |thread: &HeldThread| {
        let named = (&thread.id, thread.queue.as_str(), thread.name.as_str(), thread.attempt);
        assert_eq!(named, (&id, "default", "hangs", 1));
        thread.held_for >= Duration::from_millis(100)
    };
    let one = |report: &WorkerReport| report.hung_threads.len() == 1 && report.hung_threads.iter().all(is_named);
    bench.until_report(one).await;
    release.send(()).unwrap();
    bench.until_report(|report| report.hung_threads.is_empty()).await;
}

#[tokio::test]
async fn a_worker_reports_which_blocking_tasks_run_and_how_many_wait() {
    let bench = Bench::new();
    let (release, _worker) = hanging(&bench);
    let threads = thread::available_parallelism().unwrap().get();
    let mut ids = Vec::new();
    for _ in 0..=threads {
        ids.push(bench.submit(&grinds, NoParameters).await);
    }
    let is_full = |report: &WorkerReport| {
        let blocking = report.blocking.as_ref().unwrap();
        assert!(blocking.tasks.contains(&"grinds@1".to_owned()), "{blocking:?}");
        let counts = (blocking.threads as usize, blocking.busy as usize, blocking.waiting, blocking.held.len());
        counts == (threads, threads, 1, threads)
    };
    bench.until_report(is_full).await;
    for _ in 0..=threads {
        release.send(()).unwrap();
    }
    for id in &ids {
        bench.over(id).await;
    }
    bench.until_report(|report| report.blocking.as_ref().is_some_and(|it| (it.busy, it.waiting) == (0, 0))).await;
}

#[tokio::test]
async fn a_worker_with_too_many_hung_threads_drains_and_says_so() {
    let mut bench = Bench::new();
    bench.config.max_hung_threads = 2;
    let (_release, worker) = hanging(&bench);
    let first = bench.submit(&hangs, NoParameters).await;
    bench.over(&first).await;
    assert!(!worker.is_finished());
    bench.submit(&hangs, NoParameters).await;
    let report = worker.await.unwrap().unwrap();
    assert_eq!((report.hung, report.late, report.settled), (true, false, 2));
}

#[task(blocking)]
fn never_ends_after_a_checkpoint(ctx: Context) -> Result<(), TaskError> {
    ctx.blocking_checkpoint(&1)?;
    ctx.state::<Release>()?.0.lock().recv()?;
    ctx.blocking_checkpoint(&2)?;
    probe(&ctx).tell("left");
    loop {
        thread::park();
    }
}

#[tokio::test]
async fn what_is_given_back_over_its_head_begins_at_its_last_checkpoint() {
    let mut bench = Bench::new();
    // So long that the second checkpoint is not written with a renewal.
    bench.config.lease = Duration::from_secs(60);
    let (release, released) = mpsc::channel();
    let worker = Worker::new(bench.config.clone(), bench.engine.clone());
    let worker = worker.state(bench.probe()).state(Release(Arc::new(Mutex::new(released))));
    let shutdown = Shutdown::new();
    let running = tokio::spawn(worker.run_until(shutdown.clone()));
    let id = bench.submit(&never_ends_after_a_checkpoint, NoParameters).await;
    bench.until(&id, |task| task.checkpoint.is_some()).await;
    release.send(()).unwrap();
    assert_eq!(bench.event().await, "left");
    shutdown.now.cancel();
    assert!(running.await.unwrap().unwrap().late);
    let task = bench.get(&id).await;
    assert_eq!((task.status, task.checkpoint), (Status::Submitted, Some(crate::bench::json("2"))));
}
