//! Deletes finished tasks.
//!
//! Retention uses [`due`]: a queue is checked when it has too many finished tasks, or its oldest is too old. A filter
//! may skip many tasks, so a reader searches for those that match, and the writer deletes those that have not moved
//! since.

use jobbers_common::{
    engine::{Error, PruneRequest, PruneScope, Pruned, Result, TaskFilter},
    lifecycle::Status,
    name::{QueueName, TaskId},
    queue::Retention,
    time::Timestamp,
};
use jobbers_sqlite_file::Quota;
use rusqlite::{OptionalExtension, Row};

use crate::sqlite::{
    follow::{dependency::ends, tombstones},
    kernel::{
        chore::Chore,
        due,
        finished::{self, Finished, WalkDirection},
        record,
        removal::{self, Doomed},
        row,
        step::Step,
        view::View,
    },
    sql,
    store::error::OrStore,
};

/// Of how many queues the oldest tasks are compared when the store is full.
const OLDEST_QUEUES: usize = 64;

/// The result of one search.
#[derive(Debug, Clone, Default)]
pub(crate) struct PruneBatch {
    doomed: Vec<Finished>,
    next: Option<String>,
}

impl PruneBatch {
    /// The answer of a dry run.
    pub(crate) fn counted(self) -> Pruned {
        Pruned { removed: self.doomed.len() as u64, next: self.next }
    }
}

/// Finds the next tasks that a request selects. The search may check many tasks, so a reader does it.
pub(crate) fn find(view: &View<'_>, request: &PruneRequest) -> Result<PruneBatch> {
    match &request.scope {
        PruneScope::Retention => past_retention(view, request),
        PruneScope::Matching { filter, finished_before, larger_than } => {
            matching(view, request, filter, (*finished_before, *larger_than))
        }
    }
}

/// Deletes the tasks found, except those that have moved since.
pub(crate) fn remove_found(step: &mut Step<'_>, found: &PruneBatch) -> Result<Pruned> {
    let mut is_unmoved = step.prepare(sql::IS_AT_REVISION)?;
    let mut doomed = Vec::with_capacity(found.doomed.len());
    for task in &found.doomed {
        if is_unmoved.exists((task.key, task.revision)).or_store()? {
            doomed.push(*task);
        }
    }
    let mut next = found.next.clone();
    let count = ends::count_in_bounds(step, doomed.iter().map(|task| task.key))?;
    if count < doomed.len() {
        doomed.truncate(count);
        next = doomed.last().map(|last| last.revision.to_string());
    }
    remove(step, &doomed)?;
    tombstones::sweep(step)?;
    Ok(Pruned { removed: doomed.len() as u64, next })
}

/// How many queues one call looks at.
const MOST_QUEUES: usize = 1_000;
/// For how many tasks of a queue the age is read first.
const FIRST_LOOK: usize = 64;

/// Deletes up to `limit` tasks past the retention of their queues; if the quota is nearly used up, also the oldest
/// tasks.
pub(crate) fn prune_retention(step: &mut Step<'_>, quota: Quota, limit: usize) -> Result<Pruned> {
    let (mut removed, mut has_more) = prune_due(step, limit)?;
    if removed < limit && quota.is_nearly_full(step.conn).or_store()? {
        removed += prune_oldest(step, limit - removed)?;
        has_more = removed == limit && quota.is_nearly_full(step.conn).or_store()?;
    }
    tombstones::sweep(step)?;
    // Any place will do: deleted tasks are not found again.
    let next = has_more.then(|| PruneCursor::START.write());
    Ok(Pruned { removed: removed as u64, next })
}

/// Deletes up to `limit` tasks in the queues where some may be past their retention. Returns how many, and whether there
/// may be more.
fn prune_due(step: &mut Step<'_>, limit: usize) -> Result<(usize, bool)> {
    let mut removed = 0;
    for _ in 0..MOST_QUEUES {
        let Some(queue) = due::queues(step, Chore::Prune, 1)?.pop() else { return Ok((removed, false)) };
        if removed == limit {
            return Ok((removed, true));
        }
        let retention = step.catalog().retention(queue);
        let view = step.view()?;
        let mut doomed = past_retention_of(&view, queue, &retention, (0, 0), limit - removed)?;
        let count = ends::count_in_bounds(step, doomed.iter().map(|task| task.key))?;
        let is_cut = count < doomed.len();
        doomed.truncate(count);
        remove(step, &doomed)?;
        removed += doomed.len();
        if is_cut {
            // The queue stays due.
            return Ok((removed, true));
        }
        let next = next_past_retention(&step.view()?, queue, &retention)?;
        due::looked(step, Chore::Prune, queue, next)?;
    }
    Ok((removed, true))
}

/// From when on the retention of a queue has something to delete.
pub(crate) fn next_past_retention(view: &View<'_>, queue: i64, retention: &Retention) -> Result<Option<i64>> {
    if held(view, queue)? > retention.count {
        return Ok(Some(0));
    }
    let runs = finished::runs(view, queue, |_| true)?;
    let Some(oldest) = finished::merge(view, &runs, WalkDirection::Oldest(0), 1)?.pop() else { return Ok(None) };
    let over: Option<i64> = view.prepare(sql::COMPLETED_AT)?.query_row([oldest.key], |row| row.get(0)).or_store()?;
    Ok(over.map(|over| Timestamp::from_micros(over).after(retention.age).as_micros()))
}

/// Deletes up to `limit` of the oldest finished tasks, regardless of retention. Returns how many.
pub(crate) fn prune_oldest(step: &mut Step<'_>, limit: usize) -> Result<usize> {
    // The queues whose retention ends first: their tasks go first, and most queues have the same retention.
    let queues = due::by(step, Chore::Prune, i64::MAX, OLDEST_QUEUES)?;
    let view = step.view()?;
    let mut runs = Vec::new();
    for queue in queues {
        runs.extend(finished::runs(&view, queue, |_| true)?);
    }
    let mut doomed = finished::merge(&view, &runs, WalkDirection::Oldest(0), limit)?;
    doomed.truncate(ends::count_in_bounds(step, doomed.iter().map(|task| task.key))?);
    remove(step, &doomed)?;
    Ok(doomed.len())
}

/// Deletes finished tasks, and remembers those whose clients chose their ids.
pub(crate) fn remove(step: &mut Step<'_>, doomed: &[Finished]) -> Result<()> {
    tombstones::bury(step, doomed)?;
    let doomed: Vec<Doomed> = doomed.iter().map(Finished::doomed).collect();
    removal::remove(step, &doomed)
}

fn not_ours() -> Error {
    Error::Invalid("this cursor is not from this store".to_owned())
}

/// The tasks that match, the oldest first. The cursor is the revision of the last one checked.
fn matching(
    view: &View<'_>,
    request: &PruneRequest,
    filter: &TaskFilter,
    (finished_before, larger_than): (Option<Timestamp>, Option<u64>),
) -> Result<PruneBatch> {
    let after = request.cursor.as_deref().map_or(Ok(0), |text| text.parse().map_err(|_| not_ours()))?;
    let queue = match &filter.queue {
        None => None,
        Some(queue) => match view.find_queue(queue)? {
            Some(key) => Some(key),
            None => return Ok(PruneBatch::default()),
        },
    };
    let wants = |status| filter.wants(status);
    let mut looked_at = finished::first(view, queue, wants, WalkDirection::Oldest(after), request.limit + 1)?;
    let has_more = looked_at.len() > request.limit;
    looked_at.truncate(request.limit);
    let next = looked_at.last().filter(|_| has_more).map(|last| last.revision.to_string());
    let mut doomed = Vec::new();
    for candidate in looked_at {
        let Some(task) = record::find_match(view, candidate.key, filter)? else { continue };
        let is_old = finished_before.is_none_or(|before| task.completed_at.is_some_and(|at| at < before));
        if is_old && is_larger(view, candidate.key, larger_than)? {
            doomed.push(candidate);
        }
    }
    Ok(PruneBatch { doomed, next })
}

/// Whether the parameters and the result of a task take more than this.
fn is_larger(view: &View<'_>, key: i64, than: Option<u64>) -> Result<bool> {
    let Some(than) = than else { return Ok(true) };
    let bytes: i64 = view.prepare(sql::TASK_BYTES)?.query_row([key], |row| row.get(0)).or_store()?;
    Ok(bytes.unsigned_abs() > than)
}

/// The progress of pruning by retention: `queue~revision~passed`.
struct PruneCursor {
    queue: String,
    /// Of the last task checked in it.
    revision: i64,
    /// How many tasks of the queue a dry run has counted already; they still exist.
    passed: u64,
}

impl PruneCursor {
    const START: Self = Self { queue: String::new(), revision: 0, passed: 0 };

    fn write(&self) -> String {
        format!("{}~{}~{}", self.queue, self.revision, self.passed)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('~');
        let cursor = Self {
            queue: fields.next()?.to_owned(),
            revision: fields.next()?.parse().ok()?,
            passed: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(cursor)
    }
}

/// Tasks past their queue's retention: queue by queue in the order of names, in each the oldest first. For a dry run,
/// which checks a bounded number of queues too.
fn past_retention(view: &View<'_>, request: &PruneRequest) -> Result<PruneBatch> {
    let start = match &request.cursor {
        None => PruneCursor::START,
        Some(text) => PruneCursor::parse(text).ok_or_else(not_ours)?,
    };
    let mut found = PruneBatch::default();
    for (looked_at, (queue, name)) in queues_from(view, &start.queue)?.into_iter().enumerate() {
        if looked_at == MOST_QUEUES {
            found.next = Some(PruneCursor { queue: name, ..PruneCursor::START }.write());
            break;
        }
        let (after, passed) = if name == start.queue { (start.revision, start.passed) } else { (0, 0) };
        let room = request.limit - found.doomed.len();
        let retention = view.catalog.retention(queue);
        let mut doomed = past_retention_of(view, queue, &retention, (after, passed), room + 1)?;
        let has_more = doomed.len() > room;
        doomed.truncate(room);
        if has_more {
            let passed = passed + doomed.len() as u64;
            let revision = doomed.last().map_or(after, |last| last.revision);
            found.doomed.extend(doomed);
            found.next = Some(PruneCursor { queue: name, revision, passed }.write());
            break;
        }
        found.doomed.extend(doomed);
    }
    Ok(found)
}

/// Queues from one on, in the order of names, one more than a call checks.
fn queues_from(view: &View<'_>, name: &str) -> Result<Vec<(i64, String)>> {
    let mut statement = view.prepare(sql::QUEUES_FROM)?;
    let rows = statement.query_map((name, sql::count(MOST_QUEUES + 1)), |row| Ok((row.get("key")?, row.get("name")?)));
    rows.or_store()?.collect::<rusqlite::Result<_>>().or_store()
}

/// How many finished tasks a queue holds.
fn held(view: &View<'_>, queue: i64) -> Result<u64> {
    let held: i64 = view.prepare(sql::COUNT_FINISHED)?.query_row([queue], |row| row.get(0)).or_store()?;
    Ok(held.unsigned_abs())
}

/// Those of one queue. The oldest come first and tasks end in the order of their revisions, so the first one that may
/// stay ends the search.
fn past_retention_of(
    view: &View<'_>,
    queue: i64,
    retention: &Retention,
    (after, passed): (i64, u64),
    limit: usize,
) -> Result<Vec<Finished>> {
    let too_many = held(view, queue)?.saturating_sub(retention.count).saturating_sub(passed);
    let too_many = usize::try_from(too_many).unwrap_or(usize::MAX);
    let runs = finished::runs(view, queue, |_| true)?;
    let mut wanted = too_many.max(FIRST_LOOK).min(limit);
    loop {
        let mut doomed = finished::merge(view, &runs, WalkDirection::Oldest(after), wanted)?;
        let is_cut = cut_at_kept(view, &mut doomed, too_many, retention)?;
        if is_cut || doomed.len() < wanted || wanted == limit {
            return Ok(doomed);
        }
        wanted = wanted.saturating_mul(4).min(limit);
    }
}

/// Cuts a sequence of finished tasks before the first one that may stay.
fn cut_at_kept(view: &View<'_>, doomed: &mut Vec<Finished>, too_many: usize, retention: &Retention) -> Result<bool> {
    let mut completed_at = view.prepare(sql::COMPLETED_AT)?;
    for place in too_many..doomed.len() {
        let over: Option<i64> = completed_at.query_row([doomed[place].key], |row| row.get(0)).optional().or_store()?;
        if over.is_none_or(|over| Timestamp::from_micros(over).after(retention.age) > view.now) {
            doomed.truncate(place);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Deletes up to `limit` tasks of a queue that wait for their turn.
pub(crate) fn purge_queue(step: &mut Step<'_>, queue: &QueueName, limit: usize) -> Result<u64> {
    let queue = step.queue(queue)?;
    let mut statement = step.prepare(sql::UNCLAIMED_TASKS)?;
    let read = |row: &Row<'_>| Ok((row.get("key")?, row.get("status")?, row.get("id")?));
    let rows = statement.query_map((queue, sql::count(limit)), read).or_store()?;
    let mut waiting: Vec<(i64, u8, String)> = rows.collect::<rusqlite::Result<_>>().or_store()?;
    waiting.truncate(ends::count_in_bounds(step, waiting.iter().map(|(key, _, _)| *key))?);
    let mut doomed = Vec::with_capacity(waiting.len());
    for (key, code, id) in waiting {
        doomed.push(Doomed { key, queue, status: row::status(code)? });
        // It is gone, so callers that wait for its end must stop waiting.
        step.note_finished(TaskId::new(id).map_err(|_| Error::Corrupt("a task's id can't be read".to_owned()))?);
    }
    ends::note_withdrawn(step, &doomed, Status::Cancelled)?;
    removal::remove(step, &doomed)?;
    Ok(doomed.len() as u64)
}
