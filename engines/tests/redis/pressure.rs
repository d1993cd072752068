//! A server whose memory is used up: finished tasks give way before any submission is refused.

use std::collections::HashMap;

use jobbers_common::{
    engine::{Error, Outcome, PruneRequest, PruneScope, SettleAnswer, TaskFilter},
    lifecycle::Status,
    payload::Payload,
    task::NewTask,
};
use jobbers_law::conformance::{Fixture, id, task};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::{connect, submit};

const TASKS: usize = 200;

fn large(text: &str) -> NewTask {
    NewTask { parameters: Payload::json(vec![b'1'; 10_000]), ..task(text) }
}

/// A number of `INFO memory`.
fn memory(server: &RedisServer, name: &str) -> u64 {
    let info = server.command("INFO memory");
    let fields: HashMap<_, _> = info.lines().filter_map(|line| line.split_once(':')).collect();
    fields[name].trim().parse().unwrap()
}

/// Lets the server have so many percent of what it uses now.
fn limit_memory(server: &RedisServer, percent: u64) {
    let most = memory(server, "used_memory") * percent / 100;
    assert_eq!(server.command(&format!("CONFIG SET maxmemory {most}")), "+OK\r\n");
}

/// Completes all that is there, with large results.
async fn drain(f: &Fixture) {
    let outcome = Outcome::Completed { result: Some(large("x").parameters) };
    while let [claimed] = &f.claim(1).await[..] {
        assert_eq!(f.settle(claimed, outcome.clone()).await, SettleAnswer::Accepted(Status::Completed));
    }
}

async fn store_with_finished_tasks() -> (RedisServer, Fixture) {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit((0..TASKS).map(|n| large(&format!("old-{n}"))).collect()).await;
    drain(&f).await;
    (server, f)
}

#[tokio::test]
async fn finished_tasks_give_way_to_new_ones_before_any_is_refused() {
    let (server, f) = store_with_finished_tasks().await;
    limit_memory(&server, 99);
    let mut new = 0;
    // The server may give back memory of its own first: how many tasks fit before one must go, is not known.
    while f.engine.get(&id("old-0")).await.unwrap().is_some() {
        assert!(new < TASKS, "no finished task was deleted");
        submit(&*f.engine, vec![large(&format!("new-{new}"))]).await.unwrap();
        new += 1;
    }
    assert_eq!(f.status(&format!("old-{}", TASKS - 1)).await, Status::Completed);
    assert_eq!(f.count(Status::Submitted).await, new as u64);
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_worker_settles_its_tasks_while_the_memory_is_used_up() {
    let (server, f) = store_with_finished_tasks().await;
    f.submit((0..20).map(|n| large(&format!("new-{n}"))).collect()).await;
    limit_memory(&server, 50);
    drain(&f).await;
    assert_eq!(f.count(Status::Submitted).await, 0);
    assert_eq!(f.status("new-19").await, Status::Completed);
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_tick_prunes_early_once_nine_tenths_of_the_memory_are_used() {
    let (server, f) = store_with_finished_tasks().await;
    let tick = PruneRequest { scope: PruneScope::Retention, limit: 10, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(tick.clone()).await.unwrap().removed, 0, "there is no maxmemory");
    limit_memory(&server, 101);
    assert_ne!(f.engine.health().await.unwrap().warnings.len(), 0);
    let mut removed = 0;
    loop {
        let pruned = f.engine.prune(tick.clone()).await.unwrap();
        removed += pruned.removed;
        if pruned.next.is_none() {
            break;
        }
    }
    assert!((1..TASKS as u64).contains(&removed), "{removed} of {TASKS}");
    // The server's own buffers come and go.
    assert!(memory(&server, "used_memory") * 100 <= memory(&server, "maxmemory") * 94);
    let kept = f.list(TaskFilter::default(), 1_000).await;
    assert_eq!(kept[0].id.as_str(), format!("old-{}", TASKS - 1), "the oldest go first");
    f.assert_conserved().await;
}

#[tokio::test]
async fn where_nothing_is_finished_the_memory_refuses_and_nothing_is_lost() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit((0..TASKS).map(|n| large(&format!("t{n}"))).collect()).await;
    limit_memory(&server, 99);
    let refused = submit(&*f.engine, vec![large("more")]).await;
    assert!(matches!(&refused, Err(Error::Full(why)) if why.contains("maxmemory")), "{refused:?}");
    assert_eq!(f.count(Status::Submitted).await, TASKS as u64);
    f.assert_conserved().await;
}
