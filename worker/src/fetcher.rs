//! The worker's one loop: it settles finished tasks and claims new ones in one call, and sleeps if it can do neither.
//!
//! The fetcher owns the truth about leases and settlements. Tasks and replies reach it as events, one after the other.
//! Up to two calls are under way, each for half of what the worker may hold, so that the store works on one half while
//! tasks run in the other. Batches form by themselves: tasks that finish during a call join the next one. An idle
//! worker waits in [`Engine::wait`] until it is woken; nothing here polls.
//!
//! Start at [`Fetcher::run`]. `fetcher/calls.rs` builds calls and handles their answers, `fetcher/ask.rs` decides what
//! they claim, `fetcher/ahead.rs` how many tasks are claimed ahead of the slots, `fetcher/refusals.rs` handles calls
//! that the store refuses, `fetcher/unknown.rs` tasks that this worker does not know, `fetcher/drain.rs` the end.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use jobbers_common::{
    engine::{Engine, LostTask, Outcome, Result},
    limits::MAX_BATCH,
    name::TaskId,
    queue::Config as StoreConfig,
    task::Fence,
    worker::RegisteredWorker,
};
use jobbers_process::shutdown::Shutdown;
use tokio::{runtime::Handle, time::sleep_until};

use self::{calls::Answer, drain::Phase, refusals::Aside};
use crate::{
    attempt::{Attempt, Ended, SharedState},
    blocking_queue::BlockingQueue,
    claim_planner::ClaimPlanner,
    executor::Tools,
    lanes::Lanes,
    leases::Leases,
    meters::{Figures, Meters},
    outage::Outage,
    pace::Pace,
    registrar::Board,
    registry::Registry,
    report::Report,
    unknown_tasks::UnknownTasks,
};

mod ahead;
mod ask;
mod calls;
mod drain;
mod refusals;
#[cfg(test)]
mod tests;
mod unknown;

/// The longest sleep of an idle worker. Events wake it earlier; this bounds the harm of a lost signal.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The most calls under way: one at the store while the tasks of the other run.
const MOST_CALLS: usize = 2;

/// The end of an attempt on its way to the store.
#[derive(Debug)]
struct Settling {
    id: TaskId,
    /// A task that was not started, as it is counted.
    unstarted: Option<LostTask>,
    fence: Fence,
    outcome: Outcome,
    /// `None` for a task that was given back without having been started.
    attempt: Option<Arc<Attempt>>,
}

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An event for the fetcher.
enum Event {
    Answer(Box<Answer>),
    Finished,
    Woken,
    Config(Result<Arc<StoreConfig>>),
    Workers(Option<Vec<RegisteredWorker>>),
    Time,
    Drain,
    Now,
}

/// The parts of the fetcher.
pub(crate) struct Parts {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) registry: Registry,
    pub(crate) planner: ClaimPlanner,
    pub(crate) tools: Arc<Tools>,
    /// The runtime of the task functions.
    pub(crate) runtime: Handle,
    pub(crate) board: Arc<Board>,
    pub(crate) meters: Meters,
    pub(crate) figures: Arc<Figures>,
    pub(crate) slots: usize,
    /// Tasks left until a clean exit; `None` without a limit.
    pub(crate) ttl: Option<u64>,
    pub(crate) drain_deadline: Duration,
    /// The number of threads held by endless tasks at which the worker drains.
    pub(crate) max_hung_threads: usize,
}

/// The loop and its state.
pub(crate) struct Fetcher {
    parts: Parts,
    unknown: UnknownTasks,
    outage: Outage,
    phase: Phase,
    told_to_stop: Option<Instant>,
    /// Settlements that are not in a call.
    unsettled: Vec<Settling>,
    /// Settlements that the store could not accept, though it accepts others.
    aside: Aside,
    /// The blocking tasks it holds; `None` if the program has no blocking task.
    blocking_queue: Option<BlockingQueue>,
    calls: FuturesUnordered<Pending<Box<Answer>>>,
    loading: Option<Pending<Result<Arc<StoreConfig>>>>,
    /// The registered workers, while they are read.
    looking: Option<Pending<Option<Vec<RegisteredWorker>>>>,
    lanes: Arc<Lanes>,
    pace: Pace,
    /// Attempts that run or wait for a lane.
    held: usize,
    /// Tasks asked for by the calls under way.
    asked: usize,
    /// Settlements in the calls under way.
    settling: usize,
    /// Whether the queues held something when last asked.
    hungry: bool,
    /// Whether the last claim refused the kinds of blocking tasks, because the blocking queue was full.
    refuses_blocking: bool,
    /// Whether something may have changed since the last call.
    woken: bool,
    /// Whether the operator drained it, until the operator resumes it.
    quiet: bool,
    /// The most settlements in a call; reduced while searching for the one that the store refuses.
    settle_limit: usize,
    next_due: Option<Duration>,
    /// Until when it leaves to others what its last claim refused; a wake does not end that.
    leaves_until: Option<Instant>,
    spare: Vec<Ended>,
    report: Report,
}

impl Fetcher {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            lanes: Lanes::new(parts.slots),
            pace: Pace::default(),
            blocking_queue: parts.registry.has_blocking().then(|| BlockingQueue::new(parts.tools.pool.width())),
            parts,
            unknown: UnknownTasks::default(),
            outage: Outage::default(),
            phase: Phase::Running,
            told_to_stop: None,
            unsettled: Vec::new(),
            aside: Aside::default(),
            calls: FuturesUnordered::new(),
            loading: None,
            looking: None,
            held: 0,
            asked: 0,
            settling: 0,
            hungry: true,
            refuses_blocking: false,
            woken: false,
            quiet: false,
            settle_limit: MAX_BATCH,
            next_due: None,
            leaves_until: None,
            spare: Vec::new(),
            report: Report::default(),
        }
    }

    /// Works until it gets a stop request or has run its number of tasks, and everything is settled.
    pub(crate) async fn run(mut self, shutdown: &Shutdown) -> Report {
        self.load_config();
        loop {
            self.collect();
            self.count_hung_threads();
            self.give_back_overdue();
            self.release_stragglers();
            self.decide_unknown();
            self.launch();
            if self.is_over() {
                break;
            }
            match self.next_event(shutdown).await {
                Event::Answer(answer) => self.take_in(*answer),
                Event::Finished | Event::Time => {}
                Event::Woken => self.woken = true,
                Event::Config(config) => self.follow(config),
                Event::Workers(workers) => self.follow_workers(workers),
                Event::Drain => self.begin_drain(),
                Event::Now => self.close(),
            }
        }
        let left = self.unsettled.len() + self.aside.len() + self.settling;
        if left > 0 {
            self.report.unsettled = left as u64;
            tracing::warn!(tasks = left, "left without settling these; their leases will end");
        }
        if let Some(told) = self.told_to_stop {
            self.parts.meters.drained(told.elapsed(), self.report.late || left > 0);
        }
        self.report
    }

    async fn next_event(&mut self, shutdown: &Shutdown) -> Event {
        let timer = self.timer();
        let may_wait =
            self.calls.is_empty() && self.loading.is_none() && !self.outage.is_on() && self.leaves_until.is_none();
        let next_due = self.next_due.filter(|_| self.room() > 0).unwrap_or(LONGEST_WAIT);
        let at_most = next_due.clamp(Duration::from_millis(1), LONGEST_WAIT);
        let Parts { engine, shared, .. } = &self.parts;
        tokio::select! {
            biased;
            () = shutdown.now.cancelled(), if !matches!(self.phase, Phase::Closing { .. }) => Event::Now,
            () = shutdown.drain.cancelled(), if matches!(self.phase, Phase::Running) => Event::Drain,
            Some(answer) = self.calls.next(), if !self.calls.is_empty() => Event::Answer(answer),
            config = next_of(&mut self.loading) => Event::Config(config),
            workers = next_of(&mut self.looking) => Event::Workers(workers),
            () = shared.finished.wait() => Event::Finished,
            () = sleep_until(timer.unwrap_or_else(Instant::now).into()), if timer.is_some() => Event::Time,
            () = engine.wait(&shared.worker, at_most), if may_wait => Event::Woken,
        }
    }

    /// The next time at which something is due.
    fn timer(&self) -> Option<Instant> {
        let aside = self.aside.retry_at().filter(|_| self.may_retry());
        let workers_at = self.unknown.read_again_at().filter(|_| self.looking.is_none());
        let times = [
            self.outage.retry_at(),
            aside,
            self.unknown.next_end(),
            self.leaves_until,
            workers_at,
            self.overdue_at(),
            self.phase.timer(self.held),
        ];
        times.into_iter().flatten().min()
    }

    /// Collects the attempts that have ended.
    fn collect(&mut self) {
        let mut ended = std::mem::take(&mut self.spare);
        self.parts.shared.finished.swap(&mut ended);
        for Ended { attempt, outcome } in ended.drain(..) {
            self.ended(attempt, outcome);
        }
        self.spare = ended;
        let running = self.running();
        self.parts.board.count(running, self.report.settled);
        self.parts.figures.set(running, self.unsettled.len() + self.aside.len(), self.parts.planner.version);
    }

    fn ended(&mut self, attempt: Arc<Attempt>, outcome: Option<Outcome>) {
        if attempt.has_begun() {
            self.pace.ran(attempt.ran());
        }
        self.left(&attempt);
        match outcome {
            Some(outcome) => {
                let (id, fence) = (attempt.task.id.clone(), attempt.task.fence);
                self.unsettled.push(Settling { id, unstarted: None, fence, outcome, attempt: Some(attempt) });
            }
            None => {
                self.report.lost += 1;
                if let Some(pair) = &attempt.pair {
                    pair.lease_lost();
                }
                self.parts.leases.release([&attempt]);
            }
        }
    }

    /// Counts an attempt as ended.
    fn left(&mut self, attempt: &Attempt) {
        self.held -= 1;
        self.parts.planner.free(&attempt.task.queue, 1);
        if let Some(queue) = self.blocking_queue.as_mut().filter(|_| attempt.is_blocking()) {
            queue.leave(attempt.ran());
        }
    }

    fn load_config(&mut self) {
        let engine = Arc::clone(&self.parts.engine);
        self.loading = Some(Box::pin(async move { engine.config().await }));
    }

    fn follow(&mut self, config: Result<Arc<StoreConfig>>) {
        self.loading = None;
        match config {
            Ok(config) => {
                self.outage.answered();
                self.heed_operator(config.draining.contains_key(&self.parts.shared.worker));
                if self.parts.planner.follow(&config) {
                    let queues = self.parts.planner.queues();
                    self.parts.meters.serve(&queues, &self.parts.registry.kinds());
                    self.parts.board.serve(queues);
                }
                self.hungry = true;
                self.woken = true;
            }
            Err(error) => {
                self.outage.note(&error, Instant::now());
                self.woken = true;
            }
        }
    }
}

/// The result of the current read; pending for ever if none is under way.
async fn next_of<T>(reading: &mut Option<Pending<T>>) -> T {
    match reading {
        Some(reading) => reading.await,
        None => std::future::pending().await,
    }
}
