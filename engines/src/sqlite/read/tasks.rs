//! Reading one task, and counts.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{Probation, QueueListRequest, QueuePage, QueuePlace, QueueStats, Result},
    lifecycle::Status,
    limits::MAX_DEPENDENCIES_SHOWN,
    name::{QueueName, TaskId},
    task::{Task, suspicion::Suspicion},
    time::Timestamp,
    worker::registry::{Catalogue, CatalogueId},
};
use jobbers_sqlite_file::columns;
use rusqlite::OptionalExtension;

use crate::sqlite::{
    follow::{
        dependency::inspect,
        gates::{self, fields::GateFields},
    },
    kernel::{directory::queue_name, record, row::Columns, view::View},
    sql,
    store::error::{OrStore, corrupt},
};

/// The whole task.
pub(crate) fn get(view: &View<'_>, id: &TaskId) -> Result<Option<Task>> {
    read(view, id, MAX_DEPENDENCIES_SHOWN)
}

/// The whole task, with so many of the edges it waits for.
pub(crate) fn read(view: &View<'_>, id: &TaskId, edges: usize) -> Result<Option<Task>> {
    let mut statement = view.prepare(sql::GET_TASK)?;
    let mut rows = statement.query([id.as_str()]).or_store()?;
    let Some(found) = rows.next().or_store()? else { return Ok(None) };
    let (key, mut task) = record::task(found, view)?;
    if let Some(dependencies) = &mut task.dependencies {
        inspect::show(view, key, dependencies, edges)?;
    }
    let mut failures = view.prepare(sql::FAILURES)?;
    let mut rows = failures.query([key]).or_store()?;
    while let Some(failure) = rows.next().or_store()? {
        task.errors.push(record::failure(failure)?);
    }
    Ok(Some(task))
}

const PLACE_COLUMNS: [usize; 4] = columns(sql::PLACE, ["queue", "ahead", "rate_mark", "losses"]);
const GATE_COLUMNS: [usize; 3] = GateFields::columns_of(sql::PLACE);

/// The place of a ready task in its queue.
pub(crate) fn place(view: &View<'_>, id: &TaskId) -> Result<Option<QueuePlace>> {
    let mut statement = view.prepare(sql::PLACE)?;
    let found = statement
        .query_row([id.as_str()], |row| {
            let [queue, ahead, mark, losses] = PLACE_COLUMNS;
            let (queue, ahead, mark): (i64, i64, i64) = (row.get(queue)?, row.get(ahead)?, row.get(mark)?);
            Ok((queue, ahead, mark, GateFields::read(row, GATE_COLUMNS)?, row.get::<_, u8>(losses)?))
        })
        .optional()
        .or_store()?;
    let Some((queue, ahead, mark, fields, losses)) = found else { return Ok(None) };
    let (rate, mark) =
        (view.catalog.limited.get(&queue).and_then(|config| config.rate_limit), Timestamp::from_micros(mark));
    let rate = rate.filter(|rate| rate.allowed(mark, view.now) == 0);
    let rate_wait = rate.map(|rate| rate.wait(mark, view.now, 1));
    let held_back = match view.catalog.gated.get(&queue) {
        Some(config) => gates::shut_gates(view, queue, config, &fields)?,
        None => Vec::new(),
    };
    let is_suspect = Suspicion::new(losses, 0).is_suspect();
    let probations = if is_suspect { Probation::named(running_suspects(view, queue)?, view.now) } else { Vec::new() };
    Ok(Some(QueuePlace { ahead: ahead.unsigned_abs(), rate_wait, held_back, probations }))
}

/// The suspects of a queue that run, and since when.
fn running_suspects(view: &View<'_>, queue: i64) -> Result<Vec<(TaskId, Suspicion, Timestamp)>> {
    let mut statement = view.prepare(sql::RUNNING_SUSPECTS)?;
    let mut rows = statement.query([queue]).or_store()?;
    let mut suspects = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        let mut columns = Columns::of(row);
        let id = columns.name("id", TaskId::new)?;
        suspects.push((
            id,
            Suspicion::new(columns.take("losses")?, columns.take("ran_s")?),
            columns.time("started_at")?,
        ));
    }
    Ok(suspects)
}

/// Counts of one queue.
pub(crate) fn queue_stats(view: &View<'_>, queue: &QueueName) -> Result<QueueStats> {
    let key = view.queue(queue)?;
    let removed: i64 = view.prepare(sql::QUEUE_REMOVED)?.query_row([key], |row| row.get(0)).or_store()?;
    stats_of(view, queue.clone(), key, removed.unsigned_abs())
}

/// Counts of a page of the queues, in the order of names.
pub(crate) fn list_queues(view: &View<'_>, request: &QueueListRequest) -> Result<QueuePage> {
    let after = request.after.as_ref().map_or("", QueueName::as_str);
    let mut statement = view.prepare(sql::QUEUES_AFTER)?;
    let mut rows = statement.query((after, sql::count(request.limit + 1))).or_store()?;
    let mut page = QueuePage::default();
    while let Some(row) = rows.next().or_store()? {
        if page.queues.len() == request.limit {
            page.next = page.queues.last().map(|last| last.queue.clone());
            break;
        }
        let (key, name, removed): (i64, String, i64) =
            (row.get("key").or_store()?, row.get("name").or_store()?, row.get("removed").or_store()?);
        page.queues.push(stats_of(view, queue_name(name)?, key, removed.unsigned_abs())?);
    }
    Ok(page)
}

fn stats_of(view: &View<'_>, queue: QueueName, key: i64, removed: u64) -> Result<QueueStats> {
    let tallies = view.tallies(Some(key))?.into_iter();
    let tasks: BTreeMap<Status, u64> = tallies.map(|(_, status, tasks)| (status, tasks.unsigned_abs())).collect();
    let oldest_ready_at = if tasks.contains_key(&Status::Submitted) {
        view.prepare(sql::OLDEST_READY)?.query_row([key], |row| row.get::<_, Option<i64>>(0)).or_store()?
    } else {
        None
    };
    let suspects: i64 = match tasks.contains_key(&Status::Submitted) {
        true => view.prepare(sql::COUNT_SUSPECTS)?.query_row([key], |row| row.get(0)).or_store()?,
        false => 0,
    };
    let is_sized = view.catalog.limited.get(&key).is_some_and(|config| config.max_bytes.is_some());
    let waiting_bytes: Option<i64> = match is_sized {
        true => Some(view.prepare(sql::WAITING_BYTES)?.query_row([key], |row| row.get(0)).or_store()?),
        false => None,
    };
    Ok(QueueStats {
        queue,
        // Not a separate counter, so that the two sides of `accepted = removed + tasks` can't differ.
        accepted: removed + tasks.values().sum::<u64>(),
        removed,
        tasks,
        suspects: suspects.unsigned_abs(),
        oldest_ready_at: oldest_ready_at.map(Timestamp::from_micros),
        waiting_bytes: waiting_bytes.map(i64::unsigned_abs),
    })
}

/// A catalogue of tasks, unless it has expired.
pub(crate) fn catalogue(view: &View<'_>, id: CatalogueId) -> Result<Option<Catalogue>> {
    let mut statement = view.prepare(sql::GET_CATALOGUE)?;
    let found = statement.query_row((id.to_string(), view.now.as_micros()), |row| row.get::<_, String>(0));
    let text = found.optional().or_store()?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| corrupt("a catalogue", error))).transpose()
}
