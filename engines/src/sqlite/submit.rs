//! Taking tasks in.

use jobbers_common::{
    engine::{ConflictReason, Error, OnConflict, Result, Submit, Submitted, SubmittedHow},
    lifecycle::Status,
    limits::KEPT_PARAMETER_BYTES,
    task::{NewTask, Start},
};
use rusqlite::{CachedStatement, OptionalExtension};

use super::{
    error::{OrStore, corrupt},
    quota::TASK_BYTES,
    row, sql,
    step::Step,
};

/// The statuses that count towards a queue's length.
const WAITING: &[Status] = &[Status::Waiting, Status::Scheduled, Status::Submitted];

/// About how many bytes a batch adds.
pub(super) fn growth(batch: &Submit) -> u64 {
    batch.tasks.iter().map(|task| TASK_BYTES + task.parameters.len() as u64).sum()
}

/// Takes a batch in: all of it or, by the writer's savepoint, nothing.
pub(super) fn submit(step: &mut Step<'_>, batch: &Submit) -> Result<Vec<Submitted>> {
    let queues = batch.tasks.iter().map(|task| step.catalog().key(&task.queue)).collect::<Result<Vec<i64>>>()?;
    let mut insert = step.prepare(sql::INSERT_TASK)?;
    let mut taken = Vec::with_capacity(batch.tasks.len());
    // Told when all are in: a conflict, which asking again does not cure, goes before a queue that is full.
    let mut full = None;
    for (task, queue) in batch.tasks.iter().zip(queues) {
        let (submitted, needs_room) = take(step, &mut insert, task, queue, batch.on_conflict)?;
        if needs_room && full.is_none() {
            full = overfull(step, queue)?;
        }
        taken.push(submitted);
    }
    full.map_or(Ok(taken), Err)
}

/// Whether more tasks wait in a queue than may.
fn overfull(step: &Step<'_>, queue: i64) -> Result<Option<Error>> {
    let Some(config) = step.catalog().limited.get(&queue) else { return Ok(None) };
    let Some(max_length) = config.max_length else { return Ok(None) };
    let length = step.tally(queue, WAITING)?.unsigned_abs();
    Ok((length > max_length).then(|| Error::QueueFull { queue: config.name.clone(), max_length }))
}

/// Takes one task in; answers also whether its queue must have room for it.
fn take(
    step: &mut Step<'_>,
    insert: &mut CachedStatement<'_>,
    new: &NewTask,
    queue: i64,
    on_conflict: OnConflict,
) -> Result<(Submitted, bool)> {
    if let Some(status) = store(step, insert, new, queue)? {
        return Ok((submitted(new, status, SubmittedHow::Created), true));
    }
    match decide(step, new, on_conflict)? {
        Taken::Leave(holder) => {
            let (queue, status) = (step.catalog().name(holder.queue)?, holder.status);
            Ok((Submitted { id: new.id.clone(), queue, status, how: SubmittedHow::Existing }, false))
        }
        Taken::Replace(holder) => {
            step.remove(holder.key, holder.queue, holder.status)?;
            let status = store(step, insert, new, queue)?.ok_or_else(|| corrupt("a replaced task", &new.id))?;
            let in_place = holder.queue == queue && WAITING.contains(&holder.status);
            Ok((submitted(new, status, SubmittedHow::Replaced), !in_place))
        }
    }
}

fn submitted(new: &NewTask, status: Status, how: SubmittedHow) -> Submitted {
    Submitted { id: new.id.clone(), queue: new.queue.clone(), status, how }
}

/// The task that has taken an id.
struct Holder {
    key: i64,
    queue: i64,
    status: Status,
}

/// What to do about it.
enum Taken {
    Leave(Holder),
    Replace(Holder),
}

fn decide(step: &Step<'_>, new: &NewTask, on_conflict: OnConflict) -> Result<Taken> {
    let found = step
        .prepare(sql::FIND_SUBMISSION)?
        .query_row([new.id.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, [u8; 16]>(3)?)))
        .optional()
        .or_store()?;
    let (key, queue, code, fingerprint) = found.ok_or_else(|| corrupt("the index of ids", &new.id))?;
    let holder = Holder { key, queue, status: row::status(code)? };
    let conflict = |reason| Error::Conflict { id: new.id.clone(), status: holder.status, reason };
    match on_conflict {
        _ if fingerprint == new.fingerprint().to_be_bytes() => Ok(Taken::Leave(holder)),
        OnConflict::Skip => Ok(Taken::Leave(holder)),
        OnConflict::Fail => Err(conflict(ConflictReason::BodyDiffers)),
        OnConflict::Replace if holder.status == Status::Started => Err(conflict(ConflictReason::Started)),
        OnConflict::Replace => Ok(Taken::Replace(holder)),
    }
}

/// Stores a task and answers where it stands; `None` when its id is taken.
fn store(step: &mut Step<'_>, insert: &mut CachedStatement<'_>, new: &NewTask, queue: i64) -> Result<Option<Status>> {
    let due = match new.start {
        Start::Now => step.now,
        Start::After(delay) => step.now.after(delay),
        Start::At(at) => at.max(step.now),
    };
    let status = if due > step.now { Status::Scheduled } else { Status::Submitted };
    let overrides = if new.overrides.is_empty() {
        None
    } else {
        Some(serde_json::to_string(&new.overrides).map_err(|error| Error::Invalid(error.to_string()))?)
    };
    let bytes = &new.parameters.bytes;
    let is_large = bytes.len() > KEPT_PARAMETER_BYTES;
    let stored = insert
        .execute((
            new.id.as_str(),
            &new.fingerprint().to_be_bytes()[..],
            new.name.as_str(),
            new.version,
            queue,
            9 - new.priority.get(),
            status.code(),
            step.ledger.revision + 1,
            step.now_micros(),
            due.as_micros(),
            overrides,
            new.trace.as_deref(),
            new.parameters.content_type.as_deref(),
            (!is_large).then_some(&bytes[..]),
        ))
        .or_store()?;
    if stored == 0 {
        return Ok(None);
    }
    if is_large {
        let key = step.conn.last_insert_rowid();
        step.prepare(sql::INSERT_LARGE_PARAMETERS)?.execute((key, &bytes[..])).or_store()?;
    }
    step.next_revision();
    step.note_entered(queue, status);
    Ok(Some(status))
}
