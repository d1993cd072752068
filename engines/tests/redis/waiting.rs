//! What all verbs make of tasks that wait for others.

use jobbers_common::{
    engine::{AuditRequest, Cancelled, Flaw, Outcome, PutMode, Settlement, TaskFilter},
    lifecycle::Status,
    name::TaskId,
    payload::Payload,
    queue::QueueConfig,
    task::NewTask,
};
use jobbers_law::conformance::{Fixture, dependencies::after, id, queue, task, task_in};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::{connect, submit};

/// A store with a ready task, and one of each of these names that waits for it.
async fn store(waiting: &[&str]) -> (RedisServer, Fixture) {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["ready"]).await;
    f.submit(waiting.iter().map(|name| after(name, &["ready"])).collect()).await;
    (server, f)
}

async fn audit(f: &Fixture, repair: bool) -> Vec<(Flaw, String)> {
    let (mut findings, mut cursor) = (Vec::new(), None);
    loop {
        let audited = f.engine.audit(AuditRequest { limit: 1_000, repair, cursor }).await.unwrap();
        findings.extend(audited.findings.into_iter().map(|finding| (finding.flaw, finding.subject)));
        cursor = audited.next;
        if cursor.is_none() {
            return findings;
        }
    }
}

async fn all(f: &Fixture, filter: TaskFilter) -> Vec<String> {
    f.list(filter, 1).await.into_iter().map(|task| task.id.to_string()).collect()
}

#[tokio::test]
async fn it_is_seen_listed_and_counted() {
    let (_server, f) = store(&["a", "b"]).await;
    assert_eq!(f.status("a").await, Status::Waiting);
    assert_eq!(f.stats("default").await.tasks, [(Status::Waiting, 2), (Status::Submitted, 1)].into());
    assert_eq!(all(&f, TaskFilter::default()).await, ["ready", "a", "b"]);
    let only = TaskFilter { statuses: vec![Status::Waiting], ..TaskFilter::default() };
    assert_eq!(all(&f, only).await, ["a", "b"]);
    assert_eq!(f.claim(10).await.len(), 1, "and is not claimed");
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 0);
    assert_eq!(audit(&f, false).await, []);
    f.assert_conserved().await;
}

#[tokio::test]
async fn it_is_cancelled_moved_and_purged() {
    let (_server, f) = store(&["a", "b", "c"]).await;
    assert_eq!(f.engine.cancel(&[id("a")]).await.unwrap(), [Cancelled::Done]);
    assert_eq!(f.status("a").await, Status::Cancelled);
    f.create_queue("mail").await;
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 10).await.unwrap(), 3);
    assert_eq!((f.status("b").await, f.get("b").await.queue), (Status::Waiting, queue("mail")));
    assert_eq!(audit(&f, false).await, []);
    assert!(f.engine.delete_queue(&queue("mail"), None).await.is_err(), "it holds live tasks");
    assert_eq!(f.engine.purge_queue(&queue("mail"), 10).await.unwrap(), 3);
    assert_eq!(f.engine.get(&id("b")).await.unwrap(), None);
    f.assert_conserved().await;
}

#[tokio::test]
async fn it_takes_room_in_its_queue() {
    let (_server, f) = store(&["a", "b"]).await;
    let limits = QueueConfig { max_length: Some(4), max_bytes: Some(1_000), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limits, PutMode::Replace).await.unwrap();
    while f.engine.promote_due(1).await.unwrap() > 0 {}
    let bytes = f.get("a").await.parameters.unwrap().len() as u64;
    assert_eq!(f.stats("default").await.waiting_bytes, Some(3 * bytes));
    assert!(submit(&*f.engine, vec![task("c")]).await.is_ok());
    assert!(submit(&*f.engine, vec![task("d")]).await.is_err(), "four wait");
    assert_eq!(f.engine.cancel(&[id("a")]).await.unwrap(), [Cancelled::Done]);
    assert_eq!(f.stats("default").await.waiting_bytes, Some(3 * bytes));
    assert!(submit(&*f.engine, vec![task("d")]).await.is_ok());
    assert_eq!(audit(&f, false).await, []);
}

#[tokio::test]
async fn one_that_fell_out_of_its_place_is_put_back() {
    let (server, f) = store(&["a"]).await;
    assert_eq!(server.command("DEL jobbers:{0}:q:default:d"), ":1\r\n");
    assert!(audit(&f, true).await.contains(&(Flaw::Unplaced, "a".to_owned())));
    assert_eq!(server.command("ZCARD jobbers:{0}:q:default:d"), ":1\r\n");
    while !audit(&f, true).await.is_empty() {}
    f.assert_conserved().await;
}

fn ask(server: &RedisServer, words: &str) -> String {
    server.command(words).trim_end().to_owned()
}

/// Sixty tasks wait for fifty each, of which all but one completed and were deleted.
async fn sixty_that_hold_fifty(server: &RedisServer) -> Fixture {
    let f = connect(&server.url()).await;
    f.create_queue("mail").await;
    let names: Vec<String> = (0..50).map(|n| format!("p{n:02}")).collect();
    let on: Vec<&str> = names.iter().map(String::as_str).collect();
    f.submit(on.iter().map(|name| task(name)).collect()).await;
    let edges = after("x", &on).depends_on;
    let waits = |n| NewTask { depends_on: edges.clone(), ..task_in(&format!("w{n:02}"), "mail") };
    f.submit((0..60).map(waits).collect()).await;
    let done = Outcome::Completed { result: Some(Payload::json("7")) };
    let claimed = f.claim(49).await;
    let settle = claimed.iter().map(|task| Settlement::new(task.id.clone(), task.fence, done.clone())).collect();
    f.cycle_as("w1", &["default"], 0, settle).await;
    while ask(server, "EXISTS jobbers:{0}:g:due") == ":1" {
        f.engine.promote_due(10).await.unwrap();
    }
    let ids: Vec<TaskId> = claimed.into_iter().map(|task| task.id).collect();
    f.engine.delete_tasks(&ids, false).await.unwrap();
    assert_eq!(ask(server, "HLEN jobbers:{0}:g:kept"), ":49");
    f
}

#[tokio::test]
async fn what_many_removed_tasks_held_is_let_go_in_pieces() {
    let server = RedisServer::start(RedisOptions::default());
    let f = sixty_that_hold_fifty(&server).await;
    assert_eq!(f.engine.purge_queue(&queue("mail"), 100).await, Ok(60));
    // Some are let go at once, and then those of twenty tasks at a time.
    assert_eq!(ask(&server, "LLEN jobbers:{0}:g:left"), ":50");
    assert_eq!(audit(&f, false).await, []);
    assert!(f.claim_from(&["mail"], 1).await.is_empty());
    assert_eq!(ask(&server, "LLEN jobbers:{0}:g:left"), ":30", "a claim goes on with it");
    assert_eq!(audit(&f, false).await, []);
    for left in [":10", ":0"] {
        assert_eq!(ask(&server, "HLEN jobbers:{0}:g:kept"), ":49", "still held");
        f.engine.promote_due(10).await.unwrap();
        assert_eq!(ask(&server, "LLEN jobbers:{0}:g:left"), left, "and so does a tick");
        assert_eq!(audit(&f, false).await, []);
    }
    f.engine.promote_due(10).await.unwrap();
    assert_eq!(ask(&server, "EXISTS jobbers:{0}:g:held jobbers:{0}:g:kept jobbers:{0}:g:due"), ":0");
}
