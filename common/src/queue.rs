//! The live configuration: queues, roles and routing rules, and the snapshot of all of it.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    duration,
    name::{QueueName, RoleName},
    routing::{RouteKey, RouteRule},
};

/// How long, and how many, finished tasks of a queue are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Kept this long after they were over.
    #[serde(with = "duration::text")]
    pub age: Duration,
    /// At most this many, the newest.
    pub count: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Duration::from_secs(86_400), count: 100_000 }
    }
}

/// A queue's configuration. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueConfig {
    /// Its name.
    pub name: QueueName,
    /// A paused queue takes submissions and gives nothing out.
    #[serde(default)]
    pub paused: bool,
    /// At most this many of its tasks run in one worker process at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_worker: Option<u32>,
    /// How long finished tasks are kept.
    #[serde(default)]
    pub retention: Retention,
}

impl QueueConfig {
    /// A queue with the defaults.
    #[must_use]
    pub fn new(name: QueueName) -> Self {
        Self { name, paused: false, max_per_worker: None, retention: Retention::default() }
    }
}

/// Which queues the workers of a role serve, first to last: an earlier queue is emptied before a later one is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleConfig {
    /// Its name.
    pub name: RoleName,
    /// Its queues, in order.
    pub queues: Vec<QueueName>,
}

/// All live configuration, as of one version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Grows with each change.
    pub version: u64,
    /// The queues.
    pub queues: BTreeMap<QueueName, QueueConfig>,
    /// The roles.
    pub roles: BTreeMap<RoleName, RoleConfig>,
    /// The routing rules.
    pub routes: BTreeMap<RouteKey, RouteRule>,
}

/// The name of the queue and of the role that every store has from the start.
pub const DEFAULT: &str = "default";

impl Config {
    /// What a new store starts with: the queue `default`, and the role `default` that serves it.
    ///
    /// # Panics
    /// Never: the name is legal.
    #[must_use]
    pub fn initial() -> Self {
        #[expect(clippy::expect_used, reason = "a constant that is legal")]
        let (queue, role) =
            (QueueName::new(DEFAULT).expect("a legal queue name"), RoleName::new(DEFAULT).expect("a legal role name"));
        Self {
            version: 1,
            queues: BTreeMap::from([(queue.clone(), QueueConfig::new(queue.clone()))]),
            roles: BTreeMap::from([(role.clone(), RoleConfig { name: role, queues: vec![queue] })]),
            routes: BTreeMap::new(),
        }
    }
}
