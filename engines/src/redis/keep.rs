//! Chores: promote, reclaim, prune, purge.

use jobbers_common::{
    engine::{Error, PruneRequest, PruneScope, Pruned, Reclaimed, Result, keep::validate_move, look::validate_limit},
    name::QueueName,
    queue::Retention,
    task::Task,
    time::Timestamp,
};
use redis::{Cmd, Value};

use super::{
    arrange,
    record::time,
    reply::{array, bytes, number, text, tuple},
    script,
    state::{Seen, read_view},
    store::Store,
};

/// Moves due tasks to their queues.
pub(super) async fn promote_due(store: &Store, limit: usize) -> Result<u64> {
    validate_limit(limit)?;
    number(
        store
            .run(&store.bulk, &script::PROMOTE, |command| {
                command.arg(limit);
            })
            .await?,
    )
}

/// Takes expired leases back.
pub(super) async fn reclaim_expired(store: &Store, limit: usize) -> Result<Reclaimed> {
    validate_limit(limit)?;
    let answer = store
        .run(&store.bulk, &script::RECLAIM, |command| {
            command.arg(limit);
        })
        .await?;
    let [requeued, failed, cancelled] = tuple(answer)?;
    Ok(Reclaimed { requeued: number(requeued)?, failed: number(failed)?, cancelled: number(cancelled)? })
}

/// Deletes what is neither running nor over.
pub(super) async fn purge_queue(store: &Store, queue: &QueueName, limit: usize) -> Result<u64> {
    validate_limit(limit)?;
    let add = |command: &mut Cmd| {
        command.arg(queue.as_str()).arg(limit);
    };
    match store.run(&store.bulk, &script::PURGE, add).await? {
        Value::Int(-1) => Err(Error::UnknownQueue(queue.clone())),
        purged => number(purged),
    }
}

/// Moves what is neither running nor over to another queue.
pub(super) async fn move_tasks(store: &Store, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
    validate_move(from, to, limit)?;
    let add = |command: &mut Cmd| {
        command.arg(from.as_str()).arg(to.as_str()).arg(limit);
    };
    match store.run(&store.bulk, &script::MOVE, add).await? {
        Value::Int(moved) => number(Value::Int(moved)),
        unknown => Err(Error::UnknownQueue(if text(unknown)? == from.as_str() { from.clone() } else { to.clone() })),
    }
}

/// A cursor of pruning: `queue|revision`, from which on and after which.
fn read_cursor(cursor: &str) -> Result<(QueueName, String)> {
    let foreign = || Error::Invalid("this cursor is not from this store".to_owned());
    let (queue, revision) = cursor.split_once('|').ok_or_else(foreign)?;
    if !matches!(revision.len(), 0 | 15) || !revision.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(foreign());
    }
    Ok((QueueName::new(queue).map_err(|_| foreign())?, revision.to_owned()))
}

/// A piece of one queue's finished tasks, oldest first.
struct Piece {
    now: Timestamp,
    /// Finished tasks of the queue that are newer than all of these.
    newer: u64,
    seen: Vec<Seen>,
    /// For each, the bytes of what lies apart from its record, if that was asked for.
    apart: Vec<u64>,
}

async fn piece(store: &Store, queue: &QueueName, after: &str, limit: usize, with_sizes: bool) -> Result<Piece> {
    let add = |command: &mut Cmd| {
        command.arg(queue.as_str()).arg(after).arg(limit).arg(u8::from(with_sizes));
    };
    let mut answer = array(store.run(&store.bulk, &script::FINISHED, add).await?)?.into_iter();
    let now = time(&bytes(answer.next().unwrap_or(Value::Nil))?)?;
    let newer = number(answer.next().unwrap_or(Value::Nil))?;
    let apart = array(answer.next().unwrap_or(Value::Nil))?.into_iter().map(number).collect::<Result<_>>()?;
    Ok(Piece { now, newer, seen: answer.map(read_view).collect::<Result<_>>()?, apart })
}

/// Deletes finished tasks, looking at up to [`PruneRequest::limit`] of them.
pub(super) async fn prune(store: &Store, request: &PruneRequest) -> Result<Pruned> {
    request.validate()?;
    let (mut from, mut after) = match &request.cursor {
        Some(cursor) => read_cursor(cursor).map(|(queue, after)| (Some(queue), after))?,
        None => (None, String::new()),
    };
    let config = arrange::read(store).await?;
    let mut pruned = Pruned::default();
    let mut left = request.limit;
    for (queue, settings) in &config.queues {
        let is_wanted = match &request.scope {
            PruneScope::Retention => true,
            PruneScope::Matching { filter, .. } => filter.queue.as_ref().is_none_or(|wanted| wanted == queue),
        };
        if !is_wanted || from.as_ref().is_some_and(|from| queue < from) {
            continue;
        }
        if from.take().is_none_or(|from| from != *queue) {
            after.clear();
        }
        if left == 0 {
            pruned.next = Some(format!("{queue}|"));
            return Ok(pruned);
        }
        if request.scope == PruneScope::Retention && after.is_empty() {
            // Most often there is nothing to do: then the oldest one tells, and the rest is not read.
            let oldest = piece(store, queue, "", 1, false).await?;
            if doomed(&oldest, &request.scope, &settings.retention).is_empty() {
                continue;
            }
        }
        let with_sizes = matches!(request.scope, PruneScope::Matching { larger_than: Some(_), .. });
        let piece = piece(store, queue, &after, left, with_sizes).await?;
        let is_whole = piece.seen.len() < left;
        let doomed = doomed(&piece, &request.scope, &settings.retention);
        let ends_here = request.scope == PruneScope::Retention && doomed.len() < piece.seen.len();
        pruned.removed += if request.dry_run { doomed.len() as u64 } else { delete(store, queue, &doomed).await? };
        left -= piece.seen.len();
        match piece.seen.last() {
            Some(last) if !is_whole && !ends_here => {
                pruned.next = Some(format!("{queue}|{}", last.place));
                return Ok(pruned);
            }
            _ => {}
        }
    }
    Ok(pruned)
}

/// Which of a piece are to go. By retention these are its oldest.
fn doomed<'a>(piece: &'a Piece, scope: &PruneScope, retention: &Retention) -> Vec<&'a Seen> {
    let is_past = |task: &Task, newer: u64| {
        newer >= retention.count || task.completed_at.is_some_and(|at| at.after(retention.age) <= piece.now)
    };
    let bytes = |place: usize, task: &Task| {
        let kept = task.parameters.as_ref().map_or(0, |parameters| parameters.len() as u64);
        kept + piece.apart.get(place).copied().unwrap_or_default()
    };
    let newest_first = piece.seen.iter().enumerate().rev();
    let mut doomed: Vec<&Seen> = newest_first
        .zip(piece.newer..)
        .filter(|((place, seen), newer)| match scope {
            PruneScope::Retention => is_past(&seen.task, *newer),
            PruneScope::Matching { filter, finished_before, larger_than } => {
                let over_before = |before| seen.task.completed_at.is_some_and(|at| at < before);
                filter.matches(&seen.task)
                    && finished_before.is_none_or(over_before)
                    && larger_than.is_none_or(|than| bytes(*place, &seen.task) > than)
            }
        })
        .map(|((_, seen), _)| seen)
        .collect();
    doomed.reverse();
    doomed
}

async fn delete(store: &Store, queue: &QueueName, doomed: &[&Seen]) -> Result<u64> {
    if doomed.is_empty() {
        return Ok(0);
    }
    let add = |command: &mut Cmd| {
        command.arg(queue.as_str());
        doomed.iter().for_each(|seen| {
            command.arg(seen.task.id.as_str()).arg(&seen.place);
        });
    };
    number(store.run(&store.bulk, &script::PRUNE, add).await?)
}
