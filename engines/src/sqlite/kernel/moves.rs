//! The ways out of a lease, and the one way a task ends.
//!
//! Every end of a task passes [`end`], and every started task that goes back to its queue passes [`requeue`]. What follows
//! for the features (limits, dependencies, dead letters) is behind the hooks that both call. A [`Transition`] decides
//! which of the two it is.

use jobbers_common::{
    engine::Result,
    lifecycle::{Move, Status},
    name::TaskId,
    outcome::transition::{Return, Transition, UnknownMark},
    payload::Payload,
    task::AttemptFailure,
};

use super::{
    chore::Chore,
    failures::note_failure,
    find::Found,
    step::{Step, TaskEnd},
};
use crate::sqlite::{sql, store::error::OrStore};

/// What the end of an attempt stores besides its [`Transition`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AttemptEnd<'a> {
    /// Whether a settlement ended it. A task that ends so keeps its fence, by which a repeated settlement is
    /// recognised.
    pub(crate) is_settled: bool,
    /// Its failure, if it had one.
    pub(crate) failure: Option<&'a AttemptFailure>,
    /// Its span, if it is to be kept.
    pub(crate) span: Option<&'a str>,
    /// Its result, if it had one.
    pub(crate) result: Option<&'a Payload>,
}

/// Carries out the end of an attempt. Returns the task's status now.
pub(crate) fn leave(
    step: &mut Step<'_>,
    id: &TaskId,
    found: &Found,
    transition: &Transition,
    attempt: &AttemptEnd<'_>,
) -> Result<Status> {
    let Transition { event, to, back, notes_failure, dead_letter, unknown, .. } = *transition;
    if let Some(failure) = attempt.failure.filter(|_| notes_failure) {
        note_failure(step, found, failure)?;
    }
    if unknown == UnknownMark::Clear {
        step.prepare(sql::FORGET_UNKNOWN_TASK)?.execute([found.key]).or_store()?;
    }
    match back {
        Some(back) => requeue(step, found, transition, back, attempt.span)?,
        None => {
            let result = attempt.result.filter(|_| to == Status::Completed);
            let fence = found.fence.filter(|_| attempt.is_settled);
            end(step, id, found, &TaskEnding { event, to, dead_letter, fence, span: attempt.span, result })?;
        }
    }
    Ok(to)
}

/// How a task ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskEnding<'a> {
    event: Move,
    to: Status,
    dead_letter: bool,
    /// The fence of the settlement that ended it, if one did.
    fence: Option<i64>,
    span: Option<&'a str>,
    result: Option<&'a Payload>,
}

impl TaskEnding<'_> {
    /// Cancelled without a worker.
    pub(crate) const CANCELLED: Self =
        Self { event: Move::Cancel, to: Status::Cancelled, dead_letter: false, fence: None, span: None, result: None };
    /// Aborted by the end of a predecessor.
    pub(crate) const ABORTED: Self = Self { event: Move::Abort, to: Status::Aborted, ..Self::CANCELLED };
    /// Completed without a worker, because its predecessors have ended.
    pub(crate) const SPONTANEOUS: Self = Self { event: Move::Signal, to: Status::Completed, ..Self::CANCELLED };

    /// Dropped because it expired.
    pub(crate) const fn expired(dead_letter: bool) -> Self {
        Self { event: Move::Drop, to: Status::Dropped, dead_letter, ..Self::CANCELLED }
    }
}

/// Ends a task. Every end of a task passes here.
pub(crate) fn end(step: &mut Step<'_>, id: &TaskId, found: &Found, ending: &TaskEnding<'_>) -> Result<()> {
    step.hooks.leaving(step, found.key, found.queue, found.status)?;
    let (revision, now) = (step.next_revision(), step.now_micros());
    let TaskEnding { event, to, dead_letter, fence, span, result } = *ending;
    let (result_type, result) =
        result.map_or((None, None), |result| (result.content_type.as_deref(), Some(&result.bytes[..])));
    let most = i64::try_from(step.catalog().keep_parameters(found.queue)).unwrap_or(i64::MAX);
    step.prepare(sql::END_TASK)?
        .execute((found.key, to.code(), revision, now, fence, dead_letter, span, result_type, result, most))
        .or_store()?;
    if to == Status::Completed && found.has_large_parameters {
        step.prepare(sql::LET_LARGE_PARAMETERS_GO)?.execute((found.key, most)).or_store()?;
    }
    step.note_moved(found.key, found.queue, found.status, event, to)?;
    step.note_finished(id.clone());
    let Found { key, status: from, is_linked, .. } = *found;
    step.hooks.ended(step, &TaskEnd { id, key, from, to, revision, is_linked, dead_letter })
}

/// Puts a started task back into its queue.
fn requeue(
    step: &mut Step<'_>,
    found: &Found,
    transition: &Transition,
    back: Return,
    span: Option<&str>,
) -> Result<()> {
    step.hooks.leaving(step, found.key, found.queue, found.status)?;
    let Transition { event, to, counts, ran, .. } = *transition;
    let revision = step.next_revision();
    let ready_at = match back {
        Return::OldPlace => None,
        Return::After(delay) => Some(step.now.after(delay).as_micros()),
    };
    step.prepare(sql::REQUEUE_TASK)?
        .execute((found.key, to.code(), revision, ready_at, u8::from(!counts), span, ran))
        .or_store()?;
    if let Some(at) = ready_at.filter(|_| to == Status::Scheduled) {
        step.note_due(Chore::Promote, found.queue, at);
    }
    step.note_moved(found.key, found.queue, found.status, event, to)
}
