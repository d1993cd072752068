//! Tasks that are sent again.

use jobbers_common::{
    engine::{DeadTask, Error, Resubmit, Resubmitted, Result},
    lifecycle::{Move, Status},
    limits::KEPT_PARAMETER_BYTES,
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    policy::{PolicyOverrides, error_kind::ErrorKind},
    queue::gate::ConcurrencyKey,
    task::{Task, unique::Unique},
};
use rusqlite::{OptionalExtension, params};

use crate::sqlite::{
    follow::{tombstones, unique},
    kernel::{
        row::{self, stored_metadata},
        step::Step,
    },
    sql,
    store::{error::OrStore, quota::TASK_BYTES},
    workflows,
};

/// About how many bytes a resubmission adds.
pub(crate) fn growth(batch: &[Resubmit]) -> u64 {
    let bytes = |payload: &Option<Payload>| payload.as_ref().map_or(0, Payload::len) as u64;
    let adds = |wish: &Resubmit| match wish.archived() {
        Some(dead) => TASK_BYTES + bytes(&dead.task.parameters) + bytes(&wish.parameters),
        None => bytes(&wish.parameters),
    };
    batch.iter().map(adds).sum()
}

/// Sends tasks again, each one independently.
pub(crate) fn resubmit(step: &mut Step<'_>, batch: &[Resubmit]) -> Result<Vec<Resubmitted>> {
    batch.iter().map(|wish| resubmit_one(step, wish)).collect()
}

/// A task that is over.
struct FinishedTask {
    key: i64,
    queue: i64,
    status: Status,
    revision: u64,
}

fn find(step: &Step<'_>, id: &TaskId) -> Result<Option<FinishedTask>> {
    let found = step
        .prepare(sql::FIND_ENDED)?
        .query_row([id.as_str()], |row| {
            Ok((row.get("key")?, row.get("queue")?, row.get("status")?, row.get::<_, i64>("revision")?))
        })
        .optional()
        .or_store()?;
    let read = |(key, queue, code, revision): (_, _, _, i64)| {
        Ok(FinishedTask { key, queue, status: row::status(code)?, revision: revision.unsigned_abs() })
    };
    found.map(read).transpose()
}

fn resubmit_one(step: &mut Step<'_>, wish: &Resubmit) -> Result<Resubmitted> {
    let receipt = wish.archived().map(|dead| (wish.id.as_str(), dead.task.revision.cast_signed()));
    if let Some(receipt) = receipt
        && step.prepare(sql::FIND_RECEIPT)?.query_row(receipt, |row| row.get::<_, i64>(0)).or_store()? > 0
    {
        return Ok(Resubmitted::Already);
    }
    let found = find(step, &wish.id)?;
    let was_in: QueueName = match (&found, wish.archived()) {
        (Some(task), _) if !task.status.is_finished() => return Ok(Resubmitted::Live(task.status)),
        (Some(task), _) => {
            let is_expected = wish.expected_revision().is_none_or(|expected| expected == task.revision);
            if task.status == Status::Completed || !is_expected || is_spontaneous(step, task)? {
                return Ok(Resubmitted::Moved(task.status));
            }
            step.queue_name(task.queue)?
        }
        (None, Some(dead)) => dead.task.queue.clone(),
        (None, None) => return Ok(Resubmitted::Unknown),
    };
    let into = wish.queue.as_ref().unwrap_or(&was_in);
    let Some(queue) = step.find_queue(into)? else { return Ok(Resubmitted::UnknownQueue(into.clone())) };
    let unique = uniqueness(step, found.as_ref(), wish)?;
    if let Some((name, unique)) = &unique
        && let Some(holder) = unique::held_by_another(step, &wish.id, name, unique)?
    {
        return Ok(Resubmitted::Held(holder));
    }
    if let Some(receipt) = receipt {
        step.prepare(sql::LEAVE_RECEIPT)?.execute(receipt).or_store()?;
    }
    let key = match (found, wish.archived()) {
        (Some(task), _) => send_again(step, wish, &task, queue)?,
        (None, Some(dead)) => make_anew(step, wish, dead, queue)?,
        (None, None) => return Ok(Resubmitted::Unknown),
    };
    if let Some((name, unique)) = unique {
        unique::take(step, key, &name, &unique)?;
    }
    workflows::touch(step, &wish.id)?;
    Ok(Resubmitted::Done)
}

/// Whether a task ends by itself, so that no worker could run it.
fn is_spontaneous(step: &Step<'_>, task: &FinishedTask) -> Result<bool> {
    step.prepare(sql::IS_SPONTANEOUS)?.exists([task.key]).or_store()
}

/// The uniqueness constraint of a task, with its name.
fn uniqueness(step: &Step<'_>, found: Option<&FinishedTask>, wish: &Resubmit) -> Result<Option<(TaskName, Unique)>> {
    match found {
        Some(task) => unique::of_task(step, task.key),
        None => {
            let said = |dead: &DeadTask| Some((dead.task.name.clone(), *dead.task.unique.clone()?));
            Ok(wish.archived().and_then(said))
        }
    }
}

fn send_again(step: &mut Step<'_>, wish: &Resubmit, task: &FinishedTask, queue: i64) -> Result<i64> {
    let revision = step.next_revision();
    step.prepare(sql::RESUBMIT_TASK)?
        .execute((task.key, queue, revision, step.now_micros(), wish.reset_attempts))
        .or_store()?;
    step.prepare(sql::FORGET_UNKNOWN_TASK)?.execute([task.key]).or_store()?;
    if let Some(parameters) = &wish.parameters {
        step.prepare(sql::DELETE_LARGE_PARAMETERS)?.execute([task.key]).or_store()?;
        set_parameters(step, task.key, parameters)?;
    }
    if queue == task.queue {
        step.note_moved(task.key, queue, task.status, Move::Resubmit, Status::Submitted)?;
    } else {
        step.note_left(task.key, task.queue, task.status)?;
        step.note_entered(task.key, queue, Status::Submitted)?;
    }
    Ok(task.key)
}

fn set_parameters(step: &Step<'_>, key: i64, parameters: &Payload) -> Result<()> {
    let bytes = &parameters.bytes[..];
    let is_large = bytes.len() > KEPT_PARAMETER_BYTES;
    let content_type = parameters.content_type.as_deref();
    step.prepare(sql::SET_PARAMETERS)?.execute((key, content_type, (!is_large).then_some(bytes))).or_store()?;
    if is_large {
        step.prepare(sql::INSERT_LARGE_PARAMETERS)?.execute((key, bytes)).or_store()?;
    }
    Ok(())
}

fn make_anew(step: &mut Step<'_>, wish: &Resubmit, dead: &DeadTask, queue: i64) -> Result<i64> {
    let Task {
        name,
        version,
        priority,
        overrides,
        submitted_at,
        started_at,
        worker,
        trace,
        last_span,
        concurrency_key,
        metadata,
        ..
    } = &dead.task;
    let overrides = PolicyOverrides { expires_in: None, ..overrides.clone() };
    let overrides = if overrides.is_empty() {
        None
    } else {
        Some(serde_json::to_string(&overrides).map_err(|error| Error::Invalid(error.to_string()))?)
    };
    let Task { attempt, crashes, blames, .. } = dead.task;
    let (attempt, crashes, blames) = if wish.reset_attempts { (0, 0, 0) } else { (attempt, crashes, blames) };
    let revision = step.next_revision();
    step.prepare(sql::RESTORE_TASK)?
        .execute(params![
            wish.id.as_str(),
            &dead.fingerprint.to_be_bytes()[..],
            name.as_str(),
            version,
            queue,
            9 - priority.get(),
            revision,
            attempt,
            crashes,
            if wish.reset_attempts { step.now_micros() } else { submitted_at.as_micros() },
            step.now_micros(),
            started_at.map(|at| at.as_micros()),
            worker.as_ref().map(|worker| worker.as_str()),
            overrides,
            trace.as_deref(),
            last_span.as_deref(),
            concurrency_key.as_ref().map(ConcurrencyKey::as_str),
            blames,
            dead.task.id_is_chosen,
            stored_metadata(metadata)?,
        ])
        .or_store()?;
    let key = step.conn.last_insert_rowid();
    if dead.task.id_is_chosen {
        tombstones::forget(step, wish.id.as_str())?;
    }
    let parameters = wish.parameters.as_ref().or(dead.task.parameters.as_ref());
    set_parameters(step, key, parameters.ok_or_else(|| Error::Invalid("a copy without parameters".to_owned()))?)?;
    restore_history(step, key, &dead.task)?;
    if let Some(unique) = &dead.task.unique {
        unique::keep(step, key, unique)?;
    }
    step.note_entered(key, queue, Status::Submitted)?;
    Ok(key)
}

/// Stores the checkpoint and the failed attempts of a task that was stored elsewhere.
pub(crate) fn restore_history(step: &Step<'_>, key: i64, task: &Task) -> Result<()> {
    if let Some(checkpoint) = &task.checkpoint {
        step.prepare(sql::SAVE_CHECKPOINT)?
            .execute((key, checkpoint.content_type.as_deref(), &checkpoint.bytes[..]))
            .or_store()?;
    }
    // Negative numbers, because future failures are numbered with revisions.
    for (number, error) in (-sql::count(task.errors.len())..).zip(&task.errors) {
        step.prepare(sql::NOTE_FAILURE)?
            .execute((
                key,
                number,
                error.at.as_micros(),
                error.attempt,
                error.worker.as_str(),
                error.kind.as_str(),
                &error.message,
                error.error_kind.as_ref().map(ErrorKind::as_str),
            ))
            .or_store()?;
    }
    Ok(())
}
