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
        let (mut all, mut one) = (self.prepare(sql::TALLIES)?, self.prepare(sql::TALLIES_OF_QUEUE)?);
        let mut rows = match queue {
            None => all.query([]),
            Some(queue) => one.query([queue]),
        }
        .or_store()?;
        let mut tallies = Vec::new();
        while let Some(row) = rows.next().or_store()? {
            tallies.push((row.get(0).or_store()?, row::status(row.get(1).or_store()?)?, row.get(2).or_store()?));
        }
        Ok(tallies)
    }
}
