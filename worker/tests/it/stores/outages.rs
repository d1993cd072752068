//! A store that goes away and comes back.

use std::sync::atomic::Ordering;

use jobbers_common::{engine::reads::first_queues, lifecycle::Status};
use jobbers_worker::{Config, prelude::*};

use crate::bench::{Bench, probe};

#[task]
async fn counted(ctx: Context) -> Result<u32, TaskError> {
    probe(&ctx).tell(format!("started {}", ctx.id()));
    probe(&ctx).pass().await;
    probe(&ctx).tell("done");
    Ok(1)
}

#[tokio::test]
async fn what_finishes_while_the_store_is_away_is_settled_when_it_is_back() {
    let mut bench = Bench::new();
    bench.config.lease = Duration::from_secs(60);
    let id = bench.submit(&counted, NoParameters).await;
    let worker = bench.worker();
    bench.event().await;
    bench.engine.go_down();
    bench.open(1);
    assert_eq!(bench.event().await, "done");
    bench.refusals(2).await;
    assert_eq!(bench.get(&id).await.status, Status::Started);
    bench.engine.come_back();
    assert_eq!(bench.over(&id).await.status, Status::Completed);
    // And it claims again.
    let next = bench.submit(&counted, NoParameters).await;
    bench.open(1);
    assert_eq!(bench.over(&next).await.status, Status::Completed);
    let report = worker.drain().await;
    assert_eq!((report.settled, report.lost), (2, 0));
}

#[tokio::test]
async fn a_settlement_whose_answer_got_lost_is_sent_again_and_counts_once() {
    let bench = Bench::new();
    let id = bench.submit(&counted, NoParameters).await;
    let worker = bench.worker();
    bench.event().await;
    bench.engine.lose_the_next_answer();
    bench.open(1);
    assert_eq!(bench.over(&id).await.status, Status::Completed);
    let report = worker.drain().await;
    assert_eq!((report.settled, report.lost), (1, 0));
    assert_eq!(bench.event().await, "done");
    assert!(bench.is_quiet().await, "it ran once");
}

#[tokio::test]
async fn a_worker_that_starts_before_its_store_waits_for_it() {
    let bench = Bench::new();
    bench.engine.go_down();
    let id = bench.submit(&counted, NoParameters).await;
    let _worker = bench.worker();
    bench.refusals(2).await;
    bench.engine.come_back();
    bench.open(1);
    assert_eq!(bench.over(&id).await.status, Status::Completed);
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_without_a_store_stops_all_the_same() {
    let bench = Bench::new();
    bench.submit(&counted, NoParameters).await;
    let worker = bench.worker_with(Config { drain_deadline: Duration::from_millis(20), ..bench.config.clone() });
    bench.event().await;
    bench.engine.go_down();
    let report = worker.drain().await;
    assert!(report.late);
}

#[tokio::test]
async fn a_worker_that_leaves_an_ended_attempt_unsettled_says_so() {
    let mut bench = Bench::new();
    bench.config.lease = Duration::from_secs(60);
    bench.submit(&counted, NoParameters).await;
    let worker = bench.worker_with(Config { drain_deadline: Duration::from_millis(20), ..bench.config.clone() });
    bench.event().await;
    bench.engine.go_down();
    bench.open(1);
    assert_eq!(bench.event().await, "done");
    bench.settlements_refused(1).await;
    let report = worker.drain().await;
    assert_eq!((report.settled, report.unsettled, report.late), (0, 1, false));
    assert_eq!(format!("{:?}", report.exit_code()), format!("{:?}", ExitCode::from(75)));
}

#[tokio::test]
async fn an_idle_worker_makes_about_one_call_a_second() {
    let bench = Bench::new();
    let _worker = bench.worker();
    // Two at the start, each for half of its slots, and one a second later.
    bench.cycles(3).await;
    let (before, since) = (bench.engine.cycles.load(Ordering::SeqCst), std::time::Instant::now());
    bench.cycles(2).await;
    let calls = bench.engine.cycles.load(Ordering::SeqCst) - before;
    assert!(since.elapsed() > Duration::from_millis(1_500) && calls == 2, "{calls} in {:?}", since.elapsed());
}

#[tokio::test]
async fn while_answers_are_lost_no_more_is_claimed_than_once() {
    let mut bench = Bench::new();
    bench.config.lease = Duration::from_secs(60);
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(bench.submit(&counted, NoParameters).await);
    }
    bench.engine.lose_answers(true);
    let worker = bench.worker();
    bench.refusals(6).await;
    let stats = first_queues(&*bench.engine, 1).await.unwrap();
    let leased = stats[0].tasks[&Status::Started];
    assert!(leased <= 4, "two calls, each for half of the slots; {leased} were leased to nobody");
    bench.engine.lose_answers(false);
    bench.open(20);
    bench.until_settled(20 - leased).await;
    // A task leased without a worker returns when its lease expires, and counts one crash.
    bench.clock.advance(Duration::from_secs(61));
    for id in ids {
        let task = bench.over(&id).await;
        assert!(task.status == Status::Completed && task.crashes <= 1, "{task:?}");
    }
    worker.drain().await;
}
