//! Threads for synchronous tasks: as many as there are cores, started when they are first needed.
//!
//! A job that ignores its stop request holds its thread for good. The thread is then *written off*: another takes its
//! place in the pool, its result is ignored, and the thread ends with its job.
//!
//! The pool is not tokio's, for two reasons. Tokio's pool is shared with file access and name resolution and is
//! hundreds of threads wide, while heavy work wants as many threads as cores. And a runtime waits for its blocking
//! threads when it is dropped, while a worker that must stop now has to leave endless tasks behind.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread,
};

use futures_util::FutureExt;
use parking_lot::{Condvar, Mutex};
use tokio::{runtime::Handle, sync::oneshot};

/// Runs a job, leaves its seat and sends its answer. Returns false if its thread was written off meanwhile.
type Work = Box<dyn FnOnce() -> bool + Send>;

/// A job and its seat.
struct PoolJob {
    work: Work,
    seat: Arc<Seat>,
}

/// The state of a job: queued, on a thread, on a thread that was written off, or over. A job leaves its seat before its
/// answer is sent, so a caller that has the answer never finds the job on its thread.
#[derive(Debug, Default)]
pub(crate) struct Seat(AtomicU8);

impl Seat {
    const ON_THREAD: u8 = 1;
    const WRITTEN_OFF: u8 = 2;
    const LEFT: u8 = 3;

    /// A thread takes the job.
    fn take(&self) {
        self.0.store(Self::ON_THREAD, Ordering::Release);
    }

    /// The job is over. Returns false if its thread was written off meanwhile.
    fn leave(&self) -> bool {
        self.0.swap(Self::LEFT, Ordering::AcqRel) != Self::WRITTEN_OFF
    }

    /// Marks the thread of the job as written off. Returns false if the job is not on a thread.
    fn write_off(&self) -> bool {
        self.0.compare_exchange(Self::ON_THREAD, Self::WRITTEN_OFF, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether the job is over.
    pub(crate) fn is_left(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::LEFT
    }
}

/// The pool. When it is dropped, its threads end after their present jobs.
#[derive(Debug)]
pub(crate) struct BlockingPool {
    shared: Arc<SharedPool>,
    width: usize,
    /// For `Handle::current()` inside a blocking task.
    runtime: Handle,
}

#[derive(Default)]
struct SharedPool {
    state: Mutex<PoolState>,
    work: Condvar,
}

impl std::fmt::Debug for SharedPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

#[derive(Default)]
struct PoolState {
    waiting: VecDeque<PoolJob>,
    /// Threads that take jobs.
    threads: usize,
    idle: usize,
    closed: bool,
}

impl BlockingPool {
    pub(crate) fn new(width: usize, runtime: Handle) -> Self {
        Self { shared: Arc::default(), width: width.max(1), runtime }
    }

    /// How many jobs run concurrently.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Runs `job` on a thread of the pool. The future resolves to its return value or its panic; dropping the future
    /// does not stop the job. The seat is for [`BlockingPool::write_off`].
    pub(crate) fn run<T: Send + 'static, J: FnOnce() -> T + Send + 'static>(
        &self,
        job: J,
    ) -> (Arc<Seat>, impl Future<Output = thread::Result<T>> + Send + use<T, J>) {
        let (answer, answered) = oneshot::channel();
        let runtime = self.runtime.clone();
        let seat = Arc::<Seat>::default();
        let taken = Arc::clone(&seat);
        let work = Box::new(move || {
            let _runtime = runtime.enter();
            let result = catch_unwind(AssertUnwindSafe(job));
            if answer.is_closed() {
                // The result is not needed. Dropping it may take long, which is still the job's time, and may panic,
                // which the thread must survive.
                catch_unwind(AssertUnwindSafe(|| drop(result))).ok();
                return taken.leave();
            }
            let stays = taken.leave();
            if let Err(unwanted) = answer.send(result) {
                catch_unwind(AssertUnwindSafe(|| drop(unwanted))).ok();
            }
            stays
        });
        let mut state = self.shared.state.lock();
        state.waiting.push_back(PoolJob { work, seat: Arc::clone(&seat) });
        self.staff(&mut state);
        drop(state);
        let no_thread = |_| Err(Box::new("no thread could be started for the task") as Box<dyn Any + Send>);
        (seat, answered.map(move |answer| answer.unwrap_or_else(no_thread)))
    }

    /// Gives up the thread that runs the job of this seat, if one does; another may be started in its place.
    pub(crate) fn write_off(&self, seat: &Seat) -> bool {
        let mut state = self.shared.state.lock();
        if !seat.write_off() {
            return false;
        }
        state.threads -= 1;
        if !state.waiting.is_empty() {
            self.staff(&mut state);
        }
        true
    }

    /// Wakes a thread for waiting jobs, or starts one.
    fn staff(&self, state: &mut PoolState) {
        if state.idle >= state.waiting.len() || state.threads >= self.width {
            self.shared.work.notify_one();
            return;
        }
        let shared = Arc::clone(&self.shared);
        let name = format!("jobbers-blocking-{}", state.threads);
        match thread::Builder::new().name(name).spawn(move || shared.work()) {
            Ok(_) => state.threads += 1,
            // With other threads this only takes longer; without any, the waiting callers get an error.
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

impl SharedPool {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                job.seat.take();
                drop(state);
                if !(job.work)() {
                    return;
                }
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
        let (one, two) = tokio::join!(pool.run(meet()).1, pool.run(meet()).1);
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
        let _ = tokio::join!(pool.run(say(1)).1, pool.run(say(2)).1, pool.run(say(3)).1);
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(pool.shared.state.lock().threads, 1);
    }

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_thread_lives_on() {
        let pool = BlockingPool::new(1, Handle::current());
        assert!(pool.run(|| panic!("boom")).1.await.is_err());
        assert_eq!(pool.run(|| 7).1.await.unwrap(), 7);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_job_that_has_answered_can_no_longer_be_written_off() {
        let pool = BlockingPool::new(1, Handle::current());
        let (begin, begun) = oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let (seat, answer) = pool.run(move || {
            begin.send(()).unwrap();
            released.recv().unwrap();
        });
        let answered = tokio::spawn(answer);
        begun.await.unwrap();
        // What a thread does between two jobs needs this lock; the answer arrives all the same.
        let state = pool.shared.state.lock();
        release.send(()).unwrap();
        while !answered.is_finished() {
            thread::yield_now();
        }
        assert!(seat.is_left());
        drop(state);
        assert!(!pool.write_off(&seat));
    }

    #[tokio::test]
    async fn a_thread_that_is_written_off_is_replaced_and_ends_with_its_job() {
        let pool = BlockingPool::new(1, Handle::current());
        let (begin, begun) = oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let (seat, answer) = pool.run(move || {
            begin.send(()).unwrap();
            released.recv().unwrap();
        });
        begun.await.unwrap();
        let (waiting, next) = pool.run(|| 7);
        assert!(!pool.write_off(&waiting), "it holds no thread");
        drop(answer);
        assert!(pool.write_off(&seat) && !pool.write_off(&seat));
        assert_eq!(next.await.unwrap(), 7);
        assert!(!seat.is_left());
        release.send(()).unwrap();
        while !seat.is_left() {
            thread::yield_now();
        }
        assert_eq!(pool.shared.state.lock().threads, 1);
        assert_eq!(pool.run(|| 8).1.await.unwrap(), 8);
    }
}
