//! Queues, roles and rules as of one version, and the numbers the tables know queues by.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use jobbers_common::{
    engine::{Error, Result},
    name::{QueueName, RoleName, TaskName, WorkerId},
    queue::{Config, QueueConfig, Retention, RoleConfig},
    routing::{RouteKey, RouteRule, Versions},
    time::Timestamp,
};
use rusqlite::Connection;

use super::{
    error::{OrStore, corrupt},
    sql,
};

/// The version that stands for every version of a task in `route`.
pub(super) const ANY_VERSION: i64 = -1;

/// The configuration and the queues' keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Catalog {
    pub(super) config: Arc<Config>,
    /// The queues that have a limit of the whole system.
    pub(super) limited: HashMap<i64, QueueConfig>,
    /// The queues that have limits by key or by task, or had some and are not yet done with them.
    pub(super) gated: HashMap<i64, Arc<QueueConfig>>,
    keys: HashMap<QueueName, i64>,
    names: BTreeMap<i64, QueueName>,
}

impl Catalog {
    /// Reads it. The caller's transaction makes it one with `version`.
    pub(super) fn load(conn: &Connection, version: i64) -> Result<Self> {
        let mut config = Config { version: version.cast_unsigned(), ..Config::default() };
        let (mut limited, mut keys, mut names) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        let swept: Vec<i64> = rows::<(i64,)>(conn, sql::ALL_GATE_SWEEPS)?.into_iter().map(|(queue,)| queue).collect();
        let mut gated = HashMap::new();
        for (key, name, text) in rows::<(i64, String, String)>(conn, sql::ALL_QUEUES)? {
            let queue: QueueConfig = serde_json::from_str(&text).map_err(|error| corrupt(&name, error))?;
            keys.insert(queue.name.clone(), key);
            names.insert(key, queue.name.clone());
            if queue.is_limited() {
                limited.insert(key, queue.clone());
            }
            if queue.is_gated() || swept.contains(&key) {
                gated.insert(key, Arc::new(queue.clone()));
            }
            config.queues.insert(queue.name.clone(), queue);
        }
        for (name, queues, whole) in rows::<(String, String, Option<String>)>(conn, sql::ALL_ROLES)? {
            let role = match whole {
                Some(text) => serde_json::from_str(&text).map_err(|error| corrupt(&name, error))?,
                None => RoleConfig::new(
                    RoleName::new(&name).map_err(|error| corrupt("role", error))?,
                    serde_json::from_str(&queues).map_err(|error| corrupt(&name, error))?,
                ),
            };
            config.roles.insert(role.name.clone(), role);
        }
        for (name, from, to, text) in rows::<(String, u32, u32, String)>(conn, sql::ALL_ROUTES)? {
            let rule: RouteRule = serde_json::from_str(&text).map_err(|error| corrupt(&name, error))?;
            let name = TaskName::new(&name).map_err(|error| corrupt("route", error))?;
            let versions = Versions::range(Some(from), Some(to)).map_err(|error| corrupt("route", error))?;
            config.routes.insert(RouteKey { name, versions }, rule);
        }
        for (worker, since) in rows::<(String, i64)>(conn, sql::ALL_DRAINING)? {
            let worker = WorkerId::new(&worker).map_err(|error| corrupt("worker", error))?;
            config.draining.insert(worker, Timestamp::from_micros(since));
        }
        Ok(Self { config: Arc::new(config), limited, gated, keys, names })
    }

    pub(super) fn version(&self) -> i64 {
        self.config.version.cast_signed()
    }

    /// A queue's key.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`].
    pub(super) fn key(&self, queue: &QueueName) -> Result<i64> {
        self.find_key(queue).ok_or_else(|| Error::UnknownQueue(queue.clone()))
    }

    pub(super) fn find_key(&self, queue: &QueueName) -> Option<i64> {
        self.keys.get(queue).copied()
    }

    /// The name of the queue a task is in.
    ///
    /// # Errors
    /// [`Error::Corrupt`]: a queue with tasks is never deleted.
    pub(super) fn name(&self, key: i64) -> Result<QueueName> {
        self.names.get(&key).cloned().ok_or_else(|| Error::Corrupt(format!("a task is in queue {key}, which is none")))
    }

    /// The queue with the least key beyond this one.
    pub(super) fn next_queue(&self, after: i64) -> Option<(i64, &QueueName)> {
        let beyond = (Bound::Excluded(after), Bound::Unbounded);
        self.names.range(beyond).next().map(|(key, name)| (*key, name))
    }

    /// How long a queue's finished tasks are kept.
    pub(super) fn retention(&self, key: i64) -> Retention {
        let config = self.names.get(&key).and_then(|name| self.config.queues.get(name));
        config.map_or_else(Retention::default, |config| config.retention.clone())
    }

    /// Whether the queue gives tasks out.
    pub(super) fn is_open(&self, queue: &QueueName) -> bool {
        self.config.queues.get(queue).is_some_and(|queue| !queue.paused)
    }
}

fn rows<T>(conn: &Connection, sql: &str) -> Result<Vec<T>>
where
    T: for<'a> TryFrom<&'a rusqlite::Row<'a>, Error = rusqlite::Error>,
{
    let mut statement = conn.prepare_cached(sql).or_store()?;
    let rows = statement.query_map([], |row| T::try_from(row)).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}
