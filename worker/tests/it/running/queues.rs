//! Which queues a worker serves, and how much of each.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{PutMode, Queues, Settings, Workers},
    lifecycle::Status,
    name::{QueueName, RoleName, TaskId},
    queue::{QueueConfig, RoleConfig},
};
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{Config, prelude::*};

use crate::bench::{Bench, probe};

#[task]
async fn held(ctx: Context) -> Result<(), TaskError> {
    probe(&ctx).tell(ctx.queue().as_str());
    probe(&ctx).pass().await;
    Ok(())
}

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

impl Bench {
    async fn make_queue(&self, name: &str, max_per_worker: Option<u32>) {
        let config = QueueConfig { max_per_worker, ..QueueConfig::new(queue(name)) };
        self.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    }

    async fn make_role(&self, name: &str, queues: &[&str]) {
        let queues = queues.iter().map(|name| queue(name));
        let role = RoleConfig::new(RoleName::new(name).unwrap(), queues);
        self.engine.put_role(role, PutMode::Upsert).await.unwrap();
    }

    async fn submit_to(&self, queue: &str) -> TaskId {
        held.with(NoParameters).queue(queue).submit(&self.client).await.unwrap().id
    }
}

#[tokio::test]
async fn no_more_tasks_of_a_queue_run_than_its_limits_allow() {
    let bench = Bench::new();
    bench.make_queue("heavy", None).await;
    bench.make_queue("mail", Some(1)).await;
    bench.make_role("default", &["heavy", "mail", "default"]).await;
    for name in ["heavy", "heavy", "heavy", "mail", "mail", "default"] {
        bench.submit_to(name).await;
    }
    let limits = BTreeMap::from([(queue("heavy"), 2), (queue("mail"), 5)]);
    let config = Config { concurrency: 16, queue_limits: limits, ..bench.config.clone() };
    let _worker = bench.worker_with(config);
    let mut started = Vec::new();
    for _ in 0..4 {
        started.push(bench.event().await);
    }
    started.sort();
    assert_eq!(started, ["default", "heavy", "heavy", "mail"]);
    bench.cycles(1).await;
    assert!(bench.is_quiet().await, "the others wait");
    // As soon as there is room again they run.
    bench.open(4);
    let mut started = [bench.event().await, bench.event().await];
    started.sort();
    assert_eq!(started, ["heavy", "mail"]);
    bench.open(2);
}

#[tokio::test]
async fn an_earlier_queue_is_emptied_before_a_later_one_is_asked() {
    let bench = Bench::new();
    bench.make_queue("first", None).await;
    bench.make_role("default", &["first", "default"]).await;
    for name in ["default", "first", "default", "first"] {
        bench.submit_to(name).await;
    }
    bench.open(4);
    let _worker = bench.worker_with(Config { concurrency: 1, ..bench.config.clone() });
    let order = [bench.event().await, bench.event().await, bench.event().await, bench.event().await];
    assert_eq!(order, ["first", "first", "default", "default"]);
}

#[tokio::test]
async fn a_change_of_the_role_is_live_for_an_idle_and_for_a_busy_worker() {
    let bench = Bench::new();
    bench.make_queue("new", None).await;
    let _worker = bench.worker();
    bench.cycles(1).await;
    let id = bench.submit_to("new").await;
    bench.make_role("default", &["default", "new"]).await;
    assert_eq!(bench.event().await, "new");

    // Busy: that task still runs, and the other slots are taken by now.
    for _ in 0..3 {
        bench.submit_to("default").await;
        assert_eq!(bench.event().await, "default");
    }
    bench.make_queue("newer", None).await;
    bench.make_role("default", &["newer"]).await;
    bench.until_report(|report| report.queues == [queue("newer")]).await;
    let newer = bench.submit_to("newer").await;
    bench.submit_to("default").await;
    bench.open(4);
    assert_eq!(bench.event().await, "newer");
    bench.open(1);
    assert_eq!(bench.over(&id).await.status, Status::Completed);
    assert_eq!(bench.over(&newer).await.status, Status::Completed);
    bench.cycles(1).await;
    assert!(bench.is_quiet().await, "a queue the role has left is not served");
}

#[tokio::test]
async fn a_queue_that_one_of_two_claims_at_once_left_out_wakes_an_idle_worker() {
    let bench = Bench::new();
    let _worker = bench.worker();
    bench.cycles(1).await;
    for name in ["one", "two", "three"] {
        // A claim for half of the slots asks for all that the queue may have, so another one at once leaves it out.
        bench.make_queue(name, Some(2)).await;
        bench.make_role("default", &["default", name]).await;
        bench.until_report(|report| report.queues.contains(&queue(name))).await;
        let start = Instant::now();
        let id = bench.submit_to(name).await;
        assert_eq!(bench.event().await, name);
        let waited = start.elapsed();
        assert!(waited < Duration::from_millis(700), "woken at once, not by chance after {waited:?}");
        bench.open(1);
        bench.over(&id).await;
    }
}

#[tokio::test]
async fn a_role_that_does_not_exist_yet_is_waited_for() {
    let bench = Bench::new();
    let role = RoleName::new("media").unwrap();
    let _worker = bench.worker_with(Config { role, ..bench.config.clone() });
    bench.submit_to("default").await;
    bench.cycles(1).await;
    assert!(bench.is_quiet().await);
    bench.make_role("media", &["default"]).await;
    assert_eq!(bench.event().await, "default");
    bench.open(1);
}

#[tokio::test]
async fn what_a_worker_serves_and_runs_can_be_seen() {
    let bench = Bench::new();
    bench.submit_to("default").await;
    let _worker = bench.worker();
    bench.event().await;
    bench.until_report(|report| report.queues == [queue("default")] && report.running == 1).await;
    let workers = bench.engine.workers().await.unwrap();
    let report = &workers[0].report;
    assert_eq!((report.role.as_str(), report.slots), ("default", 4));
    assert!(report.tasks.contains(&"held@1".to_owned()), "{:?}", report.tasks);
    bench.open(1);
}

#[tokio::test]
async fn a_worker_s_version_is_what_its_configuration_says_or_its_program_or_its_tasks_package() {
    let told = async |said: Option<&str>, configured: Option<&str>| {
        let bench = Bench::new();
        let config = Config { version: configured.map(str::to_owned), ..bench.config.clone() };
        let worker = Worker::new(config, bench.engine.clone()).state(bench.probe());
        let worker = said.into_iter().fold(worker, Worker::version);
        let shutdown = Shutdown::new();
        let running = tokio::spawn(worker.run_until(shutdown.clone()));
        bench.until_report(|_| true).await;
        let version = bench.engine.workers().await.unwrap()[0].report.version.clone();
        shutdown.now.cancel();
        running.await.unwrap().unwrap();
        version
    };
    assert_eq!(told(None, None).await, env!("CARGO_PKG_VERSION"));
    assert_eq!(told(Some("4f2c1e9"), None).await, "4f2c1e9");
    assert_eq!(told(Some("4f2c1e9"), Some("blue")).await, "blue");
}
