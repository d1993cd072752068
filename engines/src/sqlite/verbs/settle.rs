//! The end of an attempt, settled with its fence.

use jobbers_common::{
    engine::{Outcome, Result, SettleAnswer, Settlement},
    lifecycle::Status,
    outcome::transition::{Facts, Transition, is_repetition},
    policy::Tries,
    task::{AttemptFailure, Fence, Task},
    time::Timestamp,
};

use crate::sqlite::{
    follow::history,
    kernel::{
        find::{Found, find},
        heartbeat::note_heartbeat,
        moves::{self, AttemptEnd},
        step::Step,
    },
    read::tasks,
    sql,
    store::error::OrStore,
};

/// Settles a batch, each settlement independently.
pub(crate) fn settle(step: &mut Step<'_>, settlements: &[Settlement]) -> Result<Vec<SettleAnswer>> {
    settlements.iter().map(|settlement| settle_one(step, settlement)).collect()
}

fn settle_one(step: &mut Step<'_>, settlement: &Settlement) -> Result<SettleAnswer> {
    let Settlement { id, fence, .. } = settlement;
    let fence = stored(*fence);
    let Some(found) = find(step, id)?.filter(|found| found.fence == Some(fence)) else {
        return Ok(SettleAnswer::LeaseLost);
    };
    if found.status.is_finished() {
        // The settlement that ended the task had this fence.
        let is_it = |task: &Task| is_repetition(&settlement.outcome, task, found.cancel_requested);
        let ended = tasks::get(&step.view()?, id)?.filter(is_it);
        return Ok(ended.map_or(SettleAnswer::LeaseLost, |task| SettleAnswer::Accepted(task.status)));
    }
    let status = end_attempt(step, &found, settlement)?;
    Ok(SettleAnswer::Accepted(status))
}

/// A fence as stored; one that can't be stored was never given out.
pub(crate) fn stored(fence: Fence) -> i64 {
    i64::try_from(fence.0).unwrap_or(-1)
}

fn end_attempt(step: &mut Step<'_>, found: &Found, settlement: &Settlement) -> Result<Status> {
    let Settlement { id, outcome, .. } = settlement;
    if let Some(heartbeat) = &settlement.heartbeat {
        note_heartbeat(step, found.key, heartbeat)?;
    }
    let unknown_since = match outcome {
        Outcome::Unknown { .. } => Some(note_unknown_since(step, found)?),
        _ => None,
    };
    let tries = match outcome {
        Outcome::Retry { .. } | Outcome::Released { .. } => found.tries()?,
        _ => Tries::Unlimited,
    };
    let facts = Facts { now: step.now, cancel_requested: found.cancel_requested, unknown_since, tries };
    let transition = Transition::of_outcome(outcome, &facts);
    let given_back = AttemptFailure::given_back_at_last_try();
    let attempt = AttemptEnd {
        is_settled: true,
        failure: Some(outcome.failure().unwrap_or(&given_back)),
        span: settlement.span_to_keep(),
        result: match outcome {
            Outcome::Completed { result } => result.as_ref(),
            _ => None,
        },
    };
    if let Some(started_at) = found.started_at {
        history::note_ran(step, found.queue, started_at);
    }
    moves::leave(step, id, found, &transition, &attempt)
}

/// Since when workers have been giving a task back as unknown.
fn note_unknown_since(step: &Step<'_>, found: &Found) -> Result<Timestamp> {
    let mut statement = step.prepare(sql::NOTE_UNKNOWN_TASK)?;
    let since = statement.query_row((found.key, step.now_micros()), |row| row.get(0)).or_store()?;
    Ok(Timestamp::from_micros(since))
}
