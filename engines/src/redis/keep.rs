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
