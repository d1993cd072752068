//! Waiting for the end of tasks: what it costs the server, and what survives outages.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use jobbers_common::{
    engine::{Result, SettleAnswer, Settlement},
    lifecycle::Status,
    name::BoardName,
    task::Task,
};
use jobbers_law::conformance::{DONE, Fixture, id};
use jobbers_test_support::{
    fault_proxy::FaultProxy,
    redis_server::{Persistence, RedisOptions, RedisServer},
    wait::until,
};
use tokio::task::JoinHandle;

use super::connect;

const LONG: Duration = Duration::from_secs(60);
/// Far below the time after which a caller looks again by itself.
const AT_ONCE: Duration = Duration::from_millis(800);

fn wait_for(f: &Fixture, name: &str) -> JoinHandle<Result<Option<Task>>> {
    let (engine, id) = (Arc::clone(&f.engine), id(name));
    tokio::spawn(async move { engine.await_finished(&id, LONG).await })
}

/// A number that the server answers.
fn number(server: &RedisServer, command: &str) -> u64 {
    server.command(command).trim_start_matches(':').trim_end().parse().unwrap()
}

async fn until_awaited(server: &RedisServer, tasks: u64) {
    let noted = async || (number(server, "HLEN jobbers:{0}:awaited") == tasks).then_some(());
    until(LONG, "the server knows what is awaited", noted).await;
}

/// How many scripts were run.
fn scripts_run(server: &RedisServer) -> u64 {
    let stats = server.command("INFO commandstats");
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    calls.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}

async fn assert_completed(awaiting: JoinHandle<Result<Option<Task>>>) {
    assert_eq!(awaiting.await.unwrap().unwrap().unwrap().status, Status::Completed);
}

#[tokio::test]
async fn a_task_that_ends_in_one_process_ends_the_awaiting_in_all_others() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there, elsewhere) =
        (connect(&server.url()).await, connect(&server.url()).await, connect(&server.url()).await);
    here.submit_ids(&["a"]).await;
    let claimed = here.claim_one().await;
    let awaiting = [wait_for(&there, "a"), wait_for(&there, "a"), wait_for(&elsewhere, "a")];
    until_awaited(&server, 1).await;
    let by_both = async || (number(&server, "ZCARD jobbers:{0}:awaiting") == 2).then_some(());
    until(LONG, "both processes wait", by_both).await;
    here.settle(&claimed, DONE).await;
    let start = Instant::now();
    for one in awaiting {
        assert_completed(one).await;
    }
    assert!(start.elapsed() < AT_ONCE);
    assert_eq!(number(&server, "EXISTS jobbers:{0}:awaited"), 0, "nothing is left of it");
}

#[tokio::test]
async fn a_thousand_callers_cost_the_server_one_look_each_and_their_process_one_renewal() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let names: Vec<String> = (0..1_000).map(|n| format!("t{n}")).collect();
    f.submit_ids(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // The first call of a script is repeated, because the server does not know it.
    assert_eq!(f.engine.await_finished(&id("unknown"), LONG).await.unwrap(), None);
    let before = scripts_run(&server);
    let awaiting: Vec<_> = names.iter().map(|name| wait_for(&f, name)).collect();
    until_awaited(&server, 1_000).await;
    assert_eq!(scripts_run(&server) - before, 1_000, "each was noted by the look that the caller needs anyway");
    let renewals = async || (scripts_run(&server) - before >= 1_004).then_some(());
    let start = Instant::now();
    until(LONG, "three renewals, the first of them twice", renewals).await;
    assert!(start.elapsed() > Duration::from_secs(5), "one each two seconds, for all callers together");
    let claimed = f.claim(1_000).await;
    let before = scripts_run(&server);
    let settlements = claimed.iter().map(|task| Settlement::new(task.id.clone(), task.fence, DONE)).collect();
    let settled = f.cycle_as("w1", &["default"], 1, settlements).await.settled;
    assert_eq!(settled, [SettleAnswer::Accepted(Status::Completed); 1_000]);
    for one in awaiting {
        assert_completed(one).await;
    }
    let after = scripts_run(&server) - before;
    assert!((1_001..=1_002).contains(&after), "one settlement, one look per caller, perhaps a renewal: {after}");
    let published = server.command("INFO commandstats");
    assert!(published.contains("cmdstat_publish:calls=1,"), "one message for the whole batch: {published}");
}

#[tokio::test]
async fn settling_looks_up_all_awaited_tasks_of_a_batch_at_once() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let names: Vec<String> = (0..500).map(|n| format!("t{n}")).collect();
    f.submit_ids(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    f.submit_ids(&["awaited"]).await;
    let claimed = f.claim(500).await;
    let waiting = wait_for(&f, "awaited");
    until_awaited(&server, 1).await;
    assert_eq!(server.command("CONFIG RESETSTAT"), "+OK\r\n");
    let settlements = claimed.iter().map(|task| Settlement::new(task.id.clone(), task.fence, DONE)).collect();
    f.cycle_as("w1", &["default"], 1, settlements).await;
    let stats = server.command("INFO commandstats");
    let commands = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls="));
    let calls: u64 = commands.map(|(_, rest)| rest.split(',').next().unwrap().parse::<u64>().unwrap()).sum();
    assert!(calls < 100, "by the batch, not by the task: {stats}");
    waiting.abort();
}

#[tokio::test]
async fn a_caller_that_leaves_is_forgotten() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "b"]).await;
    let (left, stays) = (wait_for(&f, "a"), wait_for(&f, "b"));
    until_awaited(&server, 2).await;
    left.abort();
    until_awaited(&server, 1).await;
    assert_eq!(number(&server, "HEXISTS jobbers:{0}:awaited b"), 1);
    stays.abort();
    until_awaited(&server, 0).await;
}

#[tokio::test]
async fn what_a_process_that_died_awaited_is_forgotten_by_the_living() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, dead) = (connect(&server.url()).await, connect(&server.url()).await);
    here.submit_ids(&["a", "b"]).await;
    let both = [wait_for(&dead, "a"), wait_for(&dead, "b")];
    until_awaited(&server, 2).await;
    both.iter().for_each(JoinHandle::abort);
    drop(dead);
    let minutes = number(&server, "PTTL jobbers:{0}:awaited") / 60_000;
    assert!((55..=60).contains(&minutes), "without any process that renews, all is forgotten by then: {minutes}");
    let known = server.command("ZRANGE jobbers:{0}:awaiting 0 -1");
    let instance = known.lines().nth(2).unwrap();
    let living = wait_for(&here, "a");
    until_awaited(&server, 1).await;
    assert!(!server.command("HGET jobbers:{0}:awaited a").contains(instance));
    assert_eq!(number(&server, "ZCARD jobbers:{0}:awaiting"), 1);
    let claimed = here.claim_one().await;
    here.settle(&claimed, DONE).await;
    assert_completed(living).await;
}

#[tokio::test]
async fn what_a_silent_process_awaited_is_forgotten_when_its_time_is_over() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "b"]).await;
    assert_eq!(server.command("ZADD jobbers:{0}:awaiting 1 silent"), ":1\r\n");
    assert_eq!(server.command(&format!("HSET jobbers:{{0}}:awaited b silent={:040};", 1)), ":1\r\n");
    let living = wait_for(&f, "a");
    let is_forgotten = async || (number(&server, "HEXISTS jobbers:{0}:awaited b") == 0).then_some(());
    until(LONG, "the silent one is forgotten", is_forgotten).await;
    assert_eq!(number(&server, "ZCARD jobbers:{0}:awaiting"), 1);
    living.abort();
}

#[tokio::test]
async fn who_waits_again_and_again_writes_nothing() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let board = BoardName::new("b").unwrap();
    f.submit_ids(&["a"]).await;
    let poll = async || {
        let brief = Duration::from_millis(20);
        assert!(f.engine.await_finished(&id("a"), brief).await.unwrap().is_some());
        Arc::clone(&f.engine).boards().wait(&board, "g", 0, brief).await;
    };
    poll().await;
    let changes = || {
        let info = server.command("INFO persistence");
        let found = info.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
        found.unwrap().trim().parse::<u64>().unwrap()
    };
    let (before, start) = (changes(), Instant::now());
    // Over several renewals.
    while start.elapsed() < Duration::from_secs(7) {
        poll().await;
    }
    assert_eq!(changes(), before);
}

#[tokio::test]
async fn an_end_while_nothing_is_heard_is_found_when_the_subscription_is_restored() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let (here, there) = (connect(&server.url()).await, connect(&format!("redis://{}", proxy.address())).await);
    here.submit_ids(&["a"]).await;
    let claimed = here.claim_one().await;
    let awaiting = wait_for(&there, "a");
    until_awaited(&server, 1).await;
    // The answer to the look came before this one, on the same connection.
    there.engine.get(&id("a")).await.unwrap();
    proxy.fall_silent();
    here.settle(&claimed, DONE).await;
    let start = Instant::now();
    assert_completed(awaiting).await;
    assert!(start.elapsed() < Duration::from_secs(15), "long before a caller looks again by itself");
}

#[tokio::test]
async fn a_subscription_that_the_server_ends_is_made_again_and_nothing_is_missed() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let names: Vec<String> = (0..30).map(|n| format!("t{n}")).collect();
    f.submit_ids(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let claimed = f.claim(30).await;
    let awaiting: Vec<_> = names.iter().map(|name| wait_for(&f, name)).collect();
    until_awaited(&server, 30).await;
    let start = Instant::now();
    for task in &claimed {
        assert_eq!(server.command("CLIENT KILL TYPE pubsub").chars().next(), Some(':'));
        assert_eq!(f.settle(task, DONE).await, SettleAnswer::Accepted(Status::Completed));
    }
    for one in awaiting {
        assert_completed(one).await;
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_that_restarted_tells_again_who_waits() {
    let options = RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() };
    let mut server = RedisServer::start(options);
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    let awaiting = wait_for(&f, "a");
    until_awaited(&server, 1).await;
    // As if it had not been written down.
    assert_eq!(number(&server, "DEL jobbers:{0}:awaited jobbers:{0}:awaiting"), 2);
    server.restart();
    until_awaited(&server, 1).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    let start = Instant::now();
    assert_completed(awaiting).await;
    assert!(start.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn a_process_that_the_store_forgot_while_it_was_frozen_notes_again_what_it_awaits() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    let awaiting = wait_for(&f, "a");
    until_awaited(&server, 1).await;
    assert_eq!(number(&server, "DEL jobbers:{0}:awaited jobbers:{0}:awaiting"), 2);
    until_awaited(&server, 1).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    assert_completed(awaiting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_end_is_missed_by_callers_that_begin_to_wait_while_tasks_end() {
    let server = RedisServer::start(RedisOptions::default());
    let (here, there) = (connect(&server.url()).await, connect(&server.url()).await);
    let start = Instant::now();
    for round in 0..20 {
        let names: Vec<String> = (0..20).map(|n| format!("t{round}-{n}")).collect();
        here.submit_ids(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let claimed = here.claim(20).await;
        let ends = join_all(claimed.iter().map(async |task| here.settle(task, DONE).await));
        let waits = join_all(names.iter().map(async |name| there.engine.await_finished(&id(name), LONG).await));
        let (_, waited) = tokio::join!(ends, waits);
        waited.into_iter().for_each(|task| assert_eq!(task.unwrap().unwrap().status, Status::Completed));
    }
    assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
}
