//! Changes of a running task from outside: its lease is renewed, or it is cancelled.

use std::time::Duration;

use jobbers_common::{
    engine::{Cancelled, ExtendAnswer, Extension, Result},
    lifecycle::Status,
    name::{TaskId, WorkerId},
};

use super::settle;
use crate::sqlite::{
    follow::dependency::ends,
    kernel::{
        chore::Chore,
        find::{Found, find},
        heartbeat::note_heartbeat,
        ledger::Notification,
        moves::{self, TaskEnding},
        step::Step,
    },
    sql,
    store::error::OrStore,
};

/// Renews leases, each one independently.
pub(crate) fn extend(
    step: &mut Step<'_>,
    worker: &WorkerId,
    lease: Duration,
    extensions: &[Extension],
) -> Result<Vec<ExtendAnswer>> {
    let expires_at = step.now.after(lease).as_micros();
    extensions.iter().map(|extension| extend_one(step, worker, expires_at, extension)).collect()
}

fn extend_one(step: &mut Step<'_>, worker: &WorkerId, expires_at: i64, extension: &Extension) -> Result<ExtendAnswer> {
    let fence = Some(settle::stored(extension.fence));
    let is_held = |found: &Found| {
        found.status == Status::Started && found.fence == fence && found.worker.as_ref() == Some(worker)
    };
    let Some(found) = find(step, &extension.id)?.filter(is_held) else { return Ok(ExtendAnswer::LeaseLost) };
    step.prepare(sql::EXTEND_LEASE)?.execute((found.key, expires_at)).or_store()?;
    // Usually later than the noted time, but a shorter lease is not.
    step.note_due(Chore::Reclaim, found.queue, expires_at);
    if let Some(heartbeat) = &extension.heartbeat {
        note_heartbeat(step, found.key, heartbeat)?;
    }
    Ok(ExtendAnswer::Extended { cancel_requested: found.cancel_requested })
}

/// Cancels as many of these tasks as one step may, from the first on, and at least one. Returns an answer for each of these.
pub(crate) fn cancel_some(step: &mut Step<'_>, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
    let count = ends::count_ids_in_bounds(step, ids)?;
    cancel(step, &ids[..count])
}

/// Cancels tasks: at once, or by marking them for their workers.
pub(crate) fn cancel(step: &mut Step<'_>, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
    ids.iter().map(|id| cancel_one(step, id)).collect()
}

fn cancel_one(step: &mut Step<'_>, id: &TaskId) -> Result<Cancelled> {
    let Some(found) = find(step, id)? else { return Ok(Cancelled::Unknown) };
    match found.status {
        status if status.is_finished() => Ok(Cancelled::AlreadyOver(status)),
        Status::Started => {
            if !found.cancel_requested {
                step.prepare(sql::REQUEST_CANCEL)?.execute([found.key]).or_store()?;
            }
            step.ledger.notifications.extend(found.worker.map(Notification::Cancel));
            Ok(Cancelled::Requested)
        }
        _ => {
            moves::end(step, id, &found, &TaskEnding::CANCELLED)?;
            Ok(Cancelled::Done)
        }
    }
}
