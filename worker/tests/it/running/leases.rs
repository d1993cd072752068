//! Keeping leases, and losing them.

use std::{sync::atomic::Ordering, time::Duration};

use jobbers_common::{
    engine::{ClaimRequest, Claims, Cycle, QueueClaim, Upkeep},
    lifecycle::Status,
    name::{QueueName, WorkerId},
    policy::PolicyOverrides,
    task::Task,
};
use jobbers_worker::{Config, prelude::*};

use crate::bench::{Bench, json, probe};
use jobbers_law::double::Double;

#[task]
async fn gated_by_fence(ctx: Context) -> Result<u64, TaskError> {
    let probe = probe(&ctx);
    probe.tell(format!("started, crashes {}", ctx.crashes()));
    probe.pass().await;
    Ok(ctx.fence().0)
}

#[tokio::test]
async fn a_running_task_s_lease_is_renewed_as_long_as_it_runs() {
    let bench = Bench::new();
    let id = bench.submit(&gated_by_fence, NoParameters).await;
    let _worker = bench.worker();
    bench.event().await;
    for _ in 0..4 {
        bench.clock.advance(Duration::from_millis(700));
        bench.renewals(1).await;
        assert_eq!(bench.engine.reclaim_expired(100).await.unwrap().total(), 0);
    }
    bench.open(1);
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.crashes), (Status::Completed, 0));
}

#[task]
async fn notices(ctx: Context) -> Result<u64, TaskError> {
    let probe = probe(&ctx);
    probe.tell(format!("started {}", ctx.fence()));
    tokio::select! {
        () = probe.pass() => {}
        () = ctx.cancelled() => probe.tell(format!("told {}", ctx.fence())),
    }
    Ok(ctx.fence().0)
}

#[tokio::test]
async fn a_zombie_is_told_and_what_it_answers_does_not_count() {
    let bench = Bench::new();
    let id = bench.submit(&notices, NoParameters).await;
    let worker = bench.worker();
    let first = bench.event().await;
    // The store's clock jumps, as if this worker had been frozen, and another one takes the lease back.
    bench.clock.advance(Duration::from_secs(60));
    let taken = bench.engine.reclaim_expired(100).await.unwrap();
    assert_eq!(taken.requeued, 1);
    let mut events = vec![bench.event().await, bench.event().await];
    events.sort();
    let (again, told) = (&events[0], &events[1]);
    assert_eq!(*told, first.replace("started", "told"));
    assert!(again.starts_with("started") && *again != first, "{events:?}");
    bench.open(1);
    let task = bench.over(&id).await;
    let fence = again.trim_start_matches("started ");
    assert_eq!((task.status, task.result, task.crashes), (Status::Completed, Some(json(fence)), 1));
    let report = worker.drain().await;
    assert_eq!((report.settled, report.lost), (1, 1));
}

#[tokio::test]
async fn a_worker_that_cannot_renew_stops_its_task_before_the_lease_ends_and_gives_it_back() {
    let bench = Bench::new();
    let id = bench.submit(&notices, NoParameters).await;
    let _worker = bench.worker();
    let first = bench.event().await;
    let claimed = std::time::Instant::now();
    bench.engine.go_down();
    // It returns Ok after its stop request: the work counts if no other worker has started the task since.
    assert_eq!(bench.event().await, first.replace("started", "told"));
    let told = claimed.elapsed();
    assert!(told < 2 * bench.config.lease, "{told:?}");
    bench.engine.come_back();
    assert_eq!(bench.over(&id).await.status, Status::Completed);
}

#[task]
async fn deaf_for_once(ctx: Context) -> Result<u32, TaskError> {
    let probe = probe(&ctx);
    probe.tell("started");
    probe.pass().await;
    Ok(ctx.attempt())
}

#[tokio::test]
async fn a_task_that_was_stopped_for_its_lease_runs_again_and_counts_neither_retry_nor_crash() {
    let bench = Bench::new();
    let id = bench.submit(&deaf_for_once, NoParameters).await;
    let _worker = bench.worker();
    bench.event().await;
    bench.engine.go_down();
    // It has been dropped once there is a settlement.
    bench.settlements_refused(1).await;
    bench.engine.come_back();
    assert_eq!(bench.event().await, "started");
    bench.open(1);
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.attempt, task.crashes), (Status::Completed, 1, 0));
    assert!(task.errors.is_empty());
}

/// How many renewals a task waits for before it releases its thread.
struct Patience(std::sync::Arc<Double<crate::stores::faulty::Faulty>>);

#[task]
async fn hogs_the_runtime(ctx: Context) -> Result<(), TaskError> {
    let engine = &ctx.state::<Patience>()?.0;
    let until = engine.renewed.load(Ordering::SeqCst) + 8;
    // Never awaits: the only thread of this test's runtime is blocked for more than two leases.
    while engine.renewed.load(Ordering::SeqCst) < until {
        std::thread::yield_now();
    }
    Ok(())
}

#[tokio::test(flavor = "current_thread")]
async fn a_task_that_blocks_the_whole_runtime_does_not_lose_its_lease() {
    let bench = Bench::new();
    let id = bench.submit(&hogs_the_runtime, NoParameters).await;
    let worker = Worker::new(bench.config.clone(), bench.engine.clone()).state(Patience(bench.engine.clone()));
    tokio::spawn(worker.run_until(jobbers_process::shutdown::Shutdown::new()));
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.crashes), (Status::Completed, 0));
}

#[task]
async fn chatters(ctx: Context) -> Result<(), TaskError> {
    for n in 0..10_000 {
        ctx.progress(f64::from(n) / 10_000.0, "").await?;
    }
    probe(&ctx).tell("said");
    probe(&ctx).pass().await;
    Ok(())
}

#[tokio::test]
async fn ten_thousand_heartbeats_become_a_few_writes_and_the_last_word_stands() {
    let bench = Bench::new();
    let id = bench.submit(&chatters, NoParameters).await;
    let _worker = bench.worker();
    let started = std::time::Instant::now();
    assert_eq!(bench.event().await, "said");
    bench.until(&id, |task| task.progress.as_ref().is_some_and(|progress| progress.fraction > 0.999)).await;
    // One at once, then one per quarter of the lease, since the task sets no interval.
    let quarters = started.elapsed().as_millis() / (bench.config.lease / 4).as_millis();
    let writes = bench.engine.heartbeats.load(Ordering::SeqCst);
    assert!(u128::from(writes) <= quarters + 2, "{writes} writes in {quarters} quarters of a lease");
    bench.open(1);
    assert_eq!(bench.over(&id).await.status, Status::Completed);
}

#[task(max_heartbeat_interval = "1m")]
async fn one_of_a_crowd(ctx: Context) -> Result<(), TaskError> {
    for page in 0..25 {
        ctx.progress(f64::from(page) / 24.0, format!("page {page}")).await?;
        tokio::task::yield_now().await;
    }
    probe(&ctx).tell("said");
    probe(&ctx).pass().await;
    Ok(())
}

#[tokio::test]
async fn ten_thousand_heartbeats_of_many_tasks_go_in_few_calls() {
    const CROWD: usize = 400;
    let bench = Bench::new();
    for _ in 0..CROWD {
        bench.submit(&one_of_a_crowd, NoParameters).await;
    }
    let started = std::time::Instant::now();
    let config = Config { concurrency: CROWD as u32, ..bench.config.clone() };
    let _worker = bench.worker_with(config.clone());
    for _ in 0..CROWD {
        bench.event().await;
    }
    bench.renewals(CROWD as u64).await;
    let (writes, calls) = (&bench.engine.heartbeats, &bench.engine.extends);
    let (writes, calls) = (writes.load(Ordering::SeqCst), calls.load(Ordering::SeqCst));
    let quarters = started.elapsed().as_millis() / (config.lease / 4).as_millis();
    let most = CROWD as u128 * (quarters + 2);
    assert!(u128::from(writes) <= most, "{writes} writes by {CROWD} tasks in {quarters} quarters of a lease");
    let gaps = started.elapsed().as_millis() / (config.lease / 64).as_millis();
    assert!(u128::from(calls) <= gaps + 2, "{calls} calls in {gaps} times a 64th of a lease");
    bench.open(CROWD);
}

/// May be silent for long, and reports a page each time it is let on.
#[task(max_heartbeat_interval = "10m")]
async fn turns_pages(ctx: Context, pages: u32) -> Result<(), TaskError> {
    for page in 1..=pages {
        ctx.checkpoint(&page).await?;
        ctx.progress(f64::from(page) / f64::from(pages), format!("page {page}")).await?;
        probe(&ctx).pass().await;
    }
    Ok(())
}

#[tokio::test]
async fn a_long_heartbeat_interval_makes_no_report_late() {
    let bench = Bench::new();
    let id = bench.submit(&turns_pages, 3).await;
    let _worker = bench.worker();
    for page in 1..=3 {
        // A quarter of the lease is the longest wait, and the patience of this test is far shorter than a quarter of the
        // interval.
        let is_there = |task: &Task| {
            task.checkpoint == Some(json(&page.to_string()))
                && task.progress.as_ref().is_some_and(|progress| progress.message == format!("page {page}"))
        };
        bench.until(&id, is_there).await;
        bench.open(1);
    }
    assert_eq!(bench.over(&id).await.status, Status::Completed);
}

/// Reports that it is done, and ends.
#[task]
async fn ends_at_once(ctx: Context, well: bool) -> Result<(), TaskError> {
    ctx.progress(0.1, "begun").await?;
    probe(&ctx).tell("begun");
    probe(&ctx).pass().await;
    ctx.progress(1.0, "all done").await?;
    if well { Ok(()) } else { Err(TaskError::fatal("it went wrong at the end")) }
}

#[tokio::test]
async fn a_task_that_is_over_shows_its_last_report() {
    let mut bench = Bench::new();
    // The first report is written at once, and no other one is due while this test runs.
    bench.config.lease = Duration::from_secs(600);
    for (well, status) in [(true, Status::Completed), (false, Status::Failed)] {
        let worker = bench.worker();
        let id = bench.submit(&ends_at_once, well).await;
        assert_eq!(bench.event().await, "begun");
        bench.until(&id, |task| task.progress.is_some()).await;
        bench.open(1);
        let task = bench.over(&id).await;
        let progress = task.progress.unwrap();
        assert_eq!((task.status, progress.fraction, progress.message.as_str()), (status, 1.0, "all done"));
        worker.drain().await;
    }
}

/// Must not run twice.
#[task(max_crashes = 1)]
async fn fragile() -> Result<(), TaskError> {
    Ok(())
}

/// Claims everything, and vanishes.
async fn crash(bench: &Bench) {
    let lease = Duration::from_secs(8);
    let queues = vec![QueueClaim { queue: QueueName::new("default").unwrap(), limit: 10 }];
    let worker = WorkerId::new("doomed").unwrap();
    let cycle = Cycle {
        worker,
        settlements: Vec::new(),
        claim: Some(ClaimRequest { queues, limit: 10, refused: Vec::new(), lease }),
    };
    bench.engine.cycle(cycle).await.unwrap();
    bench.clock.advance(lease);
    bench.engine.reclaim_expired(10).await.unwrap();
}

#[tokio::test]
async fn what_a_task_says_of_vanished_workers_holds_where_its_submission_says_nothing() {
    let bench = Bench::new();
    let overrides = PolicyOverrides { max_crashes: Some(2), ..PolicyOverrides::default() };
    let plain = bench.submit(&fragile, NoParameters).await;
    crash(&bench).await;
    let twice = bench.submit_with(&fragile, NoParameters, overrides).await;
    crash(&bench).await;
    let task = bench.get(&plain).await;
    assert_eq!((task.status, task.crashes, task.dead_letter), (Status::Failed, 1, true));
    assert_eq!(bench.get(&twice).await.status, Status::Submitted);
    crash(&bench).await;
    let task = bench.get(&twice).await;
    assert_eq!((task.status, task.crashes, task.dead_letter), (Status::Failed, 2, true));
}
