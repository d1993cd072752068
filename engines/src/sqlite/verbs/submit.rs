//! Accepting submissions.

use std::borrow::Cow;

use jobbers_common::{
    engine::{Error, OnConflict, Result, Submit, Submitted, SubmittedHow},
    lifecycle::Status,
    limits::KEPT_PARAMETER_BYTES,
    name::TaskId,
    queue::gate::ConcurrencyKey,
    submission::batch::linked_later,
    task::{NewTask, tombstone::Tombstone, unique::Unique},
};
use rusqlite::{OptionalExtension, Statement};

use super::lease;
use crate::sqlite::{
    follow::{
        dependency::{
            ends,
            link::{self, Successor},
        },
        limits, tombstones,
        unique::{self, Met, Taker},
        waiting_bytes,
    },
    kernel::{
        chore::Chore,
        removal::{self, Doomed},
        row::{self, stored_metadata},
        step::Step,
    },
    sql,
    store::{
        error::{OrStore, corrupt},
        quota::TASK_BYTES,
    },
    workflows,
};

/// The statuses that count towards a queue's length.
const WAITING: &[Status] = &[Status::Waiting, Status::Scheduled, Status::Submitted];

/// About how many bytes a batch adds.
pub(crate) fn growth(batch: &Submit) -> u64 {
    batch.tasks.iter().map(|task| TASK_BYTES + task.parameters.len() as u64).sum()
}

/// Accepts a batch: all of it or, because the writer undoes a verb that fails, nothing.
pub(crate) fn submit(step: &mut Step<'_>, batch: &Submit) -> Result<Vec<Submitted>> {
    let queues = batch.tasks.iter().map(|task| step.queue(&task.queue)).collect::<Result<Vec<i64>>>()?;
    let mut linked = Vec::<Successor<'_>>::new();
    let mut insert = step.prepare(sql::INSERT_TASK)?;
    let mut taken = Vec::with_capacity(batch.tasks.len());
    // Reported after all tasks were checked: a conflict, which a retry does not cure, takes precedence over a full
    // queue.
    let mut full = None;
    // Queues with limits, and how many tasks need room there.
    let mut in_need = Vec::new();
    // Queues with limits, and how many tasks each accepted.
    let mut entered = Vec::<(i64, usize)>::new();
    for ((task, queue), is_later) in batch.tasks.iter().zip(queues).zip(linked_later(&batch.tasks)) {
        let bytes_before = if full.is_none() { waiting_bytes::total(step, queue)? } else { None };
        let (submitted, needs_room) = match &task.unique {
            None => take(step, &mut insert, task, queue, batch.on_conflict)?,
            Some(unique) => take_unique(step, &mut insert, (task, unique), queue, batch.on_conflict)?,
        };
        if needs_room && step.catalog().limited.contains_key(&queue) {
            in_need.push(queue);
            if full.is_none() {
                full = overfull(step, queue)?;
            }
        }
        if full.is_none() {
            full = waiting_bytes::over_limit(step, queue, bytes_before)?;
        }
        if submitted.how != SubmittedHow::Existing && step.catalog().limited.contains_key(&queue) {
            match entered.iter_mut().find(|(known, _)| *known == queue) {
                Some((_, count)) => *count += 1,
                None => entered.push((queue, 1)),
            }
        }
        if submitted.how != SubmittedHow::Existing && task.is_linked() {
            let (stored, _) = find(step, &task.id)?.ok_or_else(|| corrupt("a new task", &task.id))?;
            // Nothing else has happened since it was stored.
            linked.push(((stored.key, step.ledger.revision, task), is_later));
        }
        if submitted.how == SubmittedHow::Replaced {
            step.ledger.stored_again.push(submitted.id.clone());
        }
        taken.push(submitted);
    }
    let at_once = link::link(step, &linked)?;
    if let Some(full) = full {
        return Err(error_of_full_queue(step, full, &in_need));
    }
    entered.into_iter().try_for_each(|(queue, count)| limits::note_entered(step, queue, count))?;
    let may_move = !linked.is_empty() || !step.ledger.ended.is_empty();
    if may_move {
        link::move_at_once(step, &at_once)?;
    }
    if may_move || taken.len() > 1 && batch.tasks.iter().any(|task| task.unique.is_some()) {
        // A task of the batch may have moved another one.
        taken.iter_mut().try_for_each(|submitted| read_again(step, submitted))?;
    }
    for id in std::mem::take(&mut step.ledger.stored_again) {
        workflows::touch(step, &id)?;
    }
    Ok(taken)
}

/// The error if more tasks wait in a queue than allowed.
fn overfull(step: &Step<'_>, queue: i64) -> Result<Option<Error>> {
    let Some(config) = step.catalog().limited.get(&queue) else { return Ok(None) };
    let Some(max_length) = config.max_length else { return Ok(None) };
    let length = step.tally(queue, WAITING)?.unsigned_abs();
    Ok((length > max_length).then(|| Error::QueueFull { queue: config.name.clone(), max_length }))
}

/// The error for a full queue, or for tasks that will never fit there.
fn error_of_full_queue(step: &Step<'_>, full: Error, in_need: &[i64]) -> Error {
    let Error::QueueFull { queue, max_length } = &full else { return full };
    let is_there = |key: &&i64| step.catalog().limited.get(key).is_some_and(|config| config.name == *queue);
    let count = in_need.iter().filter(is_there).count();
    if count as u64 > *max_length { Error::over_length(queue, count, *max_length) } else { full }
}

fn read_again(step: &Step<'_>, submitted: &mut Submitted) -> Result<()> {
    // A task that is only remembered does not move.
    let Some((stored, _)) = find(step, &submitted.id)? else { return Ok(()) };
    (submitted.queue, submitted.status) = (step.queue_name(stored.queue)?, stored.status);
    Ok(())
}

/// Accepts one task; also returns whether its queue must have room for it.
fn take(
    step: &mut Step<'_>,
    insert: &mut Statement<'_>,
    new: &NewTask,
    queue: i64,
    on_conflict: OnConflict,
) -> Result<(Submitted, bool)> {
    if let Some(remembered) = remembered(step, new, on_conflict)? {
        return Ok((remembered, false));
    }
    if let Some((_, status)) = store(step, insert, new, queue, &TaskIdentity::of(step, new))? {
        return Ok((submitted(new, status, SubmittedHow::Created), true));
    }
    let (stored, fingerprint) = find(step, &new.id)?.ok_or_else(|| corrupt("the index of ids", &new.id))?;
    if on_conflict.keeps_stored(stored.status, fingerprint, new)? {
        return Ok((existing(step, new.id.clone(), &stored)?, false));
    }
    stored.give_way(step)?;
    let (_, status) = store(step, insert, new, queue, &TaskIdentity::of(step, new))?
        .ok_or_else(|| corrupt("a replaced task", &new.id))?;
    Ok((submitted(new, status, SubmittedHow::Replaced), !stored.waits_in(queue)))
}

/// The same for a task with a uniqueness constraint.
fn take_unique(
    step: &mut Step<'_>,
    insert: &mut Statement<'_>,
    (new, unique): (&NewTask, &Unique),
    queue: i64,
    on_conflict: OnConflict,
) -> Result<(Submitted, bool)> {
    if let Some(remembered) = remembered(step, new, on_conflict)? {
        return Ok((remembered, false));
    }
    let mut replaced = None;
    if let Some((stored, fingerprint)) = find(step, &new.id)? {
        if on_conflict.keeps_stored(stored.status, fingerprint, new)? {
            return Ok((existing(step, new.id.clone(), &stored)?, false));
        }
        replaced = Some(stored);
    }
    let mut in_place = replaced.as_ref().is_some_and(|stored| stored.waits_in(queue));
    let mut how = if replaced.is_some() { SubmittedHow::Replaced } else { SubmittedHow::Created };
    match unique::meet(step, new, unique)? {
        Met::Free => {}
        Met::Answer(taker) => return Ok((existing(step, taker.id.clone(), &ExistingTask::from(&taker))?, false)),
        Met::Replace(taker) => {
            in_place |= ExistingTask::from(&taker).waits_in(queue);
            how = SubmittedHow::Replaced;
            lease::cancel(step, &[taker.id])?;
        }
        Met::Update(taker) => return update(step, insert, (new, unique), queue, &taker),
    }
    if let Some(stored) = replaced {
        stored.give_way(step)?;
    }
    let (key, status) = store(step, insert, new, queue, &TaskIdentity::of(step, new))?
        .ok_or_else(|| corrupt("the index of ids", &new.id))?;
    unique::take(step, key, &new.name, unique)?;
    Ok((submitted(new, status, how), !in_place))
}

/// Turns the holder of a key into what a submission asks for.
fn update(
    step: &mut Step<'_>,
    insert: &mut Statement<'_>,
    (new, unique): (&NewTask, &Unique),
    queue: i64,
    taker: &Taker,
) -> Result<(Submitted, bool)> {
    let read = |row: &rusqlite::Row<'_>| {
        let id = Cow::Owned(row.get("id")?);
        Ok(TaskIdentity {
            id,
            fingerprint: row.get("fingerprint")?,
            since: row.get("submitted_at")?,
            is_chosen: row.get("id_is_chosen")?,
        })
    };
    let identity = step.prepare(sql::FIND_REPLACED)?.query_row([taker.key], read).or_store()?;
    ExistingTask::from(taker).remove(step)?;
    let (key, status) =
        store(step, insert, new, queue, &identity)?.ok_or_else(|| corrupt("the index of ids", &taker.id))?;
    unique::pass_on(step, taker, key, new, unique)?;
    ends::pass_on(step, taker.key, key)?;
    let submitted = Submitted { id: taker.id.clone(), ..submitted(new, status, SubmittedHow::Updated) };
    Ok((submitted, !ExistingTask::from(taker).waits_in(queue)))
}

fn submitted(new: &NewTask, status: Status, how: SubmittedHow) -> Submitted {
    Submitted { id: new.id.clone(), queue: new.queue.clone(), status, how }
}

/// The answer for a pruned task that is remembered, unless the submission may take its id.
fn remembered(step: &Step<'_>, new: &NewTask, on_conflict: OnConflict) -> Result<Option<Submitted>> {
    if !new.id_is_chosen {
        return Ok(None);
    }
    let Some(tombstone) = tombstones::find(step.conn, &new.id, step.now)? else { return Ok(None) };
    let Tombstone { id, queue, status, fingerprint, .. } = tombstone;
    let keeps = on_conflict.keeps_stored(status, fingerprint, new)?;
    Ok(keeps.then_some(Submitted { id, queue, status, how: SubmittedHow::Existing }))
}

fn existing(step: &Step<'_>, id: TaskId, stored: &ExistingTask) -> Result<Submitted> {
    let queue = step.queue_name(stored.queue)?;
    Ok(Submitted { id, queue, status: stored.status, how: SubmittedHow::Existing })
}

/// A stored task.
struct ExistingTask {
    key: i64,
    queue: i64,
    status: Status,
}

impl ExistingTask {
    fn waits_in(&self, queue: i64) -> bool {
        self.queue == queue && WAITING.contains(&self.status)
    }

    /// Removes it, because another takes its place.
    fn give_way(&self, step: &mut Step<'_>) -> Result<()> {
        let Self { key, queue, status } = *self;
        ends::note_withdrawn(step, &[Doomed { key, queue, status }], Status::Aborted)?;
        self.remove(step)
    }

    fn remove(&self, step: &mut Step<'_>) -> Result<()> {
        let Self { key, queue, status } = *self;
        removal::remove(step, &[Doomed { key, queue, status }])
    }
}

impl From<&Taker> for ExistingTask {
    fn from(taker: &Taker) -> Self {
        Self { key: taker.key, queue: taker.queue, status: taker.status }
    }
}

/// The task that has taken an id, and its submission's fingerprint.
fn find(step: &Step<'_>, id: &TaskId) -> Result<Option<(ExistingTask, u128)>> {
    let found = step
        .prepare(sql::FIND_SUBMISSION)?
        .query_row([id.as_str()], |row| {
            Ok((row.get("key")?, row.get("queue")?, row.get("status")?, row.get("fingerprint")?))
        })
        .optional()
        .or_store()?;
    let read = |(key, queue, code, fingerprint)| {
        Ok((ExistingTask { key, queue, status: row::status(code)? }, u128::from_be_bytes(fingerprint)))
    };
    found.map(read).transpose()
}

/// The identity of a task: its own, or that of the task it replaces.
struct TaskIdentity<'a> {
    id: Cow<'a, str>,
    fingerprint: [u8; 16],
    /// When it was submitted.
    since: i64,
    is_chosen: bool,
}

impl<'a> TaskIdentity<'a> {
    fn of(step: &Step<'_>, new: &'a NewTask) -> Self {
        Self {
            id: Cow::Borrowed(new.id.as_str()),
            fingerprint: new.fingerprint().to_be_bytes(),
            since: step.now_micros(),
            is_chosen: new.id_is_chosen,
        }
    }
}

/// Stores a task and returns its key and status; `None` if its id is taken.
fn store(
    step: &mut Step<'_>,
    insert: &mut Statement<'_>,
    new: &NewTask,
    queue: i64,
    identity: &TaskIdentity<'_>,
) -> Result<Option<(i64, Status)>> {
    let due = new.start.due(step.now);
    let status = match new.is_linked() {
        true => Status::Waiting,
        false if due > step.now => Status::Scheduled,
        false => Status::Submitted,
    };
    let overrides = if new.overrides.is_empty() {
        None
    } else {
        Some(serde_json::to_string(&new.overrides).map_err(|error| Error::Invalid(error.to_string()))?)
    };
    let bytes = &new.parameters.bytes;
    let is_large = bytes.len() > KEPT_PARAMETER_BYTES;
    let stored = insert
        .execute((
            &*identity.id,
            &identity.fingerprint[..],
            new.name.as_str(),
            new.version,
            queue,
            9 - new.priority.get(),
            status.code(),
            step.ledger.revision + 1,
            identity.since,
            due.as_micros(),
            overrides,
            new.trace.as_deref(),
            new.parameters.content_type.as_deref(),
            (!is_large).then_some(&bytes[..]),
            new.concurrency_key.as_ref().map(ConcurrencyKey::as_str),
            identity.is_chosen,
        ))
        .or_store()?;
    if stored == 0 {
        return Ok(None);
    }
    let key = step.conn.last_insert_rowid();
    if identity.is_chosen && tombstones::forget(step, &identity.id)? {
        step.ledger.stored_again.push(new.id.clone());
    }
    if is_large {
        step.prepare(sql::INSERT_LARGE_PARAMETERS)?.execute((key, &bytes[..])).or_store()?;
    }
    // Few tasks have metadata, and a 17th value would cost each task more.
    if let Some(metadata) = stored_metadata(&new.metadata)? {
        step.prepare(sql::SET_METADATA)?.execute((key, metadata)).or_store()?;
    }
    if let Some(unique) = &new.unique {
        unique::keep(step, key, unique)?;
    }
    step.next_revision();
    if status == Status::Scheduled {
        step.note_due(Chore::Promote, queue, due.as_micros());
    }
    step.note_entered(key, queue, status)?;
    Ok(Some((key, status)))
}
