//! Several processes on one store, each by an engine of its own.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use jobbers_common::{
    engine::PutMode,
    name::RoleName,
    queue::QueueConfig,
    worker::{WorkerReport, WorkerState},
};
use jobbers_law::conformance::{Fixture, queue, worker};
use jobbers_test_support::{
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

use super::{
    announcements::{self, created_and_opened},
    connect,
};

const LONG: Duration = Duration::from_secs(30);
/// Far below the second after which a waiting worker looks again by itself.
const AT_ONCE: Duration = Duration::from_millis(800);

fn report(name: &str) -> WorkerReport {
    WorkerReport {
        id: worker(name),
        host: "host.example".to_owned(),
        pid: 42,
        version: "1.2.3".to_owned(),
        role: RoleName::new("default").unwrap(),
        queues: vec![queue("default")],
        slots: 64,
        running: 0,
        state: WorkerState::Running,
        tasks: Vec::new(),
        settled: 0,
        catalogue: None,
        left: Vec::new(),
        draining_for: None,
        done_within: None,
        hung_threads: Vec::new(),
        blocking: None,
    }
}

async fn sleep_as(f: &Fixture, name: &'static str) -> tokio::task::JoinHandle<Duration> {
    assert!(f.cycle_as(name, &["default"], 1, Vec::new()).await.claimed.is_empty());
    let engine = Arc::clone(&f.engine);
    tokio::spawn(async move {
        let start = Instant::now();
        engine.wait(&worker(name), LONG).await;
        start.elapsed()
    })
}

#[tokio::test]
async fn of_many_who_create_a_store_at_once_one_says_so() {
    announcements::record();
    let server = RedisServer::start(RedisOptions::default());
    let url = server.url();
    let _engines = join_all((0..8).map(|_| connect(&url))).await;
    let address = url.trim_start_matches("redis://");
    assert_eq!(created_and_opened(address), (1, 7), "{address}");
}

#[tokio::test]
async fn a_submission_of_one_process_wakes_a_worker_of_another() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there) = (connect(&server.url()).await, connect(&server.url()).await);
    let asleep = sleep_as(&there, "w1").await;
    here.submit_ids(&["a"]).await;
    assert!(asleep.await.unwrap() < AT_ONCE);
}

#[tokio::test]
async fn a_worker_that_died_in_its_sleep_does_not_swallow_a_wake_up() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there) = (connect(&server.url()).await, connect(&server.url()).await);
    let dead = connect(&server.url()).await;
    sleep_as(&dead, "w0").await.abort();
    drop(dead);
    let gone = async || server.command("PUBSUB NUMSUB jobbers:{0}:all").contains(":2\r\n").then_some(());
    until(Duration::from_secs(10), "the dead engine's connection is closed", gone).await;
    let asleep = sleep_as(&there, "w1").await;
    here.submit_ids(&["a"]).await;
    assert!(asleep.await.unwrap() < AT_ONCE);
}

#[tokio::test]
async fn who_died_in_its_sleep_is_forgotten_with_the_first_report_that_runs_out_and_the_living_stay() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there) = (connect(&server.url()).await, connect(&server.url()).await);
    let dead = connect(&server.url()).await;
    dead.engine.register_worker(report("w0"), Duration::from_millis(1)).await.unwrap();
    sleep_as(&dead, "w0").await.abort();
    sleep_as(&there, "w1").await.abort();
    drop(dead);
    let gone = async || server.command("PUBSUB NUMSUB jobbers:{0}:all").contains(":2\r\n").then_some(());
    until(Duration::from_secs(10), "the dead engine's connection is closed", gone).await;
    assert_eq!(server.command("ZCARD jobbers:{0}:q:default:w"), ":2\r\n");
    here.engine.register_worker(report("w2"), LONG).await.unwrap();
    assert_eq!(server.command("ZCARD jobbers:{0}:q:default:w"), ":1\r\n");
    assert!(server.command("ZRANGE jobbers:{0}:q:default:w 0 -1").contains("w1@"));
}

#[tokio::test]
async fn two_processes_that_change_the_configuration_lose_nothing() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there) = (connect(&server.url()).await, connect(&server.url()).await);
    let put = |f: &Fixture, name: String| {
        let engine = Arc::clone(&f.engine);
        tokio::spawn(async move { engine.put_queue(QueueConfig::new(queue(&name)), PutMode::Create).await.map(drop) })
    };
    let calls: Vec<_> =
        (0..10).flat_map(|n| [put(&here, format!("here-{n}")), put(&there, format!("there-{n}"))]).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(here.engine.config().await.unwrap().queues.len(), 21);
}

#[tokio::test]
async fn an_idle_worker_leaves_no_trace_when_it_finds_work_or_leaves() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.create_queue("mail").await;
    let waiting = || server.command("EXISTS jobbers:{0}:q:default:w jobbers:{0}:q:mail:w");
    assert!(f.claim_from(&["default", "mail"], 1).await.is_empty());
    assert_eq!(waiting(), ":2\r\n");
    f.submit_ids(&["a"]).await;
    assert_eq!(f.claim_from(&["default", "mail"], 1).await.len(), 1);
    assert_eq!(waiting(), ":0\r\n");
    assert!(f.claim_from(&["default", "mail"], 1).await.is_empty());
    f.engine.deregister_worker(&worker("w1")).await.unwrap();
    assert_eq!(waiting(), ":0\r\n");
}
