//! Building calls to the store, and taking their answers in.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, CycleReply, Error, Outcome, QueueClaim, Result, SettleAnswer, Settlement},
    limits::MAX_BATCH,
    policy::TaskPolicy,
    settling::settle_unknown,
    task::ClaimedTask,
};

use super::{Fetcher, MOST_CALLS, Settling};
use crate::{
    attempt::{Attempt, Stop, Taken},
    executor::{Handover, execute},
    meters::{self, pair::Pair},
    task_fn::AnyTask,
};

/// A call that has been answered, or not.
pub(super) struct Call {
    settling: Vec<Settling>,
    asked: Vec<QueueClaim>,
    room: usize,
    sent: Instant,
    result: Result<CycleReply>,
}

impl Fetcher {
    /// Makes the calls that are due now.
    pub(super) fn launch(&mut self) {
        while let Some(room) = self.next_call() {
            self.call(room);
        }
    }

    /// How many tasks the next call is to claim, if one is to be made now.
    ///
    /// With no call under way, one is due as soon as there is anything to settle, ask for or look after. Beside another,
    /// only when a whole batch can be claimed: what there is to settle goes along sooner with the next one than a call of
    /// its own would be through.
    fn next_call(&self) -> Option<usize> {
        if self.calls.len() >= MOST_CALLS || self.outage.is_on() {
            return None;
        }
        let room = self.room();
        let due = if self.calls.is_empty() {
            !self.unsettled.is_empty() || self.woken || self.hungry && room > 0
        } else {
            self.hungry && room >= self.batch
        };
        due.then_some(room)
    }

    /// How many tasks may be claimed now.
    pub(super) fn room(&self) -> usize {
        if !self.claims() || self.parts.intake.version == 0 || self.settle_only {
            return 0;
        }
        let free = self.parts.slots.saturating_sub(self.running + self.asked);
        let left = self.parts.ttl.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        free.min(self.batch).min(left.saturating_sub(self.asked))
    }

    fn call(&mut self, room: usize) {
        let count = self.unsettled.len().min(self.settle_limit);
        let settling: Vec<Settling> = self.unsettled.drain(..count).collect();
        let asked = if room > 0 { self.parts.intake.ask(room) } else { Vec::new() };
        // With every queue at its limit there is nothing to ask for until a task ends.
        self.hungry &= room == 0 || !asked.is_empty();
        let room = if asked.is_empty() { 0 } else { room };
        self.asked += room;
        self.woken = false;
        let cycle = Cycle {
            worker: self.parts.around.worker.clone(),
            settlements: settling.iter().map(Settling::settlement).collect(),
            claim: (room > 0).then(|| ClaimRequest {
                queues: asked.clone(),
                limit: room,
                lease: self.parts.around.lease,
            }),
        };
        let (engine, lease) = (Arc::clone(&self.parts.engine), self.parts.around.lease);
        self.calls.push(Box::pin(async move {
            let sent = Instant::now();
            let answered = tokio::time::timeout(lease, engine.cycle(cycle)).await;
            let result = answered.unwrap_or_else(|_| Err(Error::unavailable("no answer in time")));
            Box::new(Call { settling, asked, room, sent, result })
        }));
    }

    /// Takes the answer to a call in.
    pub(super) fn take_in(&mut self, call: Call) {
        self.asked -= call.room;
        match call.result {
            Ok(reply) => {
                self.outage.over();
                self.settle_only = false;
                if self.unsettled.is_empty() {
                    self.settle_limit = MAX_BATCH;
                }
                if call.room > 0 {
                    self.parts.meters.claimed(reply.claimed.len());
                    self.hungry = !reply.claimed.is_empty();
                    self.next_due = reply.next_due;
                }
                self.settled(&call.settling, &reply.settled);
                for attempt in self.parts.leases.of(&reply.cancel_requested) {
                    attempt.stop(Stop::Cancel);
                }
                self.start(&call.asked, reply.claimed, call.sent);
                if reply.config_version > self.parts.intake.version && self.loading.is_none() {
                    self.load_config();
                }
            }
            Err(error) => {
                if call.room > 0 {
                    self.parts.meters.claim_failed();
                }
                self.parts.intake.answered(&call.asked, std::iter::empty());
                self.refused(call.settling, &error);
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
                    } else if let (Outcome::Unknown { .. }, Some(queue)) = (&one.outcome, &one.queue) {
                        self.parts.meters.stranger(queue, *status);
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

    /// Starts what was claimed, and gives back what can't be.
    fn start(&mut self, asked: &[QueueClaim], claimed: Vec<ClaimedTask>, sent: Instant) {
        if claimed.is_empty() {
            self.parts.intake.answered(asked, std::iter::empty());
            return;
        }
        let now = Instant::now();
        let claims = self.claims();
        let mut functions: Vec<&'static dyn AnyTask> = Vec::with_capacity(claimed.len());
        let mut known: Vec<(ClaimedTask, TaskPolicy, Arc<Pair>)> = Vec::with_capacity(claimed.len());
        for task in claimed {
            match self.parts.registry.find(task.name.as_str(), task.version) {
                Some(function) if claims => {
                    functions.push(function);
                    let policy = function.policy().with(&task.overrides);
                    let pair = self.parts.meters.pair(&task.queue, function.name(), task.version);
                    if policy.max_heartbeat_interval.is_some() {
                        pair.watched(policy.on_stall);
                    }
                    known.push((task, policy, pair));
                }
                Some(_) => self.settle_unstarted(task, Outcome::Released { delay: Duration::ZERO }),
                None => {
                    let delay = self.strangers.delay(&task, now);
                    let outcome = settle_unknown(&task, delay, self.parts.intake.patience(&task.queue));
                    self.settle_unstarted(task, outcome);
                }
            }
        }
        self.parts.intake.answered(asked, known.iter().map(|(task, ..)| &task.queue));
        self.running += known.len();
        if let Some(left) = &mut self.parts.ttl {
            *left = left.saturating_sub(known.len() as u64);
        }
        let attempts = self.parts.leases.admit(known, &self.parts.around, Taken { asked: sent, answered: now });
        for attempt in &attempts {
            if let Some(pair) = &attempt.pair {
                pair.selected(attempt.waited(), attempt.task.crashes);
            }
        }
        self.spawn(attempts, functions);
    }

    /// Hands a batch to the runtime of the task functions. As one message: only there, each but the last becomes a task
    /// of its own, and the last runs in the one that brought them.
    fn spawn(&self, attempts: Vec<Arc<Attempt>>, functions: Vec<&'static dyn AnyTask>) {
        let tools = Arc::clone(&self.parts.tools);
        let mut batch: Vec<_> = attempts.into_iter().map(Handover::new).zip(functions).collect();
        let Some((last, function_of_last)) = batch.pop() else { return };
        self.parts.runtime.spawn(async move {
            for (handover, function) in batch {
                tokio::spawn(execute(handover, function, Arc::clone(&tools)));
            }
            execute(last, function_of_last, tools).await;
        });
    }

    fn settle_unstarted(&mut self, task: ClaimedTask, outcome: Outcome) {
        self.unsettled.push(Settling {
            id: task.id,
            queue: Some(task.queue),
            fence: task.fence,
            outcome,
            attempt: None,
        });
    }

    /// Keeps what a failed call was to settle. If the store refuses the call for good, one of the settlements must be
    /// why: they are sent one by one, and the one that is refused alone is given up; its lease will end.
    fn refused(&mut self, settling: Vec<Settling>, error: &Error) {
        self.woken = true;
        if error.is_transient() {
            self.settle_only = matches!(error, Error::Full(_) | Error::ReadOnly(_)) && !settling.is_empty();
            self.unsettled.splice(..0, settling);
            self.outage.note(error, Instant::now());
            return;
        }
        match settling.as_slice() {
            [] => self.outage.note(error, Instant::now()),
            [one] => {
                tracing::error!(id = %one.id, %error, "the store refuses to settle this task; giving it up");
                self.parts.leases.release(one.attempt.as_ref());
            }
            many => {
                tracing::warn!(tasks = many.len(), %error, "the store refuses to settle these; trying one by one");
                self.settle_limit = 1;
                self.unsettled.splice(..0, settling);
            }
        }
    }
}

impl Settling {
    fn settlement(&self) -> Settlement {
        Settlement { id: self.id.clone(), fence: self.fence, outcome: self.outcome.clone() }
    }
}
