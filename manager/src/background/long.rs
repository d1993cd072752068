//! Work that takes more than a few milliseconds, without delaying other requests.
//!
//! The runtime has a thread for each core, and each serves many connections: what a handler computes there delays them all.
//! [`LongWork`] hands the other connections of the thread over first, and lets only some pieces of work go on at a time, so
//! that a core is left for everything else. What consists of many short pieces takes [`Breaks`] instead.

use std::time::{Duration, Instant};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task,
};

/// From how many bytes on reading may take more than a millisecond.
const LONG_BYTES: usize = 64 * 1024;
/// How long a handler computes before it lets others go first.
const PIECE: Duration = Duration::from_millis(2);

/// Whether reading or writing so many bytes is long work.
pub(crate) const fn is_long(bytes: usize) -> bool {
    bytes > LONG_BYTES
}

/// The places for long work: half as many as there are cores.
#[derive(Debug)]
pub(crate) struct LongWork {
    places: Semaphore,
}

impl Default for LongWork {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { places: Semaphore::new(cores.div_ceil(2)) }
    }
}

impl LongWork {
    /// Does some work: at once if it is short, else when a place is free, where it delays no other task of the runtime.
    pub(crate) async fn run<T>(&self, is_long: bool, work: impl FnOnce() -> T) -> T {
        if !is_long {
            return work();
        }
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => task::block_in_place(work),
            // A test's runtime has no other thread to hand its tasks to.
            _ => work(),
        }
    }
}

/// The breaks of a handler that computes in many short pieces.
#[derive(Debug)]
pub(crate) struct Breaks {
    since: Instant,
}

impl Breaks {
    pub(crate) fn begin() -> Self {
        Self { since: Instant::now() }
    }

    /// Lets others go first if the latest break was a while ago.
    pub(crate) async fn take_if_due(&mut self) {
        if self.since.elapsed() > PIECE {
            task::yield_now().await;
            self.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_long_work_is_under_way() {
        let long_work = Arc::new(LongWork { places: Semaphore::new(3) });
        let mut under_way = Vec::new();
        for _ in 0..3 {
            let (begun, has_begun) = oneshot::channel();
            let (finish, may_finish) = mpsc::channel::<()>();
            let long_work = Arc::clone(&long_work);
            let working = tokio::spawn(async move {
                let work = move || {
                    begun.send(()).unwrap();
                    may_finish.recv().unwrap();
                };
                long_work.run(true, work).await;
            });
            has_begun.await.unwrap();
            under_way.push((finish, working));
        }
        // By the only thread of the runtime, which each piece of work holds.
        tokio::spawn(async {}).await.unwrap();
        for (finish, working) in under_way {
            assert!(!working.is_finished());
            finish.send(()).unwrap();
            working.await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_work_waits_for_a_place_and_short_work_does_not() {
        let long_work = Arc::new(LongWork { places: Semaphore::new(0) });
        assert_eq!(long_work.run(false, || 1).await, 1);
        let waiting = tokio::spawn({
            let long_work = Arc::clone(&long_work);
            async move { long_work.run(true, || 2).await }
        });
        task::yield_now().await;
        assert!(!waiting.is_finished());
        long_work.places.add_permits(1);
        assert_eq!(waiting.await.unwrap(), 2);
    }
}
