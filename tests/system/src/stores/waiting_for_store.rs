//! Programs that are started before their store can be reached.

use std::time::Duration;

use jobbers_test_support::{
    program::Program,
    redis_server::Persistence,
    wait::{until, within},
};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::stack::{Manager, Stack};

const WAIT: (&str, &str) = ("WAIT_FOR_STORE", "2m");
const TRIED: &str = "the store can't be reached, and is tried again";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_wait_at_their_start_for_a_redis_that_is_away() {
    let mut stack = Stack::on_redis(Persistence::Always).await;
    let manager = stack.manager().await;
    let id = manager.api.submit(&json!({"name": "note"})).await;
    drop(manager);
    stack.redis.as_mut().unwrap().kill_9();
    let url = stack.url().to_owned();
    let start = |name: &str, arguments: &[&str]| {
        Program::start(name, stack.folder(), &[arguments, &["--engine-url", url.as_str()][..]].concat(), &[WAIT])
    };
    let manager = start("manager", &["--listen", "127.0.0.1:0"]);
    let up = start("jobbers", &["up", "--no-worker", "--listen", "127.0.0.1:0"]);
    let (worker, cleaner) = (start("worker", &[]), start("cleaner", &["--retention"]));
    for waiting in [&manager, &up, &worker, &cleaner] {
        waiting.line(TRIED).await;
    }
    stack.redis.as_mut().unwrap().restart();
    let manager = Manager::ready(manager).await;
    worker.line("worker started").await;
    up.line("jobbers is up").await;
    let mut cleaner = cleaner;
    assert!(cleaner.exit().await.success(), "{}", cleaner.said());
    until(Duration::from_secs(20), "the task is there", async || {
        manager.api.get(&format!("/tasks/{id}")).await.status.is_success().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_waits_for_its_store_stops_at_once_and_gives_up_in_time() {
    let mut stack = Stack::on_redis(Persistence::None).await;
    stack.redis.as_mut().unwrap().kill_9();
    let url = stack.url().to_owned();
    for name in ["manager", "worker", "cleaner"] {
        let arguments: &[&str] = if name == "cleaner" { &["--retention"] } else { &[] };
        let arguments = [&["--engine-url", url.as_str()][..], arguments].concat();
        let mut waits = Program::start(name, stack.folder(), &arguments, &[WAIT]);
        waits.line(TRIED).await;
        waits.signal(Signal::SIGTERM);
        let status = within(Duration::from_secs(20), name, waits.exit()).await;
        assert!(status.success(), "{name}: {status} {}", waits.said());
        let mut impatient = Program::start(name, stack.folder(), &arguments, &[("WAIT_FOR_STORE", "1s")]);
        impatient.line(TRIED).await;
        let status = within(Duration::from_secs(20), name, impatient.exit()).await;
        assert_eq!(status.code(), Some(69), "{name}: {}", impatient.said());
    }
}
