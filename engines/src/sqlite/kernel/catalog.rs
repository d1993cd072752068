//! The settings of queues, roles and rules at one version.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use jobbers_common::{
    access::AccessKey,
    engine::{Error, Result},
    name::{QueueName, RoleName, TaskName, WorkerId},
    queue::{
        Config, DEFAULT_KEEP_PARAMETERS, QueueConfig, Retention, RoleConfig, pattern,
        routing::{RouteKey, RouteRule, Versions},
    },
    time::Timestamp,
};
use rusqlite::{Connection, Row};

use super::directory::{QueueDirectory, queue_name};
use crate::sqlite::{
    sql,
    store::error::{OrStore, corrupt},
};

/// `LIMIT` of a statement that is read until its reader stops.
const ALL_ROWS: i64 = -1;

/// The value in `route` for every version of a task.
pub(crate) const ANY_VERSION: i64 = -1;

/// The configuration, and the settings that verbs look up by a queue's key.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) config: Arc<Config>,
    /// The queues with a limit across all workers.
    pub(crate) limited: Arc<HashMap<i64, Arc<QueueConfig>>>,
    /// The queues with limits by key or by task, or with gates left from earlier ones.
    pub(crate) gated: Arc<HashMap<i64, Arc<QueueConfig>>>,
    /// The retention of queues that differ from the default.
    retentions: Arc<HashMap<i64, Retention>>,
    /// The `keep_parameters` of queues that differ from the default.
    kept_parameters: Arc<HashMap<i64, u64>>,
    directory: QueueDirectory,
}

impl Catalog {
    /// Reads it. The caller's transaction makes it one with `version`.
    pub(crate) fn load(conn: &Connection, version: i64) -> Result<Self> {
        let mut config = Config { version: version.cast_unsigned(), ..Config::default() };
        let mut catalog = Self::default();
        let swept: Vec<i64> = rows(conn, sql::ALL_GATE_SWEEPS, |row| row.get("queue"))?;
        let read =
            |row: &Row<'_>| Ok((row.get("key")?, row.get::<_, String>("name")?, row.get::<_, String>("config")?));
        for (key, name, text) in rows(conn, sql::CONFIGURED_QUEUES, read)? {
            let queue: QueueConfig = serde_json::from_str(&text).map_err(|error| corrupt(&name, error))?;
            catalog.index(key, &queue, swept.contains(&key));
            config.queues.insert(queue.name.clone(), Arc::new(queue));
        }
        let read = |row: &Row<'_>| Ok((row.get("name")?, row.get("queues")?, row.get("config")?));
        for (name, queues, whole) in rows::<(String, String, Option<String>)>(conn, sql::ALL_ROLES, read)? {
            let role = match whole {
                Some(text) => serde_json::from_str(&text).map_err(|error| corrupt(&name, error))?,
                None => RoleConfig::new(
                    RoleName::new(&name).map_err(|error| corrupt("role", error))?,
                    serde_json::from_str::<Vec<QueueName>>(&queues).map_err(|error| corrupt(&name, error))?,
                ),
            };
            config.roles.insert(role.name.clone(), role);
        }
        let read =
            |row: &Row<'_>| Ok((row.get("name")?, row.get("version_from")?, row.get("version_to")?, row.get("rule")?));
        for (name, from, to, text) in rows::<(String, u32, u32, String)>(conn, sql::ALL_ROUTES, read)? {
            let rule: RouteRule = serde_json::from_str(&text).map_err(|error| corrupt(&name, error))?;
            let name = TaskName::new(&name).map_err(|error| corrupt("route", error))?;
            let versions = Versions::range(Some(from), Some(to)).map_err(|error| corrupt("route", error))?;
            config.routes.insert(RouteKey { name, versions }, rule);
        }
        for text in rows::<String>(conn, sql::ALL_KEYS, |row| row.get("config"))? {
            let key: AccessKey = serde_json::from_str(&text).map_err(|error| corrupt("access key", error))?;
            config.keys.insert(key.id.clone(), Arc::new(key));
        }
        let read = |row: &Row<'_>| Ok((row.get("worker")?, row.get("since")?));
        for (worker, since) in rows::<(String, i64)>(conn, sql::ALL_DRAINING, read)? {
            let worker = WorkerId::new(&worker).map_err(|error| corrupt("worker", error))?;
            config.draining.insert(worker, Timestamp::from_micros(since));
        }
        config.matched = matched(conn, &config)?;
        Ok(Self { config: Arc::new(config), ..catalog })
    }

    /// Indexes the settings of a queue by its key. `is_swept`: claims are looking at all its gates again.
    fn index(&mut self, key: i64, queue: &QueueConfig, is_swept: bool) {
        let limited = queue.is_limited().then(|| Arc::new(queue.clone()));
        put(Arc::make_mut(&mut self.limited), key, limited);
        put(Arc::make_mut(&mut self.gated), key, (queue.is_gated() || is_swept).then(|| Arc::new(queue.clone())));
        let retention = Some(&queue.retention).filter(|retention| **retention != Retention::default());
        put(Arc::make_mut(&mut self.retentions), key, retention.cloned());
        let kept = Some(queue.keep_parameters).filter(|bytes| *bytes != DEFAULT_KEEP_PARAMETERS);
        put(Arc::make_mut(&mut self.kept_parameters), key, kept);
    }

    /// The same settings, for a transaction that creates queues.
    pub(crate) fn with_new_queues(&self) -> Self {
        let Self { config, limited, gated, retentions, kept_parameters, directory: _ } = self;
        Self {
            config: Arc::clone(config),
            limited: Arc::clone(limited),
            gated: Arc::clone(gated),
            retentions: Arc::clone(retentions),
            kept_parameters: Arc::clone(kept_parameters),
            directory: QueueDirectory::default(),
        }
    }

    /// The next version, with the settings of a queue replaced.
    pub(crate) fn with_settings(
        &self,
        conn: &Connection,
        key: i64,
        queue: &QueueConfig,
        is_swept: bool,
    ) -> Result<Self> {
        let put = |config: &mut Config| drop(config.queues.insert(queue.name.clone(), Arc::new(queue.clone())));
        let mut catalog = self.next(conn, put)?;
        catalog.index(key, queue, is_swept);
        Ok(catalog)
    }

    /// The next version, without a queue, which the table does not have any more.
    pub(crate) fn without(&self, conn: &Connection, key: i64, queue: &QueueName) -> Result<Self> {
        let mut catalog = self.next(conn, |config| drop(config.queues.remove(queue)))?;
        catalog.index(key, &QueueConfig::new(queue.clone()), false);
        Ok(catalog)
    }

    /// The next version, with what the change of a queue's entry does to the configuration.
    pub(crate) fn next(&self, conn: &Connection, change: impl FnOnce(&mut Config)) -> Result<Self> {
        let mut config = Config::clone(&self.config);
        config.version += 1;
        change(&mut config);
        config.matched = matched(conn, &config)?;
        Ok(Self { config: Arc::new(config), ..self.with_new_queues() })
    }

    pub(crate) fn version(&self) -> i64 {
        self.config.version.cast_signed()
    }

    /// A queue's key.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`].
    pub(crate) fn key(&self, conn: &Connection, queue: &QueueName) -> Result<i64> {
        self.find_key(conn, queue)?.ok_or_else(|| Error::UnknownQueue(queue.clone()))
    }

    /// The same; `None` for a queue that does not exist.
    pub(crate) fn find_key(&self, conn: &Connection, queue: &QueueName) -> Result<Option<i64>> {
        self.directory.find_key(conn, queue)
    }

    /// The name of the queue a task is in.
    ///
    /// # Errors
    /// [`Error::Corrupt`]: a queue with tasks is never deleted.
    pub(crate) fn name(&self, conn: &Connection, key: i64) -> Result<QueueName> {
        self.directory.name(conn, key)
    }

    /// How long a queue's finished tasks are kept.
    pub(crate) fn retention(&self, key: i64) -> Retention {
        self.retentions.get(&key).cloned().unwrap_or_default()
    }

    /// How many bytes of parameters a queue's tasks keep at most once they completed.
    pub(crate) fn keep_parameters(&self, key: i64) -> u64 {
        self.kept_parameters.get(&key).copied().unwrap_or(DEFAULT_KEEP_PARAMETERS)
    }

    /// Whether the queue exists and hands out tasks.
    pub(crate) fn is_open(&self, queue: &QueueName) -> bool {
        self.config.queues.get(queue).is_none_or(|queue| !queue.paused)
    }
}

/// The queues that the patterns of the roles match.
fn matched(conn: &Connection, config: &Config) -> Result<Arc<BTreeSet<QueueName>>> {
    let mut found = BTreeSet::new();
    for pattern in config.patterns() {
        let mut statement = conn.prepare_cached(sql::QUEUES_FROM).or_store()?;
        let rows = statement.query_map((pattern.prefix(), ALL_ROWS), |row| row.get::<_, String>("name")).or_store()?;
        found.extend(pattern::matched(pattern, rows.map(|name| queue_name(name.or_store()?)))?);
    }
    Ok(Arc::new(found))
}

/// Inserts an entry, or removes it.
fn put<T>(entries: &mut HashMap<i64, T>, key: i64, value: Option<T>) {
    match value {
        Some(value) => entries.insert(key, value),
        None => entries.remove(&key),
    };
}

fn rows<T>(conn: &Connection, sql: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> Result<Vec<T>> {
    let mut statement = conn.prepare_cached(sql).or_store()?;
    let rows = statement.query_map([], read).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}
