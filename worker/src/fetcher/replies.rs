//! Handles the answers of calls: counts what was settled, and starts what was claimed.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{CycleReply, LostTask, Outcome, QueueClaim, SettleAnswer},
    lifecycle::Status,
    policy::TaskPolicy,
    task::ClaimedTask,
    worker::task_kind::TaskKind,
};

use super::{
    Fetcher,
    call::{Call, CallResult},
    settling::Settling,
};
use crate::{
    attempts::{
        attempt::{Attempt, Stop, TakenAt},
        meters::{self, pair::Pair},
    },
    execution::lanes::LaneJob,
    tasks::task_fn::AnyTask,
};

impl Fetcher {
    /// Handles the answer of a call.
    pub(super) fn take_in(&mut self, CallResult { call, result }: CallResult) {
        if let Some(queue) = &mut self.slots.blocking {
            queue.answered(call.ask.blocking);
        }
        match result {
            Ok(reply) => self.accept(&call, reply),
            Err(error) => {
                if call.claims() {
                    self.parts.meters.claim_failed();
                }
                self.parts.planner.answered(&call.ask.queues, std::iter::empty());
                self.refused(call, &error);
            }
        }
    }

    fn accept(&mut self, call: &Call, reply: CycleReply) {
        self.unsettled.widen();
        if call.is_alone {
            self.unsettled.aside.hurry(Instant::now());
        }
        if !call.claims() {
            self.outage.answered();
        } else {
            self.outage.over();
            self.parts.meters.claimed(reply.claimed.len());
            self.demand.answered(&reply, !call.ask.refused.is_empty());
            // The store wakes the worker for the queues of its last claim only: the next claim asks them all.
            self.demand.woken |= call.ask.is_partial && !reply.more;
        }
        self.settled(&call.settling, &reply.settled);
        self.parts.meters.reclaimed(&reply.reclaimed);
        self.parts.meters.expired(&reply.expired);
        for attempt in self.parts.leases.of(&reply.cancel_requested) {
            attempt.stop(Stop::Cancel);
        }
        self.start(&call.ask.queues, reply.claimed, call.sent);
        // Not only a greater one, because a store restored from a copy goes back.
        if reply.config_version != self.parts.planner.version && !self.config.is_under_way() {
            self.config.begin(Arc::clone(&self.parts.engine));
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
        let claims = self.life.claims();
        if self.slots.blocking.is_some() {
            self.learn(&claimed);
        }
        let mut functions: Vec<&'static dyn AnyTask> = Vec::with_capacity(claimed.len());
        let mut known: Vec<(ClaimedTask, TaskPolicy, Arc<Pair>)> = Vec::with_capacity(claimed.len());
        for mut task in claimed {
            match self.parts.registry.find(task.name.as_str(), task.version) {
                Some(function) if claims && self.slots.enter(function) => {
                    functions.push(function);
                    // The program that submitted it may not have known.
                    task.metadata.sensitive_in_code |= function.submits().sensitive;
                    let policy = function.policy().with(&task.overrides);
                    let pair = self.parts.meters.pair(&task.queue, function.name(), task.version);
                    if policy.max_heartbeat_interval.is_some() {
                        pair.watched(policy.on_stall);
                    }
                    known.push((task, policy, pair));
                }
                Some(_) => {
                    self.unsettled.push(Settling::unstarted(task, Outcome::Unstarted { delay: Duration::ZERO }));
                }
                None => self.unknown.keep(task),
            }
        }
        self.parts.planner.answered(asked, known.iter().map(|(task, ..)| &task.queue));
        self.slots.begin(known.len());
        let attempts = self.parts.leases.admit(known, &self.parts.shared, TakenAt { asked: sent, answered: now });
        for (attempt, function) in attempts.iter().zip(&functions) {
            if self.slots.blocking.is_some() && function.is_blocking() {
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

    /// Hands a batch to the lanes, and the lanes to the runtime of the task functions, as one message: only there, each
    /// but the last becomes a tokio task of its own, and the last runs in the task that brought them.
    fn spawn(&self, attempts: Vec<Arc<Attempt>>, functions: Vec<&'static dyn AnyTask>) {
        let tools = Arc::clone(&self.parts.tools);
        let jobs = attempts.into_iter().zip(functions).map(|(attempt, function)| LaneJob::new(attempt, function));
        let mut lanes = self.slots.lanes.enter(jobs.collect());
        let Some(last) = lanes.pop() else { return };
        self.parts.runtime.spawn(async move {
            for lane in lanes {
                tokio::spawn(lane.run(Arc::clone(&tools)));
            }
            last.run(tools).await;
        });
    }
}
