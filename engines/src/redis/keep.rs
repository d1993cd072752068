//! Chores: promote, reclaim, purge, move.

use jobbers_common::{
    engine::{Error, Reclaimed, Result, keep::validate_move, look::validate_limit},
    name::QueueName,
};
use redis::{Cmd, Value};

use super::{
    reply::{number, text, tuple},
    script,
    store::Store,
};

/// Scripts that one call runs at most, where many queues have little to do each.
const PIECES: usize = 16;

/// Moves due tasks to their queues.
pub(super) async fn promote_due(store: &Store, limit: usize) -> Result<u64> {
    validate_limit(limit)?;
    let mut promoted = 0;
    for _ in 0..PIECES {
        let left = limit as u64 - promoted;
        let add = |command: &mut Cmd| {
            command.arg(left);
        };
        let [moved, more] = tuple(store.run(&store.bulk, &script::PROMOTE, add).await?)?;
        promoted += number(moved)?;
        if number(more)? == 0 || promoted >= limit as u64 {
            break;
        }
    }
    Ok(promoted)
}

/// Takes expired leases back.
pub(super) async fn reclaim_expired(store: &Store, limit: usize) -> Result<Reclaimed> {
    validate_limit(limit)?;
    let mut all = Reclaimed::default();
    for _ in 0..PIECES {
        let left = limit as u64 - all.total();
        let add = |command: &mut Cmd| {
            command.arg(left);
        };
        let [requeued, failed, cancelled, more] = tuple(store.run(&store.bulk, &script::RECLAIM, add).await?)?;
        all.requeued += number(requeued)?;
        all.failed += number(failed)?;
        all.cancelled += number(cancelled)?;
        if number(more)? == 0 || all.total() >= limit as u64 {
            break;
        }
    }
    Ok(all)
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
