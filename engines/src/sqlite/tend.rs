//! What time brings about: due tasks join their queues, expired leases are taken back.

use jobbers_common::{
    engine::{Reclaimed, Result},
    lifecycle::{Move, Status},
    name::{TaskId, WorkerId},
    policy::{DeadLetter, PolicyOverrides, TaskPolicy},
    suspicion::{Judgement, Suspicion},
    task::{AttemptFailure, FailureKind},
    time::Timestamp,
    transition::Transition,
};
use rusqlite::Row;

use super::{
    due::{self, Chore},
    error::{OrStore, corrupt},
    find::find,
    losses,
    moves::{self, Attempt},
    row::Columns,
    sql,
    step::Step,
};

/// How many queues a chore looks at together, and how many in all.
const QUEUES_AT_ONCE: usize = 100;
const MOST_QUEUES: usize = 1_000;

/// Moves up to `limit` due tasks of any queue to their ends, the longest due first. Returns how many.
pub(super) fn promote_all(step: &mut Step<'_>, limit: usize) -> Result<u64> {
    let mut promoted = 0;
    walk(step, Chore::Promote, limit, due::next_promotion, |step, queues, limit| {
        let count = promote_due(step, queues, limit)?;
        promoted += count as u64;
        Ok(count)
    })?;
    Ok(promoted)
}

/// Takes up to `limit` expired leases of any queue back, the longest ago first.
pub(super) fn reclaim_all(step: &mut Step<'_>, limit: usize) -> Result<Reclaimed> {
    let mut total = Reclaimed::default();
    walk(step, Chore::Reclaim, limit, due::next_expiry, |step, queues, limit| {
        let reclaimed = reclaim_expired(step, queues, limit)?;
        total += reclaimed;
        Ok(usize::try_from(reclaimed.total()).unwrap_or(limit))
    })?;
    Ok(total)
}

/// Does a chore in the queues it is due in, group by group, until it has come to `limit` tasks; and notes when it is due in
/// them next.
fn walk(
    step: &mut Step<'_>,
    chore: Chore,
    limit: usize,
    next: fn(&Step<'_>, i64) -> Result<Option<i64>>,
    mut act: impl FnMut(&mut Step<'_>, &[i64], usize) -> Result<usize>,
) -> Result<()> {
    let (mut done, mut looked_at) = (0, 0);
    while done < limit && looked_at < MOST_QUEUES {
        let queues = due::queues(step, chore, QUEUES_AT_ONCE)?;
        if queues.is_empty() {
            break;
        }
        done += act(step, &queues, limit - done)?;
        for queue in &queues {
            let next = next(step, *queue)?;
            due::looked(step, chore, *queue, next)?;
        }
        looked_at += queues.len();
    }
    Ok(())
}

/// Moves up to `limit` due tasks of these queues to their ends, the longest due first. Returns how many.
pub(super) fn promote_due(step: &mut Step<'_>, queues: &[i64], limit: usize) -> Result<usize> {
    let mut promoted = 0;
    let mut search = Search::new(sql::DUE_TASKS, queues, limit);
    while promoted < limit {
        let due = search.next(step, limit - promoted, |row, queue| Ok((row.get::<_, i64>(2).or_store()?, queue)))?;
        if due.is_empty() {
            break;
        }
        for (key, queue) in &due {
            let revision = step.next_revision();
            step.prepare(sql::PROMOTE_TASK)?.execute((key, revision)).or_store()?;
            step.note_moved(*key, *queue, Status::Scheduled, Move::Promote, Status::Submitted)?;
        }
        promoted += due.len();
    }
    Ok(promoted)
}

/// A lease that has ended.
struct Expired {
    id: TaskId,
    worker: WorkerId,
    started_at: Timestamp,
    blames: u32,
    suspicion: Suspicion,
    overrides: PolicyOverrides,
}

/// Takes up to `limit` expired leases of these queues back, the longest ago first.
pub(super) fn reclaim_expired(step: &mut Step<'_>, queues: &[i64], limit: usize) -> Result<Reclaimed> {
    let mut reclaimed = Reclaimed::default();
    let mut search = Search::new(sql::EXPIRED_LEASES, queues, limit);
    let mut left = limit;
    while left > 0 {
        let expired = search.next(step, left, read_expired)?;
        if expired.is_empty() {
            break;
        }
        left -= expired.len();
        for expired in expired {
            match reclaim(step, &expired)? {
                Status::Cancelled => reclaimed.cancelled += 1,
                Status::Failed => reclaimed.failed += 1,
                _ => reclaimed.requeued += 1,
            }
        }
    }
    Ok(reclaimed)
}

fn reclaim(step: &mut Step<'_>, expired: &Expired) -> Result<Status> {
    let Expired { id, worker, started_at, blames, suspicion, overrides } = expired;
    let Judgement { suspicion, is_blamed } = losses::loss_of(step, worker, *started_at)?.judge(*suspicion);
    let found = &find(step, id)?.ok_or_else(|| corrupt("the index of leases", id))?;
    step.prepare(sql::LOSE_LEASE)?.execute((found.key, u8::from(is_blamed), suspicion.level())).or_store()?;
    let message = format!("the worker {worker} vanished: its lease ended");
    let failure = AttemptFailure::new(FailureKind::Crash, message);
    let is_poison = is_blamed && blames + 1 >= overrides.max_crashes.unwrap_or(TaskPolicy::DEFAULT.max_crashes);
    let transition = Transition::of_lost_lease(found.cancel_requested, is_poison, overrides.keeps_poison());
    moves::leave(step, id, found, &transition, &Attempt { failure: Some(&failure), ..Attempt::default() })
}

fn read_expired(row: &Row<'_>, _queue: i64) -> Result<Expired> {
    let mut columns = Columns::of(row);
    let _expires_at: i64 = columns.take()?;
    Ok(Expired {
        id: columns.name(TaskId::new)?,
        worker: columns.name(WorkerId::new)?,
        started_at: columns.time()?,
        blames: columns.take()?,
        suspicion: Suspicion::new(columns.take()?),
        // A policy that can't be read does not keep a task from ending. No copy is made: it could not be read either.
        overrides: columns
            .overrides()
            .unwrap_or_else(|_| PolicyOverrides { dead_letter: Some(DeadLetter::None), ..PolicyOverrides::default() }),
    })
}

/// A search for what is overdue in several queues, as one sequence by time and then id, which are a row's first columns.
///
/// What has been found is to be moved out of the index before the next piece is asked for. A piece reads a few rows of each
/// queue and ends before the first that might lie behind a row it has not read, so that many queues with many tasks each
/// are not read whole; the next piece reads more of each.
struct Search<'q> {
    sql: &'static str,
    queues: &'q [i64],
    /// How many rows of each queue the next piece reads.
    chunk: usize,
}

impl<'q> Search<'q> {
    fn new(sql: &'static str, queues: &'q [i64], limit: usize) -> Self {
        Self { sql, queues, chunk: (2 * limit / queues.len().max(1)).max(16) }
    }

    fn next<T>(&mut self, step: &Step<'_>, limit: usize, read: impl Fn(&Row<'_>, i64) -> Result<T>) -> Result<Vec<T>> {
        let chunk = self.chunk.min(limit);
        self.chunk = self.chunk.saturating_mul(4);
        let mut found: Vec<((i64, String), T)> = Vec::new();
        // The last row read of a queue that may hold more.
        let mut end: Option<(i64, String)> = None;
        let mut statement = step.prepare(self.sql)?;
        for queue in self.queues {
            let before = found.len();
            let mut rows = statement.query((queue, step.now_micros(), sql::count(chunk))).or_store()?;
            while let Some(row) = rows.next().or_store()? {
                let place = (row.get(0).or_store()?, row.get(1).or_store()?);
                found.push((place, read(row, *queue)?));
            }
            let last = found.last().filter(|_| found.len() - before == chunk).map(|(place, _)| place);
            if let Some(last) = last.filter(|last| end.as_ref().is_none_or(|end| *last < end)) {
                end = Some(last.clone());
            }
        }
        if self.queues.len() > 1 {
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        let is_sure = |(place, _): &((i64, String), T)| end.as_ref().is_none_or(|end| place <= end);
        Ok(found.into_iter().take_while(is_sure).take(limit).map(|(_, task)| task).collect())
    }
}
