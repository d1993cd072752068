//! The waiting callers of this process: workers that wait for tasks, and callers that wait for the end of a task.
//!
//! Nothing is decided here: a notified caller looks at the store again. A second or needless notification is harmless,
//! but no change may be missed. So interest is noted before the store is read: a worker's inside the transaction of its
//! claim, a caller's before it reads its task.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use jobbers_common::name::{TaskId, WorkerId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::sqlite::boards::waiters::GroupWaiters;

/// Above this number of workers, unused entries are removed.
const WORKERS_KEPT: usize = 1_024;

#[derive(Debug, Default)]
struct WaitingWorker {
    /// Keeps one wake-up for a worker that is not waiting yet.
    wake: Arc<Notify>,
    /// What it waits for, if its last claim took every ready task.
    wants: Option<Wants>,
}

/// What an idle worker waits for.
#[derive(Debug)]
pub(crate) struct Wants {
    /// Queues from which it would take ready tasks, and how many of each.
    pub(crate) ready: Vec<(i64, usize)>,
    /// Queues that hand out nothing until one of their tasks ends.
    pub(crate) freed: Vec<i64>,
    /// How many tasks it requested in total.
    pub(crate) limit: usize,
    /// The gates of the kinds of tasks that it refuses, by queue.
    pub(crate) refused: BTreeMap<i64, BTreeSet<String>>,
}

/// How many tasks are set aside behind gates of their kinds, by queue and gate.
pub(crate) type SetAside = BTreeMap<i64, BTreeMap<String, usize>>;

impl Wants {
    fn takes(&self, queue: i64, gate: &str) -> bool {
        self.refused.get(&queue).is_none_or(|gates| !gates.contains(gate))
    }

    /// Takes from the available tasks as many as the worker requested. Returns whether there was any for it.
    fn take(&self, ready: &mut BTreeMap<i64, usize>, set_aside: &mut SetAside) -> bool {
        let mut room = self.limit;
        let mut useful = false;
        for (queue, limit) in &self.ready {
            let of_kinds = set_aside.get_mut(queue).into_iter().flatten();
            let of_kinds = of_kinds.filter(|(gate, _)| self.takes(*queue, gate)).map(|(_, left)| left);
            for left in ready.get_mut(queue).into_iter().chain(of_kinds).filter(|left| **left > 0) {
                let taken = room.min(*limit).min(*left);
                *left -= taken;
                room -= taken;
                useful = true;
            }
        }
        useful
    }
}

/// The register.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    workers: Mutex<HashMap<WorkerId, WaitingWorker>>,
    tasks: Mutex<HashMap<TaskId, Arc<Notify>>>,
    /// Callers that wait for tasks of boards.
    pub(crate) groups: GroupWaiters,
    /// Callers that block now.
    blocked: AtomicUsize,
}

/// A caller that blocks.
#[derive(Debug)]
pub(crate) struct Blocked<'a>(&'a Waiters);

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.0.blocked.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Waiters {
    /// The signal that a worker waits for.
    pub(crate) fn wake_of(&self, worker: &WorkerId) -> Arc<Notify> {
        let mut workers = self.workers.lock();
        if workers.len() > WORKERS_KEPT {
            workers.retain(|_, known| known.wants.is_some() || Arc::strong_count(&known.wake) > 1);
        }
        Arc::clone(&workers.entry(worker.clone()).or_default().wake)
    }

    /// A worker's claim took every ready task: it is woken when there may be one for it.
    pub(crate) fn register(&self, worker: &WorkerId, wants: Wants) {
        self.workers.lock().entry(worker.clone()).or_default().wants = Some(wants);
    }

    /// A worker is back and does not wait. From here on cancel requests are kept for its next wait.
    pub(crate) fn unregister(&self, worker: &WorkerId) {
        self.workers.lock().entry(worker.clone()).or_default().wants = None;
    }

    /// A worker has left.
    pub(crate) fn forget(&self, worker: &WorkerId) {
        self.workers.lock().remove(worker);
    }

    /// Notifies as many workers as there are tasks: `ready` is how many tasks became ready, per queue. Workers that
    /// refuse kinds of tasks come last, because the tasks may be of such a kind.
    pub(crate) fn notify_ready(&self, mut ready: BTreeMap<i64, usize>, mut set_aside: SetAside) {
        if ready.is_empty() && set_aside.is_empty() {
            return;
        }
        let mut workers = self.workers.lock();
        for refuses in [false, true] {
            for worker in workers.values_mut() {
                let wants = worker.wants.as_ref().filter(|wants| wants.refused.is_empty() != refuses);
                if wants.is_some_and(|wants| wants.take(&mut ready, &mut set_aside)) {
                    worker.wants = None;
                    worker.wake.notify_one();
                }
            }
        }
    }

    /// Whether a worker that waits for a ready task of this queue refuses some kinds of them.
    pub(crate) fn is_any_refused(&self, queue: i64) -> bool {
        let workers = self.workers.lock();
        workers.values().filter_map(|worker| worker.wants.as_ref()).any(|wants| wants.refused.contains_key(&queue))
    }

    /// For each queue, notifies as many of the workers that wait for free slots as tasks ended.
    pub(crate) fn notify_freed(&self, mut freed: BTreeMap<i64, usize>) {
        if freed.is_empty() {
            return;
        }
        for worker in self.workers.lock().values_mut() {
            let Some(wants) = &worker.wants else { continue };
            let useful = wants.freed.iter().find(|queue| freed.get(queue).is_some_and(|left| *left > 0));
            if let Some(left) = useful.and_then(|queue| freed.get_mut(queue)) {
                *left -= 1;
                worker.wants = None;
                worker.wake.notify_one();
            }
        }
    }

    /// Notifies one worker, if it is of this process.
    pub(crate) fn notify_worker(&self, worker: &WorkerId) {
        if let Some(known) = self.workers.lock().get(worker) {
            known.wake.notify_one();
        }
    }

    /// Notifies every worker.
    pub(crate) fn notify_workers(&self) {
        for worker in self.workers.lock().values() {
            worker.wake.notify_one();
        }
    }

    /// The queues with a worker that waits for a ready task.
    pub(crate) fn wanted_queues(&self) -> Vec<i64> {
        self.queues_of(|wants| wants.ready.iter().map(|(queue, _)| *queue).collect())
    }

    /// The queues with a worker that waits for the end of a task.
    pub(crate) fn blocked_queues(&self) -> Vec<i64> {
        self.queues_of(|wants| wants.freed.clone())
    }

    fn queues_of(&self, part: impl Fn(&Wants) -> Vec<i64>) -> Vec<i64> {
        let workers = self.workers.lock();
        let mut queues: Vec<i64> = workers.values().filter_map(|worker| worker.wants.as_ref()).flat_map(part).collect();
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// Notes a caller's interest in the end of a task, for as long as the returned value lives.
    pub(crate) fn await_task(&self, id: &TaskId) -> AwaitedTask<'_> {
        let over = Arc::clone(self.tasks.lock().entry(id.clone()).or_default());
        AwaitedTask { waiters: self, id: id.clone(), over }
    }

    /// Notifies the callers that wait for the end of a task.
    pub(crate) fn notify_finished(&self, id: &TaskId) {
        if let Some(over) = self.tasks.lock().get(id) {
            over.notify_waiters();
        }
    }

    /// The tasks whose end a caller waits for.
    pub(crate) fn awaited_tasks(&self) -> Vec<TaskId> {
        self.tasks.lock().keys().cloned().collect()
    }

    /// Counts a caller that blocks, for as long as the returned value lives.
    pub(crate) fn enter(&self) -> Blocked<'_> {
        self.blocked.fetch_add(1, Ordering::SeqCst);
        Blocked(self)
    }

    /// Whether any caller blocks until something happens.
    pub(crate) fn is_anybody_blocked(&self) -> bool {
        self.blocked.load(Ordering::SeqCst) > 0
    }
}

/// A caller's interest in the end of a task.
#[derive(Debug)]
pub(crate) struct AwaitedTask<'a> {
    waiters: &'a Waiters,
    id: TaskId,
    pub(crate) over: Arc<Notify>,
}

impl Drop for AwaitedTask<'_> {
    fn drop(&mut self) {
        let mut tasks = self.waiters.tasks.lock();
        // Only the register's own and this one: no other caller is interested.
        if Arc::strong_count(&self.over) == 2 {
            tasks.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn worker(name: &str) -> WorkerId {
        WorkerId::new(name).unwrap()
    }

    fn wants(ready: &[i64], freed: &[i64], limit: usize) -> Wants {
        Wants {
            ready: ready.iter().map(|queue| (*queue, limit)).collect(),
            freed: freed.to_vec(),
            limit,
            refused: BTreeMap::new(),
        }
    }

    #[test]
    fn a_worker_that_waits_for_the_end_of_a_task_is_not_told_of_ready_ones() {
        let waiters = Waiters::default();
        for name in ["a", "b"] {
            waiters.register(&worker(name), wants(&[], &[1], 10));
        }
        waiters.notify_ready(BTreeMap::from([(1, 15)]), SetAside::new());
        assert!(!is_notified(&waiters, "a") && !is_notified(&waiters, "b"));
        waiters.notify_freed(BTreeMap::from([(1, 1)]));
        assert!(is_notified(&waiters, "a") ^ is_notified(&waiters, "b"), "one ended: one may claim");
    }

    fn is_notified(waiters: &Waiters, name: &str) -> bool {
        waiters.wake_of(&worker(name)).notified().now_or_never().is_some()
    }

    #[test]
    fn only_as_many_workers_are_told_as_there_is_work_for() {
        let waiters = Waiters::default();
        for name in ["a", "b", "c"] {
            waiters.register(&worker(name), wants(&[1], &[], 10));
        }
        waiters.register(&worker("elsewhere"), wants(&[2], &[1], 10));
        waiters.notify_ready(BTreeMap::from([(1, 15)]), SetAside::new());
        let notified = ["a", "b", "c"].into_iter().filter(|name| is_notified(&waiters, name)).count();
        assert_eq!(notified, 2);
        assert!(!is_notified(&waiters, "elsewhere"));
    }

    #[test]
    fn a_worker_that_takes_few_of_a_queue_leaves_the_others_to_the_next() {
        let waiters = Waiters::default();
        for name in ["a", "b"] {
            waiters.register(&worker(name), Wants { limit: 64, ..wants(&[1], &[], 2) });
        }
        waiters.notify_ready(BTreeMap::from([(1, 10)]), SetAside::new());
        assert!(is_notified(&waiters, "a") && is_notified(&waiters, "b"));
    }

    #[test]
    fn a_task_that_some_refuse_is_told_to_a_worker_that_takes_it() {
        let waiters = Waiters::default();
        let refused = |gate: &str| BTreeMap::from([(1, BTreeSet::from([gate.to_owned()]))]);
        waiters.register(&worker("a"), Wants { refused: refused("?mine@1"), ..wants(&[1], &[], 10) });
        waiters.register(&worker("b"), Wants { refused: refused("?echo@1"), ..wants(&[1], &[], 10) });
        waiters.notify_ready(BTreeMap::new(), BTreeMap::from([(1, BTreeMap::from([("?mine@1".to_owned(), 3)]))]));
        assert!(!is_notified(&waiters, "a") && is_notified(&waiters, "b"));
        waiters.register(&worker("c"), wants(&[1], &[], 10));
        waiters.notify_ready(BTreeMap::from([(1, 3)]), SetAside::new());
        assert!(!is_notified(&waiters, "a") && is_notified(&waiters, "c"), "one that refuses nothing goes first");
    }

    #[test]
    fn a_worker_that_is_told_before_it_waits_does_not_miss_it() {
        let waiters = Waiters::default();
        waiters.register(&worker("a"), wants(&[1], &[], 1));
        waiters.notify_ready(BTreeMap::from([(1, 1)]), SetAside::new());
        assert!(is_notified(&waiters, "a"));
        assert!(!is_notified(&waiters, "a"));
    }

    #[test]
    fn nobody_is_interested_in_a_task_once_every_caller_has_gone() {
        let waiters = Waiters::default();
        let id = TaskId::new("t").unwrap();
        let (one, two) = (waiters.await_task(&id), waiters.await_task(&id));
        drop(one);
        assert_eq!(waiters.awaited_tasks(), [id]);
        drop(two);
        assert!(waiters.awaited_tasks().is_empty());
    }
}
