//! Waiting until a task is over, or a task may be visible in a group of a board, at no cost to the store meanwhile.
//!
//! A process notes each task it awaits with the store once, in the step that looks at it (`scripts/await.lua`), and
//! receives one message when the task ends. Groups of boards are awaited alike (`scripts/board_wait.lua`). While it awaits
//! anything, it renews a single entry of its own ([`RENEW_EVERY`]), whatever their number. A waiting caller looks again
//! - when its end is reported,
//! - when messages may have been missed: after a reconnection, or when the store turns out to have forgotten the process,
//! - and rarely ([`LOOK_AGAIN`]), spread over time, as a safety net.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jobbers_common::{
    engine::Result,
    name::{BoardName, TaskId},
    task::Task,
};
use parking_lot::Mutex;
use redis::Cmd;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until, timeout},
};
use tracing::debug;

use super::{
    look, notifications,
    reply::{array, number, text, tuple},
    script,
    state::read_task,
    store::Store,
};

/// How often a process reports that it still waits. It uses the connection on which it receives messages, so that a
/// connection that died in silence is noticed too.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// A renewal that takes longer is given up, which makes the lane test whether its connection is dead.
const RENEW_WITHIN: Duration = Duration::from_millis(1_200);
/// For how long the store remembers a process that does not renew.
const REMEMBERED_FOR: Duration = Duration::from_secs(30);
/// A caller to whom no message came looks again after this time, and up to half as much more.
const LOOK_AGAIN: Duration = Duration::from_secs(40);
/// Tasks that one renewal forgets.
const FORGOTTEN_AT_ONCE: usize = 1_000;

/// The tasks that callers of this process wait for.
#[derive(Debug, Default)]
pub(super) struct AwaitedTasks {
    register: Mutex<Register>,
    /// Whether messages may be missed now.
    is_deaf: AtomicBool,
}

#[derive(Debug, Default)]
struct Register {
    /// By the task's id, or what a group is awaited by ([`group_key`]).
    tasks: HashMap<String, Awaited>,
    /// Tasks without callers that the store may still count as awaited, with their marks.
    left: Vec<(String, u64)>,
    /// The latest mark. It grows with each call that notes a task, so that an older call to forget it has no effect.
    mark: u64,
    is_renewed: bool,
}

#[derive(Debug, Default)]
struct Awaited {
    ended: Arc<Notify>,
    callers: usize,
    /// The mark it was noted with; 0 before, and once its end was reported.
    mark: u64,
}

impl AwaitedTasks {
    /// Wakes the callers that wait for any of these tasks: they have ended.
    pub(super) fn tell<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        let mut register = self.register.lock();
        for id in ids {
            if let Some(awaited) = register.tasks.get_mut(id) {
                awaited.mark = 0;
                awaited.ended.notify_waiters();
            }
        }
    }

    /// Wakes all callers, because a message may have been missed.
    pub(super) fn tell_all(&self) {
        self.register.lock().tasks.values().for_each(|awaited| awaited.ended.notify_waiters());
    }

    /// Notes whether messages are received.
    pub(super) fn set_deaf(&self, is_deaf: bool) {
        self.is_deaf.store(is_deaf, Ordering::SeqCst);
    }

    fn enter(&self, id: &str) -> Caller<'_> {
        let mut register = self.register.lock();
        let awaited = register.tasks.entry(id.to_owned()).or_default();
        awaited.callers += 1;
        Caller { tasks: self, id: id.to_owned(), ended: Arc::clone(&awaited.ended) }
    }

    /// The mark for a call that notes this task.
    fn next_mark(&self, id: &str) -> u64 {
        let mut register = self.register.lock();
        register.mark += 1;
        let mark = register.mark;
        if let Some(awaited) = register.tasks.get_mut(id) {
            awaited.mark = mark;
        }
        mark
    }

    /// How long a caller waits for a message before it looks again.
    fn look_again(&self, mark: u64) -> Duration {
        match self.is_deaf.load(Ordering::SeqCst) {
            true => notifications::LOOK_AGAIN,
            // Callers that came together look again one after the other.
            false => LOOK_AGAIN + LOOK_AGAIN / 1_024 * u32::try_from(mark % 512).unwrap_or_default(),
        }
    }

    /// What the next renewal forgets; `None`, and the renewal ends, if no caller waits.
    fn take_left(&self) -> Option<Vec<(String, u64)>> {
        let mut register = self.register.lock();
        if register.tasks.is_empty() && register.left.is_empty() {
            register.is_renewed = false;
            return None;
        }
        let rest = register.left.len().saturating_sub(FORGOTTEN_AT_ONCE);
        Some(register.left.split_off(rest))
    }
}

/// A caller that waits for the end of a task.
struct Caller<'a> {
    tasks: &'a AwaitedTasks,
    id: String,
    ended: Arc<Notify>,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let mut register = self.tasks.register.lock();
        let Some(awaited) = register.tasks.get_mut(&self.id) else { return };
        awaited.callers -= 1;
        if awaited.callers == 0 {
            let mark = mem::take(&mut awaited.mark);
            register.tasks.remove(&self.id);
            if mark > 0 {
                register.left.push((self.id.clone(), mark));
            }
        }
    }
}

/// Waits until a task is over.
pub(super) async fn await_finished(store: &Arc<Store>, id: &TaskId, limit: Duration) -> Result<Option<Task>> {
    let found = until_found(store, id.as_str(), limit, |mark| async move {
        let task = note(store, id, mark).await?;
        Ok(Some(task).filter(|task| task.as_ref().is_none_or(|task| task.status.is_finished())))
    });
    match found.await? {
        Some(task) => Ok(task),
        None => look::get(store, id).await,
    }
}

/// Waits until a group of a board has changed since a revision, or for some time.
pub(super) async fn await_group(store: &Arc<Store>, board: &BoardName, group: &str, seen: u64, limit: Duration) {
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
        sleep_until(deadline.min(Instant::now() + notifications::LOOK_AGAIN)).await;
    }
}

/// What a group is awaited by: no id of a task has a `|`, and no blank separates it from others in a message.
fn group_key(board: &BoardName, group: &str) -> String {
    format!("{board}|{}", hex(group))
}

/// The bytes of a text as hexadecimal digits.
pub(super) fn hex(text: &str) -> String {
    let digits = text.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Looks, notes that this process waits, and looks again when there is news, until `look` finds what it looks for. Returns
/// `None` when the time is over. `look` is passed a mark for the store to note.
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
        let mark = awaited.next_mark(key);
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

    /// Ends it as decided by [`AwaitedTasks::take_left`]; another one may run already.
    fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade().filter(|_| !self.is_over) {
            store.notifications.awaited.register.lock().is_renewed = false;
        }
    }
}

/// Starts the renewal unless it runs.
fn keep_renewing(store: &Arc<Store>) {
    if mem::replace(&mut store.notifications.awaited.register.lock().is_renewed, true) {
        return;
    }
    let renewing = Renewing { store: Arc::downgrade(store), is_over: false };
    tokio::spawn(async move {
        let mut pause = RENEW_EVERY;
        loop {
            sleep(pause).await;
            let Some(store) = renewing.store() else { return };
            let Some(left) = store.notifications.awaited.take_left() else { return renewing.end() };
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
        store.notifications.awaited.tell_all();
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

    #[tokio::test]
    async fn all_callers_of_a_task_hear_of_its_end() {
        let tasks = AwaitedTasks::default();
        let (first, second, other) = (tasks.enter("a"), tasks.enter("a"), tasks.enter("b"));
        let (one, two, three) = (first.ended.notified(), second.ended.notified(), other.ended.notified());
        tasks.tell(["a", "unknown"].into_iter());
        one.await;
        two.await;
        assert!(timeout(Duration::ZERO, three).await.is_err());
    }

    #[test]
    fn the_store_forgets_what_no_caller_awaits_any_more_unless_it_has_ended() {
        let tasks = AwaitedTasks::default();
        let (ended, first, second) = (tasks.enter("ended"), tasks.enter("a"), tasks.enter("a"));
        let marks: Vec<u64> = [&ended, &first, &second].iter().map(|caller| tasks.next_mark(&caller.id)).collect();
        assert_eq!(marks, [1, 2, 3]);
        tasks.tell(["ended"].into_iter());
        drop((ended, first));
        assert_eq!(tasks.take_left().unwrap(), [], "somebody waits still");
        drop(second);
        assert_eq!(tasks.take_left().unwrap(), [("a".to_owned(), 3)]);
        assert_eq!(tasks.take_left(), None);
        assert!(tasks.register.lock().tasks.is_empty());
    }

    #[test]
    fn a_group_is_awaited_by_a_word_that_no_task_has() {
        let board = BoardName::new("b.1:x/y").unwrap();
        assert_eq!(group_key(&board, ""), "b.1:x/y|");
        assert_eq!(group_key(&board, "a \u{e9}\n|"), "b.1:x/y|6120c3a90a7c");
    }

    #[test]
    fn callers_that_came_together_look_again_one_after_the_other() {
        let tasks = AwaitedTasks::default();
        let pauses: Vec<Duration> = (0..512).map(|mark| tasks.look_again(mark)).collect();
        assert!(pauses.is_sorted_by(|one, next| one < next));
        assert!(pauses[511] < LOOK_AGAIN * 3 / 2);
        tasks.set_deaf(true);
        assert_eq!(tasks.look_again(7), notifications::LOOK_AGAIN);
    }
}
