//! Waiting until a task is over, at no cost to the store meanwhile.
//!
//! A process notes each task it awaits with the store once, in the step that looks at it (`scripts/await.lua`), and
//! receives one message when the task ends. While it awaits anything, it renews a single entry of its own
//! ([`RENEW_EVERY`]), whatever the number of tasks. A waiting caller looks at its task again
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

use jobbers_common::{engine::Result, name::TaskId, task::Task};
use parking_lot::Mutex;
use redis::Cmd;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
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
    tasks: HashMap<TaskId, Awaited>,
    /// Tasks without callers that the store may still count as awaited, with their marks.
    left: Vec<(TaskId, u64)>,
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

    fn enter(&self, id: &TaskId) -> Caller<'_> {
        let mut register = self.register.lock();
        let awaited = register.tasks.entry(id.clone()).or_default();
        awaited.callers += 1;
        Caller { tasks: self, id: id.clone(), ended: Arc::clone(&awaited.ended) }
    }

    /// The mark for a call that notes this task.
    fn next_mark(&self, id: &TaskId) -> u64 {
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
    fn take_left(&self) -> Option<Vec<(TaskId, u64)>> {
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
    id: TaskId,
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
    let deadline = Instant::now() + limit;
    let awaited = &store.notifications.awaited;
    let caller = awaited.enter(id);
    loop {
        store.leases.follow();
        // Before the look, so that an end reported right after it is not missed.
        let ended = caller.ended.notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return look::get(store, id).await;
        }
        let mark = awaited.next_mark(id);
        let task = note(store, id, mark).await?;
        if task.as_ref().is_none_or(|task| task.status.is_finished()) {
            return Ok(task);
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
async fn renew(store: &Store, left: &[(TaskId, u64)]) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(&store.instance).arg(REMEMBERED_FOR.as_millis());
        left.iter().for_each(|(id, mark)| {
            command.arg(id.as_str()).arg(*mark);
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
    let mut cursor = "0".to_owned();
    loop {
        let add = |command: &mut Cmd| {
            command.arg(&cursor).arg(&silent);
        };
        cursor = text(store.run(&store.leases, &script::SWEEP_AWAITED, add).await?)?;
        if cursor == "0" {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::new(text).unwrap()
    }

    #[tokio::test]
    async fn all_callers_of_a_task_hear_of_its_end() {
        let tasks = AwaitedTasks::default();
        let (first, second, other) = (tasks.enter(&id("a")), tasks.enter(&id("a")), tasks.enter(&id("b")));
        let (one, two, three) = (first.ended.notified(), second.ended.notified(), other.ended.notified());
        tasks.tell(["a", "unknown"].into_iter());
        one.await;
        two.await;
        assert!(timeout(Duration::ZERO, three).await.is_err());
    }

    #[test]
    fn the_store_forgets_what_no_caller_awaits_any_more_unless_it_has_ended() {
        let tasks = AwaitedTasks::default();
        let (ended, first, second) = (tasks.enter(&id("ended")), tasks.enter(&id("a")), tasks.enter(&id("a")));
        let marks: Vec<u64> = [&ended, &first, &second].iter().map(|caller| tasks.next_mark(&caller.id)).collect();
        assert_eq!(marks, [1, 2, 3]);
        tasks.tell(["ended"].into_iter());
        drop((ended, first));
        assert_eq!(tasks.take_left().unwrap(), [], "somebody waits still");
        drop(second);
        assert_eq!(tasks.take_left().unwrap(), [(id("a"), 3)]);
        assert_eq!(tasks.take_left(), None);
        assert!(tasks.register.lock().tasks.is_empty());
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
