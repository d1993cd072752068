//! The end of an attempt, by whoever holds the fence.

use std::time::Duration;

use jobbers_common::{
    engine::{Outcome, Result, SettleAnswer, Settlement},
    error_kind::ErrorKind,
    lifecycle::{Move, Status},
    limits::MAX_ERRORS_KEPT,
    name::TaskId,
    payload::Payload,
    task::{AttemptFailure, Fence},
    time::Timestamp,
};

use super::{
    dead,
    error::OrStore,
    find::{Found, find},
    gates, sql,
    step::Step,
};

/// Settles a batch, each settlement for itself.
pub(super) fn settle(step: &mut Step<'_>, settlements: &[Settlement]) -> Result<Vec<SettleAnswer>> {
    settlements.iter().map(|settlement| settle_one(step, settlement)).collect()
}

fn settle_one(step: &mut Step<'_>, settlement: &Settlement) -> Result<SettleAnswer> {
    let Settlement { id, fence, .. } = settlement;
    let fence = stored(*fence);
    let Some(found) = find(step, id)?.filter(|found| found.fence == Some(fence)) else {
        return Ok(SettleAnswer::LeaseLost);
    };
    if found.status.is_finished() {
        // The fence is kept only by the settlement that ended the task: this is its repetition.
        return Ok(SettleAnswer::Accepted(found.status));
    }
    let status = end_attempt(step, &found, settlement)?;
    Ok(SettleAnswer::Accepted(status))
}

/// A fence as stored; one that can't be stored was never given.
pub(super) fn stored(fence: Fence) -> i64 {
    i64::try_from(fence.0).unwrap_or(-1)
}

/// A requested cancel wins over whatever the worker says.
fn end_attempt(step: &mut Step<'_>, found: &Found, settlement: &Settlement) -> Result<Status> {
    let Settlement { id, outcome, .. } = settlement;
    let span = settlement.span_to_keep();
    if let Outcome::Retry { failure, .. } | Outcome::Failed { failure, .. } | Outcome::Stalled { failure, .. } = outcome
    {
        note_failure(step, found, failure)?;
    }
    let fence = found.fence;
    match outcome {
        _ if found.cancel_requested => end(step, id, found, &Ending { fence, span, ..Ending::CANCELLED }),
        Outcome::Cancelled => end(step, id, found, &Ending { fence, span, ..Ending::CANCELLED }),
        Outcome::Completed { result } => complete(step, id, found, result.as_ref()),
        Outcome::Retry { delay, .. } => {
            step.prepare(sql::FORGET_STRANGER)?.execute([found.key]).or_store()?;
            requeue(step, found, Move::Retry, Some(*delay), 0, span)
        }
        Outcome::Released { delay } => {
            step.prepare(sql::FORGET_STRANGER)?.execute([found.key]).or_store()?;
            requeue(step, found, Move::Release, Some(*delay).filter(|delay| !delay.is_zero()), 1, span)
        }
        Outcome::Failed { dead_letter, .. } => {
            let failed = Ending { event: Move::Fail, to: Status::Failed, dead_letter: *dead_letter, fence, span };
            end(step, id, found, &failed)
        }
        Outcome::Stalled { dead_letter, .. } => {
            let stalled = Ending { event: Move::Stall, to: Status::Stalled, dead_letter: *dead_letter, fence, span };
            end(step, id, found, &stalled)
        }
        Outcome::Unknown { delay, patience, failure, dead_letter } => {
            let since = note_stranger(step, found)?;
            if since.after(*patience) > step.now {
                return requeue(step, found, Move::Release, Some(*delay).filter(|delay| !delay.is_zero()), 1, span);
            }
            note_failure(step, found, failure)?;
            let dropped = Ending { event: Move::Drop, to: Status::Dropped, dead_letter: *dead_letter, fence, span };
            end(step, id, found, &dropped)
        }
    }
}

/// Since when workers have been giving a task back for not knowing it.
fn note_stranger(step: &Step<'_>, found: &Found) -> Result<Timestamp> {
    let mut statement = step.prepare(sql::NOTE_STRANGER)?;
    let since = statement.query_row((found.key, step.now_micros()), |row| row.get(0)).or_store()?;
    Ok(Timestamp::from_micros(since))
}

fn complete(step: &mut Step<'_>, id: &TaskId, found: &Found, result: Option<&Payload>) -> Result<Status> {
    gates::note_ended(step, found)?;
    let (revision, now) = (step.next_revision(), step.now_micros());
    let (content_type, bytes) =
        result.map_or((None, None), |result| (result.content_type.as_deref(), Some(&result.bytes[..])));
    step.prepare(sql::COMPLETE_TASK)?.execute((found.key, revision, now, content_type, bytes)).or_store()?;
    if found.has_large_parameters {
        step.prepare(sql::DELETE_LARGE_PARAMETERS)?.execute([found.key]).or_store()?;
    }
    step.note_moved(found.key, found.queue, Status::Started, Move::Complete, Status::Completed)?;
    step.note_finished(id.clone());
    Ok(Status::Completed)
}

/// How a task ends.
pub(super) struct Ending<'a> {
    pub(super) event: Move,
    pub(super) to: Status,
    pub(super) dead_letter: bool,
    /// The fence of the settlement that ended it, if one did.
    pub(super) fence: Option<i64>,
    /// The attempt's span, if there is one to keep.
    pub(super) span: Option<&'a str>,
}

impl Ending<'_> {
    pub(super) const CANCELLED: Self =
        Self { event: Move::Cancel, to: Status::Cancelled, dead_letter: false, fence: None, span: None };
}

/// A task is over.
pub(super) fn end(step: &mut Step<'_>, id: &TaskId, found: &Found, ending: &Ending<'_>) -> Result<Status> {
    gates::note_ended(step, found)?;
    let (revision, now) = (step.next_revision(), step.now_micros());
    let Ending { event, to, dead_letter, fence, span } = *ending;
    step.prepare(sql::END_TASK)?.execute((found.key, to.code(), revision, now, fence, dead_letter, span)).or_store()?;
    step.note_moved(found.key, found.queue, found.status, event, to)?;
    step.note_finished(id.clone());
    if dead_letter {
        dead::keep(step, id)?;
    }
    Ok(to)
}

/// A started task goes back to its queue: after `delay` at its end, or without one at its old place.
pub(super) fn requeue(
    step: &mut Step<'_>,
    found: &Found,
    event: Move,
    delay: Option<Duration>,
    attempts_that_do_not_count: u32,
    span: Option<&str>,
) -> Result<Status> {
    gates::note_ended(step, found)?;
    let to = if delay.unwrap_or_default().is_zero() { Status::Submitted } else { Status::Scheduled };
    let revision = step.next_revision();
    let ready_at = delay.map(|delay| step.now.after(delay).as_micros());
    step.prepare(sql::REQUEUE_TASK)?
        .execute((found.key, to.code(), revision, ready_at, attempts_that_do_not_count, span))
        .or_store()?;
    step.note_moved(found.key, found.queue, Status::Started, event, to)?;
    Ok(to)
}

/// Adds to a task's history.
pub(super) fn note_failure(step: &mut Step<'_>, found: &Found, failure: &AttemptFailure) -> Result<()> {
    // The revision of the move that goes with it: no two failures of a task have the same.
    let number = step.ledger.revision + 1;
    let worker = found.worker.as_ref().map_or("", |worker| worker.as_str());
    let AttemptFailure { kind, error_kind, message } = failure;
    let error_kind = error_kind.as_ref().map(ErrorKind::as_str);
    step.prepare(sql::NOTE_FAILURE)?
        .execute((found.key, number, step.now_micros(), found.attempt, worker, kind.as_str(), message, error_kind))
        .or_store()?;
    step.prepare(sql::TRIM_FAILURES)?.execute((found.key, sql::count(MAX_ERRORS_KEPT))).or_store()?;
    Ok(())
}
