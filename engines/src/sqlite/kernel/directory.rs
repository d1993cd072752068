//! Queues by name, and by the keys that the tables use.
//!
//! The table decides which queues exist; this cache saves a verb the query for a queue that was looked up before. No
//! entry becomes wrong while it is kept. A deletion raises the configuration's version, and a creation, which may be
//! rolled back, uses a directory of its own; both begin with an empty one.

use std::collections::HashMap;

use jobbers_common::{
    engine::{Error, Result},
    name::QueueName,
};
use parking_lot::RwLock;
use rusqlite::{Connection, OptionalExtension};

use crate::sqlite::{
    sql,
    store::error::{OrStore, corrupt},
};

/// The most queues cached; beyond it the cache is emptied.
const MOST_KNOWN: usize = 100_000;

/// The queues looked up so far.
#[derive(Debug, Default)]
pub(crate) struct QueueDirectory {
    known: RwLock<KnownQueues>,
}

#[derive(Debug, Default)]
struct KnownQueues {
    keys: HashMap<QueueName, i64>,
    names: HashMap<i64, QueueName>,
}

impl QueueDirectory {
    /// The key of a queue; `None` if it does not exist.
    pub(crate) fn find_key(&self, conn: &Connection, name: &QueueName) -> Result<Option<i64>> {
        if let Some(key) = self.known.read().keys.get(name) {
            return Ok(Some(*key));
        }
        let mut statement = conn.prepare_cached(sql::FIND_QUEUE).or_store()?;
        let found = statement.query_row([name.as_str()], |row| row.get(0)).optional().or_store()?;
        if let Some(key) = found {
            self.keep(key, name);
        }
        Ok(found)
    }

    /// The name of the queue a task is in.
    ///
    /// # Errors
    /// [`Error::Corrupt`]: a queue with tasks is never deleted.
    pub(crate) fn name(&self, conn: &Connection, key: i64) -> Result<QueueName> {
        if let Some(name) = self.known.read().names.get(&key) {
            return Ok(name.clone());
        }
        let mut statement = conn.prepare_cached(sql::QUEUE_NAME).or_store()?;
        let found: Option<String> = statement.query_row([key], |row| row.get(0)).optional().or_store()?;
        let Some(name) = found else {
            return Err(Error::Corrupt(format!("a task is in queue {key}, which does not exist")));
        };
        let name = queue_name(name)?;
        self.keep(key, &name);
        Ok(name)
    }

    fn keep(&self, key: i64, name: &QueueName) {
        let mut known = self.known.write();
        if known.keys.len() == MOST_KNOWN {
            *known = KnownQueues::default();
        }
        known.keys.insert(name.clone(), key);
        known.names.insert(key, name.clone());
    }
}

/// Reads a queue's name.
pub(crate) fn queue_name(stored: impl AsRef<str>) -> Result<QueueName> {
    QueueName::new(stored).map_err(|error| corrupt("a queue's name", error))
}
