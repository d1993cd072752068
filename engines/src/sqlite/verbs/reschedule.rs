//! Scheduled tasks that get another time.

use jobbers_common::{
    engine::{Rescheduled, Result},
    lifecycle::Status,
    name::TaskId,
    task::Start,
    time::Timestamp,
};

use super::maintain::promote;
use crate::sqlite::{
    kernel::{chore::Chore, find::find, step::Step},
    sql,
    store::error::OrStore,
};

/// Gives scheduled tasks another time from which they may start.
pub(crate) fn reschedule(step: &mut Step<'_>, ids: &[TaskId], start: Start) -> Result<Vec<Rescheduled>> {
    let due = start.due(step.now);
    ids.iter().map(|id| reschedule_one(step, id, due)).collect()
}

fn reschedule_one(step: &mut Step<'_>, id: &TaskId, due: Timestamp) -> Result<Rescheduled> {
    let Some(found) = find(step, id)? else { return Ok(Rescheduled::Unknown) };
    if found.status != Status::Scheduled {
        return Ok(Rescheduled::NotScheduled(found.status));
    }
    let revision = step.next_revision();
    step.prepare(sql::RESCHEDULE_TASK)?.execute((found.key, due.as_micros(), revision)).or_store()?;
    if due > step.now {
        step.note_due(Chore::Promote, found.queue, due.as_micros());
        return Ok(Rescheduled::Done(Status::Scheduled));
    }
    promote(step, found.key, found.queue)?;
    Ok(Rescheduled::Done(Status::Submitted))
}
