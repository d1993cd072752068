//! What all verbs make of tasks that wait for others.

use jobbers_common::{
    engine::{
        AuditRequest, Cancelled, Flaw, PutMode, TaskFilter,
        conformance::{Fixture, dependencies::after, id, queue, task},
    },
    lifecycle::Status,
    queue::QueueConfig,
};
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
