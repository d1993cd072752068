//! Maintenance that time makes necessary: promotes due tasks and takes expired leases back.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use jobbers_common::{
    engine::{Reclaimed, Result},
    lifecycle::{Move, Status},
    name::{TaskId, WorkerId},
    outcome::transition::Transition,
    policy::{DeadLetter, PolicyOverrides},
    task::{AttemptFailure, FailureKind, suspicion::Suspicion},
    time::Timestamp,
};
use rusqlite::{Row, types::FromSql};

use crate::sqlite::{
    follow::{dependency::backlog, losses::Losses},
    kernel::{
        chore::Chore,
        due,
        find::find,
        moves::{self, AttemptEnd},
        record,
        row::Columns,
        step::Step,
    },
    sql,
    store::error::{OrStore, corrupt},
};

/// How many queues a chore handles together, and how many in total.
const QUEUES_AT_ONCE: usize = 100;
const MOST_QUEUES: usize = 1_000;
/// The least number of rows of a queue that a search for overdue tasks reads.
const LEAST_READ: usize = 16;

/// Moves up to `limit` due tasks of any queue to their ends, the longest due first. Returns how many.
pub(crate) fn promote_all(step: &mut Step<'_>, limit: usize) -> Result<u64> {
    backlog::work_off(step)?;
    let mut promoted = 0;
    walk(step, Chore::Promote, limit, due::next_promotion, |step, queues, limit| {
        let count = promote_due(step, queues, limit)?;
        promoted += count as u64;
        Ok(count)
    })?;
    Ok(promoted)
}

/// Takes up to `limit` expired leases of any queue back, the longest ago first.
pub(crate) fn reclaim_all(step: &mut Step<'_>, limit: usize) -> Result<Reclaimed> {
    let mut total = Reclaimed::default();
    walk(step, Chore::Reclaim, limit, due::next_expiry, |step, queues, limit| {
        let reclaimed = reclaim_expired(step, queues, limit)?;
        let count = usize::try_from(reclaimed.total()).unwrap_or(limit);
        total += reclaimed;
        Ok(count)
    })?;
    Ok(total)
}

/// Does a chore in the queues where it is due, group by group, until it has handled `limit` tasks, and notes when it is
/// due there next.
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
pub(crate) fn promote_due(step: &mut Step<'_>, queues: &[i64], limit: usize) -> Result<usize> {
    let read = |row: &Row<'_>, queue| Ok((row.get::<_, i64>("key").or_store()?, queue));
    let due = overdue::<String, _>(step, (sql::DUE_TASKS, ["ready_at", "id"]), queues, limit, read)?;
    for (key, queue) in &due {
        promote(step, *key, *queue)?;
    }
    Ok(due.len())
}

/// Moves a due task to the end of its queue.
pub(super) fn promote(step: &mut Step<'_>, key: i64, queue: i64) -> Result<()> {
    let revision = step.next_revision();
    step.prepare(sql::PROMOTE_TASK)?.execute((key, revision)).or_store()?;
    step.note_moved(key, queue, Status::Scheduled, Move::Promote, Status::Submitted)
}

/// A lease that has ended.
struct Expired {
    id: TaskId,
    worker: WorkerId,
    started_at: Timestamp,
    expires_at: Timestamp,
    blames: u32,
    suspicion: Suspicion,
    overrides: PolicyOverrides,
}

/// Takes up to `limit` expired leases of these queues back, the longest ago first.
pub(crate) fn reclaim_expired(step: &mut Step<'_>, queues: &[i64], limit: usize) -> Result<Reclaimed> {
    let mut reclaimed = Reclaimed::default();
    let mut losses = Losses::default();
    for expired in
        overdue::<i64, _>(step, (sql::EXPIRED_LEASES, ["lease_expires_at", "key"]), queues, limit, read_expired)?
    {
        let (status, key) = reclaim(step, &mut losses, &expired)?;
        if status.is_finished() {
            reclaimed.ended.push(record::lost(step, key)?);
        } else {
            reclaimed.requeued += 1;
        }
    }
    Ok(reclaimed)
}

/// Returns the task's status now, and its key.
fn reclaim(step: &mut Step<'_>, losses: &mut Losses, expired: &Expired) -> Result<(Status, i64)> {
    let Expired { id, worker, started_at, expires_at, blames, suspicion, overrides } = expired;
    let is_blamed = losses.take(step, worker, *started_at, *suspicion)?.blames(*suspicion);
    let suspicion = suspicion.lost_again(*started_at, *expires_at);
    let found = &find(step, id)?.ok_or_else(|| corrupt("the index of leases", id))?;
    let note = (found.key, u8::from(is_blamed), suspicion.losses(), suspicion.ran_s());
    step.prepare(sql::LOSE_LEASE)?.execute(note).or_store()?;
    let message = format!("the worker {worker} vanished: its lease ended");
    let failure = AttemptFailure::new(FailureKind::Crash, message);
    let is_poison = is_blamed && overrides.blames_allowed().is_some_and(|allowed| blames + 1 >= allowed);
    let (saves, tries) = (overrides.keeps_poison(), overrides.tries(found.attempt));
    let transition = Transition::of_lost_lease(found.cancel_requested, is_poison, saves, tries);
    let attempt = AttemptEnd { failure: Some(&failure), ..AttemptEnd::default() };
    Ok((moves::leave(step, id, found, &transition, &attempt)?, found.key))
}

fn read_expired(row: &Row<'_>, _queue: i64) -> Result<Expired> {
    let mut columns = Columns::of(row);
    let (expires_at, _key): (Timestamp, i64) = (columns.time("lease_expires_at")?, columns.take("key")?);
    Ok(Expired {
        id: columns.name("id", TaskId::new)?,
        worker: columns.name("worker", WorkerId::new)?,
        started_at: columns.time("started_at")?,
        expires_at,
        blames: columns.take("blames")?,
        suspicion: Suspicion::new(columns.take("losses")?, columns.take("ran_s")?),
        // A policy that can't be read does not prevent a task's end. No copy is made, because it could not be read
        // either.
        overrides: columns
            .overrides("overrides")
            .unwrap_or_else(|_| PolicyOverrides { dead_letter: Some(DeadLetter::None), ..PolicyOverrides::default() }),
    })
}

/// The overdue tasks of several queues: up to `limit` rows as one sequence by the two columns of the statement that are named,
/// a time and a tie-break.
///
/// It reads a few rows of each queue, and more of the queues whose rows come first, so that many queues with many tasks
/// are not read whole.
fn overdue<K: Ord + Clone + FromSql, T>(
    step: &Step<'_>,
    (sql, [time, tie_break]): (&'static str, [&str; 2]),
    queues: &[i64],
    limit: usize,
    read: impl Fn(&Row<'_>, i64) -> Result<T>,
) -> Result<Vec<T>> {
    let at_first = (2 * limit / queues.len().max(1)).max(LEAST_READ).min(limit);
    let mut statement = step.prepare(sql)?;
    let mut sources = Vec::with_capacity(queues.len());
    let mut heads = BinaryHeap::with_capacity(queues.len());
    let mut fill = |source: &mut QueueSource<K, T>| -> Result<_> {
        let (queue, wanted) = (source.queue, source.read.max(at_first));
        let mut rows =
            statement.query((queue, step.now_micros(), sql::count(wanted), sql::count(source.read))).or_store()?;
        while let Some(row) = rows.next().or_store()? {
            let place = (row.get(time).or_store()?, row.get(tie_break).or_store()?);
            source.rows.push_back((place, read(row, queue)?));
        }
        source.has_more = source.rows.len() == wanted;
        source.read += source.rows.len();
        Ok(source.rows.front().map(|(place, _)| place.clone()))
    };
    for (number, queue) in queues.iter().enumerate() {
        let mut source = QueueSource { queue: *queue, rows: VecDeque::new(), read: 0, has_more: true };
        heads.extend(fill(&mut source)?.map(|place| Reverse((place, number))));
        sources.push(source);
    }
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(Reverse((_, number))) = heads.pop()
    {
        let Some(source) = sources.get_mut(number) else { break };
        found.extend(source.rows.pop_front().map(|(_, row)| row));
        let next = match source.rows.front() {
            Some((place, _)) => Some(place.clone()),
            None if source.has_more => fill(source)?,
            None => None,
        };
        heads.extend(next.map(|place| Reverse((place, number))));
    }
    Ok(found)
}

/// A queue in the search for overdue tasks.
struct QueueSource<K, T> {
    queue: i64,
    /// Rows that were read and not taken yet.
    rows: VecDeque<((i64, K), T)>,
    /// How many rows were read.
    read: usize,
    has_more: bool,
}
