//! What a verb that only reads works with: one consistent state of the store.

use std::sync::Arc;

use jobbers_common::{engine::Result, lifecycle::Status, time::Timestamp};
use rusqlite::{CachedStatement, Connection};

use super::{catalog::Catalog, error::OrStore, row, sql};

/// One state of the store.
pub(super) struct View<'a> {
    pub(super) conn: &'a Connection,
    pub(super) catalog: Arc<Catalog>,
    pub(super) now: Timestamp,
}

impl<'a> View<'a> {
    /// A statement, ready to run.
    pub(super) fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>> {
        self.conn.prepare_cached(sql).or_store()
    }

    /// How many tasks stand where, of all queues or of one: `(queue, status, tasks)`, without zeroes.
    pub(super) fn tallies(&self, queue: Option<i64>) -> Result<Vec<(i64, Status, i64)>> {
        let mut statement = self.prepare(sql::TALLIES)?;
        let rows = statement.query_map([queue], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).or_store()?;
        rows.map(|row| {
            let (queue, code, tasks) = row.or_store()?;
            Ok((queue, row::status(code)?, tasks))
        })
        .collect()
    }
}
