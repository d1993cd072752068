//! An outbox in a program's own SQLite: an order and its task are stored in one transaction, and a relay moves the tasks.
//!
//! `cargo run -p jobbers-worker --example outbox -- 1000` takes so many orders, of which each tenth is rolled back, and moves the
//! rest into the store of `ENGINE_URL`, or else into one in memory. On standard error it prints the relay's pace: with
//! `--release` and 100000 orders this is its benchmark.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what the example is for")]

use std::{sync::Arc, time::Instant};

use jobbers_worker::{
    outbox::{self, Moved, OutboxError, OutboxTable, Relay, Row},
    prelude::*,
};
use parking_lot::Mutex;
use rusqlite::Connection;

/// The program's database.
#[derive(Clone)]
struct Database(Arc<Mutex<Connection>>);

/// Charges the card of an order.
#[task]
async fn charge(order: u64) -> Result<u64, TaskError> {
    Ok(order)
}

impl Database {
    fn open() -> Result<Self, rusqlite::Error> {
        let database = Connection::open_in_memory()?;
        database.execute_batch("CREATE TABLE orders (id integer PRIMARY KEY)")?;
        database.execute_batch(outbox::SQLITE)?;
        Ok(Self(Arc::new(Mutex::new(database))))
    }

    /// Stores an order and the row of its task, both or neither.
    fn take(&self, order: u64, row: &Row) -> Result<(), rusqlite::Error> {
        let mut database = self.0.lock();
        let transaction = database.transaction()?;
        transaction.prepare_cached("INSERT INTO orders (id) VALUES (?1)")?.execute([order.to_string()])?;
        transaction
            .prepare_cached("INSERT INTO jobbers_outbox (id, submission) VALUES (?1, ?2)")?
            .execute([&row.id, &row.submission])?;
        if order % 10 == 9 {
            return transaction.rollback();
        }
        transaction.commit()
    }
}

impl OutboxTable for Database {
    async fn oldest(&self, limit: usize) -> Result<Vec<Row>, OutboxError> {
        const OLDEST: &str = "SELECT id, submission FROM jobbers_outbox WHERE problem IS NULL ORDER BY place LIMIT ?1";
        let database = self.0.lock();
        let mut oldest = database.prepare_cached(OLDEST)?;
        let read = |row: &rusqlite::Row<'_>| Ok(Row { id: row.get(0)?, submission: row.get(1)? });
        Ok(oldest.query_map([i64::try_from(limit)?], read)?.collect::<Result<_, _>>()?)
    }

    async fn remove(&self, ids: &[String]) -> Result<(), OutboxError> {
        let mut database = self.0.lock();
        let transaction = database.transaction()?;
        for id in ids {
            transaction.prepare_cached("DELETE FROM jobbers_outbox WHERE id = ?1")?.execute([id])?;
        }
        Ok(transaction.commit()?)
    }

    async fn refuse(&self, id: &str, problem: &str) -> Result<(), OutboxError> {
        self.0.lock().execute("UPDATE jobbers_outbox SET problem = ?2 WHERE id = ?1", [id, problem])?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders: u64 = std::env::args().nth(1).unwrap_or_else(|| "1000".to_owned()).parse()?;
    let client = Client::open(&std::env::var("ENGINE_URL").unwrap_or_else(|_| "sqlite::memory:".to_owned())).await?;
    let database = Database::open()?;
    for order in 0..orders {
        database.take(order, &charge.with(order).idempotency_key(order.to_string()).to_row(&client)?)?;
    }

    // A real program would call `Relay::new(database, client).run(shutdown).await` beside its other work.
    let relay = Relay::new(database, client);
    let (began, mut stored) = (Instant::now(), 0);
    loop {
        let moved = relay.move_some().await?;
        if moved == Moved::default() {
            break;
        }
        stored += moved.stored;
    }
    println!("{orders} orders, {stored} tasks");
    eprintln!("{:.0} rows a second", stored as f64 / began.elapsed().as_secs_f64());
    Ok(())
}
