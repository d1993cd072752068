//! Makes room when the server's memory is nearly used up: finished tasks are deleted before a submission is refused.

use jobbers_common::{
    engine::{Error, Result},
    task::tombstone::TombstonePolicy,
};
use redis::{Cmd, Value};

use super::{connection::Build, store::Store};
use crate::redis::kernel::{
    reply::{number, tuple},
    script::{self, Script},
    values::micros,
};

/// The space of a task besides its payload, in bytes, roughly.
pub(crate) const TASK_BYTES: usize = 512;

/// The share of `maxmemory`, in percent, from which ticks delete finished tasks early; and the one for a submission.
const NEARLY_FULL: u8 = 90;
const FULL: u8 = 100;
/// The most tasks that one script deletes.
const PRUNED_A_PIECE: usize = 250;
/// The most scripts that make room for one submission: some milliseconds' worth.
const EARLY_PRUNINGS: usize = 8;

/// Deletes up to `limit` of the oldest finished tasks if `room` bytes are not free below a share of `maxmemory`. Returns how
/// many, and whether there is still too little room: then nothing is left to delete, or there is more to do.
async fn press(store: &Store, limit: usize, percent: u8, room: usize) -> Result<(u64, bool)> {
    let TombstonePolicy { age, count } = store.tombstones();
    let add = |command: &mut Cmd| {
        command.arg(limit.min(PRUNED_A_PIECE)).arg(percent).arg(room).arg(micros(age)).arg(count);
    };
    let [removed, is_pressed] = tuple(store.run(&store.bulk, &script::PRESS, add).await?)?;
    Ok((number(removed)?, number(is_pressed)? == 1))
}

/// Runs a script that adds about this number of bytes. If the server refuses it for lack of memory, finished tasks are
/// deleted, and it is sent again; a second time with more room, since buffers and scripts count as used memory, too.
pub(crate) async fn call(store: &Store, script: &Script, bytes: usize, build: Build<'_>) -> Result<Value> {
    let mut answer = store.bulk.call(Some(script), build).await;
    for room in [bytes, 4 * bytes] {
        let Err(Error::Full(why)) = answer else { break };
        if !matches!(make_room(store, room).await, Ok(true)) {
            return Err(Error::Full(why));
        }
        answer = store.bulk.call(Some(script), build).await;
    }
    answer
}

/// Makes room for a call that the server refused and that adds about this number of bytes. Returns whether the call may
/// fit now: something was deleted, or buffers were released meanwhile.
async fn make_room(store: &Store, bytes: usize) -> Result<bool> {
    let mut has_pruned = false;
    for _ in 0..EARLY_PRUNINGS {
        let (removed, is_pressed) = press(store, PRUNED_A_PIECE, FULL, bytes).await?;
        has_pruned |= removed > 0;
        if !is_pressed {
            return Ok(true);
        }
        if removed == 0 {
            break;
        }
    }
    Ok(has_pruned)
}

/// A tick: deletes up to `limit` finished tasks early. Returns how many, and whether there is more to do.
pub(crate) async fn prune_early(store: &Store, limit: usize) -> Result<(u64, bool)> {
    let (mut pruned, mut is_pressed) = (0, true);
    while is_pressed && pruned < limit as u64 {
        let left = limit - usize::try_from(pruned).unwrap_or(limit);
        let (removed, more) = press(store, left, NEARLY_FULL, 0).await?;
        pruned += removed;
        is_pressed = more && removed > 0;
    }
    Ok((pruned, is_pressed))
}
