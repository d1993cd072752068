//! Waiting until a task is over, or a task may be visible in a group of a board, at no cost to the store meanwhile.
//!
//! A process notes each task it awaits with the store once, in the step that looks at it (`scripts/read/await.lua`), and
//! receives one message when the task ends. Groups of boards are awaited alike (`scripts/boards/board_wait.lua`). While it awaits
//! anything, it renews a single entry of its own ([`RENEW_EVERY`]), whatever their number. A waiting caller looks again
//! - when its end is reported,
//! - when messages may have been missed: after a reconnection, or when the store turns out to have forgotten the process,
//! - and rarely ([`crate::redis::server::awaited_tasks::LOOK_AGAIN`]), spread over time, as a safety net.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use jobbers_common::{
    engine::Result,
    name::{BoardName, TaskId},
    task::Task,
};
use redis::Cmd;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::debug;

use super::tasks;
use crate::redis::{
    kernel::{
        reply::{array, number, text, tuple},
        script,
        state::read_task,
    },
    server::{
        awaited_tasks::{FORGOTTEN_AT_ONCE, LOOK_AGAIN_SOON},
        store::Store,
    },
};

/// How often a process reports that it still waits. It uses the connection on which it receives messages, so that a
/// connection that died in silence is noticed too.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// A renewal that takes longer is given up, which makes the lane test whether its connection is dead.
const RENEW_WITHIN: Duration = Duration::from_millis(1_200);
/// For how long the store remembers a process that does not renew, if no other one finds it gone before. A renewal is
/// written when half of it is over.
const REMEMBERED_FOR: Duration = Duration::from_secs(3_600);

/// Waits until a task is over.
pub(crate) async fn await_finished(store: &Arc<Store>, id: &TaskId, limit: Duration) -> Result<Option<Task>> {
    let found = until_found(store, id.as_str(), limit, |mark| async move {
        let task = note(store, id, mark).await?;
        Ok(Some(task).filter(|task| task.as_ref().is_none_or(|task| task.status.is_finished())))
    });
    match found.await? {
        Some(task) => Ok(task),
        None => tasks::get(store, id).await,
    }
}

/// Waits until a group of a board has changed since a revision, or for some time.
pub(crate) async fn await_group(store: &Arc<Store>, board: &BoardName, group: &str, seen: u64, limit: Duration) {
    let key = &group_key(board, group);
    let changed = until_found(store, key, limit, |mark| async move {
        let add = |command: &mut Cmd| {
            command.arg(board.as_str()).arg(group).arg(format!("{seen:016}"));
            command.arg(key).arg(&store.instance).arg(mark).arg(REMEMBERED_FOR.as_millis());
        };
        let has_changed = number(store.run(&store.work, &script::BOARD_WAIT, add).await?)? == 1;
        Ok(has_changed.then_some(()))
    });
    let deadline = Instant::now() + limit;
    if let Err(error) = timeout(limit, changed).await.unwrap_or(Ok(None)) {
        debug!(%error, "a group of a board can't be awaited");
        // The caller looks by itself then, and not in a hurry.
        sleep_until(deadline.min(Instant::now() + LOOK_AGAIN_SOON)).await;
    }
}

/// What a group is awaited by: no id of a task has a `|`, and no blank separates it from others in a message.
fn group_key(board: &BoardName, group: &str) -> String {
    format!("{board}|{}", hex(group))
}

/// The bytes of a text as hexadecimal digits.
pub(crate) fn hex(text: &str) -> String {
    let digits = text.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Looks, notes that this process waits, and looks again when there is news, until `look` finds what it looks for. Returns
/// `None` when the time is over. `look` is passed a mark for the store to note, unless it has noted it.
async fn until_found<T, F: Future<Output = Result<Option<T>>>>(
    store: &Arc<Store>,
    key: &str,
    limit: Duration,
    look: impl Fn(u64) -> F,
) -> Result<Option<T>> {
    let deadline = Instant::now() + limit;
    let awaited = &store.notifications.awaited;
    let caller = awaited.enter(key);
    loop {
        store.leases.follow();
        // Before the look, so that an end reported right after it is not missed.
        let ended = caller.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let mark = awaited.mark(key);
        if let Some(found) = look(mark).await? {
            return Ok(Some(found));
        }
        keep_renewing(store);
        timeout(left.min(awaited.look_again(mark)), ended).await.ok();
    }
}

/// Looks at a task, and notes with the store that this process awaits it unless it is over.
async fn note(store: &Store, id: &TaskId, mark: u64) -> Result<Option<Task>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str()).arg(&store.instance).arg(mark).arg(REMEMBERED_FOR.as_millis());
    };
    Ok(read_task(store.run(&store.work, &script::AWAIT, add).await?)?.map(|found| found.task))
}

/// The renewal of a store's entry. It may end early, with the runtime of the caller that started it.
struct Renewing {
    store: Weak<Store>,
    is_over: bool,
}

impl Renewing {
    fn store(&self) -> Option<Arc<Store>> {
        self.store.upgrade()
    }

    /// Ends it as decided by [`crate::redis::server::awaited_tasks::AwaitedTasks::take_left`]; another one may run already.
    fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade().filter(|_| !self.is_over) {
            store.notifications.awaited.lose_renewal();
        }
    }
}

/// Starts the renewal unless it runs.
fn keep_renewing(store: &Arc<Store>) {
    if store.notifications.awaited.begin_renewal() {
        return;
    }
    let renewing = Renewing { store: Arc::downgrade(store), is_over: false };
    tokio::spawn(async move {
        let mut pause = RENEW_EVERY;
        loop {
            sleep(pause).await;
            let Some(store) = renewing.store() else { return };
            let Some(left) = store.notifications.awaited.take_left(Instant::now().into_std()) else {
                return renewing.end();
            };
            pause = if left.len() < FORGOTTEN_AT_ONCE { RENEW_EVERY } else { Duration::ZERO };
            let renewed = timeout(RENEW_WITHIN, renew(&store, &left)).await;
            // What was not forgotten is reported once, when it ends.
            if !matches!(renewed, Ok(Ok(()))) {
                debug!(?renewed, "the tasks that this process awaits were not renewed");
            }
        }
    });
}

/// Renews this process's entry, and forgets processes that are gone.
async fn renew(store: &Store, left: &[(String, u64)]) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(&store.instance).arg(REMEMBERED_FOR.as_millis());
        left.iter().for_each(|(id, mark)| {
            command.arg(id).arg(*mark);
        });
    };
    let [was_known, silent] = tuple(store.run(&store.leases, &script::RENEW_AWAITING, add).await?)?;
    if number(was_known)? == 0 {
        store.notifications.awaited.notify_all();
    }
    let silent: Vec<String> = array(silent)?.into_iter().map(text).collect::<Result<_>>()?;
    if silent.is_empty() {
        return Ok(());
    }
    for awaited in ["awaited:groups", "awaited"] {
        let mut cursor = "0".to_owned();
        loop {
            let add = |command: &mut Cmd| {
                command.arg(awaited).arg(&cursor).arg(&silent);
            };
            cursor = text(store.run(&store.leases, &script::SWEEP_AWAITED, add).await?)?;
            if cursor == "0" {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_awaited_by_a_word_that_no_task_has() {
        let board = BoardName::new("b.1:x/y").unwrap();
        assert_eq!(group_key(&board, ""), "b.1:x/y|");
        assert_eq!(group_key(&board, "a \u{e9}\n|"), "b.1:x/y|6120c3a90a7c");
    }
}
