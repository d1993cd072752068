//! Configuration and workers.
//!
//! The typed rules decide a change here, on a snapshot. The script carries it out only if the configuration still has
//! that version; otherwise it is decided again. So no script reads JSON, and no two changes contradict each other.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use jobbers_common::{
    access::AccessKey,
    engine::{
        DeleteRole, Deleted, Error, PutMode, Result,
        settings::{check_deletion, validate_creation},
    },
    limits::MAX_CONFIG_ENTRIES,
    name::{KeyId, QueueName, RoleName, WorkerId},
    queue::{
        Config, DEFAULT_KEEP_PARAMETERS, QueueConfig, RoleConfig,
        gate::GateLimits,
        rate::RateLimit,
        routing::{RouteKey, RouteRule, check_place},
    },
    time::Timestamp,
    worker::{
        RegisteredWorker, WorkerReport,
        registry::{Catalogue, CatalogueId},
    },
};
use redis::{Cmd, Value};
use ulid::Ulid;

use super::queues;
use crate::redis::{
    kernel::{
        config_fields::{StoredRoute, json, read_fields, read_json, route_field},
        keys::{ACCESS_FIELD, DRAIN_FIELD, QUEUE_FIELD, ROLE_FIELD},
        layout::REPORT,
        reply::{array, bytes, number, text, tuple},
        script,
        values::{micros, time},
    },
    server::{failure::malformed, store::Store},
};

/// How often a change is decided again because another came between.
const ATTEMPTS: usize = 100;

/// Fields and their values.
fn pairs(answer: Value) -> Result<Vec<(String, Vec<u8>)>> {
    let mut words = array(answer)?.into_iter();
    let mut read = Vec::with_capacity(words.len() / 2);
    while let (Some(field), Some(value)) = (words.next(), words.next()) {
        read.push((text(field)?, bytes(value)?));
    }
    Ok(read)
}

/// The whole configuration.
pub(crate) async fn read(store: &Store) -> Result<Arc<Config>> {
    Ok(read_with(store, &[]).await?.0)
}

/// The whole configuration, and which of some queues exist. A part that was read before is read again only if it
/// changed.
async fn read_with(store: &Store, asked: &[QueueName]) -> Result<(Arc<Config>, HashSet<QueueName>)> {
    let (mut fields, mut existing) = read_changed(store, asked).await?;
    if fields.as_ref().is_some_and(Vec::is_empty) {
        // The server was emptied meanwhile.
        store.prepare().await?;
        (fields, existing) = read_changed(store, asked).await?;
    }
    let Some(fields) = fields else { return Ok((store.config.lock().clone(), existing)) };
    Ok((adopt(store, read_fields(fields)?).await?, existing))
}

/// The fields of the configuration and their values; nothing if they are known already.
type Fields = Option<Vec<(String, Vec<u8>)>>;

/// One call of the script.
async fn read_changed(store: &Store, asked: &[QueueName]) -> Result<(Fields, HashSet<QueueName>)> {
    let known = store.config.lock().version;
    let add = |command: &mut Cmd| {
        command.arg(known);
        asked.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let mut answer = array(store.run(&store.work, &script::CONFIG, add).await?)?.into_iter();
    let fields = match answer.next().unwrap_or(Value::Nil) {
        Value::Nil => None,
        found => Some(pairs(found)?),
    };
    let flags = answer.map(number).collect::<Result<Vec<_>>>()?;
    let existing = asked.iter().zip(flags).filter(|(_, exists)| *exists == 1).map(|(queue, _)| queue.clone());
    Ok((fields, existing.collect()))
}

/// A change of one field.
struct FieldChange {
    /// Empty for the creation of queues.
    field: String,
    /// `None` deletes it.
    value: Option<String>,
    /// For a queue: whether it is paused.
    paused: bool,
    /// For a queue: its limits, as `scripts/lib/follow/limits.lua` reads them; empty for none.
    limits: String,
    /// For a queue: its limits by key and by task, as `scripts/lib/follow/gates.lua` reads them; empty for none.
    gates: String,
    /// For a queue: its `max_bytes`.
    max_bytes: Option<u64>,
    /// For a queue: its `keep_parameters`, unless that is the default.
    keep_parameters: Option<u64>,
    /// The live workers on which the decision was based, if a different set would change it.
    decided_by: Option<Vec<WorkerId>>,
    /// The queues to create, for an empty field.
    created: Vec<QueueName>,
}

impl FieldChange {
    /// A change of a field that is not a queue's.
    fn of(field: String, value: Option<String>) -> Self {
        Self {
            field,
            value,
            paused: false,
            limits: String::new(),
            gates: String::new(),
            max_bytes: None,
            keep_parameters: None,
            decided_by: None,
            created: Vec::new(),
        }
    }
}

/// A queue's limits as scripts read them.
fn limits(queue: &QueueConfig) -> String {
    if !queue.is_limited() {
        return String::new();
    }
    let slots = queue.max_concurrent.unwrap_or(0);
    let rate = |rate: Option<RateLimit>| match rate {
        Some(rate) => format!("{} {} {}", rate.tasks, micros(rate.per), rate.burst()),
        None => "0 0 0".to_owned(),
    };
    let (starts, length) = (rate(queue.rate_limit), queue.max_length.unwrap_or(0));
    format!("{slots} {starts} {length} {}", rate(queue.submit_rate_limit))
}

/// A queue's limits by key and by task as scripts read them.
fn gates(queue: &QueueConfig) -> String {
    let per_key = GateLimits { max_concurrent: queue.max_concurrent_per_key, rate_limit: queue.rate_limit_per_key };
    let of_tasks = queue.task_limits.iter().map(|(name, limits)| (format!("t{name}"), *limits));
    let of_keys = (!per_key.is_empty()).then(|| ("k".to_owned(), per_key));
    let lines = of_keys.into_iter().chain(of_tasks).map(|(gate, limits)| {
        let rate = limits
            .rate_limit
            .map_or_else(|| "0 0 0".to_owned(), |rate| format!("{} {} {}", rate.tasks, micros(rate.per), rate.burst()));
        format!("{gate} {} {rate}\n", limits.max_concurrent.unwrap_or(0))
    });
    lines.collect()
}

/// The result of a change.
enum ChangeReply {
    Done(u64),
    Stale,
    Live(u64),
    More,
}

async fn carry_out(store: &Store, from: &Config, change: &FieldChange) -> Result<ChangeReply> {
    let id = Ulid::generate().to_string();
    let add = |command: &mut Cmd| {
        command.arg(from.version).arg(&change.field).arg(change.value.as_deref().unwrap_or_default());
        command.arg(u8::from(change.paused)).arg(&id).arg(&change.limits).arg(&change.gates);
        command.arg(change.max_bytes.map(|bytes| bytes.to_string()).unwrap_or_default());
        command.arg(u8::from(change.decided_by.is_some())).arg(micros(store.tombstones().age));
        command.arg(change.keep_parameters.map(|bytes| bytes.to_string()).unwrap_or_default());
        change.decided_by.iter().flatten().for_each(|worker| {
            command.arg(worker.as_str());
        });
        change.created.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let mut answer = array(store.run(&store.work, &script::CONFIGURE, add).await?)?.into_iter();
    let word = text(answer.next().unwrap_or(Value::Nil))?;
    match (word.as_str(), answer.next()) {
        ("done", Some(version)) => Ok(ChangeReply::Done(number(version)?)),
        ("live", Some(live)) => Ok(ChangeReply::Live(number(live)?)),
        ("stale", _) => Ok(ChangeReply::Stale),
        ("more", _) => Ok(ChangeReply::More),
        _ => Err(malformed("expected the outcome of a change")),
    }
}

/// Decides on a snapshot and carries out the change. `decide` alters the snapshot and returns the changed field; it
/// gets those queues of `asked` that exist.
async fn alter(
    store: &Store,
    asked: &[QueueName],
    decide: impl Fn(&mut Config, &HashSet<QueueName>) -> Result<FieldChange>,
) -> Result<Arc<Config>> {
    for _ in 0..ATTEMPTS {
        let (before, existing) = read_with(store, asked).await?;
        let mut config = Config::clone(&before);
        let change = decide(&mut config, &existing)?;
        if config == *before {
            return Ok(before);
        }
        if let ChangeReply::Done(version) = carry_out(store, &before, &change).await? {
            return adopt(store, Config { version, ..config }).await;
        }
    }
    Err(changing())
}

/// Uses a configuration that was just read or written. The queues that its patterns match are read after it: every queue
/// that is created later raises the version.
async fn adopt(store: &Store, mut config: Config) -> Result<Arc<Config>> {
    config.matched = queues::matched(store, &config).await?;
    let config = Arc::new(config);
    *store.config.lock() = Arc::clone(&config);
    Ok(config)
}

fn check_room<K, V>(known: &BTreeMap<K, V>) -> Result<()> {
    if known.len() > MAX_CONFIG_ENTRIES {
        return Err(Error::Invalid(format!("there are at most {MAX_CONFIG_ENTRIES} of these")));
    }
    Ok(())
}

fn check_queues(queues: &[QueueName], existing: &HashSet<QueueName>) -> Result<()> {
    match queues.iter().find(|queue| !existing.contains(*queue)) {
        Some(unknown) => Err(Error::UnknownQueue(unknown.clone())),
        None => Ok(()),
    }
}

/// The settings of a queue; `None` if it does not exist.
fn settings_of(config: &Config, existing: &HashSet<QueueName>, queue: &QueueName) -> Option<QueueConfig> {
    existing.contains(queue).then(|| config.settings_of(queue).into_owned())
}

/// Creates the queues that do not exist. Workers are notified only if a pattern of a role matches one of them; these are
/// created together with the next version.
pub(crate) async fn create_queues(store: &Store, queues: &[QueueName]) -> Result<()> {
    validate_creation(queues)?;
    let (mut config, existing) = read_with(store, queues).await?;
    let change = FieldChange {
        created: queues.iter().filter(|queue| !existing.contains(*queue)).cloned().collect(),
        ..FieldChange::of(String::new(), None)
    };
    if change.created.is_empty() {
        return Ok(());
    }
    let is_served = |config: &Config| change.created.iter().any(|queue| config.matches(queue));
    if !is_served(&config) {
        queues::create(store, &change.created).await?;
        // A role may have got such a pattern before these queues existed, but after the configuration was read.
        config = read(store).await?;
    }
    for _ in 0..ATTEMPTS {
        if !is_served(&config) || matches!(carry_out(store, &config, &change).await?, ChangeReply::Done(_)) {
            return Ok(());
        }
        config = read(store).await?;
    }
    Err(changing())
}

/// Stores the settings of a queue.
pub(crate) async fn put_queue(store: &Store, queue: &QueueConfig, mode: &PutMode<QueueConfig>) -> Result<Arc<Config>> {
    queue.validate().map_err(Error::Invalid)?;
    let decide = |config: &mut Config, existing: &HashSet<QueueName>| {
        let (known, unknown) = (settings_of(config, existing, &queue.name), Error::UnknownQueue(queue.name.clone()));
        mode.check(known.as_ref(), unknown, || format!("queue {}", queue.name))?;
        if known.as_ref() != Some(queue) {
            config.queues.insert(queue.name.clone(), Arc::new(queue.clone()));
            check_room(&config.queues)?;
        }
        Ok(FieldChange {
            paused: queue.paused,
            limits: limits(queue),
            gates: gates(queue),
            max_bytes: queue.max_bytes,
            keep_parameters: Some(queue.keep_parameters).filter(|bytes| *bytes != DEFAULT_KEEP_PARAMETERS),
            ..FieldChange::of(format!("{QUEUE_FIELD}{}", queue.name), Some(json(queue)?))
        })
    };
    alter(store, std::slice::from_ref(&queue.name), decide).await
}

/// Deletes a queue that no role or rule names and that holds no live task, 1,000 finished ones per call.
pub(crate) async fn delete_queue(store: &Store, queue: &QueueName, expected: Option<&QueueConfig>) -> Result<Deleted> {
    for _ in 0..ATTEMPTS {
        let (config, existing) = read_with(store, std::slice::from_ref(queue)).await?;
        let (stored, unknown) = (settings_of(&config, &existing, queue), Error::UnknownQueue(queue.clone()));
        check_deletion(expected, stored.as_ref(), unknown, || format!("queue {queue}"))?;
        if let Some(by) = user_of(&config, queue) {
            return Err(Error::InUse { queue: queue.clone(), by });
        }
        let change = FieldChange::of(format!("{QUEUE_FIELD}{queue}"), None);
        match carry_out(store, &config, &change).await? {
            ChangeReply::Done(version) => {
                let mut config = Config { version, ..Config::clone(&config) };
                config.queues.remove(queue);
                adopt(store, config).await?;
                return Ok(Deleted::Done);
            }
            ChangeReply::More => return Ok(Deleted::More),
            ChangeReply::Live(live) => return Err(Error::NotEmpty { queue: queue.clone(), live }),
            ChangeReply::Stale => {}
        }
    }
    Err(changing())
}

fn changing() -> Error {
    Error::unavailable("the configuration is being changed all the time")
}

/// The role or rule that names a queue.
fn user_of(config: &Config, queue: &QueueName) -> Option<String> {
    let role = config.roles.values().find(|role| role.names(queue));
    let route = || config.routes.iter().find(|(_, rule)| rule.queues().any(|it| it == queue));
    role.map(|role| format!("role {}", role.name))
        .or_else(|| route().map(|(key, _)| format!("the routing rule of {key}")))
}

/// Creates or replaces a role.
pub(crate) async fn put_role(store: &Store, role: &RoleConfig, mode: &PutMode<RoleConfig>) -> Result<Arc<Config>> {
    role.validate().map_err(Error::Invalid)?;
    let named: Vec<QueueName> = role.named().collect();
    let decide = |config: &mut Config, existing: &HashSet<QueueName>| {
        let (known, unknown) = (config.roles.get(&role.name), Error::UnknownRole(role.name.clone()));
        mode.check(known, unknown, || format!("role {}", role.name))?;
        check_queues(&named, existing)?;
        config.roles.insert(role.name.clone(), role.clone());
        check_room(&config.roles)?;
        Ok(FieldChange::of(format!("{ROLE_FIELD}{}", role.name), Some(json(role)?)))
    };
    alter(store, &named, decide).await
}

/// Deletes a role, unless workers serve it. A worker that registers meanwhile is noticed by the next attempt.
pub(crate) async fn delete_role(store: &Store, role: &RoleName, on: &DeleteRole) -> Result<Arc<Config>> {
    for _ in 0..ATTEMPTS {
        let before = read(store).await?;
        let (stored, unknown) = (before.roles.get(role), Error::UnknownRole(role.clone()));
        check_deletion(on.expected.as_ref(), stored, unknown, || format!("role {role}"))?;
        let mut change = FieldChange::of(format!("{ROLE_FIELD}{role}"), None);
        if !on.force {
            let (serving, others): (Vec<_>, Vec<_>) =
                workers(store).await?.into_iter().map(|worker| worker.report).partition(|it| it.role == *role);
            if !serving.is_empty() {
                return Err(Error::RoleInUse { role: role.clone(), workers: serving.len() as u64 });
            }
            change.decided_by = Some(others.into_iter().map(|report| report.id).collect());
        }
        if let ChangeReply::Done(version) = carry_out(store, &before, &change).await? {
            let mut config = Config { version, ..Config::clone(&before) };
            config.roles.remove(role);
            return adopt(store, config).await;
        }
    }
    Err(changing())
}

/// Creates or replaces a routing rule.
pub(crate) async fn put_route(store: &Store, key: &RouteKey, rule: &RouteRule) -> Result<Arc<Config>> {
    rule.validate().map_err(Error::Invalid)?;
    let named: Vec<QueueName> = rule.queues().cloned().collect();
    let decide = |config: &mut Config, existing: &HashSet<QueueName>| {
        check_queues(&named, existing)?;
        check_place(&config.routes, key)?;
        config.routes.insert(key.clone(), rule.clone());
        check_room(&config.routes)?;
        let route = StoredRoute { key: key.clone(), rule: rule.clone() };
        Ok(FieldChange::of(route_field(key), Some(json(&route)?)))
    };
    alter(store, &named, decide).await
}

/// Deletes a routing rule.
pub(crate) async fn delete_route(store: &Store, key: &RouteKey) -> Result<Arc<Config>> {
    let decide = |config: &mut Config, _: &HashSet<QueueName>| {
        config.routes.remove(key);
        Ok(FieldChange::of(route_field(key), None))
    };
    alter(store, &[], decide).await
}

/// Creates or replaces an access key.
pub(crate) async fn put_key(store: &Store, key: &AccessKey, mode: &PutMode<AccessKey>) -> Result<Arc<Config>> {
    key.validate().map_err(Error::Invalid)?;
    let decide = |config: &mut Config, _: &HashSet<QueueName>| {
        let known = config.keys.get(&key.id).map(|known| &**known);
        mode.check(known, Error::UnknownKey(key.id.clone()), || format!("key {}", key.id))?;
        config.keys.insert(key.id.clone(), Arc::new(key.clone()));
        check_room(&config.keys)?;
        Ok(FieldChange::of(format!("{ACCESS_FIELD}{}", key.id), Some(json(key)?)))
    };
    alter(store, &[], decide).await
}

/// Deletes an access key.
pub(crate) async fn delete_key(store: &Store, key: &KeyId) -> Result<Arc<Config>> {
    let decide = |config: &mut Config, _: &HashSet<QueueName>| match config.keys.remove(key) {
        Some(_) => Ok(FieldChange::of(format!("{ACCESS_FIELD}{key}"), None)),
        None => Err(Error::UnknownKey(key.clone())),
    };
    alter(store, &[], decide).await
}

/// Notes a worker's report. One that says the same again is not written (`heartbeats.rs`).
pub(crate) async fn register(store: &Store, report: &WorkerReport, ttl: Duration) -> Result<u64> {
    let (written, record) = (json(report)?, record(&report.id));
    let beating = store.beating(&record);
    let add = |command: &mut Cmd| {
        command.arg(report.id.as_str()).arg(micros(ttl)).arg(&written).arg(beating);
    };
    let [version, channel] = tuple(store.run(&store.work, &script::REGISTER, add).await?)?;
    store.beat(record, channel).await?;
    number(version)
}

/// The name of a worker's registration, as scripts build it.
fn record(worker: &WorkerId) -> String {
    format!("worker:{worker}")
}

/// Forgets a worker, and where it waits.
pub(crate) async fn deregister(store: &Store, worker: &WorkerId) -> Result<()> {
    let stale = store.notifications.take_registered(worker);
    store.notifications.forget(worker);
    store.cycles.forget(worker);
    let add = |command: &mut Cmd| {
        command.arg(worker.as_str()).arg(&store.instance);
        stale.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    store.run(&store.work, &script::DEREGISTER, add).await?;
    store.beat(record(worker), Value::Nil).await
}

/// The workers with a recent report.
pub(crate) async fn workers(store: &Store) -> Result<Vec<RegisteredWorker>> {
    let (_, mut workers) = live_workers(store).await?;
    workers.sort_by(|a, b| a.report.id.cmp(&b.report.id));
    Ok(workers)
}

/// The store's time, and the workers with a recent report by then.
async fn live_workers(store: &Store) -> Result<(Timestamp, Vec<RegisteredWorker>)> {
    let mut answer = array(store.run(&store.work, &script::WORKERS, |_| {}).await?)?.into_iter();
    let now = time(&bytes(answer.next().unwrap_or(Value::Nil))?)?;
    Ok((now, answer.map(|stored| read_worker(&bytes(stored)?)).collect::<Result<_>>()?))
}

/// Reads what `scripts/read/workers.lua` answers.
fn read_worker(stored: &[u8]) -> Result<RegisteredWorker> {
    let (times, report) =
        stored.split_at_checked(REPORT.len()).ok_or_else(|| malformed("expected a worker's report"))?;
    Ok(RegisteredWorker {
        report: read_json(report)?,
        started_at: time(&times[const { REPORT.range("started_at") }])?,
        expires_at: time(&times[const { REPORT.range("expires_at") }])?,
        seen_at: time(&times[const { REPORT.range("seen_at") }])?,
    })
}

/// Asks a worker to claim nothing more, or to claim again.
pub(crate) async fn set_draining(store: &Store, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
    let (now, workers) = live_workers(store).await?;
    let is_alive = workers.iter().any(|live| live.report.id == *worker);
    let decide = |config: &mut Config, _: &HashSet<QueueName>| {
        if !is_alive && !config.draining.contains_key(worker) {
            return Err(Error::UnknownWorker(worker.clone()));
        }
        let since = draining.then(|| *config.draining.entry(worker.clone()).or_insert(now));
        if !draining {
            config.draining.remove(worker);
        }
        check_room(&config.draining)?;
        let value = since.map(|since| format!("{:016}", since.as_micros()));
        Ok(FieldChange::of(format!("{DRAIN_FIELD}{worker}"), value))
    };
    alter(store, &[], decide).await
}

/// Stores a catalogue of tasks.
pub(crate) async fn keep_catalogue(store: &Store, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
    let (id, text) = catalogue.encode()?;
    let add = |command: &mut Cmd| {
        command.arg(id.to_string()).arg(micros(ttl)).arg(&text);
    };
    store.run(&store.bulk, &script::KEEP_CATALOGUE, add).await?;
    Ok(id)
}

/// A catalogue of tasks, unless it has expired.
pub(crate) async fn catalogue(store: &Store, id: CatalogueId) -> Result<Option<Catalogue>> {
    let add = |command: &mut Cmd| {
        command.arg(id.to_string());
    };
    match store.run(&store.bulk, &script::CATALOGUE, add).await? {
        Value::Nil => Ok(None),
        found => read_json(&bytes(found)?).map(Some),
    }
}
