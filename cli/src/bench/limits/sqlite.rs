//! What a bare SQLite does on this machine, in this run: one thread, one connection, the same `synchronous` and the
//! same batch as ours; a table of id, state and payload with the index that finding the next task needs.
//!
//! - submit: 100 inserts a transaction.
//! - drain: a transaction deletes the 100 taken before and takes the next 100 (`UPDATE … RETURNING`).
//! - round trip: a transaction of one insert, one after the other; and each after the pause that a task of the idle
//!   latency has before it.

use std::{path::Path, time::Instant};

use anyhow::Result;
use rusqlite::{Connection, params};

use super::BareRates;
use crate::bench::{
    figures::{per_second, percentile},
    load::{BATCH, IDLE_SAMPLES, PAUSE},
};

const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA cache_size = -65536;
CREATE TABLE IF NOT EXISTS task (seq INTEGER PRIMARY KEY, state INTEGER NOT NULL, payload BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS ready ON task (seq) WHERE state = 0;
";
const INSERT: &str = "INSERT INTO task (state, payload) VALUES (0, ?1)";
const TAKE: &str =
    "UPDATE task SET state = 1 WHERE seq IN (SELECT seq FROM task WHERE state = 0 ORDER BY seq LIMIT ?1) RETURNING seq";
const DELETE: &str = "DELETE FROM task WHERE seq = ?1";

struct Bare {
    connection: Connection,
    taken: Vec<i64>,
}

/// Blocks; run it off the runtime's threads.
pub(in crate::bench) fn measure(path: &Path, synchronous: &str, payload: &[u8], tasks: usize) -> Result<BareRates> {
    let mut bare = Bare::open(path, synchronous)?;
    bare.connection.execute("DELETE FROM task", [])?;

    let singles = (tasks / 20).clamp(200, 5_000);
    let mut samples = Vec::with_capacity(singles);
    let start = Instant::now();
    for _ in 0..singles {
        let one = Instant::now();
        bare.insert(payload, 1)?;
        samples.push(one.elapsed().as_secs_f64() * 1e3);
    }
    let submit_one = per_second(singles, start);
    samples.sort_by(f64::total_cmp);
    bare.connection.execute("DELETE FROM task", [])?;

    let start = Instant::now();
    for _ in 0..tasks / BATCH {
        bare.insert(payload, BATCH)?;
    }
    let submit_batch = per_second(tasks, start);

    let start = Instant::now();
    while bare.move_batch()? > 0 {}
    let drain = per_second(tasks, start);

    let start = Instant::now();
    for _ in 0..tasks / BATCH {
        bare.insert(payload, BATCH)?;
        bare.move_batch()?;
    }
    while bare.move_batch()? > 0 {}
    let both = per_second(tasks, start);
    Ok(BareRates { submit_one, submit_batch, drain, both, round_trip: percentile(&samples, 0.5) })
}

/// One insert after the pause that a task of the idle latency has before it, in milliseconds. Blocks as well.
pub(in crate::bench) fn idle_round_trip_ms(path: &Path, synchronous: &str, payload: &[u8]) -> Result<f64> {
    let mut bare = Bare::open(path, synchronous)?;
    let mut samples = Vec::with_capacity(IDLE_SAMPLES);
    for _ in 0..IDLE_SAMPLES {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        bare.insert(payload, 1)?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
    }
    samples.sort_by(f64::total_cmp);
    Ok(percentile(&samples, 0.5))
}

impl Bare {
    fn open(path: &Path, synchronous: &str) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        Ok(Self { connection, taken: Vec::new() })
    }

    fn insert(&mut self, payload: &[u8], count: usize) -> Result<()> {
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            for _ in 0..count {
                insert.execute(params![payload])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn move_batch(&mut self) -> Result<usize> {
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut delete = transaction.prepare_cached(DELETE)?;
            for seq in self.taken.drain(..) {
                delete.execute([seq])?;
            }
            let mut take = transaction.prepare_cached(TAKE)?;
            let taken = take.query_map([i64::try_from(BATCH)?], |row| row.get(0))?;
            for seq in taken {
                self.taken.push(seq?);
            }
        }
        transaction.commit()?;
        Ok(self.taken.len())
    }
}
