//! The worker's one loop: it settles finished tasks and claims new ones in one call, and sleeps if it can do neither.
//!
//! The fetcher owns the truth about leases and settlements. Tasks and replies reach it as events, one after the other.
//! Up to two calls are under way, each for half of what the worker may hold, so that the store works on one half while
//! tasks run in the other. Batches form by themselves: tasks that finish during a call join the next one. An idle
//! worker waits in [`Waiting::wait`](jobbers_common::engine::Waiting::wait) until it is woken; nothing here polls.
//!
//! Start at [`Fetcher::run`]. The state is in values with a file each: `life.rs`, `slots.rs`, `demand.rs`, `unsettled.rs`,
//! `calls.rs`. What concerns several of them is in the other files: `launch.rs` decides when a call is due and what it
//! contains, `replies.rs` handles answers, `refusals.rs` calls that the store refuses, `unknown.rs` tasks that this
//! worker does not know, `drain.rs` the end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Engine, Outcome, Result},
    queue::Config as StoreConfig,
    worker::RegisteredWorker,
};
use jobbers_process::shutdown::Shutdown;
use tokio::{runtime::Handle, time::sleep_until};

use self::{
    call::CallResult, calls::Calls, demand::Demand, life::Life, reads::Read, settling::Settling, slots::WorkerSlots,
    unsettled::Unsettled,
};
use crate::{
    attempts::{
        attempt::{Attempt, Ended, SharedState},
        leases::HeldLeases,
        meters::{Figures, Meters},
    },
    execution::executor::Tools,
    fetcher::{claim_planner::ClaimPlanner, unknown_tasks::UnknownTasks},
    liveness::{outage::Outage, registrar::WorkerStatus},
    report::Report,
    tasks::registry::Registry,
    threads::queue::BlockingQueue,
};

mod call;
mod calls;
pub(crate) mod claim_planner;
mod demand;
mod drain;
mod launch;
mod life;
mod pace;
mod reads;
mod refusals;
mod replies;
mod settling;
mod slots;
#[cfg(test)]
mod tests;
mod unknown;
mod unknown_tasks;
mod unsettled;

/// The longest sleep of an idle worker. Events wake it earlier; this bounds the harm of a lost signal.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// An event for the fetcher.
enum Event {
    Answer(Box<CallResult>),
    Finished,
    Woken,
    Config(Result<Arc<StoreConfig>>),
    Workers(Option<Vec<RegisteredWorker>>),
    Time,
    Drain,
    Now,
}

/// The parts of the fetcher.
pub(crate) struct FetcherParts {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) leases: Arc<HeldLeases>,
    pub(crate) registry: Registry,
    pub(crate) planner: ClaimPlanner,
    pub(crate) tools: Arc<Tools>,
    /// The runtime of the task functions.
    pub(crate) runtime: Handle,
    pub(crate) status: Arc<WorkerStatus>,
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
    parts: FetcherParts,
    unknown: UnknownTasks,
    outage: Outage,
    life: Life,
    slots: WorkerSlots,
    demand: Demand,
    unsettled: Unsettled,
    calls: Calls,
    config: Read<Result<Arc<StoreConfig>>>,
    workers: Read<Option<Vec<RegisteredWorker>>>,
    /// The buffer for attempts that have ended.
    spare: Vec<Ended>,
    report: Report,
}

impl Fetcher {
    pub(crate) fn new(parts: FetcherParts) -> Self {
        let blocking = parts.registry.has_blocking().then(|| BlockingQueue::new(parts.tools.pool.width()));
        Self {
            slots: WorkerSlots::new(parts.slots, parts.ttl, parts.shared.lease, blocking),
            parts,
            unknown: UnknownTasks::default(),
            outage: Outage::default(),
            life: Life::default(),
            demand: Demand::default(),
            unsettled: Unsettled::default(),
            calls: Calls::default(),
            config: Read::default(),
            workers: Read::default(),
            spare: Vec::new(),
            report: Report::default(),
        }
    }

    /// Works until it gets a stop request or has run its number of tasks, and everything is settled.
    pub(crate) async fn run(mut self, shutdown: &Shutdown) -> Report {
        self.config.begin(Arc::clone(&self.parts.engine));
        loop {
            self.collect();
            self.count_hung_threads();
            self.slots.give_back_overdue();
            self.release_stragglers();
            self.decide_unknown();
            self.launch();
            if self.is_over() {
                break;
            }
            match self.next_event(shutdown).await {
                Event::Answer(answer) => self.take_in(*answer),
                Event::Finished | Event::Time => {}
                Event::Woken => self.demand.woken = true,
                Event::Config(config) => self.follow(config),
                Event::Workers(workers) => self.follow_workers(workers),
                Event::Drain => self.begin_drain(),
                Event::Now => self.close(),
            }
        }
        let left = self.unsettled.len() + self.calls.settling();
        if left > 0 {
            self.report.unsettled = left as u64;
            tracing::warn!(tasks = left, "left without settling these; their leases will end");
        }
        if let Some(since) = self.life.stopping_since {
            self.parts.meters.drained(since.elapsed(), self.report.late || left > 0);
        }
        self.report
    }

    async fn next_event(&mut self, shutdown: &Shutdown) -> Event {
        let timer = self.timer();
        let has_call = !self.calls.is_empty();
        let is_busy = has_call || self.config.is_under_way();
        let may_wait = !is_busy && !self.outage.is_on() && self.demand.leaves_until.is_none();
        let next_due = self.demand.next_due.filter(|_| self.room() > 0).unwrap_or(LONGEST_WAIT);
        let at_most = next_due.clamp(Duration::from_millis(1), LONGEST_WAIT);
        let FetcherParts { engine, shared, .. } = &self.parts;
        tokio::select! {
            biased;
            () = shutdown.now.cancelled(), if !self.life.is_closing() => Event::Now,
            () = shutdown.drain.cancelled(), if self.life.is_running() => Event::Drain,
            Some(answer) = self.calls.next(), if has_call => Event::Answer(answer),
            config = self.config.next() => Event::Config(config),
            workers = self.workers.next() => Event::Workers(workers),
            () = shared.finished.wait() => Event::Finished,
            () = sleep_until(timer.unwrap_or_else(Instant::now).into()), if timer.is_some() => Event::Time,
            () = engine.wait(&shared.worker, at_most), if may_wait => Event::Woken,
        }
    }

    /// The next time at which something is due.
    fn timer(&self) -> Option<Instant> {
        let aside = self.unsettled.aside.retry_at().filter(|_| self.may_retry());
        let workers_at = self.unknown.read_again_at().filter(|_| !self.workers.is_under_way());
        let times = [
            self.outage.retry_at(),
            aside,
            self.unknown.next_end(),
            self.demand.leaves_until,
            workers_at,
            self.slots.overdue_at(),
            self.life.timer(self.slots.held),
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
        let running = self.slots.running();
        self.parts.status.count(running, self.report.settled);
        self.parts.figures.set(running, self.unsettled.len(), self.parts.planner.version);
    }

    fn ended(&mut self, attempt: Arc<Attempt>, outcome: Option<Outcome>) {
        if attempt.has_begun() {
            self.slots.pace.ran(attempt.ran());
        }
        self.left(&attempt);
        match outcome {
            Some(outcome) => self.unsettled.push(Settling::ended(attempt, outcome)),
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
        self.slots.leave(attempt);
        self.parts.planner.free(&attempt.task.queue, 1);
    }

    fn follow(&mut self, config: Result<Arc<StoreConfig>>) {
        match config {
            Ok(config) => {
                self.outage.answered();
                self.follow_operator(config.draining.contains_key(&self.parts.shared.worker));
                if self.parts.planner.follow(&config) {
                    let queues = self.parts.planner.queues();
                    self.parts.meters.serve(&queues, &self.parts.registry.kinds());
                    self.parts.status.serve(queues);
                }
                self.demand.renew();
            }
            Err(error) => {
                self.outage.note(&error, Instant::now());
                self.demand.woken = true;
            }
        }
    }
}
