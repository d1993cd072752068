//! What an audit finds in a file changed by hand, and what a repair makes of it.

use std::sync::Arc;

use jobbers_common::{
    engine::{
        AuditRequest, ClaimRequest, Claims, Cycle, Engine, Finding, Flaw, OnConflict, Outcome, ParentsRequest, PutMode,
        QueueClaim, Queues, Submit, Tasks, Upkeep, reads::first_queues,
    },
    lifecycle::Status,
    limits::KEPT_PARAMETER_BYTES,
    name::QueueName,
    payload::Payload,
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::NewTask,
    time::{ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{DONE, Fixture, dependencies::after, failure, id, queue, retry, seconds, task, worker};
use rusqlite::Connection;
use tempfile::TempDir;

use super::url;

struct Store {
    folder: TempDir,
    engine: SqliteEngine,
}

impl Store {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = SqliteEngine::open(&url(&folder.path().join("store.db")), OpenOptions::default()).await.unwrap();
        Self { folder, engine }
    }

    /// The same file once more, with a clock that does not move.
    async fn fixture(&self) -> Fixture {
        let url = url(&self.folder.path().join("store.db"));
        let engine = SqliteEngine::open(&url, OpenOptions::default()).await.unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::default()));
        Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) }
    }

    /// Writes to the file past the engine.
    fn tamper(&self, sql: &str) {
        let conn = Connection::open(self.folder.path().join("store.db")).unwrap();
        conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
    }

    async fn audit(&self, repair: bool) -> Vec<Finding> {
        let (mut findings, mut cursor) = (Vec::new(), None);
        loop {
            let audited = self.engine.audit(AuditRequest { limit: 3, repair, cursor }).await.unwrap();
            findings.extend(audited.findings);
            cursor = audited.next;
            if cursor.is_none() {
                return findings;
            }
        }
    }

    /// What is found without a repair, which is then mended, so that nothing is left to find.
    async fn mended(&self) -> Vec<(Flaw, String)> {
        let found = self.audit(false).await;
        let repaired = self.audit(true).await;
        assert!(repaired.iter().all(|finding| finding.repaired), "{repaired:?}");
        assert_eq!(self.audit(false).await, []);
        found.into_iter().map(|finding| (finding.flaw, finding.subject)).collect()
    }
}

#[tokio::test]
async fn a_task_that_waits_for_none_any_more_is_released() {
    let store = Store::new().await;
    let tasks = vec![task("a"), after("b", &["a"])];
    store.engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
    assert_eq!(store.mended().await, []);
    store.tamper(
        "DELETE FROM dependency; UPDATE dependent SET signals = total;
         INSERT INTO dependency VALUES (1, 1, 99, 0)",
    );
    let expected = [(Flaw::Unplaced, "b".to_owned()), (Flaw::Orphan, "dependency 99".to_owned())];
    assert_eq!(store.mended().await, expected);
    let released = store.engine.get(&id("b")).await.unwrap().unwrap();
    assert_eq!(released.status, Status::Submitted);
}

#[tokio::test]
async fn what_no_task_holds_any_more_is_let_go() {
    let store = Store::new().await;
    let f = store.fixture().await;
    f.submit(vec![task("a"), after("b", &["a"]), after("c", &["a"])]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Completed { result: Some(Payload::json("7")) }).await;
    f.engine.delete_tasks(&[id("a")], false).await.unwrap();
    let b = f.claim_one().await;
    f.settle(&b, DONE).await;
    assert_eq!(store.mended().await, []);
    let over = "UPDATE parent SET holds = 1 WHERE successor = (SELECT key FROM task WHERE id = 'b');";
    store.tamper(&format!(
        "{over} INSERT INTO parent VALUES (99, 0, 'a', 1); INSERT INTO held_result VALUES ('ghost', 4, NULL, NULL);"
    ));
    let found = store.mended().await;
    let orphans: Vec<&str> = found.iter().map(|(_, subject)| subject.split(' ').next().unwrap()).collect();
    assert_eq!(orphans, ["parent", "holder", "held_result"], "{found:?}");
    assert!(found.iter().all(|(flaw, _)| *flaw == Flaw::Orphan), "{found:?}");
    let of_c = f.engine.parents(ParentsRequest::all(id("c"), 10, 1_000)).await.unwrap();
    assert_eq!(of_c.parents[0].result, Some(Payload::json("7")), "c still holds it");
    let c = f.claim_one().await;
    f.settle(&c, DONE).await;
    let of_c = f.engine.parents(ParentsRequest::all(id("c"), 10, 1_000)).await.unwrap();
    assert_eq!(of_c.parents[0].result, None, "after the repair no other task holds it");
}

/// A store with a task in each of a few situations, as a fixture whose clock does not move.
async fn filled() -> Store {
    let store = Store::new().await;
    let Store { folder, engine } = store;
    let f = Fixture {
        engine: Arc::new(engine),
        clock: Arc::new(ManualClock::new(Timestamp::default())),
        guard: Box::new(()),
    };
    let large = Payload::json(vec![b' '; KEPT_PARAMETER_BYTES + 1]);
    for name in ["ready", "later", "over"] {
        f.submit(vec![NewTask { parameters: large.clone(), ..task(name) }]).await;
    }
    for claimed in f.claim(3).await {
        match claimed.id.as_str() {
            "ready" => drop(f.settle(&claimed, retry(seconds(0))).await),
            "later" => drop(f.settle(&claimed, retry(seconds(3_600))).await),
            _ => drop(f.settle(&claimed, Outcome::Failed { failure: failure("no"), dead_letter: true }).await),
        }
    }
    drop(f);
    let engine = SqliteEngine::open(&url(&folder.path().join("store.db")), OpenOptions::default()).await.unwrap();
    Store { folder, engine }
}

#[tokio::test]
async fn a_queue_that_no_chore_would_look_at_is_put_on_their_list() {
    for tamper in ["DELETE FROM due", "UPDATE due SET at = 9000000000000000"] {
        let store = filled().await;
        store.tamper(tamper);
        assert_eq!(store.mended().await, [(Flaw::Misplaced, "default".to_owned())], "{tamper}");
    }
}

#[tokio::test]
async fn counts_that_are_off_are_counted_anew() {
    let store = filled().await;
    store.tamper("UPDATE queue_number SET number = 17 WHERE what = 2; DELETE FROM queue_number WHERE what = 5;");
    let queue = || (Flaw::Miscounted, "default".to_owned());
    assert_eq!(store.mended().await, [queue(), queue()]);
    let stats = first_queues(&store.engine, 1).await.unwrap();
    assert_eq!(stats[0].tasks.values().sum::<u64>(), 3);
}

#[tokio::test]
async fn what_is_left_of_a_task_that_is_gone_is_cleared_away() {
    let store = filled().await;
    store.tamper(
        "INSERT INTO checkpoint SELECT key, NULL, x'00' FROM task WHERE id = 'ready';
         INSERT INTO stranger SELECT key, 1, NULL FROM task WHERE id = 'ready';
         INSERT INTO uniqueness SELECT key, '{}' FROM task WHERE id = 'ready';
         INSERT INTO unique_key SELECT name, 'k', key, NULL, NULL, NULL FROM task WHERE id = 'ready';
         DELETE FROM task WHERE id = 'ready';",
    );
    let found = store.mended().await;
    for table in ["large_parameters", "checkpoint", "failure", "stranger", "uniqueness", "unique_key"] {
        let is_told = found.iter().any(|(flaw, subject)| *flaw == Flaw::Orphan && subject.starts_with(table));
        assert!(is_told, "{table}: {found:?}");
    }
    assert!(found.contains(&(Flaw::Miscounted, "default".to_owned())), "{found:?}");
}

#[tokio::test]
async fn a_gate_that_nobody_would_look_at_is_looked_at_again() {
    let store = Store::new().await;
    let engine = Arc::new(store.engine);
    let f = Fixture {
        engine: Arc::clone(&engine) as Arc<dyn Engine>,
        clock: Arc::new(ManualClock::new(Timestamp::default())),
        guard: Box::new(()),
    };
    let limits = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(limits, PutMode::Replace).await.unwrap();
    let key = Some(ConcurrencyKey::new("acme|1").unwrap());
    for name in ["runs", "waits"] {
        f.submit(vec![NewTask { concurrency_key: key.clone(), ..task(name) }]).await;
    }
    let held = f.claim(2).await;
    assert_eq!(held.len(), 1);
    f.settle(&held[0], DONE).await;
    drop(f);
    let store = Store { engine: Arc::into_inner(engine).unwrap(), ..store };
    assert_eq!(store.audit(false).await, []);
    store.tamper("DELETE FROM gate_due");
    assert_eq!(store.mended().await, [(Flaw::Misplaced, "kacme|1".to_owned())]);
    let claim = ClaimRequest {
        queues: vec![QueueClaim { queue: queue("default"), limit: 1 }],
        limit: 1,
        refused: Vec::new(),
        lease: seconds(9),
    };
    let cycle = Cycle { worker: worker("w"), settlements: Vec::new(), claim: Some(claim) };
    assert_eq!(store.engine.cycle(cycle).await.unwrap().claimed.len(), 1);
}

#[tokio::test]
async fn an_index_that_lacks_a_row_is_built_anew() {
    let store = filled().await;
    // The row comes into the index's range behind its back.
    store.tamper(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'status = 2', 'status = 7') WHERE name = 'task_ready';",
    );
    store.tamper("UPDATE task SET rank = 3 WHERE id = 'ready';");
    store.tamper(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'status = 7', 'status = 2') WHERE name = 'task_ready';",
    );
    let engine = SqliteEngine::open(&url(&store.folder.path().join("store.db")), OpenOptions::default()).await.unwrap();
    let store = Store { engine, ..store };
    let found = store.mended().await;
    assert!(found.iter().all(|(flaw, subject)| *flaw == Flaw::FileDamaged && subject == "task"), "{found:?}");
    assert!(!found.is_empty());
}

#[tokio::test]
async fn what_can_t_be_mended_is_told_and_left() {
    let store = filled().await;
    store.tamper(
        "DELETE FROM large_parameters WHERE task = (SELECT key FROM task WHERE id = 'ready');
         UPDATE task SET overrides = 'nonsense' WHERE id = 'over';
         UPDATE task SET queue = 99 WHERE id = 'later';",
    );
    let found = store.audit(true).await;
    for (flaw, subject) in [(Flaw::ParametersLost, "ready"), (Flaw::Unreadable, "over"), (Flaw::QueueUnknown, "later")]
    {
        let told = found.iter().find(|finding| finding.flaw == flaw && finding.subject == subject);
        assert!(told.is_some_and(|finding| !finding.repaired), "{subject}: {found:?}");
    }
}

#[tokio::test]
async fn bytes_that_are_off_are_counted_anew() {
    let store = filled().await;
    let config = QueueConfig { max_bytes: Some(1_000_000), ..QueueConfig::new(QueueName::new("default").unwrap()) };
    store.engine.put_queue(config, PutMode::Upsert).await.unwrap();
    store.engine.promote_due(1).await.unwrap();
    let waiting = async || first_queues(&store.engine, 1).await.unwrap()[0].waiting_bytes;
    let right = Some(2 * (KEPT_PARAMETER_BYTES as u64 + 1));
    assert_eq!(waiting().await, right);
    for harm in [
        "UPDATE queue SET waiting_bytes = waiting_bytes + 7",
        "DELETE FROM weight WHERE task = (SELECT key FROM task WHERE id = 'ready')",
        "UPDATE weight SET bytes = 1; UPDATE queue SET waiting_bytes = 2",
        "INSERT INTO weight SELECT key, queue, 5 FROM task WHERE id = 'over'; UPDATE queue SET waiting_bytes = waiting_bytes + 5",
    ] {
        store.tamper(harm);
        assert_eq!(store.mended().await, [(Flaw::Miscounted, "default".to_owned())], "{harm}");
        assert_eq!(waiting().await, right, "{harm}");
    }
    store.tamper("INSERT INTO weight VALUES (999, 1, 5)");
    let found = store.mended().await;
    assert!(found.iter().any(|(flaw, subject)| *flaw == Flaw::Orphan && subject == "weight 999"), "{found:?}");
    assert_eq!(waiting().await, right);
}
