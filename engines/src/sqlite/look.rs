//! One task, and counts.

use std::collections::{BTreeMap, HashMap};

use jobbers_common::{
    engine::{QueuePlace, QueueStats, Result},
    lifecycle::Status,
    name::{QueueName, TaskId},
    registry::{Catalogue, CatalogueId},
    task::Task,
    time::Timestamp,
    worker::RegisteredWorker,
};
use rusqlite::OptionalExtension;

use super::{
    error::{OrStore, corrupt},
    gates,
    row::{self, Columns},
    sql,
    view::View,
};

/// Everything known of a task.
pub(super) fn get(view: &View<'_>, id: &TaskId) -> Result<Option<Task>> {
    let mut statement = view.prepare(sql::GET_TASK)?;
    let mut rows = statement.query([id.as_str()]).or_store()?;
    let Some(found) = rows.next().or_store()? else { return Ok(None) };
    let (key, mut task) = row::task(found, &view.catalog)?;
    let mut failures = view.prepare(sql::FAILURES)?;
    let mut rows = failures.query([key]).or_store()?;
    while let Some(failure) = rows.next().or_store()? {
        task.errors.push(row::failure(failure)?);
    }
    Ok(Some(task))
}

/// Where a ready task stands in its queue.
pub(super) fn place(view: &View<'_>, id: &TaskId) -> Result<Option<QueuePlace>> {
    let mut statement = view.prepare(sql::PLACE)?;
    let found = statement
        .query_row([id.as_str()], |row| {
            let (queue, ahead, mark): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((queue, ahead, mark, gates::Told::read(row, 3)?))
        })
        .optional()
        .or_store()?;
    let Some((queue, ahead, mark, told)) = found else { return Ok(None) };
    let (rate, mark) =
        (view.catalog.limited.get(&queue).and_then(|config| config.rate_limit), Timestamp::from_micros(mark));
    let rate = rate.filter(|rate| rate.allowed(mark, view.now) == 0);
    let rate_wait = rate.map(|rate| rate.wait(mark, view.now, 1));
    let held_back = match view.catalog.gated.get(&queue) {
        Some(config) => gates::shut_gates(view, queue, config, &told)?,
        None => Vec::new(),
    };
    Ok(Some(QueuePlace { ahead: ahead.unsigned_abs(), rate_wait, held_back }))
}

/// Counts of all queues or of one, in the order of names.
pub(super) fn queue_stats(view: &View<'_>, only: Option<&QueueName>) -> Result<Vec<QueueStats>> {
    let only_key = only.map(|queue| view.catalog.key(queue)).transpose()?;
    let mut tallies: BTreeMap<i64, BTreeMap<Status, u64>> = BTreeMap::new();
    for (queue, status, tasks) in view.tallies(only_key)? {
        tallies.entry(queue).or_default().insert(status, tasks.unsigned_abs());
    }
    let removed = removed(view, only_key)?;
    let names = view.catalog.config.queues.keys().filter(|name| only.is_none_or(|only| only == *name));
    names
        .map(|name| {
            let key = view.catalog.key(name)?;
            let removed = removed.get(&key).copied().unwrap_or_default();
            stats_of(view, name, key, removed, tallies.remove(&key).unwrap_or_default())
        })
        .collect()
}

/// How many tasks were ever deleted from a queue, or from each.
fn removed(view: &View<'_>, only: Option<i64>) -> Result<HashMap<i64, u64>> {
    let (mut all, mut one) = (view.prepare(sql::ALL_REMOVED)?, view.prepare(sql::QUEUE_REMOVED)?);
    let mut rows = match only {
        None => all.query([]),
        Some(queue) => one.query([queue]),
    }
    .or_store()?;
    let mut removed = HashMap::new();
    while let Some(row) = rows.next().or_store()? {
        removed.insert(row.get(0).or_store()?, row.get::<_, i64>(1).or_store()?.unsigned_abs());
    }
    Ok(removed)
}

fn stats_of(
    view: &View<'_>,
    name: &QueueName,
    key: i64,
    removed: u64,
    tasks: BTreeMap<Status, u64>,
) -> Result<QueueStats> {
    let oldest_ready_at = if tasks.contains_key(&Status::Submitted) {
        view.prepare(sql::OLDEST_READY)?.query_row([key], |row| row.get::<_, Option<i64>>(0)).or_store()?
    } else {
        None
    };
    let is_sized = view.catalog.limited.get(&key).is_some_and(|config| config.max_bytes.is_some());
    let waiting_bytes: Option<i64> = match is_sized {
        true => Some(view.prepare(sql::WAITING_BYTES)?.query_row([key], |row| row.get(0)).or_store()?),
        false => None,
    };
    Ok(QueueStats {
        queue: name.clone(),
        // Not a counter of its own, so that the two sides of `accepted = removed + tasks` can't drift apart.
        accepted: removed + tasks.values().sum::<u64>(),
        removed,
        tasks,
        oldest_ready_at: oldest_ready_at.map(Timestamp::from_micros),
        waiting_bytes: waiting_bytes.map(i64::unsigned_abs),
    })
}

/// The workers heard of within their time.
pub(super) fn workers(view: &View<'_>) -> Result<Vec<RegisteredWorker>> {
    let mut statement = view.prepare(sql::ALL_WORKERS)?;
    let mut rows = statement.query([view.now.as_micros()]).or_store()?;
    let mut workers = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        let mut columns = Columns::of(row);
        let report: String = columns.take()?;
        workers.push(RegisteredWorker {
            report: serde_json::from_str(&report).map_err(|error| corrupt("a worker's report", error))?,
            started_at: columns.time()?,
            seen_at: columns.time()?,
            expires_at: columns.time()?,
        });
    }
    Ok(workers)
}

/// A catalogue of tasks, unless its time is over.
pub(super) fn catalogue(view: &View<'_>, id: CatalogueId) -> Result<Option<Catalogue>> {
    let mut statement = view.prepare(sql::GET_CATALOGUE)?;
    let found = statement.query_row((id.to_string(), view.now.as_micros()), |row| row.get::<_, String>(0));
    let text = found.optional().or_store()?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| corrupt("a catalogue", error))).transpose()
}
