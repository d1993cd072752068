//! A file that an earlier version wrote: it is migrated, loses nothing, and work goes on in it.
//!
//! `fixtures/README.md` says what it holds.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        AuditRequest, DeadTask, Engine, Finding, Flaw, OnConflict, Outcome, QueueStats, Resubmit, Resubmitted,
        SettleAnswer, Settlement, SubmittedHow, TaskFilter,
    },
    history::{Grain, Slot, Times},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::QueueName,
    task::{
        Fence, NewTask, Task,
        metadata::Metadata,
        unique::{Unique, UniqueKey},
    },
    time::{ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{DONE, Fixture, LEASE, ids, task, task_in};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{START, closed, earlier::take_back_to, manual, url};

const STORE: &[u8] = include_bytes!("../fixtures/schema-12.db");
const ANSWERS: &str = include_str!("../fixtures/schema-12.json");
/// Long enough for every delay in the store, and shorter than its longest lease.
const UNTIL_ALL_IS_DUE: Duration = Duration::from_secs(250 * 86_400);

/// What the earlier version answered.
fn answers() -> Value {
    serde_json::from_str(ANSWERS).unwrap()
}

/// A copy of the file, not opened yet.
fn copy() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    fs::write(&file, STORE).unwrap();
    (folder, file)
}

/// The store in `file`, by a clock that goes on where the earlier version stopped.
async fn opened(folder: TempDir, file: PathBuf) -> Fixture {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(answers()["now"].as_i64().unwrap())));
    let engine = SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) }
}

async fn migrated() -> Fixture {
    let (folder, file) = copy();
    opened(folder, file).await
}

pub(super) async fn audit(engine: &dyn Engine, repair: bool) -> Vec<Finding> {
    let (mut findings, mut cursor) = (Vec::new(), None);
    loop {
        let audited = engine.audit(AuditRequest { limit: 10, repair, cursor }).await.unwrap();
        findings.extend(audited.findings);
        cursor = audited.next;
        if cursor.is_none() {
            return findings;
        }
    }
}

/// Asserts that `now` says all that `before` said. It may say more: fields are added.
fn assert_says(before: &Value, now: &Value, what: &str) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (field, value) in before {
                assert_says(value, now.get(field).unwrap_or(&Value::Null), &format!("{what}.{field}"));
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (place, (before, now)) in before.iter().zip(now).enumerate() {
                assert_says(before, now, &format!("{what}[{place}]"));
            }
        }
        _ => assert_eq!(before, now, "{what}"),
    }
}

fn stats_as_json(stats: &QueueStats) -> Value {
    let tasks: serde_json::Map<String, Value> =
        stats.tasks.iter().map(|(status, count)| (status.as_str().to_owned(), json!(count))).collect();
    json!({
        "queue": stats.queue, "tasks": tasks, "oldest_ready_at": stats.oldest_ready_at,
        "accepted": stats.accepted, "removed": stats.removed, "waiting_bytes": stats.waiting_bytes,
    })
}

/// Asserts that every task reads as it did: each for itself, in lists, and by its place.
async fn assert_tasks_as_they_were(f: &Fixture) {
    let before = answers();
    for (id, task) in before["tasks"].as_object().unwrap() {
        assert_says(task, &serde_json::to_value(f.get(id).await).unwrap(), id);
    }
    let listed: Vec<String> =
        f.list(TaskFilter::default(), 7).await.into_iter().map(|task| task.id.to_string()).collect();
    assert_eq!(json!(listed), before["listed"]);
    for (id, ahead) in before["places"].as_object().unwrap() {
        let place = f.engine.place(&id.parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(json!(place.ahead), *ahead, "{id}");
    }
}

/// The fence of a task that runs.
fn fence_of(id: &str) -> Fence {
    Fence(answers()["tasks"][id]["lease"]["fence"].as_u64().unwrap())
}

async fn settle(f: &Fixture, id: &str, fence: Fence, outcome: Outcome) -> SettleAnswer {
    let settlement = Settlement::new(id.parse().unwrap(), fence, outcome);
    f.cycle_as("w1", &[], 0, vec![settlement]).await.settled[0]
}

#[tokio::test]
async fn every_task_of_an_old_store_reads_as_it_was_and_the_audit_finds_nothing() {
    let f = migrated().await;
    assert_tasks_as_they_were(&f).await;
    assert_eq!(audit(&*f.engine, false).await, []);
    f.assert_conserved().await;
}

#[tokio::test]
async fn the_configuration_counts_and_dead_letters_of_an_old_store_are_there() {
    let (f, before) = (migrated().await, answers());
    let config = f.engine.config().await.unwrap();
    for old in before["config"]["queues"].as_array().unwrap() {
        let name: QueueName = serde_json::from_value(old["name"].clone()).unwrap();
        let now = config.settings_of(&name).into_owned();
        assert_says(old, &serde_json::to_value(&now).unwrap(), now.name.as_str());
    }
    assert_says(&before["config"]["roles"], &json!(config.roles.values().collect::<Vec<_>>()), "roles");
    assert_says(&before["config"]["routes"], &json!(config.routes.iter().collect::<Vec<_>>()), "routes");
    assert_says(&before["config"]["draining"], &json!(config.draining.iter().collect::<Vec<_>>()), "draining");
    for old in before["stats"].as_array().unwrap() {
        let queue = old["queue"].as_str().unwrap();
        assert_says(old, &stats_as_json(&f.stats(queue).await), queue);
    }
    let outbox = f.engine.dead_letters(0, MAX_BATCH).await.unwrap();
    assert_says(&before["dead_letters"], &json!(outbox.copies), "dead letters");
    assert_eq!(outbox.unreadable, []);
}

#[tokio::test]
async fn what_ran_in_an_old_store_settles_by_its_old_fence() {
    let f = migrated().await;
    let accepted = SettleAnswer::Accepted;
    assert_eq!(settle(&f, "running", Fence(fence_of("running").0 + 1), DONE).await, SettleAnswer::LeaseLost);
    assert_eq!(settle(&f, "running", fence_of("running"), DONE).await, accepted(Status::Completed));
    assert_eq!(settle(&f, "running-cancelled", fence_of("running-cancelled"), DONE).await, accepted(Status::Cancelled));
    assert!(f.claim_from(&["media/keyed"], 9).await.is_empty(), "their gates are shut");
    for (holder, next) in [("keyed-runs", "keyed-aside-1"), ("export-runs", "export-aside")] {
        assert_eq!(settle(&f, holder, fence_of(holder), DONE).await, accepted(Status::Completed));
        assert_eq!(ids(&f.claim_from(&["media/keyed"], 9).await), [next]);
    }
    f.advance(UNTIL_ALL_IS_DUE + Duration::from_secs(60 * 86_400));
    assert!(f.engine.reclaim_expired(MAX_BATCH).await.unwrap().requeued > 0, "old leases end");
    assert_eq!(f.get("running-again").await.crashes, 1);
    assert_eq!(audit(&*f.engine, false).await, []);
    f.assert_conserved().await;
}

#[tokio::test]
async fn what_waited_in_an_old_store_runs_in_its_order() {
    let (f, before) = (migrated().await, answers());
    let listed: Vec<&str> = before["listed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let ready = |id: &&&str| {
        let task = &before["tasks"][**id];
        task["status"] == "submitted" && ["default", "mail"].contains(&task["queue"].as_str().unwrap())
    };
    let expected: Vec<&str> = listed.iter().filter(ready).copied().collect();
    let claimed = f.claim_from(&["default", "mail"], 50).await;
    assert_eq!(ids(&claimed), expected);
    for task in claimed {
        let old: Task = serde_json::from_value(before["tasks"][task.id.as_str()].clone()).unwrap();
        assert_eq!(
            (Some(&task.parameters), &task.checkpoint),
            (old.parameters.as_ref(), &old.checkpoint),
            "{}",
            task.id
        );
        assert_eq!((task.crashes, &task.overrides), (old.crashes, &old.overrides), "{}", task.id);
        f.settle(&task, DONE).await;
    }
    f.advance(UNTIL_ALL_IS_DUE);
    let mut due = ids(&f.claim(50).await).into_iter().map(str::to_owned).collect::<Vec<_>>();
    due.sort_unstable();
    assert_eq!(due, ["later", "retry-later", "unknown-later"]);
    assert_eq!(f.get("retry-later").await.attempt, 2, "its attempts go on");
    f.advance(LEASE);
    assert_eq!(audit(&*f.engine, false).await, []);
    f.assert_conserved().await;
}

#[tokio::test]
async fn what_an_old_store_remembers_of_submissions_still_holds() {
    let f = migrated().await;
    let digested = NewTask { request_digest: Some(77), ..task("digested") };
    for (again, id) in [(task("first"), "first"), (digested, "digested"), (task("completed"), "completed")] {
        let again = NewTask { priority: f.get(id).await.priority, ..again };
        let answer = f.try_submit(vec![again], OnConflict::Fail).await.unwrap();
        assert_eq!(answer[0].how, SubmittedHow::Existing, "{id}");
    }
    let unique = Unique::new(UniqueKey::new("invoice-1").unwrap());
    let second = NewTask { unique: Some(Box::new(unique)), ..task("unique-second") };
    assert!(f.try_submit(vec![second], OnConflict::Fail).await.is_err(), "unique-ready holds the key");
    assert!(f.try_submit(vec![task_in("new", "paused")], OnConflict::Fail).await.is_ok());
    let sent: Vec<DeadTask> = serde_json::from_value(answers()["dead_letters"].clone()).unwrap();
    let sent = sent.into_iter().find(|dead| dead.task.id.as_str() == "sent-again").unwrap();
    let again = f.engine.resubmit(vec![Resubmit::of_archive(sent)]).await.unwrap();
    assert_eq!(again, [Resubmitted::Already], "the receipt is there");
}

#[tokio::test]
async fn a_migrated_store_can_be_copied_while_it_is_open_and_when_it_is_closed() {
    let (folder, file) = copy();
    let (folder_path, vacuumed) = (folder.path().to_owned(), folder.path().join("vacuumed.db"));
    let engine = SqliteEngine::open(&url(&file), OpenOptions::default()).await.unwrap();
    Connection::open(&file).unwrap().execute("VACUUM INTO ?1", [vacuumed.to_str()]).unwrap();
    drop(engine);
    closed(|open| open.starts_with(&folder_path));
    let copied = folder.path().join("copied.db");
    fs::copy(&file, &copied).unwrap();
    for backup in [vacuumed, copied] {
        let place = tempfile::tempdir().unwrap();
        let restored = place.path().join("store.db");
        fs::copy(&backup, &restored).unwrap();
        let f = opened(place, restored).await;
        assert_tasks_as_they_were(&f).await;
        assert_eq!(audit(&*f.engine, false).await, [], "{}", backup.display());
    }
}

#[tokio::test]
async fn an_old_store_with_a_flaw_is_migrated_and_repaired() {
    let (folder, file) = copy();
    let hand = Connection::open(&file).unwrap();
    hand.execute_batch(
        "PRAGMA foreign_keys = OFF; UPDATE tally SET tasks = tasks + 7 WHERE status = 2;
         INSERT INTO checkpoint VALUES (987654, NULL, x'00');",
    )
    .unwrap();
    hand.close().unwrap();
    let f = opened(folder, file).await;
    let found = audit(&*f.engine, true).await;
    for flaw in [Flaw::Miscounted, Flaw::Orphan] {
        assert!(found.iter().any(|finding| finding.flaw == flaw && finding.repaired), "{flaw:?}: {found:?}");
    }
    assert_eq!(audit(&*f.engine, false).await, []);
    assert_tasks_as_they_were(&f).await;
}

#[tokio::test]
async fn the_labels_of_an_old_store_are_metadata_in_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let open = async || {
        let clock = Arc::new(ManualClock::new(START));
        let engine = Arc::new(SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap());
        Fixture { engine, clock, guard: Box::new(()) }
    };
    let metadata: Metadata = serde_json::from_value(json!({"labels": {"team": "core", "empty": ""}})).unwrap();
    let f = open().await;
    f.submit(vec![NewTask { metadata: metadata.clone(), ..task("labelled") }, task("plain")]).await;
    drop(f);
    closed(|open| open.starts_with(folder.path()));
    let hand = Connection::open(&file).unwrap();
    take_back_to(27, &hand);
    let labels: String = hand.query_row("SELECT labels FROM task WHERE id = 'labelled'", [], |row| row.get(0)).unwrap();
    assert_eq!(labels, r#"{"empty":"","team":"core"}"#);
    drop(hand);
    let f = open().await;
    assert_eq!([f.get("labelled").await.metadata, f.get("plain").await.metadata], [metadata, Metadata::default()]);
    assert_eq!(audit(&*f.engine, false).await, []);
}

#[tokio::test]
async fn the_history_of_an_old_store_goes_on_in_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let hour = |after: i64| Grain::Hour.number_at(START) + after;
    let minute = |after: i64| 60 * hour(0) + after;
    let begin = |after: i64| Grain::Hour.begin_of(hour(after));
    let open = async |at: Duration| {
        let clock = Arc::new(ManualClock::new(START.after(at)));
        let engine = Arc::new(SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap());
        Fixture { engine, clock, guard: Box::new(()) }
    };
    let f = open(Duration::ZERO).await;
    f.submit_ids(&["a"]).await;
    drop(f);
    closed(|open| open.starts_with(folder.path()));
    let hand = Connection::open(&file).unwrap();
    take_back_to(36, &hand);
    let queue: i64 = hand.query_row("SELECT queue FROM task", [], |row| row.get(0)).unwrap();
    for (grain, number, sums) in [
        (0, minute(-1), "1, 2, 3, 4, 5, 6"),
        (1, hour(-1), "10, 20, 30, 40, 50, 60"),
        (0, minute(0), "1, 0, 0, 0, 0, 0"),
        (0, minute(7), "0, 1, 1, 0, 0, 0"),
        (1, hour(0), "1, 1, 1, 0, 0, 0"),
    ] {
        hand.execute_batch(&format!("INSERT INTO history VALUES ({queue}, {grain}, {number}, {sums})")).unwrap();
    }
    for (number, what, bucket, tasks) in [(hour(-1), 0, 15, 20), (hour(0), 0, 3, 1), (hour(0), 1, 0, 1)] {
        let values = format!("({queue}, {number}, {what}, {bucket}, {tasks})");
        hand.execute_batch(&format!("INSERT INTO history_time VALUES {values}")).unwrap();
    }
    drop(hand);
    let f = open(Duration::from_secs(30 * 60)).await;
    let minutes = slots(&f, Grain::Minute).await;
    let counts = |slots: &[Slot]| slots.iter().map(|slot| slot.counts.to_array()).collect::<Vec<_>>();
    assert_eq!(counts(&minutes), [[1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]]);
    let earlier = (begin(-1), [10, 20, 30, 40, 50, 60], Some((15, 20)), None);
    let expected = [earlier, (begin(0), [1, 1, 1, 0, 0, 0], Some((3, 1)), Some((0, 1)))];
    assert_eq!(summed(&slots(&f, Grain::Hour).await), expected);
    // Both hours are still the same when the second one is over and written down.
    f.advance(Duration::from_secs(3_600));
    f.submit_ids(&["b", "c"]).await;
    let later = (begin(1), [2, 0, 0, 0, 0, 0], None, None);
    let expected: Vec<_> = expected.into_iter().chain([later]).collect();
    assert_eq!(summed(&slots(&f, Grain::Hour).await), expected);
}

async fn slots(f: &Fixture, by: Grain) -> Vec<Slot> {
    f.engine.history(&[QueueName::new("default").unwrap()], by).await.unwrap().queues.remove(0)
}

type Bucket = Option<(usize, u64)>;

/// Slots as their begin, their counts, and the one bucket that has tasks of each distribution.
fn summed(slots: &[Slot]) -> Vec<(Timestamp, [u64; 6], Bucket, Bucket)> {
    let bucket = |times: &Times| {
        let mut filled = times.0.iter().copied().enumerate().filter(|(_, tasks)| *tasks > 0);
        filled.next().filter(|_| filled.next().is_none())
    };
    slots.iter().map(|slot| (slot.at, slot.counts.to_array(), bucket(&slot.waited), bucket(&slot.ran))).collect()
}
