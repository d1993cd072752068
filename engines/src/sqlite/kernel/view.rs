//! What a read-only verb uses: one consistent state of the store.

use std::sync::Arc;

use jobbers_common::{engine::Result, lifecycle::Status, name::QueueName, time::Timestamp};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::{catalog::Catalog, directory::queue_name, row};
use crate::sqlite::{
    sql,
    store::{error::OrStore, heartbeats::Heartbeats},
};

/// One state of the store.
pub(crate) struct View<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) now: Timestamp,
    pub(crate) heartbeats: &'a Heartbeats,
}

impl<'a> View<'a> {
    /// A statement, ready to run.
    pub(crate) fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>> {
        self.conn.prepare_cached(sql).or_store()
    }

    /// A queue's key.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`].
    ///
    /// [`Error::UnknownQueue`]: jobbers_common::engine::Error::UnknownQueue
    pub(crate) fn queue(&self, name: &QueueName) -> Result<i64> {
        self.catalog.key(self.conn, name)
    }

    /// The same; `None` for a queue that does not exist.
    pub(crate) fn find_queue(&self, name: &QueueName) -> Result<Option<i64>> {
        self.catalog.find_key(self.conn, name)
    }

    /// The name of the queue a task is in.
    pub(crate) fn queue_name(&self, key: i64) -> Result<QueueName> {
        self.catalog.name(self.conn, key)
    }

    /// The queue with the least key beyond this one.
    pub(crate) fn next_queue(&self, after: i64) -> Result<Option<(i64, QueueName)>> {
        let mut statement = self.prepare(sql::NEXT_QUEUE)?;
        let read = |row: &Row<'_>| Ok((row.get("key")?, row.get::<_, String>("name")?));
        let found = statement.query_row([after], read).optional().or_store()?;
        found.map(|(key, name)| Ok((key, queue_name(name)?))).transpose()
    }

    /// How many tasks have each status, of all queues or of one: `(queue, status, tasks)`, without zeroes.
    pub(crate) fn tallies(&self, queue: Option<i64>) -> Result<Vec<(i64, Status, i64)>> {
        let (mut all, mut one) = (self.prepare(sql::TALLIES)?, self.prepare(sql::TALLIES_OF_QUEUE)?);
        let mut rows = match queue {
            None => all.query([]),
            Some(queue) => one.query([queue]),
        }
        .or_store()?;
        let mut tallies = Vec::new();
        while let Some(row) = rows.next().or_store()? {
            tallies.push((
                row.get("queue").or_store()?,
                row::status(row.get("status").or_store()?)?,
                row.get("tasks").or_store()?,
            ));
        }
        Ok(tallies)
    }
}
