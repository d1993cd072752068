//! The lanes in which attempts run, one per slot of the worker, and the attempts that wait for one.
//!
//! A lane is a tokio task. When its attempt ends it takes the next waiting one, without asking the fetcher. Attempts
//! wait here only if tasks are short (`pace.rs`): then a claim returns more of them than there are free lanes, and the
//! lanes continue while the next call is under way.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use parking_lot::Mutex;

use crate::{
    attempts::attempt::Attempt,
    execution::executor::{Handover, Tools, execute},
    tasks::task_fn::AnyTask,
};

/// An attempt that is to run, and its function. Dropping it gives the task back.
#[derive(Debug)]
pub(crate) struct LaneJob {
    handover: Handover,
    function: &'static dyn AnyTask,
}

impl LaneJob {
    pub(crate) const fn new(attempt: Arc<Attempt>, function: &'static dyn AnyTask) -> Self {
        Self { handover: Handover::new(attempt), function }
    }
}

/// All lanes of a worker.
#[derive(Debug)]
pub(crate) struct Lanes {
    most: usize,
    inside: Mutex<LanesState>,
}

#[derive(Debug, Default)]
struct LanesState {
    /// Lanes in use.
    busy: usize,
    /// The earliest claim first. Empty while a lane is free.
    waiting: VecDeque<LaneJob>,
}

impl Lanes {
    pub(crate) fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self { most: slots, inside: Mutex::default() })
    }

    /// Adds jobs. Returns the lanes in which some of them run, to be spawned; the others wait.
    pub(crate) fn enter(self: &Arc<Self>, jobs: Vec<LaneJob>) -> Vec<OccupiedLane> {
        let mut inside = self.inside.lock();
        inside.waiting.extend(jobs);
        let count = self.most.saturating_sub(inside.busy).min(inside.waiting.len());
        inside.busy += count;
        let begin = |job| OccupiedLane { lanes: Arc::clone(self), job: Some(job), is_busy: true };
        inside.waiting.drain(..count).map(begin).collect()
    }

    /// How many jobs wait.
    pub(crate) fn waiting(&self) -> usize {
        self.inside.lock().waiting.len()
    }

    /// Since when the first waiting job waits.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.inside.lock().waiting.front().map(|job| job.handover.attempt().taken())
    }

    /// Gives back all waiting tasks. Returns how many.
    pub(crate) fn give_back(&self) -> usize {
        let waiting = std::mem::take(&mut self.inside.lock().waiting);
        waiting.len()
    }
}

/// A lane in use.
#[derive(Debug)]
pub(crate) struct OccupiedLane {
    lanes: Arc<Lanes>,
    job: Option<LaneJob>,
    is_busy: bool,
}

impl OccupiedLane {
    /// Runs its job, and then those that wait, one after another.
    pub(crate) async fn run(mut self, tools: Arc<Tools>) {
        while let Some(LaneJob { handover, function }) = self.job.take() {
            execute(handover, function, Arc::clone(&tools)).await;
            self.take_next();
            // Functions that never yield would otherwise block a thread of the runtime.
            tokio::task::consume_budget().await;
        }
    }

    /// Takes the job that waits longest, or leaves the lane, in one step, so that a job that arrives right after finds
    /// it free.
    fn take_next(&mut self) {
        let mut inside = self.lanes.inside.lock();
        self.job = inside.waiting.pop_front();
        if self.job.is_none() {
            inside.busy -= 1;
            self.is_busy = false;
        }
    }
}

impl Drop for OccupiedLane {
    /// The runtime ended, or an executor failed.
    fn drop(&mut self) {
        if self.is_busy {
            self.lanes.inside.lock().busy -= 1;
        }
    }
}
