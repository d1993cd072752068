//! Builds calls to the store and handles their answers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{
        ClaimRequest, Cycle, CycleReply, Engine, Error, Extension, Heartbeat, LostTask, Outcome, QueueClaim, Result,
        SettleAnswer, Settlement,
    },
    lifecycle::Status,
    limits::MAX_BATCH,
    name::WorkerId,
    policy::TaskPolicy,
    task::ClaimedTask,
    task_kind::TaskKind,
};

use super::{Fetcher, MOST_CALLS, Settling, ask::Ask};
use crate::{
    attempt::{Attempt, Stop, Taken},
    blocking_queue::BlockingQueue,
    lanes::Job,
    meters::{self, pair::Pair},
    task_fn::AnyTask,
};

/// The most bytes of results in one call, unless a single one has more.
const MOST_SETTLED_BYTES: usize = 8 * 1024 * 1024;
/// How long a worker that found only kinds it refuses leaves them to others, who take hundreds in that time. Setting a short
/// task aside and taking it back more than doubles what it costs the store.
const LEAVING: Duration = Duration::from_millis(20);

/// A call to the store.
pub(super) struct Call {
    pub(super) settling: Vec<Settling>,
    /// Whether it retries a settlement that could not be made before.
    pub(super) is_alone: bool,
    ask: Ask,
    sent: Instant,
}

/// The result of a call.
pub(super) struct Answer {
    call: Call,
    result: Result<CycleReply>,
}

impl Call {
    /// Whether it asked for tasks.
    pub(super) const fn claims(&self) -> bool {
        self.ask.room > 0
    }
}

impl Fetcher {
    /// Makes the calls that are due.
    pub(super) fn launch(&mut self) {
        let now = Instant::now();
        self.woken |= self.unknown.follow_on(now) || self.leaves_until.take_if(|until| *until <= now).is_some();
        self.ask_for_blocking_again();
        if self.may_retry()
            && let Some(one) = self.aside.take(now)
        {
            self.send(vec![one], true, Ask::default());
        }
        while let Some(room) = self.next_call() {
            self.call(room);
        }
    }

    /// How many tasks the next call claims, if one is due now.
    ///
    /// Without a call under way, one is due as soon as there is anything to settle, claim or maintain. With another
    /// call under way, only when a whole batch can be claimed: settlements that join the next call arrive sooner than
    /// by a call of their own.
    fn next_call(&self) -> Option<usize> {
        if self.calls.len() >= MOST_CALLS || self.outage.is_on() {
            return None;
        }
        let room = self.room();
        let due = if self.calls.is_empty() {
            !self.unsettled.is_empty() || self.woken || self.hungry && room > 0
        } else {
            self.hungry && room >= self.batch()
        };
        due.then_some(room)
    }

    /// Whether a settlement that was put aside may be retried: the store answers and does nothing else for this worker.
    pub(super) fn may_retry(&self) -> bool {
        self.calls.is_empty() && !self.outage.is_on() && !self.outage.forbids_claims()
    }

    /// How many tasks may be claimed now.
    pub(super) fn room(&self) -> usize {
        let looks_for_a_culprit = self.settle_limit < MAX_BATCH;
        if !self.claims() || self.parts.planner.version == 0 || self.outage.forbids_claims() || looks_for_a_culprit {
            return 0;
        }
        // Until it is known which workers know these, a further claim would return more of their kind.
        if self.unknown.has_undecided() {
            return 0;
        }
        let free = self.most_held().saturating_sub(self.held + self.asked);
        let left = self.parts.ttl.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        free.min(self.batch()).min(left.saturating_sub(self.asked))
    }

    /// How many settlements the next call contains: no more bytes of results than can arrive in time, but at least one.
    fn settle_count(&self) -> usize {
        let most = self.unsettled.len().min(self.settle_limit);
        let mut bytes = 0;
        let fitting = self.unsettled[..most].iter().take_while(|one| {
            bytes += one.outcome.bytes();
            bytes <= MOST_SETTLED_BYTES
        });
        fitting.count().max(most.min(1))
    }

    fn call(&mut self, room: usize) {
        let count = self.settle_count();
        let settling: Vec<Settling> = self.unsettled.drain(..count).collect();
        let ask = self.ask(room);
        // If every queue is at its limit, nothing can be claimed until a task ends.
        self.hungry &= room == 0 || ask.room > 0;
        if settling.is_empty() && ask.room == 0 && !self.woken {
            return;
        }
        self.woken = false;
        self.send(settling, false, ask);
    }

    fn send(&mut self, settling: Vec<Settling>, is_alone: bool, ask: Ask) {
        self.asked += ask.room;
        self.settling += settling.len();
        if let Some(queue) = &mut self.blocking_queue {
            queue.ask(ask.blocking);
        }
        let unwritten = unwritten(&settling);
        let cycle = Cycle {
            worker: self.parts.shared.worker.clone(),
            settlements: settling.iter().map(Settling::settlement).collect(),
            claim: (ask.room > 0).then(|| ClaimRequest {
                queues: ask.queues.clone(),
                limit: ask.room,
                refused: ask.refused.clone(),
                lease: self.parts.shared.lease,
            }),
        };
        let (engine, lease) = (Arc::clone(&self.parts.engine), self.parts.shared.lease);
        self.calls.push(Box::pin(async move {
            if !unwritten.is_empty() {
                write_down(engine.as_ref(), &cycle.worker, lease, unwritten).await;
            }
            let sent = Instant::now();
            let answered = tokio::time::timeout(lease, engine.cycle(cycle)).await;
            let result = answered.unwrap_or_else(|_| Err(Error::unavailable("no answer in time")));
            Box::new(Answer { call: Call { settling, is_alone, ask, sent }, result })
        }));
    }

    /// Handles the answer of a call.
    pub(super) fn take_in(&mut self, Answer { call, result }: Answer) {
        self.asked -= call.ask.room;
        self.settling -= call.settling.len();
        if let Some(queue) = &mut self.blocking_queue {
            queue.answered(call.ask.blocking);
        }
        match result {
            Ok(reply) => {
                self.settle_more();
                if call.is_alone {
                    self.aside.hurry(Instant::now());
                }
                if !call.claims() {
                    self.outage.answered();
                } else {
                    self.outage.over();
                    self.parts.meters.claimed(reply.claimed.len());
                    self.hungry = reply.more;
                    self.next_due = reply.next_due;
                    let has_more = reply.claimed.is_empty() && reply.next_due == Some(Duration::ZERO);
                    let leaves = has_more && !call.ask.refused.is_empty();
                    self.leaves_until = leaves.then(|| Instant::now() + LEAVING);
                }
                self.settled(&call.settling, &reply.settled);
                self.parts.meters.reclaimed(&reply.reclaimed);
                self.parts.meters.expired(&reply.expired);
                for attempt in self.parts.leases.of(&reply.cancel_requested) {
                    attempt.stop(Stop::Cancel);
                }
                self.start(&call.ask.queues, reply.claimed, call.sent);
                // Not only a greater one, because a store restored from a copy goes back.
                if reply.config_version != self.parts.planner.version && self.loading.is_none() {
                    self.load_config();
                }
            }
            Err(error) => {
                if call.claims() {
                    self.parts.meters.claim_failed();
                }
                self.parts.planner.answered(&call.ask.queues, std::iter::empty());
                self.refused(call, &error);
            }
        }
    }

    fn settled(&mut self, settling: &[Settling], answers: &[SettleAnswer]) {
        for (one, answer) in settling.iter().zip(answers) {
            match answer {
                SettleAnswer::Accepted(status) => {
                    self.report.settled += 1;
                    tracing::trace!(id = %one.id, fence = %one.fence, how = one.outcome.as_str(), %status, "settled");
                    if let Some(attempt) = &one.attempt {
                        meters::settled(attempt, &one.outcome, *status);
                    } else if let (Outcome::Unknown { dead_letter, .. }, Some(task)) = (&one.outcome, &one.unstarted) {
                        let dead_letter = *dead_letter && *status == Status::Dropped;
                        self.parts.meters.unknown(LostTask { status: *status, dead_letter, ..task.clone() });
                    }
                }
                SettleAnswer::LeaseLost => {
                    self.report.lost += 1;
                    if let Some(pair) = one.attempt.as_ref().and_then(|attempt| attempt.pair.as_ref()) {
                        pair.lease_lost();
                    }
                    tracing::warn!(id = %one.id, fence = %one.fence, "its lease was lost; what it did does not count");
                }
            }
        }
        self.parts.leases.release(settling.iter().filter_map(|one| one.attempt.as_ref()));
    }

    /// Starts the claimed tasks, and gives back those that can't start.
    fn start(&mut self, asked: &[QueueClaim], claimed: Vec<ClaimedTask>, sent: Instant) {
        if claimed.is_empty() {
            self.parts.planner.answered(asked, std::iter::empty());
            return;
        }
        let now = Instant::now();
        let claims = self.claims();
        if self.blocking_queue.is_some() {
            self.learn(&claimed);
        }
        let mut functions: Vec<&'static dyn AnyTask> = Vec::with_capacity(claimed.len());
        let mut known: Vec<(ClaimedTask, TaskPolicy, Arc<Pair>)> = Vec::with_capacity(claimed.len());
        for task in claimed {
            match self.parts.registry.find(task.name.as_str(), task.version) {
                Some(function) if claims && self.has_room_for(function) => {
                    functions.push(function);
                    let policy = function.policy().with(&task.overrides);
                    let pair = self.parts.meters.pair(&task.queue, function.name(), task.version);
                    if policy.max_heartbeat_interval.is_some() {
                        pair.watched(policy.on_stall);
                    }
                    known.push((task, policy, pair));
                }
                Some(_) => self.settle_unstarted(task, Outcome::Unstarted { delay: Duration::ZERO }),
                None => self.unknown.keep(task),
            }
        }
        self.parts.planner.answered(asked, known.iter().map(|(task, ..)| &task.queue));
        self.held += known.len();
        if let Some(left) = &mut self.parts.ttl {
            *left = left.saturating_sub(known.len() as u64);
        }
        let attempts = self.parts.leases.admit(known, &self.parts.shared, Taken { asked: sent, answered: now });
        for (attempt, function) in attempts.iter().zip(&functions) {
            if self.blocking_queue.is_some() && function.is_blocking() {
                attempt.enter_blocking_queue();
            }
        }
        self.spawn(attempts, functions);
    }

    /// Notes which queues contain blocking tasks, and of which kinds.
    fn learn(&mut self, claimed: &[ClaimedTask]) {
        let registry = &self.parts.registry;
        let blocking = |task: &ClaimedTask| {
            let function = registry.find(task.name.as_str(), task.version).filter(|function| function.is_blocking());
            function.map(|_| TaskKind { name: task.name.clone(), version: task.version })
        };
        self.parts.planner.learn(claimed.iter().map(|task| (&task.queue, blocking(task))));
    }

    /// Whether a task may begin here; if so, takes its slot. A blocking task that would wait long for a thread may not.
    fn has_room_for(&mut self, function: &dyn AnyTask) -> bool {
        !function.is_blocking() || self.blocking_queue.as_mut().is_none_or(BlockingQueue::enter)
    }

    /// Hands a batch to the lanes, and the lanes to the runtime of the task functions, as one message: only there, each
    /// but the last becomes a tokio task of its own, and the last runs in the task that brought them.
    fn spawn(&self, attempts: Vec<Arc<Attempt>>, functions: Vec<&'static dyn AnyTask>) {
        let tools = Arc::clone(&self.parts.tools);
        let jobs = attempts.into_iter().zip(functions).map(|(attempt, function)| Job::new(attempt, function));
        let mut lanes = self.lanes.enter(jobs.collect());
        let Some(last) = lanes.pop() else { return };
        self.parts.runtime.spawn(async move {
            for lane in lanes {
                tokio::spawn(lane.run(Arc::clone(&tools)));
            }
            last.run(tools).await;
        });
    }

    pub(super) fn settle_unstarted(&mut self, task: ClaimedTask, outcome: Outcome) {
        let ClaimedTask { id, fence, queue, name, version, .. } = task;
        let unstarted = Some(LostTask { queue, name, version, status: Status::Started, dead_letter: false });
        self.unsettled.push(Settling { id, unstarted, fence, outcome, attempt: None });
    }
}

/// Unwritten checkpoints of attempts that were given back while they still ran.
fn unwritten(settling: &[Settling]) -> Vec<(Arc<Attempt>, Heartbeat)> {
    let unwritten = |one: &Settling| {
        let attempt = one.attempt.as_ref().filter(|_| matches!(one.outcome, Outcome::Released { .. }))?;
        Some((Arc::clone(attempt), attempt.take_checkpoint()?))
    };
    settling.iter().filter_map(unwritten).collect()
}

async fn write_down(
    engine: &dyn Engine,
    worker: &WorkerId,
    lease: Duration,
    unwritten: Vec<(Arc<Attempt>, Heartbeat)>,
) {
    let extend = |(attempt, heartbeat): &(Arc<Attempt>, Heartbeat)| Extension {
        id: attempt.task.id.clone(),
        fence: attempt.task.fence,
        heartbeat: Some(heartbeat.clone()),
    };
    let call = engine.extend(worker, lease, unwritten.iter().map(extend).collect());
    if !matches!(tokio::time::timeout(lease / 4, call).await, Ok(Ok(_))) {
        // To be retried if the settlement that follows is retried too.
        let now = Instant::now();
        unwritten.into_iter().for_each(|(attempt, heartbeat)| attempt.return_news(heartbeat, now));
    }
}

impl Settling {
    fn settlement(&self) -> Settlement {
        let completes = matches!(self.outcome, Outcome::Completed { .. });
        // The span that the task's next attempt links to; a completed task has none.
        let span = self.attempt.as_ref().filter(|_| !completes).and_then(|attempt| attempt.span()).map(Box::from);
        Settlement { span, ..Settlement::new(self.id.clone(), self.fence, self.outcome.clone()) }
    }
}
