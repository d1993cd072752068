//! The live configuration: queues, roles and routing rules, and the snapshot of all of it.

pub mod gate;
pub mod pattern;
pub mod rate;
pub mod routing;

use std::fmt;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    access::AccessKey,
    limits::{MAX_PATTERNS_PER_ROLE, MAX_QUEUES_PER_CLAIM, MAX_TASK_LIMITS, MAX_WEIGHT},
    name::{KeyId, QueueName, RoleName, TaskName, WorkerId},
    payload::Payload,
    queue::{
        gate::{ConcurrencyKey, Gate, GateLimits, validate_key_parameter},
        pattern::{QueuePattern, ServedQueues},
        rate::RateLimit,
        routing::{RouteKey, RouteRule},
    },
    time::Timestamp,
    values::duration,
};

/// How long, and how many, finished tasks of a queue are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
pub struct QueueConfig {
    /// Its name.
    pub name: QueueName,
    /// A paused queue takes submissions and gives nothing out.
    #[serde(default)]
    pub paused: bool,
    /// At most this many of its tasks run in one worker process at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time, wherever they run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// How many of its tasks may start per period, wherever they start. Each claim counts, a retry's too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// How many tasks it accepts per period: more are refused. Only submissions count, and of these only
    /// what they store; what is sent again or comes back is never turned away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_rate_limit: Option<RateLimit>,
    /// At most this many tasks wait in it, are scheduled or submitted: more are not taken in. What comes back to the
    /// queue, such as a retry, is never turned away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// Which parameter gives a task its key, where its submission names none: a top-level field, or a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_parameter: Option<String>,
    /// At most this many of its tasks of one key run at a time, wherever they run. A task without a key has no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_per_key: Option<u32>,
    /// How many of its tasks of one key may start per period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit_per_key: Option<RateLimit>,
    /// What its tasks of these names may do, whatever their version and key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub task_limits: BTreeMap<TaskName, GateLimits>,
    /// How many bytes of parameters may wait in it: those of the tasks that `max_length` counts. More are not taken in;
    /// what comes back is never turned away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// How long finished tasks are kept.
    #[serde(default)]
    pub retention: Retention,
    /// Parameters of at most this many bytes stay with their task after it completed, as long as `retention` keeps it. 0: none.
    #[serde(default = "default_keep_parameters", skip_serializing_if = "is_default_keep")]
    pub keep_parameters: u64,
    /// How long workers give a task back that none of them knows, until it is dropped.
    #[serde(default = "default_patience", with = "duration::text")]
    pub patience: Duration,
    /// Whether a submission is refused when no live worker could run it.
    #[serde(default)]
    pub strict: bool,
}

/// Long enough for any rolling deployment.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(86_400);

const fn default_patience() -> Duration {
    DEFAULT_PATIENCE
}

/// Enough for most parameters, and few beside what a finished task takes anyway.
pub const DEFAULT_KEEP_PARAMETERS: u64 = 2_048;

const fn default_keep_parameters() -> u64 {
    DEFAULT_KEEP_PARAMETERS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_default_keep(bytes: &u64) -> bool {
    *bytes == DEFAULT_KEEP_PARAMETERS
}

impl QueueConfig {
    /// A queue with the defaults.
    #[must_use]
    pub fn new(name: QueueName) -> Self {
        Self {
            name,
            paused: false,
            max_per_worker: None,
            max_concurrent: None,
            rate_limit: None,
            submit_rate_limit: None,
            max_length: None,
            key_parameter: None,
            max_concurrent_per_key: None,
            rate_limit_per_key: None,
            task_limits: BTreeMap::new(),
            max_bytes: None,
            retention: Retention::default(),
            keep_parameters: DEFAULT_KEEP_PARAMETERS,
            patience: DEFAULT_PATIENCE,
            strict: false,
        }
    }

    /// Whether it has a limit that the store holds: one of the whole system.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.max_concurrent.is_some()
            || self.rate_limit.is_some()
            || self.submit_rate_limit.is_some()
            || self.max_length.is_some()
            || self.max_bytes.is_some()
            || self.is_gated()
    }

    /// Whether it limits how many of its tasks run at a time, so that the end of one may let another start.
    #[must_use]
    pub const fn limits_running(&self) -> bool {
        self.max_concurrent.is_some()
    }

    /// How many more of its tasks may start while so many run.
    #[must_use]
    pub fn free_slots(&self, running: i64) -> usize {
        self.max_concurrent.map_or(usize::MAX, |most| usize::try_from(i64::from(most) - running).unwrap_or(0))
    }

    /// Whether it has limits by key or by task.
    #[must_use]
    pub fn is_gated(&self) -> bool {
        !self.limits_per_key().is_empty() || !self.task_limits.is_empty()
    }

    /// Whether a task of this queue that completed keeps parameters of so many bytes.
    #[must_use]
    pub const fn keeps_parameters(&self, bytes: usize) -> bool {
        bytes > 0 && bytes as u64 <= self.keep_parameters
    }

    const fn limits_per_key(&self) -> GateLimits {
        GateLimits { max_concurrent: self.max_concurrent_per_key, rate_limit: self.rate_limit_per_key }
    }

    /// What holds for a gate of this queue; `None` where nothing does.
    #[must_use]
    pub fn limits_of(&self, gate: &Gate) -> Option<GateLimits> {
        let limits = match gate {
            Gate::Key(_) => self.limits_per_key(),
            Gate::Task(name) => self.task_limits.get(name).copied().unwrap_or_default(),
        };
        (!limits.is_empty()).then_some(limits)
    }

    /// The gates a task of this queue passes when it starts, in the order in which they are asked.
    pub fn gates_of(&self, name: &TaskName, key: Option<&ConcurrencyKey>) -> impl Iterator<Item = (Gate, GateLimits)> {
        let gates = [key.cloned().map(Gate::Key), Some(Gate::Task(name.clone()))];
        gates.into_iter().flatten().filter_map(|gate| self.limits_of(&gate).map(|limits| (gate, limits)))
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// What is wrong with them, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        let limits = [
            ("max_per_worker", self.max_per_worker.map(u64::from)),
            ("max_concurrent", self.max_concurrent.map(u64::from)),
            ("max_length", self.max_length),
            ("max_concurrent_per_key", self.max_concurrent_per_key.map(u64::from)),
            ("max_bytes", self.max_bytes),
        ];
        if let Some((name, _)) = limits.iter().find(|(_, limit)| *limit == Some(0)) {
            return Err(format!("{name} must be at least 1; to hold tasks back, pause the queue"));
        }
        if self.task_limits.len() > MAX_TASK_LIMITS {
            return Err(format!("task_limits names at most {MAX_TASK_LIMITS} tasks"));
        }
        if let Some((name, _)) = self.task_limits.iter().find(|(_, limits)| limits.is_empty()) {
            return Err(format!("task_limits of {name} names no limit: leave it out"));
        }
        self.key_parameter.as_deref().map_or(Ok(()), validate_key_parameter)?;
        let of_tasks = |(name, limits): (&TaskName, &GateLimits)| {
            limits.validate().map_err(|error| format!("task_limits of {name}: {error}"))
        };
        self.task_limits.iter().try_for_each(of_tasks)?;
        let rates = [self.rate_limit, self.submit_rate_limit, self.rate_limit_per_key];
        rates.iter().flatten().try_for_each(RateLimit::validate)
    }
}

/// In which order the workers of a role ask its queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueOrder {
    /// As [served](RoleConfig::serves): an earlier queue is emptied before a later one is asked.
    #[default]
    Strict,
    /// Each queue is asked first as often as its weight says: none waits for ever.
    Weighted,
}

impl fmt::Display for QueueOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl QueueOrder {
    const fn is_strict(&self) -> bool {
        matches!(self, Self::Strict)
    }
}

/// Which queues the workers of a role serve. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleConfig {
    /// Its name.
    pub name: RoleName,
    /// Its queues, by name and by patterns of names. [`RoleConfig::serves`] says which these are, and in which order.
    pub queues: Vec<QueuePattern>,
    /// What that order means.
    #[serde(default, skip_serializing_if = "QueueOrder::is_strict")]
    pub order: QueueOrder,
    /// How often each queue is asked first, for [`QueueOrder::Weighted`]; see [`RoleConfig::weight`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<QueuePattern, u32>,
    /// New each time a client asks the role's workers to read the configuration again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_tag: Option<Box<str>>,
}

impl RoleConfig {
    /// A role that serves these queues in strict order.
    #[must_use]
    pub fn new(name: RoleName, queues: impl IntoIterator<Item: Into<QueuePattern>>) -> Self {
        let queues = queues.into_iter().map(Into::into).collect();
        Self { name, queues, order: QueueOrder::Strict, weights: BTreeMap::new(), refresh_tag: None }
    }

    /// The queues that it serves, of those that exist.
    #[must_use]
    pub fn serves(&self, existing: &BTreeSet<QueueName>) -> ServedQueues {
        pattern::served(&self.queues, existing)
    }

    /// Whether it names a queue. A queue that only a pattern matches is not named: it may be deleted.
    #[must_use]
    pub fn names(&self, queue: &QueueName) -> bool {
        self.queues.iter().any(|entry| entry.as_str() == queue.as_str())
    }

    /// The queues that it names.
    pub fn named(&self) -> impl Iterator<Item = QueueName> {
        self.queues.iter().filter_map(QueuePattern::name)
    }

    /// Whether one of its patterns matches a queue.
    #[must_use]
    pub fn matches(&self, queue: &QueueName) -> bool {
        self.queues.iter().any(|entry| entry.is_pattern() && entry.matches(queue))
    }

    /// How often a queue is asked first, relative to the others: its own weight, or else that of the first pattern that
    /// matches it, or else 1. A queue that the role names does not have the weight of a pattern.
    #[must_use]
    pub fn weight(&self, queue: &QueueName) -> u32 {
        let own = self.weights.get(queue.as_str());
        let of_pattern = || {
            let mut patterns = self.queues.iter().filter(|entry| entry.is_pattern() && entry.matches(queue));
            self.weights.get(patterns.next().filter(|_| !self.names(queue))?)
        };
        own.or_else(of_pattern).copied().unwrap_or(1)
    }

    /// Checks it for itself; whether the queues that it names exist is the store's to say.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        let distinct: HashSet<&QueuePattern> = self.queues.iter().collect();
        if self.queues.is_empty() || distinct.len() < self.queues.len() {
            return Err("a role names at least one queue or pattern, and none twice".to_owned());
        }
        if self.queues.len() > MAX_QUEUES_PER_CLAIM {
            return Err(format!("a role names at most {MAX_QUEUES_PER_CLAIM} queues"));
        }
        if self.queues.iter().filter(|entry| entry.is_pattern()).count() > MAX_PATTERNS_PER_ROLE {
            return Err(format!("a role has at most {MAX_PATTERNS_PER_ROLE} patterns"));
        }
        if self.order == QueueOrder::Strict && !self.weights.is_empty() {
            return Err("weights need the order \"weighted\"".to_owned());
        }
        let is_served =
            |entry: &QueuePattern| distinct.contains(entry) || entry.name().is_some_and(|queue| self.matches(&queue));
        if let Some(extra) = self.weights.keys().find(|entry| !is_served(entry)) {
            return Err(format!("there is a weight for queue {extra}, which is none of the role's"));
        }
        if self.weights.len() > MAX_QUEUES_PER_CLAIM {
            return Err(format!("a role has at most {MAX_QUEUES_PER_CLAIM} weights"));
        }
        if !self.weights.values().all(|weight| (1..=MAX_WEIGHT).contains(weight)) {
            return Err(format!("a weight is 1 to {MAX_WEIGHT}"));
        }
        Ok(())
    }
}

/// All live configuration, as of one version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Grows with each change.
    pub version: u64,
    /// The settings of queues that were put; shared, so that a change of one among thousands copies no other. Other queues may exist, which only the store knows; they have the defaults
    /// ([`Config::settings_of`]).
    pub queues: BTreeMap<QueueName, Arc<QueueConfig>>,
    /// The roles.
    pub roles: BTreeMap<RoleName, RoleConfig>,
    /// The routing rules.
    pub routes: BTreeMap<RouteKey, RouteRule>,
    /// Workers that are to claim nothing more, and since when.
    pub draining: BTreeMap<WorkerId, Timestamp>,
    /// The access keys. While there is none, managers ask for none.
    pub keys: BTreeMap<KeyId, Arc<AccessKey>>,
    /// The queues that exist and that a pattern of a role matches; of each pattern at least one more than a role serves,
    /// if there are so many. Not stored: the store finds them by [`Config::patterns`], again at each version.
    pub matched: Arc<BTreeSet<QueueName>>,
}

/// The name of the queue and of the role that every store has from the start.
pub const DEFAULT: &str = "default";

impl Config {
    /// The patterns of all roles.
    #[must_use]
    pub fn patterns(&self) -> BTreeSet<&QueuePattern> {
        self.roles.values().flat_map(|role| &role.queues).filter(|entry| entry.is_pattern()).collect()
    }

    /// Whether the workers of a role serve a queue as soon as it exists, by a pattern.
    #[must_use]
    pub fn matches(&self, queue: &QueueName) -> bool {
        self.roles.values().any(|role| role.matches(queue))
    }

    /// The queues that a role of this configuration serves now.
    #[must_use]
    pub fn served_by(&self, role: &RoleConfig) -> ServedQueues {
        role.serves(&self.matched)
    }

    /// The settings of a queue, if it exists: those that were put, or the defaults.
    #[must_use]
    pub fn settings_of(&self, queue: &QueueName) -> Cow<'_, QueueConfig> {
        self.queues
            .get(queue)
            .map_or_else(|| Cow::Owned(QueueConfig::new(queue.clone())), |known| Cow::Borrowed(&**known))
    }

    /// The concurrency key that a queue finds in the parameters of a task, if it looks for one.
    #[must_use]
    pub fn key_of(&self, queue: &QueueName, parameters: &Payload) -> Option<ConcurrencyKey> {
        let parameter = self.queues.get(queue)?.key_parameter.as_deref()?;
        ConcurrencyKey::of_parameter(parameters, parameter)
    }

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
            queues: BTreeMap::from([(queue.clone(), Arc::new(QueueConfig::new(queue.clone())))]),
            roles: BTreeMap::from([(role.clone(), RoleConfig::new(role, vec![queue]))]),
            routes: BTreeMap::new(),
            draining: BTreeMap::new(),
            keys: BTreeMap::new(),
            matched: Arc::default(),
        }
    }
}
