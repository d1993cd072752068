//! Chores: promote, reclaim, purge, delete, move.

use jobbers_common::{
    engine::{
        Error, LostTask, Reclaimed, Result, TaskDeletion,
        reads::validate_limit,
        upkeep::{validate_move, validate_task_deletion},
    },
    name::{QueueName, TaskId},
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        record::Record,
        reply::{array, bytes, number, text, tuple},
        script,
    },
    server::{failure::malformed, store::Store},
};

/// The most scripts that one call runs if many queues have little to do each.
const PIECES: usize = 16;
/// The most tasks that one script moves, so that none holds the server for long.
const PROMOTED_A_PIECE: u64 = 125;
const TIMED_OUT_A_PIECE: usize = 100;
const RECLAIMED_A_PIECE: u64 = 100;
const PURGED_A_PIECE: u64 = 500;
const MOVED_A_PIECE: u64 = 250;
const DELETED_A_PIECE: usize = 250;

/// Whether nothing is left after a script that handled this number of a piece's tasks and reports whether more queues
/// are due.
const fn is_last(done: u64, piece: u64, more: u64) -> bool {
    done < piece && more == 0
}

/// Moves due tasks to their queues.
pub(crate) async fn promote_due(store: &Store, limit: usize) -> Result<u64> {
    validate_limit(limit)?;
    let mut promoted = 0;
    for _ in 0..PIECES {
        let piece = PROMOTED_A_PIECE.min(limit as u64 - promoted);
        let add = |command: &mut Cmd| {
            command.arg(piece).arg(TIMED_OUT_A_PIECE);
        };
        let [moved, more] = tuple(store.run(&store.bulk, &script::PROMOTE, add).await?)?;
        let moved = number(moved)?;
        promoted += moved;
        if is_last(moved, piece, number(more)?) || promoted >= limit as u64 {
            break;
        }
    }
    Ok(promoted)
}

/// Takes expired leases back.
pub(crate) async fn reclaim_expired(store: &Store, limit: usize) -> Result<Reclaimed> {
    validate_limit(limit)?;
    let mut all = Reclaimed::default();
    for _ in 0..PIECES {
        let before = all.total();
        let piece = RECLAIMED_A_PIECE.min(limit as u64 - before);
        let add = |command: &mut Cmd| {
            command.arg(piece);
        };
        let [requeued, ended, more] = tuple(store.run(&store.bulk, &script::RECLAIM, add).await?)?;
        all += read_reclaimed(requeued, ended)?;
        if is_last(all.total() - before, piece, number(more)?) || all.total() >= limit as u64 {
            break;
        }
    }
    Ok(all)
}

/// Reads the result for expired leases: how many tasks went back, and the records of those that ended.
pub(crate) fn read_reclaimed(requeued: Value, ended: Value) -> Result<Reclaimed> {
    Ok(Reclaimed { requeued: number(requeued)?, ended: read_lost(ended)? })
}

/// Reads the records of tasks that a script ended itself.
pub(crate) fn read_lost(ended: Value) -> Result<Vec<LostTask>> {
    let read = |record| {
        let Record { queue, name, version, standing, .. } = Record::decode(bytes(record)?)?;
        Ok(LostTask { queue, name, version, status: standing.status, dead_letter: standing.dead_letter })
    };
    array(ended)?.into_iter().map(read).collect()
}

/// Deletes tasks that are neither running nor over.
pub(crate) async fn purge_queue(store: &Store, queue: &QueueName, limit: usize) -> Result<u64> {
    validate_limit(limit)?;
    let (limit, mut purged) = (limit as u64, 0);
    loop {
        let piece = PURGED_A_PIECE.min(limit - purged);
        let count = purge_piece(store, queue, piece).await?;
        purged += count;
        if count < piece || purged >= limit {
            return Ok(purged);
        }
    }
}

async fn purge_piece(store: &Store, queue: &QueueName, limit: u64) -> Result<u64> {
    let add = |command: &mut Cmd| {
        command.arg(queue.as_str()).arg(limit);
    };
    match store.run(&store.bulk, &script::PURGE, add).await? {
        Value::Int(-1) => Err(Error::UnknownQueue(queue.clone())),
        purged => number(purged),
    }
}

/// Deletes tasks by their ids, unless they run.
pub(crate) async fn delete_tasks(store: &Store, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
    validate_task_deletion(ids)?;
    let mut deleted = Vec::with_capacity(ids.len());
    for piece in ids.chunks(DELETED_A_PIECE) {
        let add = |command: &mut Cmd| {
            command.arg(if cascade { "c" } else { "d" });
            piece.iter().for_each(|id| {
                command.arg(id.as_str());
            });
        };
        for letter in bytes(store.run(&store.bulk, &script::DELETE, add).await?)? {
            deleted.push(match letter {
                b'd' => TaskDeletion::Deleted,
                b'r' => TaskDeletion::Running,
                b'u' => TaskDeletion::Unknown,
                _ => return Err(malformed("expected the result of a deletion")),
            });
        }
    }
    Ok(deleted)
}

/// Moves tasks that are neither running nor over to another queue.
pub(crate) async fn move_tasks(store: &Store, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
    validate_move(from, to, limit)?;
    let (limit, mut moved) = (limit as u64, 0);
    loop {
        let piece = MOVED_A_PIECE.min(limit - moved);
        let count = move_piece(store, from, to, piece).await?;
        moved += count;
        if count < piece || moved >= limit {
            return Ok(moved);
        }
    }
}

async fn move_piece(store: &Store, from: &QueueName, to: &QueueName, limit: u64) -> Result<u64> {
    let add = |command: &mut Cmd| {
        command.arg(from.as_str()).arg(to.as_str()).arg(limit);
    };
    match store.run(&store.bulk, &script::MOVE, add).await? {
        Value::Int(moved) => number(Value::Int(moved)),
        unknown => Err(Error::UnknownQueue(if text(unknown)? == from.as_str() { from.clone() } else { to.clone() })),
    }
}
