//! Threads that were written off: each is still held by a task whose attempt is over.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    name::{QueueName, TaskName},
    worker::HeldThread,
};
use parking_lot::Mutex;

use crate::threads::pool::Seat;

/// The most threads that a report names.
const MOST_NAMED: usize = 100;

/// The threads that were written off and have not ended yet.
#[derive(Debug, Default)]
pub(crate) struct HungThreads(Mutex<Vec<WrittenOff>>);

/// A thread that was written off.
#[derive(Debug)]
struct WrittenOff {
    seat: Arc<Seat>,
    /// When its function began.
    since: Instant,
    /// Its report; `held_for` is filled in when reporting.
    thread: HeldThread,
}

/// The longest held threads, as many as a report names.
pub(crate) fn longest_first(mut threads: Vec<HeldThread>) -> Vec<HeldThread> {
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.held_for));
    threads.truncate(MOST_NAMED);
    threads
}

impl HungThreads {
    /// Notes that this thread is held by the function of an attempt that is over.
    pub(crate) fn add(&self, thread: HeldThread, seat: Arc<Seat>) {
        tracing::error!(
            id = %thread.id, name = %thread.name, attempt = thread.attempt, ran = ?thread.held_for,
            "the task ignored its stop request; its thread is written off"
        );
        let now = Instant::now();
        self.held().push(WrittenOff { seat, since: now.checked_sub(thread.held_for).unwrap_or(now), thread });
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.held().len()
    }

    /// Which tasks hold them and for how long, the longest first.
    pub(crate) fn named(&self) -> Vec<HeldThread> {
        let held = self.held();
        let thread = |held: &WrittenOff| HeldThread { held_for: held.since.elapsed(), ..held.thread.clone() };
        let threads = held.iter().map(thread).collect();
        drop(held);
        longest_first(threads)
    }

    /// For each pair of queue and task: how many threads it holds, and the longest time among them.
    pub(crate) fn by_pair(&self) -> BTreeMap<(QueueName, TaskName), (usize, Duration)> {
        let mut pairs = BTreeMap::new();
        for WrittenOff { since, thread, .. } in self.held().iter() {
            let pair = (thread.queue.clone(), thread.name.clone());
            let (count, longest): &mut (usize, Duration) = pairs.entry(pair).or_default();
            *count += 1;
            *longest = (*longest).max(since.elapsed());
        }
        pairs
    }

    /// Those that are still held.
    fn held(&self) -> parking_lot::MutexGuard<'_, Vec<WrittenOff>> {
        let mut held = self.0.lock();
        held.retain(|held| !held.seat.is_left());
        held
    }
}
