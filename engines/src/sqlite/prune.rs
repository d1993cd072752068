//! Deleting what is over.
//!
//! Which tasks go is a question to a [`View`], so that a dry run asks it of a reader and takes no lock.

use jobbers_common::{
    engine::{Error, PruneRequest, PruneScope, Pruned, Result, TaskFilter},
    name::{QueueName, TaskId},
    queue::Retention,
    time::Timestamp,
};
use rusqlite::{OptionalExtension, Row};

use super::{
    error::OrStore,
    finished::{self, Finished, Walk},
    row, sql,
    step::Step,
    view::View,
};

/// What a piece of pruning found.
#[derive(Debug, Default)]
pub(super) struct Found {
    doomed: Vec<Finished>,
    next: Option<String>,
}

/// A dry run: counts, and deletes nothing.
pub(super) fn count(view: &View<'_>, request: &PruneRequest) -> Result<Pruned> {
    let Found { doomed, next } = find(view, request)?;
    Ok(Pruned { removed: doomed.len() as u64, next })
}

/// A bounded piece.
pub(super) fn prune(step: &mut Step<'_>, request: &PruneRequest) -> Result<Pruned> {
    let Found { doomed, next } = find(&step.view()?, request)?;
    remove(step, &doomed)?;
    Ok(Pruned { removed: doomed.len() as u64, next })
}

/// Deletes finished tasks.
pub(super) fn remove(step: &mut Step<'_>, doomed: &[Finished]) -> Result<()> {
    doomed.iter().try_for_each(|task| step.remove(task.key, task.queue, task.status))
}

fn find(view: &View<'_>, request: &PruneRequest) -> Result<Found> {
    match &request.scope {
        PruneScope::Retention => past_retention(view, request),
        PruneScope::Matching { filter, finished_before, larger_than } => {
            matching(view, request, filter, (*finished_before, *larger_than))
        }
    }
}

fn not_ours() -> Error {
    Error::Invalid("this cursor is not from this store".to_owned())
}

/// Those that match, the oldest first. The cursor is the revision of the last one looked at.
fn matching(
    view: &View<'_>,
    request: &PruneRequest,
    filter: &TaskFilter,
    (finished_before, larger_than): (Option<Timestamp>, Option<u64>),
) -> Result<Found> {
    let after = request.cursor.as_deref().map_or(Ok(0), |text| text.parse().map_err(|_| not_ours()))?;
    let queue = match &filter.queue {
        None => None,
        Some(queue) => match view.catalog.find_key(queue) {
            Some(key) => Some(key),
            None => return Ok(Found::default()),
        },
    };
    let runs = finished::runs(view, queue, |status| filter.wants(status))?;
    let mut looked_at = finished::merge(view, &runs, Walk::Oldest(after), request.limit + 1)?;
    let has_more = looked_at.len() > request.limit;
    looked_at.truncate(request.limit);
    let next = looked_at.last().filter(|_| has_more).map(|last| last.revision.to_string());
    let mut statement = view.prepare(sql::LIST_TASK)?;
    let mut doomed = Vec::new();
    for candidate in looked_at {
        let mut rows = statement.query([candidate.key]).or_store()?;
        let Some(found) = rows.next().or_store()? else { continue };
        let (_, task) = row::task(found, &view.catalog)?;
        let is_old = finished_before.is_none_or(|before| task.completed_at.is_some_and(|at| at < before));
        if is_old && filter.matches(&task) && is_larger(view, candidate.key, larger_than)? {
            doomed.push(candidate);
        }
    }
    Ok(Found { doomed, next })
}

/// Whether the parameters and the result of a task take more than this.
fn is_larger(view: &View<'_>, key: i64, than: Option<u64>) -> Result<bool> {
    let Some(than) = than else { return Ok(true) };
    let bytes: i64 = view.prepare(sql::TASK_BYTES)?.query_row([key], |row| row.get(0)).or_store()?;
    Ok(bytes.unsigned_abs() > than)
}

/// Where pruning by retention stands: `queue~revision~passed`.
struct Place {
    queue: String,
    /// Of the last task looked at in it.
    revision: i64,
    /// How many tasks of the queue a dry run has counted already: they are still there.
    passed: u64,
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('~');
        let place = Self {
            queue: fields.next()?.to_owned(),
            revision: fields.next()?.parse().ok()?,
            passed: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(place)
    }
}

/// Those past their queue's retention: queue by queue in the order of names, in each the oldest first.
fn past_retention(view: &View<'_>, request: &PruneRequest) -> Result<Found> {
    let start = match &request.cursor {
        None => Place { queue: String::new(), revision: 0, passed: 0 },
        Some(text) => Place::parse(text).ok_or_else(not_ours)?,
    };
    let mut found = Found::default();
    for (name, config) in view.catalog.config.queues.iter().filter(|(name, _)| name.as_str() >= start.queue.as_str()) {
        let is_start = name.as_str() == start.queue;
        let (after, passed) = if is_start { (start.revision, start.passed) } else { (0, 0) };
        let room = request.limit - found.doomed.len();
        let mut doomed = past_retention_of(view, name, &config.retention, (after, passed), room + 1)?;
        let has_more = doomed.len() > room;
        doomed.truncate(room);
        if has_more {
            let passed = if request.dry_run { passed + doomed.len() as u64 } else { 0 };
            let revision = doomed.last().map_or(after, |last| last.revision);
            found.doomed.extend(doomed);
            found.next = Some(format!("{name}~{revision}~{passed}"));
            return Ok(found);
        }
        found.doomed.extend(doomed);
    }
    Ok(found)
}

/// Those of one queue. The oldest come first and tasks end in the order of their revisions, so the first that may stay
/// ends the search.
fn past_retention_of(
    view: &View<'_>,
    name: &QueueName,
    retention: &Retention,
    (after, passed): (i64, u64),
    limit: usize,
) -> Result<Vec<Finished>> {
    let queue = view.catalog.key(name)?;
    let held: i64 = view
        .tallies(Some(queue))?
        .iter()
        .filter(|(_, status, _)| status.is_finished())
        .map(|(_, _, tasks)| tasks)
        .sum();
    let too_many = held.unsigned_abs().saturating_sub(retention.count).saturating_sub(passed);
    let runs = finished::runs(view, Some(queue), |_| true)?;
    let mut completed_at = view.prepare(sql::COMPLETED_AT)?;
    let mut doomed = finished::merge(view, &runs, Walk::Oldest(after), limit)?;
    for (place, task) in doomed.iter().enumerate().skip(usize::try_from(too_many).unwrap_or(usize::MAX)) {
        let over: Option<i64> = completed_at.query_row([task.key], |row| row.get(0)).optional().or_store()?;
        if over.is_none_or(|over| Timestamp::from_micros(over).after(retention.age) > view.now) {
            doomed.truncate(place);
            break;
        }
    }
    Ok(doomed)
}

/// Deletes up to `limit` tasks of a queue that wait for their turn.
pub(super) fn purge_queue(step: &mut Step<'_>, queue: &QueueName, limit: usize) -> Result<u64> {
    let queue = step.catalog().key(queue)?;
    let mut statement = step.prepare(sql::UNCLAIMED_TASKS)?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let rows = statement.query_map((queue, sql::count(limit)), read).or_store()?;
    let waiting: Vec<(i64, u8, String)> = rows.collect::<rusqlite::Result<_>>().or_store()?;
    let count = waiting.len() as u64;
    for (key, code, id) in waiting {
        step.remove(key, queue, row::status(code)?)?;
        // It is gone: whoever waits for its end need not wait on.
        step.note_finished(TaskId::new(id).map_err(|_| Error::Corrupt("a task's id can't be read".to_owned()))?);
    }
    Ok(count)
}
