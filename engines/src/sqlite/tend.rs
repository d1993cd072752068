//! What time brings about: due tasks join their queues, expired leases are taken back.

use jobbers_common::{
    engine::{Reclaimed, Result},
    lifecycle::{Move, Status},
    name::{TaskId, WorkerId},
    policy::{DeadLetter, PolicyOverrides, TaskPolicy},
    task::{AttemptFailure, FailureKind},
    transition::Transition,
};
use rusqlite::Row;

use super::{
    error::{OrStore, corrupt},
    find::find,
    moves::{self, Attempt},
    row::Columns,
    sql,
    step::Step,
};

/// The queues that hold tasks at `status`, of any name.
pub(super) fn queues_with(step: &mut Step<'_>, status: Status) -> Result<Vec<i64>> {
    let tallies = step.view()?.tallies(None)?;
    Ok(tallies.into_iter().filter(|(_, at, _)| *at == status).map(|(queue, _, _)| queue).collect())
}

/// Moves up to `limit` due tasks of these queues to their ends, the longest due first. Answers how many.
pub(super) fn promote_due(step: &mut Step<'_>, queues: &[i64], limit: usize) -> Result<u64> {
    let due = overdue(step, sql::DUE_TASKS, queues, limit, |row, queue| Ok((row.get::<_, i64>(2).or_store()?, queue)))?;
    for (key, queue) in &due {
        let revision = step.next_revision();
        step.prepare(sql::PROMOTE_TASK)?.execute((key, revision)).or_store()?;
        step.note_moved(*key, *queue, Status::Scheduled, Move::Promote, Status::Submitted)?;
    }
    Ok(due.len() as u64)
}

/// A lease that has ended.
struct Expired {
    id: TaskId,
    crashes: u32,
    overrides: PolicyOverrides,
}

/// Takes up to `limit` expired leases of these queues back, the longest ago first.
pub(super) fn reclaim_expired(step: &mut Step<'_>, queues: &[i64], limit: usize) -> Result<Reclaimed> {
    let mut reclaimed = Reclaimed::default();
    for expired in overdue(step, sql::EXPIRED_LEASES, queues, limit, read_expired)? {
        match reclaim(step, &expired)? {
            Status::Cancelled => reclaimed.cancelled += 1,
            Status::Failed => reclaimed.failed += 1,
            _ => reclaimed.requeued += 1,
        }
    }
    Ok(reclaimed)
}

fn reclaim(step: &mut Step<'_>, expired: &Expired) -> Result<Status> {
    let Expired { id, crashes, overrides } = expired;
    let found = &find(step, id)?.ok_or_else(|| corrupt("the index of leases", id))?;
    step.prepare(sql::COUNT_CRASH)?.execute([found.key]).or_store()?;
    let worker = found.worker.as_ref().map_or("?", WorkerId::as_str);
    let message = format!("the worker {worker} vanished: its lease ended");
    let failure = AttemptFailure::new(FailureKind::Crash, message);
    let is_poison = crashes + 1 >= overrides.max_crashes.unwrap_or(TaskPolicy::DEFAULT.max_crashes);
    let saves = overrides.dead_letter == Some(DeadLetter::Save);
    let transition = Transition::of_lost_lease(found.cancel_requested, is_poison, saves);
    moves::leave(step, id, found, &transition, &Attempt { failure: Some(&failure), ..Attempt::default() })
}

fn read_expired(row: &Row<'_>, _queue: i64) -> Result<Expired> {
    let mut columns = Columns::of(row);
    let _expires_at: i64 = columns.take()?;
    let (id, crashes) = (columns.name(TaskId::new)?, columns.take()?);
    // What can't be read bounds nothing; a task is not kept from ending by it.
    Ok(Expired { id, crashes, overrides: columns.overrides().unwrap_or_default() })
}

/// What is overdue in these queues, as one list by time and then id, which are a row's first columns.
fn overdue<T>(
    step: &Step<'_>,
    sql: &str,
    queues: &[i64],
    limit: usize,
    read: impl Fn(&Row<'_>, i64) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found: Vec<((i64, String), T)> = Vec::new();
    let mut statement = step.prepare(sql)?;
    for queue in queues {
        let mut rows = statement.query((queue, step.now_micros(), sql::count(limit))).or_store()?;
        while let Some(row) = rows.next().or_store()? {
            let place = (row.get(0).or_store()?, row.get(1).or_store()?);
            found.push((place, read(row, *queue)?));
        }
    }
    if queues.len() > 1 {
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    Ok(found.into_iter().take(limit).map(|(_, task)| task).collect())
}
