//! What the callers of this process wait for: tasks, and groups of boards.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How long a caller waits before it looks again, where a message may have been missed.
pub(crate) const LOOK_AGAIN_SOON: Duration = Duration::from_secs(1);
/// A caller to whom no message came looks again after this time, and up to half as much more.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(40);
/// A caller that comes again within this time, as clients do that poll, finds its task still noted.
const COMES_AGAIN: Duration = Duration::from_secs(3);
/// Tasks that one renewal forgets.
pub(crate) const FORGOTTEN_AT_ONCE: usize = 1_000;

/// The tasks that callers of this process wait for.
#[derive(Debug, Default)]
pub(crate) struct AwaitedTasks {
    register: Mutex<Register>,
    /// Whether messages may be missed now.
    is_deaf: AtomicBool,
}

#[derive(Debug, Default)]
struct Register {
    /// By the task's id, or what a group is awaited by.
    tasks: HashMap<String, AwaitedTask>,
    /// Tasks without callers that the store still counts as awaited: when they were left, and their marks.
    left: HashMap<String, (Instant, u64)>,
    /// The same by when they were left, the earliest first; among them some that callers came back to.
    order: VecDeque<(Instant, String)>,
    /// The latest mark. It grows with each call that notes a task, so that an older call to forget it has no effect.
    mark: u64,
    is_renewed: bool,
}

#[derive(Debug, Default)]
struct AwaitedTask {
    ended: Arc<Notify>,
    callers: usize,
    /// The mark it was noted with; 0 before, and once its end was reported.
    mark: u64,
}

impl AwaitedTasks {
    /// Wakes the callers that wait for any of these tasks: they have ended.
    pub(crate) fn notify<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        let mut register = self.register.lock();
        for id in ids {
            if let Some(awaited) = register.tasks.get_mut(id) {
                awaited.mark = 0;
                awaited.ended.notify_waiters();
            }
        }
    }

    /// Wakes all callers, because a message may have been missed.
    pub(crate) fn notify_all(&self) {
        self.register.lock().tasks.values().for_each(|awaited| awaited.ended.notify_waiters());
    }

    /// Notes whether messages are received.
    pub(crate) fn set_deaf(&self, is_deaf: bool) {
        self.is_deaf.store(is_deaf, Ordering::SeqCst);
    }

    pub(crate) fn enter(&self, id: &str) -> AwaitingCaller<'_> {
        let mut register = self.register.lock();
        let noted = register.left.remove(id);
        let awaited = register.tasks.entry(id.to_owned()).or_default();
        awaited.mark = noted.map_or(awaited.mark, |(_, mark)| mark);
        awaited.callers += 1;
        AwaitingCaller { tasks: self, id: id.to_owned(), ended: Arc::clone(&awaited.ended) }
    }

    /// The mark for a call that notes this task: that of an earlier call, unless its end was reported since, so that the
    /// store need not write it again.
    pub(crate) fn mark(&self, id: &str) -> u64 {
        let Register { tasks, mark, .. } = &mut *self.register.lock();
        let Some(awaited) = tasks.get_mut(id) else { return *mark };
        if awaited.mark == 0 {
            *mark += 1;
            awaited.mark = *mark;
        }
        awaited.mark
    }

    /// How long a caller waits for a message before it looks again.
    pub(crate) fn look_again(&self, mark: u64) -> Duration {
        match self.is_deaf.load(Ordering::SeqCst) {
            true => LOOK_AGAIN_SOON,
            // Callers that came together look again one after the other.
            false => LOOK_AGAIN + LOOK_AGAIN / 1_024 * u32::try_from(mark % 512).unwrap_or_default(),
        }
    }

    /// Notes that the renewal runs from now on. Returns whether it ran already.
    pub(crate) fn begin_renewal(&self) -> bool {
        mem::replace(&mut self.register.lock().is_renewed, true)
    }

    /// Notes that the renewal has ended early.
    pub(crate) fn lose_renewal(&self) {
        self.register.lock().is_renewed = false;
    }

    /// What the next renewal forgets; `None`, and the renewal ends, if no caller waits.
    pub(crate) fn take_left(&self, now: Instant) -> Option<Vec<(String, u64)>> {
        let Register { tasks, left, order, is_renewed, .. } = &mut *self.register.lock();
        if tasks.is_empty() && left.is_empty() {
            order.clear();
            *is_renewed = false;
            return None;
        }
        let mut taken = Vec::new();
        while taken.len() < FORGOTTEN_AT_ONCE
            && order.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= COMES_AGAIN)
            && let Some((at, id)) = order.pop_front()
        {
            if let Some(&(left_at, mark)) = left.get(&id)
                && left_at == at
            {
                left.remove(&id);
                taken.push((id, mark));
            }
        }
        Some(taken)
    }
}

/// A caller that waits for the end of a task.
pub(crate) struct AwaitingCaller<'a> {
    tasks: &'a AwaitedTasks,
    id: String,
    pub(crate) ended: Arc<Notify>,
}

impl Drop for AwaitingCaller<'_> {
    fn drop(&mut self) {
        let mut register = self.tasks.register.lock();
        let Some(awaited) = register.tasks.get_mut(&self.id) else { return };
        awaited.callers -= 1;
        if awaited.callers == 0 {
            let mark = mem::take(&mut awaited.mark);
            register.tasks.remove(&self.id);
            if mark > 0 {
                let now = Instant::now();
                register.left.insert(self.id.clone(), (now, mark));
                register.order.push_back((now, self.id.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn all_callers_of_a_task_hear_of_its_end() {
        let tasks = AwaitedTasks::default();
        let (first, second, other) = (tasks.enter("a"), tasks.enter("a"), tasks.enter("b"));
        let (one, two, three) = (first.ended.notified(), second.ended.notified(), other.ended.notified());
        tasks.notify(["a", "unknown"].into_iter());
        one.await;
        two.await;
        assert!(timeout(Duration::ZERO, three).await.is_err());
    }

    #[test]
    fn the_store_forgets_what_no_caller_awaits_any_more_unless_it_has_ended() {
        let tasks = AwaitedTasks::default();
        let (ended, first, second) = (tasks.enter("ended"), tasks.enter("a"), tasks.enter("a"));
        let marks: Vec<u64> = [&ended, &first, &second].iter().map(|caller| tasks.mark(&caller.id)).collect();
        assert_eq!(marks, [1, 2, 2]);
        tasks.notify(["ended"].into_iter());
        drop((ended, first));
        let later = || Instant::now() + COMES_AGAIN;
        assert_eq!(tasks.take_left(later()).unwrap(), [], "another caller still waits");
        drop(second);
        assert_eq!(tasks.take_left(Instant::now()).unwrap(), [], "it may come again");
        assert_eq!(tasks.take_left(later()).unwrap(), [("a".to_owned(), 2)]);
        assert_eq!(tasks.take_left(later()), None);
        assert!(tasks.register.lock().tasks.is_empty());
    }

    #[test]
    fn a_caller_that_comes_again_soon_is_noted_still_and_anew_once_an_end_was_reported() {
        let tasks = AwaitedTasks::default();
        let look = || tasks.mark(&tasks.enter("a").id);
        assert_eq!([look(), look()], [1, 1]);
        let third = Instant::now() + COMES_AGAIN;
        assert_eq!(look(), 1);
        assert_eq!(tasks.take_left(third).unwrap(), [], "it came again since");
        let caller = tasks.enter("a");
        assert_eq!(tasks.mark("a"), 1);
        let later = || Instant::now() + COMES_AGAIN;
        assert_eq!(tasks.take_left(later()).unwrap(), [], "it waits");
        tasks.notify(["a"].into_iter());
        assert_eq!(tasks.mark("a"), 2);
        drop(caller);
        assert_eq!(tasks.take_left(later()).unwrap(), [("a".to_owned(), 2)]);
        assert_eq!(look(), 3, "the store is told to forget it");
    }

    #[test]
    fn callers_that_came_together_look_again_one_after_the_other() {
        let tasks = AwaitedTasks::default();
        let pauses: Vec<Duration> = (0..512).map(|mark| tasks.look_again(mark)).collect();
        assert!(pauses.is_sorted_by(|one, next| one < next));
        assert!(pauses[511] < LOOK_AGAIN * 3 / 2);
        tasks.set_deaf(true);
        assert_eq!(tasks.look_again(7), LOOK_AGAIN_SOON);
    }
}
