//! The lane: ready tasks in a list, beside those in a sorted set, and what is left of tasks that leave it.

use jobbers_common::{
    engine::{AuditRequest, Cancelled, Finding, OnConflict, Outcome, PutMode, Submit, TaskFilter},
    lifecycle::Status,
    name::TaskId,
    payload::Payload,
    queue::QueueConfig,
    task::{NewTask, Priority},
};
use jobbers_law::conformance::{Fixture, id, ids, queue, seconds, task};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use crate::connect;

async fn store() -> (RedisServer, Fixture) {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    (server, f)
}

fn key(server: &RedisServer, words: &str) -> String {
    server.command(words).trim_end().to_owned()
}

async fn look_over(f: &Fixture, repair: bool) -> Vec<Finding> {
    let (mut findings, mut cursor) = (Vec::new(), None);
    loop {
        let audited = f.engine.audit(AuditRequest { limit: 1_000, repair, cursor }).await.unwrap();
        findings.extend(audited.findings);
        cursor = audited.next;
        if cursor.is_none() {
            return findings;
        }
    }
}

async fn audit(f: &Fixture) -> Vec<Finding> {
    look_over(f, false).await
}

async fn ready(f: &Fixture) -> Vec<String> {
    f.list(TaskFilter::default(), 2).await.into_iter().map(|task| task.id.to_string()).collect()
}

fn ranked(name: &str, priority: u8) -> NewTask {
    NewTask { priority: Priority::new(priority).unwrap(), ..task(name) }
}

#[tokio::test]
async fn a_cancelled_task_leaves_a_ghost_that_no_count_and_no_list_shows() {
    let (server, f) = store().await;
    f.submit_ids(&["a", "b", "c", "d"]).await;
    assert_eq!(f.engine.cancel(&[id("a"), id("c")]).await.unwrap(), [Cancelled::Done, Cancelled::Done]);
    assert_eq!(key(&server, "LLEN jobbers:{0}:q:default:q"), ":3", "the first was dropped, the other is a ghost");
    assert_eq!(ready(&f).await, ["b", "d", "c", "a"], "the cancelled ones are over");
    assert_eq!(f.engine.place(&id("d")).await.unwrap().unwrap().ahead, 1);
    assert_eq!(f.stats("default").await.oldest_ready_at, Some(f.get("b").await.submitted_at));
    assert_eq!(audit(&f).await, []);
    assert_eq!(ids(&f.claim(1).await), ["b"]);
    assert_eq!(ids(&f.claim(10).await), ["d"]);
    assert_eq!(key(&server, "EXISTS jobbers:{0}:q:default:q jobbers:{0}:q:default:x"), ":0", "nothing is left of them");
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_replaced_task_stands_at_the_end() {
    let (_server, f) = store().await;
    f.submit_ids(&["a", "b"]).await;
    let other = NewTask { parameters: Payload::json("[1]"), ..task("a") };
    f.engine.submit(Submit { tasks: vec![other], on_conflict: OnConflict::Replace }).await.unwrap();
    f.submit_ids(&["c"]).await;
    assert_eq!(ready(&f).await, ["b", "a", "c"]);
    assert_eq!(audit(&f).await, []);
    assert_eq!(ids(&f.claim(10).await), ["b", "a", "c"]);
    f.assert_conserved().await;
}

#[tokio::test]
async fn lane_and_sorted_set_are_claimed_in_one_order() {
    let (_server, f) = store().await;
    f.submit_ids(&["a", "b", "c"]).await;
    f.submit(vec![ranked("low", 1), ranked("high", 9)]).await;
    f.submit_ids(&["d", "e"]).await;
    let claimed = f.claim(3).await;
    assert_eq!(ids(&claimed), ["high", "a", "b"]);
    // Both keep their places: one before the rest of the lane, one before all.
    for task in &claimed[..2] {
        f.settle(task, Outcome::Released { delay: seconds(0) }).await;
    }
    f.engine.cancel(&[id("d")]).await.unwrap();
    assert_eq!(ready(&f).await, ["b", "high", "a", "c", "e", "low", "d"]);
    let places = ["high", "a", "c", "e", "low"];
    for (ahead, name) in (0..).zip(places) {
        assert_eq!(f.engine.place(&id(name)).await.unwrap().unwrap().ahead, ahead, "{name}");
    }
    assert_eq!(audit(&f).await, []);
    for name in places {
        assert_eq!(ids(&f.claim(1).await), [name]);
    }
    assert!(f.claim(1).await.is_empty());
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_queue_that_gets_limits_empties_its_lane_in_order() {
    let (server, f) = store().await;
    f.submit_ids(&["a", "b", "c"]).await;
    f.engine.cancel(&[id("b")]).await.unwrap();
    let limits = QueueConfig {
        max_concurrent_per_key: Some(1),
        max_bytes: Some(1_000_000),
        ..QueueConfig::new(queue("default"))
    };
    f.engine.put_queue(limits, PutMode::Replace).await.unwrap();
    f.submit_ids(&["d"]).await;
    assert_eq!(audit(&f).await, []);
    f.engine.promote_due(10).await.unwrap();
    f.engine.promote_due(10).await.unwrap();
    assert_eq!(key(&server, "EXISTS jobbers:{0}:q:default:q jobbers:{0}:q:default:x"), ":0");
    let bytes = f.get("a").await.parameters.unwrap().len() as u64;
    assert_eq!(f.stats("default").await.waiting_bytes, Some(3 * bytes));
    assert_eq!(audit(&f).await, []);
    assert_eq!(ids(&f.claim(10).await), ["a", "c", "d"]);
    f.assert_conserved().await;
}

async fn submit_many(f: &Fixture, count: usize) -> Vec<TaskId> {
    let names: Vec<String> = (0..count).map(|n| format!("t{n:05}")).collect();
    for some in names.chunks(1_000) {
        f.submit(some.iter().map(|name| task(name)).collect()).await;
    }
    names.iter().map(|name| id(name)).collect()
}

#[tokio::test]
async fn a_claim_compares_a_bounded_number_of_ghosts() {
    let (server, f) = store().await;
    let names = submit_many(&f, 8_000).await;
    // Behind a live task, ghosts that are fewer than tasks stay.
    for some in names[1..4_000].chunks(1_000) {
        f.engine.cancel(some).await.unwrap();
    }
    assert_eq!(key(&server, "LLEN jobbers:{0}:q:default:q"), ":8000");
    let listed = f.list(TaskFilter { statuses: vec![Status::Submitted], ..TaskFilter::default() }, 100).await;
    assert_eq!(listed.len(), 4_001);
    assert_eq!(
        (listed[0].id.as_str(), listed[1].id.as_str()),
        ("t00000", "t04000"),
        "a list goes on behind the ghosts"
    );
    assert_eq!(ids(&f.claim(1).await), ["t00000"]);
    let oldest = f.stats("default").await.oldest_ready_at.unwrap();
    assert!(oldest <= f.get("t04000").await.submitted_at, "estimated from the ghosts before it");
    let first = f.cycle_as("w1", &["default"], 1, Vec::new()).await;
    assert_eq!((first.claimed.len(), first.next_due), (0, Some(seconds(0))), "there is more at once");
    assert_eq!(key(&server, "LLEN jobbers:{0}:q:default:q"), ":5999", "two thousand ghosts were dropped");
    let claimed = [f.claim(1).await, f.claim(1).await].concat();
    assert_eq!(ids(&claimed), ["t04000"]);
    f.assert_conserved().await;
}

#[tokio::test]
async fn cancelling_a_whole_queue_leaves_no_ghosts_to_claims() {
    let (server, f) = store().await;
    let mut names = submit_many(&f, 10_000).await;
    // From the end on, where no ghost is ever at the front of the lane.
    names.reverse();
    for some in names[..9_999].chunks(1_000) {
        f.engine.cancel(some).await.unwrap();
    }
    assert_eq!(ids(&f.claim(1).await), ["t00000"]);
    assert_eq!(key(&server, "EXISTS jobbers:{0}:q:default:q jobbers:{0}:q:default:x"), ":0");
    assert_eq!(audit(&f).await, []);
    f.assert_conserved().await;
}

#[tokio::test]
async fn ghosts_that_are_miscounted_are_counted_again() {
    let (server, f) = store().await;
    f.submit_ids(&["a", "b"]).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_eq!(key(&server, "SET jobbers:{0}:q:default:x 2"), "+OK");
    assert!(!audit(&f).await.is_empty());
    look_over(&f, true).await;
    assert_eq!(audit(&f).await, []);
    assert_eq!(ids(&f.claim(10).await), ["b"]);
    f.assert_conserved().await;
}
