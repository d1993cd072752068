//! Leases in batches: what is stored of them, how tasks leave them, and the repair of one that was changed by hand.

use std::collections::BTreeSet;

use jobbers_common::{
    engine::{Cancelled, Cycle, Extension, Flaw, Outcome, PutMode, SettleAnswer, Settlement},
    lifecycle::Status,
    name::TaskId,
    queue::QueueConfig,
    task::ClaimedTask,
};
use jobbers_law::conformance::{DONE, Fixture, id, ids, queue, retry, seconds, task, worker};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use crate::{
    connect,
    mending::{flaw, mended},
};

/// So many tasks are leased in two batches at least, whatever a batch may have.
const MANY: usize = 100;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("task-{n:03}")).collect()
}

/// A store with so many running tasks.
async fn running(count: usize) -> (RedisServer, Fixture, Vec<ClaimedTask>) {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.engine.config().await.unwrap();
    f.submit(names(count).iter().map(|name| task(name)).collect()).await;
    let claimed = f.claim(count).await;
    assert_eq!(ids(&claimed), names(count));
    (server, f, claimed)
}

/// How many keys, members or fields a part of the queue has.
fn size(server: &RedisServer, command: &str, part: &str) -> usize {
    let answer = server.command(&format!("{command} jobbers:{{0}}:q:default:{part}"));
    answer.trim().trim_start_matches(':').parse().unwrap()
}

fn settlements(tasks: &[ClaimedTask], outcome: &Outcome) -> Vec<Settlement> {
    tasks.iter().map(|task| Settlement::new(task.id.clone(), task.fence, outcome.clone())).collect()
}

async fn settle(f: &Fixture, settlements: Vec<Settlement>) -> Vec<SettleAnswer> {
    f.engine.cycle(Cycle { worker: worker("w1"), settlements, claim: None }).await.unwrap().settled
}

async fn statuses(f: &Fixture, tasks: &[ClaimedTask]) -> BTreeSet<Status> {
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    f.engine.statuses(&ids).await.unwrap().into_iter().flatten().collect()
}

#[tokio::test]
async fn a_claim_writes_no_record_and_few_leases_and_nothing_is_left_of_them() {
    let (server, f, claimed) = running(MANY).await;
    let batches = size(&server, "ZCARD", "j");
    assert!((2..=MANY / 2).contains(&batches), "{batches}");
    assert_eq!(size(&server, "ZCARD", "l"), batches + 1, "one entry for each, and the sentinel");
    f.submit_ids(&["task-100"]).await;
    let record = |name: &str| server.command(&format!("HSTRLEN jobbers:{{0}}:t {name}"));
    assert_eq!(record("task-007"), record("task-100"), "its record is that of a ready task");
    assert_eq!(
        (f.count(Status::Started).await, statuses(&f, &claimed).await),
        (100, BTreeSet::from([Status::Started]))
    );
    let seen = f.get("task-007").await;
    assert_eq!((seen.lease.unwrap().fence, seen.attempt), (claimed[7].fence, 1));
    assert_eq!(mended(&f).await, []);
    for some in claimed.chunks(30) {
        let done = vec![SettleAnswer::Accepted(Status::Completed); some.len()];
        assert_eq!(settle(&f, settlements(some, &DONE)).await, done);
        assert_eq!(settle(&f, settlements(some, &DONE)).await, done, "and again");
        assert_eq!(mended(&f).await, []);
    }
    let left = (size(&server, "ZCARD", "l"), size(&server, "ZCARD", "j"), size(&server, "HLEN", "c"));
    assert_eq!(left, (1, 0, 1), "the sentinel, and a count");
    assert_eq!(server.command("HGET jobbers:{0}:q:default:c n"), "$1\r\n0\r\n");
}

#[tokio::test]
async fn a_task_leaves_its_batch_alone() {
    let (_server, f, claimed) = running(20).await;
    assert_eq!(f.engine.cancel(&[id("task-003"), id("task-003")]).await.unwrap(), [Cancelled::Requested; 2]);
    assert_eq!(f.settle(&claimed[5], retry(seconds(0))).await, SettleAnswer::Accepted(Status::Submitted));
    let extended = [Extension { id: id("task-007"), fence: claimed[7].fence, heartbeat: None }];
    f.engine.extend(&worker("w1"), seconds(600), extended.into()).await.unwrap();
    assert!(f.get("task-007").await.lease.unwrap().expires_at > f.get("task-008").await.lease.unwrap().expires_at);
    assert_eq!((f.count(Status::Started).await, mended(&f).await), (19, Vec::new()));
    let others: Vec<ClaimedTask> = claimed.iter().filter(|task| task.id != id("task-005")).cloned().collect();
    let mut expected = vec![SettleAnswer::Accepted(Status::Completed); 19];
    expected[3] = SettleAnswer::Accepted(Status::Cancelled);
    assert_eq!(settle(&f, settlements(&others, &DONE)).await, expected);
    assert_eq!((f.count(Status::Started).await, mended(&f).await), (0, Vec::new()));
}

#[tokio::test]
async fn another_process_settles_what_this_one_leased() {
    let (server, f, claimed) = running(MANY).await;
    let other = connect(&server.url()).await;
    let done = vec![SettleAnswer::Accepted(Status::Completed); 50];
    assert_eq!(settle(&other, settlements(&claimed[25..75], &DONE)).await, done);
    // The first process does not know yet.
    assert_eq!(settle(&f, settlements(&claimed[..50], &DONE)).await, done);
    assert_eq!((f.count(Status::Started).await, mended(&f).await), (25, Vec::new()));
}

#[tokio::test]
async fn parameters_are_kept_by_the_configuration_at_the_end() {
    let (server, f, claimed) = running(20).await;
    settle(&f, settlements(&claimed[..1], &DONE)).await;
    assert!(f.get("task-000").await.parameters.is_some());
    let keeps_none = QueueConfig { keep_parameters: 0, ..QueueConfig::new(queue("default")) };
    let other = connect(&server.url()).await;
    other.engine.put_queue(keeps_none, PutMode::Replace).await.unwrap();
    let done = vec![SettleAnswer::Accepted(Status::Completed); 19];
    assert_eq!(settle(&f, settlements(&claimed[1..], &DONE)).await, done);
    assert!(f.get("task-019").await.parameters.is_none(), "the change holds at once");
}

#[tokio::test]
async fn an_id_that_is_used_again_is_another_task() {
    let (_server, f, claimed) = running(20).await;
    settle(&f, settlements(&claimed[..1], &DONE)).await;
    f.engine.delete_tasks(&[id("task-000")], false).await.unwrap();
    f.submit_ids(&["task-000"]).await;
    assert_eq!(f.status("task-000").await, Status::Submitted);
    assert_eq!(settle(&f, settlements(&claimed[..1], &DONE)).await, [SettleAnswer::LeaseLost]);
    assert_eq!((f.status("task-000").await, mended(&f).await), (Status::Submitted, Vec::new()));
}

#[tokio::test]
async fn a_batch_that_damage_hid_is_taken_back_once() {
    for damage in ["ZREMRANGEBYSCORE jobbers:{0}:q:default:l 0 (inf", "DEL jobbers:{0}:q:default:j"] {
        let (server, f, _) = running(4).await;
        assert_eq!(server.command(damage), ":1\r\n");
        let found: BTreeSet<Flaw> = mended(&f).await.into_iter().map(|(flaw, _)| flaw).collect();
        assert!(found.contains(&Flaw::Unplaced), "{damage}: {found:?}");
        assert_eq!((f.count(Status::Started).await, f.claim(10).await.len()), (4, 0), "{damage}");
    }
}

#[tokio::test]
async fn a_batch_that_is_miscounted_is_counted_again() {
    let (server, f, claimed) = running(4).await;
    assert_eq!(server.command("HINCRBY jobbers:{0}:q:default:c n 5"), ":8\r\n");
    assert_eq!(mended(&f).await, [flaw(Flaw::Miscounted, "default"), flaw(Flaw::Miscounted, "default")]);
    settle(&f, settlements(&claimed, &DONE)).await;
    assert_eq!(f.count(Status::Started).await, 0);
}

#[tokio::test]
async fn a_batch_whose_tasks_are_gone_is_dropped() {
    let (server, f, _) = running(4).await;
    assert_eq!(server.command("DEL jobbers:{0}:t"), ":1\r\n");
    let found = mended(&f).await;
    assert!(found.iter().any(|(flaw, _)| *flaw == Flaw::PlaceWithoutTask), "{found:?}");
    assert_eq!((size(&server, "ZCARD", "l"), size(&server, "ZCARD", "j")), (1, 0));
}
