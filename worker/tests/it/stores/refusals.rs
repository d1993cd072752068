//! A store that answers and refuses.

use std::{sync::atomic::Ordering, time::Duration};

use jobbers_common::{
    engine::{Cycle, Error, PutMode, Queues, Settings, Upkeep},
    lifecycle::Status,
    name::{QueueName, RoleName},
    queue::{QueueConfig, RoleConfig},
};
use jobbers_worker::prelude::*;

use crate::bench::{Bench, json, probe};

#[task]
async fn step(ctx: Context) -> Result<u32, TaskError> {
    probe(&ctx).tell(format!("started {}", ctx.id()));
    probe(&ctx).pass().await;
    probe(&ctx).tell("done");
    Ok(1)
}

/// Returns a quarter of a megabyte.
#[task]
async fn tome(ctx: Context) -> Result<String, TaskError> {
    probe(&ctx).tell("started");
    probe(&ctx).pass().await;
    probe(&ctx).tell("done");
    Ok("x".repeat(250 * 1024))
}

fn settles(cycle: &Cycle, id: &str) -> bool {
    cycle.settlements.iter().any(|settlement| settlement.id.as_str() == id)
}

/// A worker whose four slots hold the tasks `odd`, `a`, `b` and `c`.
async fn bench_of_four() -> (Bench, crate::bench::Running) {
    let mut bench = Bench::new();
    bench.config.lease = Duration::from_secs(60);
    for id in ["odd", "a", "b", "c"] {
        step.with(NoParameters).id(id).submit(&bench.client).await.unwrap();
    }
    let worker = bench.worker();
    for _ in 0..4 {
        assert!(bench.event().await.starts_with("started"));
    }
    (bench, worker)
}

fn id(text: &str) -> jobbers_common::name::TaskId {
    jobbers_common::name::TaskId::new(text).unwrap()
}

#[tokio::test]
async fn what_finishes_while_every_call_is_refused_is_settled_when_none_is() {
    let (bench, worker) = bench_of_four().await;
    bench.engine.refuse(|_| Some(Error::Config("NOAUTH Authentication required.".to_owned())));
    bench.open(4);
    for _ in 0..4 {
        assert_eq!(bench.event().await, "done");
    }
    bench.refusals(5).await;
    bench.engine.refuse_nothing();
    for name in ["odd", "a", "b", "c"] {
        let task = bench.over(&id(name)).await;
        assert_eq!((task.status, task.crashes), (Status::Completed, 0));
    }
    let report = worker.drain().await;
    assert_eq!((report.settled, report.lost), (4, 0));
}

#[tokio::test]
async fn what_finishes_while_claims_are_refused_is_settled_without_one() {
    let (bench, worker) = bench_of_four().await;
    bench.engine.refuse(|cycle| cycle.claim.as_ref().map(|_| Error::Corrupt("a task that nobody can read".to_owned())));
    bench.open(4);
    for name in ["odd", "a", "b", "c"] {
        assert_eq!(bench.over(&id(name)).await.status, Status::Completed);
    }
    bench.refusals(2).await;
    bench.engine.refuse_nothing();
    let next = bench.submit(&step, NoParameters).await;
    bench.open(1);
    assert_eq!(bench.over(&next).await.status, Status::Completed, "it claims again");
    worker.drain().await;
}

#[tokio::test]
async fn one_that_the_store_can_not_settle_is_kept_and_holds_up_no_other() {
    let (bench, worker) = bench_of_four().await;
    bench.engine.refuse(|cycle| settles(cycle, "odd").then(|| Error::Corrupt("the record of odd".to_owned())));
    bench.open(4);
    for name in ["a", "b", "c"] {
        assert_eq!(bench.over(&id(name)).await.status, Status::Completed);
    }
    let next = bench.submit(&step, NoParameters).await;
    bench.open(1);
    assert_eq!(bench.over(&next).await.status, Status::Completed, "the worker goes on claiming");
    assert_eq!(bench.get(&id("odd")).await.status, Status::Started);
    bench.engine.refuse_nothing();
    let odd = bench.over(&id("odd")).await;
    assert_eq!((odd.status, odd.crashes), (Status::Completed, 0));
    assert_eq!(worker.drain().await.settled, 5);
}

#[tokio::test]
async fn one_that_the_store_calls_invalid_is_given_up_and_no_other() {
    let (bench, worker) = bench_of_four().await;
    bench.engine.refuse(|cycle| settles(cycle, "odd").then(|| Error::Invalid("no such outcome".to_owned())));
    bench.open(4);
    for name in ["a", "b", "c"] {
        assert_eq!(bench.over(&id(name)).await.status, Status::Completed);
    }
    let report = worker.drain().await;
    assert_eq!((report.settled, report.late), (3, false));
    assert_eq!(bench.get(&id("odd")).await.status, Status::Started);
    bench.clock.advance(Duration::from_secs(61));
    assert_eq!(bench.engine.reclaim_expired(10).await.unwrap().requeued, 1, "its lease is renewed no more");
}

#[tokio::test]
async fn a_configuration_whose_version_went_back_is_followed() {
    let bench = Bench::new();
    let queue = |name: &str| QueueConfig::new(QueueName::new(name).unwrap());
    for name in ["one", "two", "three"] {
        bench.engine.put_queue(queue(name), PutMode::Create).await.unwrap();
    }
    let worker = bench.worker();
    bench.until_report(|report| report.queues.len() == 1).await;
    // The store was restored from a copy, and changed since.
    bench.engine.go_back(2);
    let role = RoleName::new("default").unwrap();
    let serves = RoleConfig::new(role, vec![QueueName::new("default").unwrap(), QueueName::new("three").unwrap()]);
    bench.engine.put_role(serves, PutMode::Upsert).await.unwrap();
    bench.until_report(|report| report.queues.len() == 2).await;
    let reads = bench.engine.configs.load(Ordering::SeqCst);
    bench.cycles(3).await;
    assert_eq!(bench.engine.configs.load(Ordering::SeqCst), reads, "it is read once");
    worker.drain().await;
}

#[task]
async fn keeps_listening(ctx: Context) -> Result<u64, TaskError> {
    let probe = probe(&ctx);
    probe.tell("started");
    tokio::select! {
        () = probe.pass() => Ok(ctx.fence().0),
        () = ctx.cancelled() => {
            probe.tell(format!("told {}", ctx.id()));
            Err(TaskError::Cancelled)
        }
    }
}

#[tokio::test]
async fn a_lease_that_the_store_can_not_renew_costs_no_other() {
    let bench = Bench::new();
    for name in ["a", "odd", "b", "c"] {
        keeps_listening.with(NoParameters).id(name).submit(&bench.client).await.unwrap();
    }
    let worker = bench.worker();
    for _ in 0..4 {
        assert_eq!(bench.event().await, "started");
    }
    let fence = async |name: &str| bench.get(&id(name)).await.lease.map(|lease| lease.fence.to_string());
    let fences = [fence("a").await, fence("b").await, fence("c").await];
    bench.engine.refuse_to_extend(|all| {
        let odd = all.iter().any(|extension| extension.id.as_str() == "odd");
        odd.then(|| Error::Corrupt("the record of odd".to_owned()))
    });
    assert_eq!(bench.event().await, "told odd");
    // The others have been renewed all the time, and still are.
    bench.renewals(9).await;
    bench.open(10);
    for (name, fence) in ["a", "b", "c"].into_iter().zip(fences) {
        let task = bench.over(&id(name)).await;
        assert_eq!(task.result, fence.as_deref().map(json), "under its first lease");
    }
    worker.shutdown.now.cancel();
    worker.end().await;
}

#[tokio::test]
async fn what_piled_up_is_settled_in_calls_of_at_most_eight_mebibytes() {
    let mut bench = Bench::new();
    (bench.config.lease, bench.config.concurrency) = (Duration::from_secs(60), 48);
    for _ in 0..48 {
        bench.submit(&tome, NoParameters).await;
    }
    let worker = bench.worker();
    for _ in 0..48 {
        assert_eq!(bench.event().await, "started");
    }
    bench.engine.refuse(|_| Some(Error::unavailable("it is down")));
    bench.open(48);
    for _ in 0..48 {
        assert_eq!(bench.event().await, "done");
    }
    bench.engine.refuse(|cycle| {
        let bytes: usize = cycle.settlements.iter().map(|settlement| settlement.outcome.bytes()).sum();
        (bytes > 8 * 1024 * 1024).then(|| Error::unavailable("it takes too long to arrive"))
    });
    bench.until_settled(48).await;
    assert_eq!(worker.drain().await.settled, 48);
}
