//! Queues, roles, routing rules, access keys, workers.

use std::{borrow::Borrow, sync::Arc, time::Duration};

use jobbers_common::{
    access::AccessKey,
    engine::{DeleteRole, Deleted, Error, PutMode, Result, settings::check_deletion},
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_CONFIG_ENTRIES},
    name::{KeyId, QueueName, RoleName, WorkerId},
    queue::{
        Config, QueueConfig, RoleConfig,
        routing::{RouteKey, RouteRule, check_place},
    },
    worker::registry::CatalogueId,
};
use serde::Serialize;

use super::{prune, registered};
use crate::sqlite::{
    follow::{gates, waiting_bytes},
    kernel::{
        catalog::{ANY_VERSION, Catalog},
        chore::Chore,
        finished::{self, WalkDirection},
        ledger::Notification,
        row,
        step::Step,
    },
    sql,
    store::error::OrStore,
};

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Invalid(error.to_string()))
}

/// After a statement that changed the configuration: raises its version and reads it again.
fn changed(step: &mut Step<'_>) -> Result<Arc<Config>> {
    let catalog = Catalog::load(step.conn, step.catalog().version() + 1)?;
    Ok(adopt(step, catalog))
}

/// Uses a changed configuration from here on.
fn adopt(step: &mut Step<'_>, catalog: Catalog) -> Arc<Config> {
    step.ledger.catalog = Arc::new(catalog);
    step.ledger.notifications.push(Notification::Config);
    Arc::clone(&step.catalog().config)
}

fn unchanged(step: &Step<'_>) -> Arc<Config> {
    Arc::clone(&step.catalog().config)
}

/// Refuses one more entry beyond the limit.
fn check_room(held: usize, kinds: &str) -> Result<()> {
    if held < MAX_CONFIG_ENTRIES {
        return Ok(());
    }
    Err(Error::Invalid(format!("a store holds at most {MAX_CONFIG_ENTRIES} {kinds}")))
}

/// Creates the queues that do not exist. Workers are notified only if a pattern of a role matches one of them.
pub(crate) fn create_queues(step: &mut Step<'_>, queues: &[QueueName]) -> Result<()> {
    let mut create = step.prepare(sql::CREATE_QUEUE)?;
    let mut created = Vec::new();
    for queue in queues {
        if create.execute([queue.as_str()]).or_store()? > 0 {
            created.push(queue);
        }
    }
    if created.iter().any(|queue| step.catalog().config.matches(queue)) {
        let catalog = step.catalog().next(step.conn, |_| ())?;
        adopt(step, catalog);
    } else if !created.is_empty() {
        step.ledger.catalog = Arc::new(step.catalog().with_new_queues());
    }
    Ok(())
}

/// Stores the settings of a queue. The cost does not depend on the number of queues.
pub(crate) fn put_queue(step: &mut Step<'_>, queue: &QueueConfig, mode: &PutMode<QueueConfig>) -> Result<Arc<Config>> {
    queue.validate().map_err(Error::Invalid)?;
    let known = settings_of(step, &queue.name)?;
    mode.check(known.as_ref(), Error::UnknownQueue(queue.name.clone()), || format!("queue {}", queue.name))?;
    if known.as_ref() == Some(queue) {
        return Ok(unchanged(step));
    }
    let configured = &step.catalog().config.queues;
    if !configured.contains_key(&queue.name) {
        check_room(configured.len(), "queues with settings of their own")?;
    }
    step.prepare(sql::PUT_QUEUE)?.execute((queue.name.as_str(), json(queue)?)).or_store()?;
    if known.is_none() {
        step.ledger.catalog = Arc::new(step.catalog().with_new_queues());
    }
    let key = step.queue(&queue.name)?;
    let is_swept = gates::recheck(step, key)?;
    let catalog = step.catalog().with_settings(step.conn, key, queue, is_swept)?;
    let config = adopt(step, catalog);
    let retention = known.as_ref().map(|known| known.retention.clone()).unwrap_or_default();
    if retention != queue.retention {
        step.note_due(Chore::Prune, key, 0);
    }
    waiting_bytes::configure(step, key, known.as_ref(), queue)?;
    Ok(config)
}

/// The settings of a queue; `None` if it does not exist.
fn settings_of(step: &Step<'_>, queue: &QueueName) -> Result<Option<QueueConfig>> {
    let exists = step.find_queue(queue)?.is_some();
    Ok(exists.then(|| step.catalog().config.settings_of(queue).into_owned()))
}

pub(crate) fn delete_queue(step: &mut Step<'_>, name: &QueueName, expected: Option<&QueueConfig>) -> Result<Deleted> {
    let stored = settings_of(step, name)?;
    check_deletion(expected, stored.as_ref(), Error::UnknownQueue(name.clone()), || format!("queue {name}"))?;
    let queue = step.queue(name)?;
    check_unused(&step.catalog().config, name)?;
    let view = step.view()?;
    let tallies = view.tallies(Some(queue))?;
    let live: i64 = tallies.iter().filter(|(_, status, _)| !status.is_finished()).map(|(_, _, tasks)| tasks).sum();
    if live > 0 {
        return Err(Error::NotEmpty { queue: name.clone(), live: live.unsigned_abs() });
    }
    let finished: i64 = tallies.iter().map(|(_, _, tasks)| tasks).sum();
    let runs = finished::runs(&view, queue, |_| true)?;
    let doomed = finished::merge(&view, &runs, WalkDirection::Oldest(0), MAX_BATCH)?;
    prune::remove(step, &doomed)?;
    if finished.unsigned_abs() > doomed.len() as u64 {
        return Ok(Deleted::More);
    }
    for delete in [sql::DELETE_GATES_DUE, sql::DELETE_GATE_MARKS] {
        if step.prepare(delete)?.execute((queue, sql::count(MAX_BATCH))).or_store()? == MAX_BATCH {
            return Ok(Deleted::More);
        }
    }
    // Its waiting bytes are gone with its tasks.
    step.write_tallies()?;
    for delete in [sql::DELETE_NUMBERS, sql::DELETE_SLOTS, sql::DELETE_DUE, sql::END_GATE_SWEEP, sql::DELETE_QUEUE] {
        step.prepare(delete)?.execute([queue]).or_store()?;
    }
    let catalog = step.catalog().without(step.conn, queue, name)?;
    adopt(step, catalog);
    Ok(Deleted::Done)
}

/// Moves up to `limit` tasks that wait for their turn to another queue.
pub(crate) fn move_tasks(step: &mut Step<'_>, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
    let (from, to) = (step.queue(from)?, step.queue(to)?);
    let mut statement = step.prepare(sql::MOVABLE_TASKS)?;
    let rows =
        statement.query_map((from, sql::count(limit)), |row| Ok((row.get("key")?, row.get("status")?))).or_store()?;
    let waiting: Vec<(i64, u8)> = rows.collect::<rusqlite::Result<_>>().or_store()?;
    let mut update = step.prepare(sql::MOVE_TASK)?;
    for (key, code) in &waiting {
        let (status, revision) = (row::status(*code)?, step.next_revision());
        update.execute((key, to, revision)).or_store()?;
        step.note_left(*key, from, status)?;
        step.note_entered(*key, to, status)?;
        if status == Status::Scheduled {
            // The next look finds the exact time.
            step.note_due(Chore::Promote, to, 0);
        }
    }
    Ok(waiting.len() as u64)
}

fn check_unused(config: &Config, queue: &QueueName) -> Result<()> {
    let role = config.roles.values().find(|role| role.names(queue)).map(|role| format!("role {}", role.name));
    let route = || {
        let rule = config.routes.iter().find(|(_, rule)| rule.queues().any(|named| named == queue));
        rule.map(|(key, _)| format!("the routing rule of {key}"))
    };
    match role.or_else(route) {
        Some(by) => Err(Error::InUse { queue: queue.clone(), by }),
        None => Ok(()),
    }
}

fn check_queues<Q: Borrow<QueueName>>(step: &Step<'_>, queues: impl IntoIterator<Item = Q>) -> Result<()> {
    queues.into_iter().try_for_each(|queue| step.queue(queue.borrow()).map(drop))
}

pub(crate) fn put_role(step: &mut Step<'_>, role: &RoleConfig, mode: &PutMode<RoleConfig>) -> Result<Arc<Config>> {
    role.validate().map_err(Error::Invalid)?;
    let known = step.catalog().config.roles.get(&role.name);
    mode.check(known, Error::UnknownRole(role.name.clone()), || format!("role {}", role.name))?;
    match known {
        Some(known) if known == role => return Ok(unchanged(step)),
        Some(_) => {}
        None => check_room(step.catalog().config.roles.len(), "roles")?,
    }
    check_queues(step, role.named())?;
    step.prepare(sql::PUT_ROLE)?.execute((role.name.as_str(), json(&role.queues)?, json(role)?)).or_store()?;
    changed(step)
}

pub(crate) fn delete_role(step: &mut Step<'_>, role: &RoleName, on: &DeleteRole) -> Result<Arc<Config>> {
    let stored = step.catalog().config.roles.get(role);
    check_deletion(on.expected.as_ref(), stored, Error::UnknownRole(role.clone()), || format!("role {role}"))?;
    if !on.force {
        let workers = registered::all(&step.view()?)?;
        let serving = workers.iter().filter(|worker| worker.report.role == *role).count() as u64;
        if serving > 0 {
            return Err(Error::RoleInUse { role: role.clone(), workers: serving });
        }
    }
    step.prepare(sql::DELETE_ROLE)?.execute([role.as_str()]).or_store()?;
    changed(step)
}

pub(crate) fn put_route(step: &mut Step<'_>, key: &RouteKey, rule: &RouteRule) -> Result<Arc<Config>> {
    rule.validate().map_err(Error::Invalid)?;
    check_queues(step, rule.queues())?;
    match step.catalog().config.routes.get(key) {
        Some(known) if known == rule => return Ok(unchanged(step)),
        Some(_) => {}
        None => check_room(step.catalog().config.routes.len(), "routing rules")?,
    }
    check_place(&step.catalog().config.routes, key)?;
    let (name, text) = (key.name.as_str(), json(rule)?);
    match stored_version(key) {
        Some(version) => step.prepare(sql::PUT_ROUTE)?.execute((name, version, text)),
        None => {
            let (from, to) = key.versions.ends();
            step.prepare(sql::PUT_ROUTE_RANGE)?.execute((name, from, to, text))
        }
    }
    .or_store()?;
    changed(step)
}

pub(crate) fn delete_route(step: &mut Step<'_>, key: &RouteKey) -> Result<Arc<Config>> {
    let deleted = match stored_version(key) {
        Some(version) => step.prepare(sql::DELETE_ROUTE)?.execute((key.name.as_str(), version)),
        None => {
            let (from, to) = key.versions.ends();
            step.prepare(sql::DELETE_ROUTE_RANGE)?.execute((key.name.as_str(), from, to))
        }
    };
    match deleted.or_store()? {
        0 => Ok(unchanged(step)),
        _ => changed(step),
    }
}

pub(crate) fn put_key(step: &mut Step<'_>, key: &AccessKey, mode: &PutMode<AccessKey>) -> Result<Arc<Config>> {
    key.validate().map_err(Error::Invalid)?;
    let known = step.catalog().config.keys.get(&key.id).map(|known| &**known);
    mode.check(known, Error::UnknownKey(key.id.clone()), || format!("key {}", key.id))?;
    match known {
        Some(known) if known == key => return Ok(unchanged(step)),
        Some(_) => {}
        None => check_room(step.catalog().config.keys.len(), "access keys")?,
    }
    step.prepare(sql::PUT_KEY)?.execute((key.id.as_str(), json(key)?)).or_store()?;
    changed(step)
}

pub(crate) fn delete_key(step: &mut Step<'_>, key: &KeyId) -> Result<Arc<Config>> {
    match step.prepare(sql::DELETE_KEY)?.execute([key.as_str()]).or_store()? {
        0 => Err(Error::UnknownKey(key.clone())),
        _ => changed(step),
    }
}

/// The version by which `route` stores a rule for one version, or for all; rules for a range are in `route_range`.
fn stored_version(key: &RouteKey) -> Option<i64> {
    if key.versions.is_all() { Some(ANY_VERSION) } else { key.versions.single().map(i64::from) }
}

/// Forgets a worker, and that it was to drain.
pub(crate) fn deregister_worker(step: &mut Step<'_>, worker: &WorkerId) -> Result<()> {
    registered::forget(step, worker)?;
    if step.catalog().config.draining.contains_key(worker) {
        step.prepare(sql::DELETE_DRAINING)?.execute([worker.as_str()]).or_store()?;
        changed(step)?;
    }
    Ok(())
}

/// Asks a worker to claim nothing more, or to claim again.
pub(crate) fn set_draining(step: &mut Step<'_>, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
    let (id, now) = (worker.as_str(), step.now_micros());
    let drains = step.catalog().config.draining.contains_key(worker);
    let is_alive = registered::is_alive(step, worker)?;
    match (drains, draining) {
        (false, _) if !is_alive => return Err(Error::UnknownWorker(worker.clone())),
        (before, after) if before == after => return Ok(unchanged(step)),
        (_, true) => {
            check_room(step.catalog().config.draining.len(), "draining workers")?;
            step.prepare(sql::PUT_DRAINING)?.execute((id, now)).or_store()?;
        }
        (_, false) => {
            step.prepare(sql::DELETE_DRAINING)?.execute([id]).or_store()?;
        }
    }
    changed(step)
}

/// Stores a catalogue, and forgets expired ones.
pub(crate) fn keep_catalogue(step: &Step<'_>, id: CatalogueId, text: &str, ttl: Duration) -> Result<()> {
    let expires_at = step.now.after(ttl).as_micros();
    step.prepare(sql::KEEP_CATALOGUE)?.execute((id.to_string(), text, expires_at)).or_store()?;
    step.prepare(sql::DELETE_OLD_CATALOGUES)?.execute([step.now_micros()]).or_store()?;
    Ok(())
}
