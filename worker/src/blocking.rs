//! Threads for synchronous tasks: as many as there are cores, started when they are first needed.
//!
//! Not tokio's blocking pool, for two reasons. That one is shared with file access and name resolution and is hundreds of
//! threads wide, where heavy work wants as many as there are cores. And a runtime waits for its blocking threads when it
//! is dropped, while a worker that is told to stop now must be able to leave a task behind that never ends.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use parking_lot::{Condvar, Mutex};
use tokio::{runtime::Handle, sync::oneshot};

type Job = Box<dyn FnOnce() + Send>;

/// The pool. Its threads end, after what they are at, when it is dropped.
#[derive(Debug)]
pub(crate) struct BlockingPool {
    shared: Arc<Shared>,
    width: usize,
    /// For `Handle::current()` inside a blocking task.
    runtime: Handle,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl BlockingPool {
    pub(crate) fn new(width: usize, runtime: Handle) -> Self {
        Self { shared: Arc::default(), width: width.max(1), runtime }
    }

    /// How many jobs run at a time.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Runs `job` on a thread of the pool. Dropping the answer does not stop the job.
    ///
    /// # Errors
    /// The panic, if it panicked.
    pub(crate) async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> thread::Result<T> {
        let (answer, answered) = oneshot::channel();
        let runtime = self.runtime.clone();
        self.put(Box::new(move || {
            let _runtime = runtime.enter();
            if let Err(unwanted) = answer.send(catch_unwind(AssertUnwindSafe(job))) {
                // Nobody waits for it any more, and dropping it may panic; the thread is needed further.
                catch_unwind(AssertUnwindSafe(|| drop(unwanted))).ok();
            }
        }));
        answered.await.unwrap_or_else(|_| Err(Box::new("no thread could be started for the task")))
    }

    fn put(&self, job: Job) {
        let mut state = self.shared.state.lock();
        state.waiting.push_back(job);
        if state.idle >= state.waiting.len() || state.threads >= self.width {
            self.shared.work.notify_one();
            return;
        }
        let shared = Arc::clone(&self.shared);
        let name = format!("jobbers-blocking-{}", state.threads);
        match thread::Builder::new().name(name).spawn(move || shared.work()) {
            Ok(_) => state.threads += 1,
            // With other threads at work it only takes longer; without any, whoever waits is told.
            Err(error) => {
                tracing::error!(%error, "could not start a thread for blocking tasks");
                if state.threads == 0 {
                    state.waiting.clear();
                }
            }
        }
    }
}

impl Drop for BlockingPool {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                self.work.wait(&mut state);
                state.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};

    use super::*;

    #[tokio::test]
    async fn as_many_jobs_run_at_once_as_the_pool_is_wide() {
        let pool = BlockingPool::new(2, Handle::current());
        let barrier = Arc::new(Barrier::new(2));
        let meet = || {
            let barrier = Arc::clone(&barrier);
            move || barrier.wait().is_leader()
        };
        // Neither can pass the barrier unless the other runs at the same time.
        let (one, two) = tokio::join!(pool.run(meet()), pool.run(meet()));
        assert_ne!(one.unwrap(), two.unwrap());
        assert_eq!(pool.shared.state.lock().threads, 2);
    }

    #[tokio::test]
    async fn a_pool_of_one_runs_one_after_the_other() {
        let pool = BlockingPool::new(1, Handle::current());
        let (told, order) = mpsc::channel();
        let say = |n: u32| {
            let told = told.clone();
            move || told.send(n).unwrap()
        };
        let _ = tokio::join!(pool.run(say(1)), pool.run(say(2)), pool.run(say(3)));
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(pool.shared.state.lock().threads, 1);
    }

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_thread_lives_on() {
        let pool = BlockingPool::new(1, Handle::current());
        assert!(pool.run(|| panic!("boom")).await.is_err());
        assert_eq!(pool.run(|| 7).await.unwrap(), 7);
    }
}
