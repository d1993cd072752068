//! The law of an [`Engine`](jobbers_common::engine::Engine) as a small program: everything in one map behind one lock, nothing clever.
//!
//! It is what the real engines are compared with, and a store for unit tests. It keeps nothing beyond its life, and its
//! costs grow with the number of tasks. Start reading at `state.rs`; then one function per verb.

use std::{collections::HashMap, fmt, sync::Arc, time::SystemTime};

use jobbers_common::{
    name::WorkerId,
    time::{Clock, Timestamp},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

mod audit;
mod audit_log;
mod backup;
mod board;
mod boards;
mod dependency;
mod engine;
mod gates;
mod history;
mod letters;
mod parents;
mod reads;
mod records;
mod schedules;
mod settings;
mod state;
mod submit;
mod unique;
mod upkeep;
mod work;
mod workflows;

use state::State;

/// The reference store.
pub struct ModelEngine {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// One per worker that ever waited; a permit is kept for one that is not waiting yet.
    wakers: Mutex<HashMap<WorkerId, Arc<Notify>>>,
    /// Told whenever a task is over.
    finished: Notify,
    /// Notified at each commit to a board.
    committed: Notify,
}

impl fmt::Debug for ModelEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelEngine")
    }
}

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl ModelEngine {
    /// An empty store that goes by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            wakers: Mutex::default(),
            finished: Notify::new(),
            committed: Notify::new(),
        }
    }

    /// An empty store that goes by the system's clock.
    #[must_use]
    pub fn with_system_clock() -> Self {
        Self::new(Arc::new(SystemClock))
    }

    /// Runs one verb, then wakes whom it concerns.
    fn step<T>(&self, verb: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let mut state = self.state.lock();
        let now = self.clock.now();
        let answer = verb(&mut state, now);
        state.signal_all(now);
        let wakes = std::mem::take(&mut state.wakes);
        let finished = std::mem::take(&mut state.something_finished);
        drop(state);
        for worker in wakes {
            self.waker(&worker).notify_one();
        }
        if finished {
            self.finished.notify_waiters();
        }
        answer
    }

    fn waker(&self, worker: &WorkerId) -> Arc<Notify> {
        Arc::clone(self.wakers.lock().entry(worker.clone()).or_default())
    }
}
