//! The outbox: rows of the program's own database become tasks, each once, whatever dies in between.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{
    Payload, SubmitError,
    outbox::{self, OutboxError, OutboxTable, Relay, RelayError, Row},
    policy::{OnDuplicate, Status},
    prelude::*,
    testing::{Faults, TestBench},
};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Notify;

/// The database of a shop, with its orders and the outbox.
#[derive(Clone)]
struct Shop {
    database: Arc<Mutex<Connection>>,
    /// No statement gets through.
    away: Arc<AtomicBool>,
    /// The next removals that do not happen.
    lost_removals: Arc<AtomicU64>,
    looked: Arc<Notify>,
}

impl Shop {
    fn new() -> Self {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(outbox::SQLITE).unwrap();
        database.execute_batch("CREATE TABLE orders (id integer PRIMARY KEY)").unwrap();
        Self {
            database: Arc::new(Mutex::new(database)),
            away: Arc::default(),
            lost_removals: Arc::default(),
            looked: Arc::default(),
        }
    }

    /// Takes an order in, with the task that follows from it, in one transaction.
    fn order(&self, id: u64, row: &Row, commits: bool) {
        let mut database = self.database.lock();
        let transaction = database.transaction().unwrap();
        transaction.execute("INSERT INTO orders (id) VALUES (?1)", [id.to_string()]).unwrap();
        let row = (&row.id, &row.submission);
        transaction.execute("INSERT INTO jobbers_outbox (id, submission) VALUES (?1, ?2)", row).unwrap();
        if commits {
            transaction.commit().unwrap();
        }
    }

    fn execute(&self, statement: &str) {
        self.database.lock().execute_batch(statement).unwrap();
    }

    /// The ids and problems of the rows that are left.
    fn rows(&self) -> Vec<(String, Option<String>)> {
        let database = self.database.lock();
        let mut rows = database.prepare("SELECT id, problem FROM jobbers_outbox ORDER BY place").unwrap();
        rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    }

    fn reach(&self) -> Result<(), OutboxError> {
        self.looked.notify_one();
        if self.away.load(Ordering::SeqCst) { Err("the database is away".into()) } else { Ok(()) }
    }
}

impl OutboxTable for Shop {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        self.reach()?;
        let database = self.database.lock();
        let mut rows = database
            .prepare("SELECT id, submission FROM jobbers_outbox WHERE problem IS NULL ORDER BY place LIMIT ?1")?;
        let rows =
            rows.query_map([i64::try_from(limit)?], |row| Ok(Row { id: row.get(0)?, submission: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
        self.reach()?;
        if self.lost_removals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err("the relay was killed before it removed what is stored".into());
        }
        let mut database = self.database.lock();
        let transaction = database.transaction()?;
        for id in ids {
            transaction.execute("DELETE FROM jobbers_outbox WHERE id = ?1", [id])?;
        }
        Ok(transaction.commit()?)
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
        self.reach()?;
        self.database.lock().execute("UPDATE jobbers_outbox SET problem = ?2 WHERE id = ?1", (id, problem))?;
        Ok(())
    }
}

#[task(name = "outbox-confirm", unlisted, max_retries = 2, labels = ["team=shop"])]
async fn confirm(order: u64) -> Result<u64, TaskError> {
    Ok(order)
}

async fn bench() -> TestBench {
    TestBench::builder().task(&confirm).build().await.unwrap()
}

fn row(bench: &TestBench, order: u64) -> Row {
    confirm.with(order).to_row(bench.client()).unwrap()
}

/// The orders that wait to be confirmed.
async fn waiting(bench: &TestBench) -> Vec<u64> {
    bench.enqueued(&confirm).await.unwrap().into_iter().map(|found| found.parameters).collect()
}

#[tokio::test]
async fn a_task_exists_if_its_transaction_was_committed() {
    let (bench, shop) = (bench().await, Shop::new());
    let keep_last = confirm.with(1).priority(8).label("tenant", "acme").unique_key("one").concurrency_key("c");
    let full = keep_last.on_duplicate(OnDuplicate::Return).after(Duration::from_secs(60)).max_retries(7);
    shop.order(1, &full.to_row(bench.client()).unwrap(), true);
    shop.order(2, &row(&bench, 2), false);
    shop.order(3, &row(&bench, 3), true);
    let relay = Relay::new(shop.clone(), bench.client().clone());
    let moved = relay.move_some().await.unwrap();
    assert_eq!((moved.stored, moved.refused, shop.rows().len()), (2, 0, 0));
    assert_eq!(relay.move_some().await.unwrap(), outbox::Moved::default());
    let found = bench.assert_enqueued_with(&confirm, |found| found.parameters == 1).await;
    assert_eq!((found.label("tenant"), found.label("team"), found.priority.get()), (Some("acme"), Some("shop"), 8));
    assert_eq!((found.unique_key.as_deref(), found.concurrency_key.as_deref()), (Some("one"), Some("c")));
    let task = bench.get(&found.id).await.unwrap().unwrap();
    assert_eq!((task.overrides.max_retries, task.id_is_chosen), (Some(7), true));
    bench.assert_enqueued_with(&confirm, |found| found.parameters == 3).await;
    assert_eq!(waiting(&bench).await.len(), 2);
}

#[tokio::test]
async fn a_relay_that_dies_between_any_two_steps_submits_each_row_once() {
    let (faults, shop) = (Faults::default(), Shop::new());
    let bench = TestBench::builder().task(&confirm).faults(&faults).build().await.unwrap();
    for order in 0..20 {
        shop.order(order, &row(&bench, order), true);
    }
    let relay = || Relay::new(shop.clone(), bench.client().clone());
    // The answer of the store is lost, so the relay does not know that the rows are stored.
    faults.lose_answer();
    assert!(matches!(relay().move_some().await, Err(RelayError::Submit(SubmitError::Unreachable(_)))));
    assert_eq!((shop.rows().len(), waiting(&bench).await.len()), (20, 20));
    // It dies after the rows are stored, before they are removed.
    shop.lost_removals.store(1, Ordering::SeqCst);
    assert!(matches!(relay().move_some().await, Err(RelayError::Outbox(_))));
    assert_eq!((shop.rows().len(), waiting(&bench).await.len()), (20, 20));
    // And the tasks run and end meanwhile.
    assert_eq!(bench.drain().await.unwrap().completed, 20);
    assert_eq!(relay().move_some().await.unwrap().stored, 20);
    assert_eq!(bench.drain().await.unwrap().attempts(), 0, "none runs a second time");
    assert!(shop.rows().is_empty());
}

/// A table whose relay is killed before or after one of its statements.
struct Killing {
    shop: Shop,
    /// How many of these moments are left to it.
    left: AtomicU64,
    killed: Arc<Notify>,
}

impl Killing {
    async fn live(&self) {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl OutboxTable for Killing {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        self.live().await;
        let rows = self.shop.oldest(limit).await;
        self.live().await;
        rows
    }

    async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
        self.live().await;
        self.shop.remove(ids).await?;
        self.live().await;
        Ok(())
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
        self.live().await;
        self.shop.refuse(id, problem).await?;
        self.live().await;
        Ok(())
    }
}

#[tokio::test]
async fn a_relay_that_is_killed_before_or_after_any_statement_loses_no_row() {
    // Three statements, each with a moment before and after it.
    for left in 0..=6 {
        let (bench, shop, killed) = (bench().await, Shop::new(), Arc::new(Notify::new()));
        shop.order(1, &row(&bench, 1), true);
        shop.order(2, &confirm.with(2).queue("nowhere").id("lost").to_row(bench.client()).unwrap(), true);
        shop.order(3, &row(&bench, 3), true);
        let table = Killing { shop: shop.clone(), left: left.into(), killed: Arc::clone(&killed) };
        let relay = Relay::new(table, bench.client().clone());
        let is_killed = tokio::select! {
            moved = relay.move_some() => moved.is_err(),
            () = killed.notified() => true,
        };
        assert_eq!(is_killed, left < 6, "{left}");
        drop(relay);
        while Relay::new(shop.clone(), bench.client().clone()).move_some().await.unwrap() != outbox::Moved::default() {}
        let mut orders = waiting(&bench).await;
        orders.sort_unstable();
        assert_eq!((orders, shop.rows().len()), (vec![1, 3], 1), "{left}");
        assert!(shop.rows()[0].1.as_ref().is_some_and(|problem| problem.contains("unknown_queue")), "{left}");
        assert_eq!(bench.drain().await.unwrap().completed, 2, "{left}");
    }
}

#[tokio::test]
async fn a_row_that_waits_for_a_later_one_is_stored_with_it() {
    let (bench, shop) = (bench().await, Shop::new());
    let rows = [
        confirm.with(1).id("last").depends_on("second"),
        confirm.with(2).id("second").depends_on("first"),
        confirm.with(3).id("first"),
        confirm.with(4).id("alone").depends_on("ghost"),
    ];
    for (order, row) in rows.into_iter().enumerate() {
        shop.order(order as u64, &row.to_row(bench.client()).unwrap(), true);
    }
    let moved = Relay::new(shop.clone(), bench.client().clone()).move_some().await.unwrap();
    assert_eq!((moved.stored, moved.refused), (3, 1));
    let left = shop.rows();
    assert_eq!((left.len(), left[0].0.as_str()), (1, "alone"));
    assert!(left[0].1.as_ref().is_some_and(|problem| problem.contains("unknown_predecessor")), "{left:?}");
    assert_eq!(bench.drain().await.unwrap().completed, 3, "each after the one it waits for");
}

#[tokio::test]
async fn a_row_of_a_task_that_no_program_has_waits_in_its_queue() {
    let (bench, shop) = (TestBench::new().await.unwrap(), Shop::new());
    let row = confirm.with(1).id("unknown").to_row(bench.client()).unwrap();
    shop.order(1, &row, true);
    let moved = Relay::new(shop.clone(), bench.client().clone()).move_some().await.unwrap();
    assert_eq!((moved.stored, moved.refused, shop.rows().len()), (1, 0, 0));
    let task = bench.get(&"unknown".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((task.status, task.attempt), (Status::Submitted, 0));
}

#[tokio::test]
async fn a_table_that_was_altered_stops_the_relay_and_loses_no_row() {
    let (bench, shop) = (bench().await, Shop::new());
    shop.order(1, &row(&bench, 1), true);
    let relay = Relay::new(shop.clone(), bench.client().clone());
    for (alteration, repair) in [
        ("RENAME COLUMN submission TO body", "RENAME COLUMN body TO submission"),
        ("RENAME COLUMN problem TO trouble", "RENAME COLUMN trouble TO problem"),
        ("RENAME TO outbox", "RENAME TO jobbers_outbox"),
    ] {
        let table = if alteration == "RENAME TO outbox" { "outbox" } else { "jobbers_outbox" };
        shop.execute(&format!("ALTER TABLE jobbers_outbox {alteration}"));
        let failed = relay.move_some().await;
        assert!(matches!(failed, Err(RelayError::Outbox(_))), "{alteration}: {failed:?}");
        assert!(waiting(&bench).await.is_empty());
        shop.execute(&format!("ALTER TABLE {table} {repair}"));
    }
    shop.execute("ALTER TABLE jobbers_outbox ADD COLUMN note text");
    assert_eq!(relay.move_some().await.unwrap().stored, 1, "a further column is in the way of nothing");
    assert_eq!(waiting(&bench).await, [1]);
}

#[tokio::test]
async fn two_relays_at_once_submit_each_row_once() {
    let (bench, shop) = (bench().await, Shop::new());
    for order in 0..700 {
        shop.order(order, &row(&bench, order), true);
    }
    let relay = || Relay::new(shop.clone(), bench.client().clone());
    while !shop.rows().is_empty() {
        let (one, other) = (relay(), relay());
        let (one, other) = tokio::join!(one.move_some(), other.move_some());
        one.unwrap();
        other.unwrap();
    }
    let mut orders = waiting(&bench).await;
    orders.sort_unstable();
    assert_eq!(orders, (0..700).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_row_that_can_t_be_submitted_keeps_its_problem_and_holds_no_other_up() {
    let (bench, shop) = (bench().await, Shop::new());
    shop.order(1, &confirm.with(1).queue("nowhere").id("a").to_row(bench.client()).unwrap(), true);
    shop.order(2, &Row { id: "b".to_owned(), submission: "altered".to_owned() }, true);
    shop.order(3, &confirm.with(3).id("c").to_row(bench.client()).unwrap(), true);
    confirm.with(99).id("d").submit(bench.client()).await.unwrap();
    shop.order(4, &confirm.with(4).id("d").to_row(bench.client()).unwrap(), true);
    let large = format!("{{\"task\": \"{}\\u0000\"}}", "x".repeat(1 << 20));
    shop.order(5, &Row { id: "e".to_owned(), submission: large }, true);
    let relay = Relay::new(shop.clone(), bench.client().clone());
    let moved = relay.move_some().await.unwrap();
    assert_eq!((moved.stored, moved.refused), (1, 4));
    let left = shop.rows();
    let expected = [("a", "unknown_queue"), ("b", "can't be read"), ("d", "task_exists"), ("e", "bytes left out")];
    assert_eq!(left.len(), expected.len());
    for ((id, problem), (expected, part)) in left.iter().zip(expected) {
        let problem = problem.as_deref().unwrap_or_default();
        assert!(id == expected && problem.contains(part), "{left:?}");
        assert!(problem.len() <= 1_024 && !problem.contains('\0'), "every database takes it: {problem:?}");
    }
    assert_eq!(relay.move_some().await.unwrap(), outbox::Moved::default(), "they are not tried again");
    bench.engine().create_queues(&["nowhere".parse().unwrap()]).await.unwrap();
    shop.execute("UPDATE jobbers_outbox SET problem = NULL WHERE id = 'a'");
    assert_eq!(relay.move_some().await.unwrap().stored, 1, "a person has seen to it");
}

#[tokio::test]
async fn a_row_that_is_there_twice_is_one_task() {
    let (bench, shop) = (bench().await, Shop::new());
    shop.execute("DROP TABLE jobbers_outbox");
    shop.execute("CREATE TABLE jobbers_outbox (place integer PRIMARY KEY, id text, submission text, problem text)");
    let row = row(&bench, 7);
    shop.order(1, &row, true);
    shop.order(2, &row, true);
    let moved = Relay::new(shop.clone(), bench.client().clone()).move_some().await.unwrap();
    assert_eq!((moved.stored, waiting(&bench).await, shop.rows().len()), (1, vec![7], 0));
}

#[tokio::test(start_paused = true)]
async fn a_relay_goes_on_when_the_database_is_back() {
    let (bench, shop, shutdown) = (bench().await, Shop::new(), Shutdown::new());
    shop.away.store(true, Ordering::SeqCst);
    shop.order(1, &row(&bench, 1), true);
    let relay = Relay::new(shop.clone(), bench.client().clone()).every(Duration::from_millis(50));
    let running = tokio::spawn(relay.run(shutdown.clone()));
    // An hour, by the paused clock: the relay asks at most every fifteen seconds.
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(3_600) {
        shop.looked.notified().await;
    }
    assert!(waiting(&bench).await.is_empty());
    shop.away.store(false, Ordering::SeqCst);
    while !shop.rows().is_empty() {
        shop.looked.notified().await;
    }
    assert_eq!(waiting(&bench).await, [1]);
    shutdown.drain.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn what_is_no_submission_is_no_row() {
    let bench = bench().await;
    let invalid = confirm.with(1).priority(10).to_row(bench.client()).unwrap_err();
    assert_eq!(invalid.code(), "invalid_request");
    let bytes = raw_bytes.with(Raw(Payload::json(&b"no json"[..])));
    let invalid = bytes.to_row(bench.client()).unwrap_err();
    assert!(invalid.to_string().contains("a row of an outbox"), "{invalid}");
}

#[task(unlisted)]
async fn raw_bytes(bytes: Raw) -> Result<(), TaskError> {
    drop(bytes);
    Ok(())
}
