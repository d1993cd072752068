//! Claim, settle, extend, cancel.

use std::{cmp::Reverse, collections::BTreeSet, time::Duration};

use jobbers_common::{
    engine::{
        Cancelled, ClaimRequest, Cycle, CycleReply, ExtendAnswer, Extension, Heartbeat, LostTask, Outcome, QueueClaim,
        SettleAnswer, Settlement,
    },
    lifecycle::{Move, Status},
    name::{QueueName, TaskId, WorkerId},
    outcome::transition::{Facts, Return, Transition, UnknownMark, is_repetition},
    queue::rate::RateLimit,
    task::{
        AttemptError, AttemptFailure, ClaimedTask, Fence, Lease, Task,
        suspicion::{HeldSuspects, Suspicion},
    },
    time::Timestamp,
};

use super::state::{FirstGiveBack, State, Stored};

/// How many due tasks, and how many expired leases, one claim looks after.
const MAINTAIN_LIMIT: usize = 100;

/// After how many dropped tasks a claim stops.
const MAX_EXPIRED: usize = 250;

impl State {
    pub(super) fn cycle(&mut self, cycle: Cycle, now: Timestamp) -> CycleReply {
        self.waiting.remove(&cycle.worker);
        let settled = cycle.settlements.into_iter().map(|settlement| self.settle(settlement, now)).collect();
        self.signal_all(now);
        let mut reply = CycleReply { settled, ..CycleReply::default() };
        if let Some(claim) = cycle.claim.filter(|claim| claim.limit > 0) {
            let queues: Vec<QueueName> = claim.queues.iter().map(|it| it.queue.clone()).collect();
            self.promote_due(Some(&queues), MAINTAIN_LIMIT, now);
            reply.reclaimed = self.reclaim_expired(Some(&queues), MAINTAIN_LIMIT, now);
            self.signal_all(now);
            let held_back_until;
            (reply.claimed, held_back_until, reply.more) = self.claim(&cycle.worker, &claim, &mut reply.expired, now);
            self.signal_all(now);
            if !reply.more {
                let due = self.next_due(&queues).map(|due| due.since(now));
                let again = (!reply.expired.is_empty()).then_some(Duration::ZERO);
                let joins = held_back_until.map(|until| until.since(now));
                let rates = self.rates_allow_in(&claim, now);
                reply.next_due = due.into_iter().chain(rates).chain(joins).chain(again).min();
                self.waiting.insert(cycle.worker.clone(), claim);
            }
        }
        reply.cancel_requested = self.cancel_requests(&cycle.worker);
        reply.config_version = self.config.version;
        reply
    }

    fn settle(&mut self, settlement: Settlement, now: Timestamp) -> SettleAnswer {
        let span = settlement.span_to_keep().map(Box::from);
        let Settlement { id, fence, outcome, heartbeat, .. } = settlement;
        let Some(stored) = self.tasks.get_mut(&id) else { return SettleAnswer::LeaseLost };
        if let Some((_, cancel_requested)) = stored.settled_by.filter(|(settled, _)| *settled == fence) {
            return match is_repetition(&outcome, &stored.task, cancel_requested) {
                true => SettleAnswer::Accepted(stored.task.status),
                false => SettleAnswer::LeaseLost,
            };
        }
        if stored.task.lease.as_ref().map(|lease| lease.fence) != Some(fence) {
            return SettleAnswer::LeaseLost;
        }
        if span.is_some() {
            stored.task.last_span = span;
        }
        if let Some(heartbeat) = heartbeat {
            note_heartbeat(&mut stored.task, heartbeat, now);
        }
        let unknown_since = stored.unknown.map(|first| first.at);
        let tries = stored.task.overrides.tries(stored.task.attempt);
        let cancel_requested = stored.task.cancel_requested;
        let facts = Facts { now, cancel_requested, unknown_since, tries };
        let transition = Transition::of_outcome(&outcome, &facts);
        let failure = outcome.failure().cloned().unwrap_or_else(AttemptFailure::given_back_at_last_try);
        if let Outcome::Completed { result } = outcome
            && transition.to == Status::Completed
        {
            stored.task.result = result;
        }
        let (queue, started_at) = (stored.task.queue.clone(), stored.task.started_at.unwrap_or(now));
        self.note_ran(&queue, started_at, now);
        self.end_attempt(&id, &transition, Some(failure), now);
        let Some(stored) = self.tasks.get_mut(&id) else { return SettleAnswer::LeaseLost };
        if stored.task.status.is_finished() {
            stored.settled_by = Some((fence, cancel_requested));
        }
        SettleAnswer::Accepted(stored.task.status)
    }

    /// Every end of an attempt passes here.
    pub(super) fn end_attempt(
        &mut self,
        id: &TaskId,
        transition: &Transition,
        failure: Option<AttemptFailure>,
        now: Timestamp,
    ) {
        if let Some(failure) = failure.filter(|_| transition.notes_failure) {
            self.note_error(id, failure, now);
        }
        let Some(stored) = self.tasks.get_mut(id) else { return };
        stored.task.dead_letter = transition.dead_letter;
        if !transition.counts {
            stored.task.attempt -= 1;
        }
        if transition.ran {
            stored.task.suspicion = Suspicion::NONE;
        }
        match transition.unknown {
            UnknownMark::Set => {
                let ready_at = stored.task.ready_at;
                stored.unknown.get_or_insert(FirstGiveBack { at: now, ready_at });
            }
            UnknownMark::Clear => stored.unknown = None,
            UnknownMark::Leave => {}
        }
        self.go(id, transition.event, transition.to, now);
        if let (Some(Return::After(delay)), Some(stored)) = (transition.back, self.tasks.get_mut(id)) {
            stored.position = stored.task.revision;
            stored.task.ready_at = now.after(delay);
        }
    }

    /// The tasks leased; when the first probation ends that held suspects back; and whether there may be more: where a queue
    /// gave all it was asked for, or gave suspects.
    fn claim(
        &mut self,
        worker: &WorkerId,
        claim: &ClaimRequest,
        expired: &mut Vec<LostTask>,
        now: Timestamp,
    ) -> (Vec<ClaimedTask>, Option<Timestamp>, bool) {
        let (mut claimed, mut held_back_until, mut more) = (Vec::new(), None, false);
        for QueueClaim { queue, limit } in &claim.queues {
            if self.config.queues.get(queue).is_some_and(|config| config.paused) {
                continue;
            }
            let wanted = (*limit).min(claim.limit - claimed.len()).min(self.limits_leave(queue, now));
            let before = claimed.len();
            // Suspects first: they ran before, and the sooner the culprit is found the better.
            let turn = |stored: &Stored| {
                let is_fresh = !stored.task.suspicion.is_suspect();
                (is_fresh, Reverse(stored.task.priority.get()), stored.position, stored.task.id.clone())
            };
            let refused = |task: &Task| claim.refused_in(queue).find(|kind| kind.includes(task));
            let (left, taken): (Vec<_>, Vec<_>) = self
                .tasks
                .values()
                .filter(|stored| stored.task.status == Status::Submitted && stored.task.queue == *queue)
                .partition(|stored| refused(&stored.task).is_some());
            let mut ready: Vec<_> = taken.into_iter().map(|stored| (turn(stored), stored.task.suspicion)).collect();
            ready.sort();
            let left: BTreeSet<_> = left.into_iter().filter_map(|stored| refused(&stored.task)).collect();
            left.into_iter().for_each(|kind| self.wake_for(queue, kind));
            for ((.., id), suspicion) in ready {
                if claimed.len() - before == wanted || expired.len() >= MAX_EXPIRED {
                    break;
                }
                let held = self.held_suspects(worker, now);
                if !held.may_add(suspicion) {
                    held_back_until = held.first_end();
                } else if self.shut_gate(&id, now).is_none() {
                    if let Some(dropped) = self.drop_expired(&id, worker, now) {
                        expired.push(dropped);
                        more = true;
                        continue;
                    }
                    claimed.extend(self.lease(&id, worker, claim.lease, now));
                    more |= suspicion.is_suspect();
                    self.note_passed(&id, now);
                }
            }
            more |= wanted > 0 && claimed.len() - before == wanted;
            self.note_started(queue, claimed.len() - before, now);
        }
        let more = more && !claimed.is_empty();
        (claimed, held_back_until, more)
    }

    /// Ends a ready task if it has expired.
    fn drop_expired(&mut self, id: &TaskId, worker: &WorkerId, now: Timestamp) -> Option<LostTask> {
        let task = &mut self.tasks.get_mut(id)?.task;
        task.expires_at().filter(|until| *until <= now)?;
        let AttemptFailure { kind, error_kind, message } = AttemptFailure::expired();
        // The attempt that the worker would have begun.
        task.errors.push(AttemptError { at: now, attempt: 1, worker: worker.clone(), kind, error_kind, message });
        task.dead_letter = task.overrides.keeps_poison();
        self.go(id, Move::Drop, Status::Dropped, now);
        self.tasks.get(id).map(|stored| LostTask::from(&stored.task))
    }

    /// The suspects on probation that a worker holds a lease on.
    fn held_suspects(&self, worker: &WorkerId, now: Timestamp) -> HeldSuspects {
        let mut held = HeldSuspects::none(now);
        self.leases_of(worker).for_each(|task| held.add(task.suspicion, task.started_at.unwrap_or_default()));
        held
    }

    /// The tasks that a worker holds a lease on.
    pub(super) fn leases_of<'a>(&'a self, worker: &'a WorkerId) -> impl Iterator<Item = &'a Task> {
        let tasks = self.tasks.values().map(|stored| &stored.task);
        tasks.filter(move |task| task.lease.as_ref().is_some_and(|lease| lease.worker == *worker))
    }

    pub(super) fn rate_of(&self, queue: &QueueName) -> Option<(RateLimit, Timestamp)> {
        let rate = self.config.queues.get(queue)?.rate_limit?;
        Some((rate, self.rate_marks.get(queue).copied().unwrap_or_default()))
    }

    fn slots_left(&self, queue: &QueueName) -> usize {
        let most = self.config.queues.get(queue).and_then(|config| config.max_concurrent);
        let running = |stored: &&Stored| stored.task.status == Status::Started && stored.task.queue == *queue;
        most.map_or(usize::MAX, |most| (most as usize).saturating_sub(self.tasks.values().filter(running).count()))
    }

    /// How many more tasks of a queue its limits let start now.
    fn limits_leave(&self, queue: &QueueName, now: Timestamp) -> usize {
        let allowed = self.rate_of(queue).map_or(usize::MAX, |(rate, mark)| rate.allowed(mark, now));
        allowed.min(self.slots_left(queue))
    }

    fn note_started(&mut self, queue: &QueueName, started: usize, now: Timestamp) {
        if started > 0
            && let Some((rate, mark)) = self.rate_of(queue)
        {
            self.rate_marks.insert(queue.clone(), rate.mark_after(mark, now, started));
        }
    }

    /// When the rate of a queue that has ready tasks and free slots lets one of them start.
    fn rates_allow_in(&self, claim: &ClaimRequest, now: Timestamp) -> Option<Duration> {
        let waits = claim.queues.iter().filter_map(|QueueClaim { queue, limit }| {
            let wanted = (*limit).min(claim.limit).min(self.slots_left(queue));
            let is_open = self.config.queues.get(queue).is_some_and(|config| !config.paused);
            let is_ready = |stored: &Stored| stored.task.status == Status::Submitted && stored.task.queue == *queue;
            let (rate, mark) = self.rate_of(queue)?;
            let waits = is_open && wanted > 0 && rate.allowed(mark, now) == 0 && self.tasks.values().any(is_ready);
            waits.then(|| rate.wait(mark, now, wanted))
        });
        let is_asked = |it: &&QueueClaim| it.limit > 0 && self.limits_leave(&it.queue, now) > 0;
        let gates = claim.queues.iter().filter(is_asked).filter_map(|it| self.gates_allow_in(&it.queue, now));
        waits.chain(gates).min()
    }

    fn lease(&mut self, id: &TaskId, worker: &WorkerId, lease: Duration, now: Timestamp) -> Option<ClaimedTask> {
        self.go(id, Move::Claim, Status::Started, now);
        let (queue, ready_at) = self.tasks.get(id).map(|stored| (stored.task.queue.clone(), stored.task.ready_at))?;
        self.note_waited(&queue, ready_at, now);
        let task = &mut self.tasks.get_mut(id)?.task;
        let fence = Fence(task.revision);
        task.attempt += 1;
        task.started_at = Some(now);
        task.worker = Some(worker.clone());
        task.lease = Some(Lease { worker: worker.clone(), fence, expires_at: now.after(lease) });
        Some(ClaimedTask {
            id: task.id.clone(),
            name: task.name.clone(),
            version: task.version,
            queue: task.queue.clone(),
            priority: task.priority,
            concurrency_key: task.concurrency_key.clone(),
            parameters: task.parameters.clone()?,
            overrides: task.overrides.clone(),
            metadata: task.metadata.clone(),
            attempt: task.attempt,
            crashes: task.crashes,
            fence,
            submitted_at: task.submitted_at,
            ready_at: task.ready_at,
            started_at: now,
            checkpoint: task.checkpoint.clone(),
            trace: task.trace.clone(),
            last_span: task.last_span.clone(),
        })
    }

    fn next_due(&self, queues: &[QueueName]) -> Option<Timestamp> {
        self.tasks
            .values()
            .filter(|stored| stored.task.status == Status::Scheduled && queues.contains(&stored.task.queue))
            .map(|stored| stored.task.ready_at)
            .min()
    }

    fn cancel_requests(&self, worker: &WorkerId) -> Vec<TaskId> {
        self.leases_of(worker).filter(|task| task.cancel_requested).map(|task| task.id.clone()).collect()
    }

    pub(super) fn extend(
        &mut self,
        worker: &WorkerId,
        extension: Extension,
        length: Duration,
        now: Timestamp,
    ) -> ExtendAnswer {
        let Some(stored) = self.tasks.get_mut(&extension.id) else { return ExtendAnswer::LeaseLost };
        let task = &mut stored.task;
        let is_held = |lease: &&mut Lease| lease.fence == extension.fence && lease.worker == *worker;
        let Some(lease) = task.lease.as_mut().filter(is_held) else {
            return ExtendAnswer::LeaseLost;
        };
        lease.expires_at = now.after(length);
        if let Some(heartbeat) = extension.heartbeat {
            note_heartbeat(task, heartbeat, now);
        }
        ExtendAnswer::Extended { cancel_requested: task.cancel_requested }
    }

    pub(super) fn cancel(&mut self, id: &TaskId, now: Timestamp) -> Cancelled {
        let Some(stored) = self.tasks.get_mut(id) else { return Cancelled::Unknown };
        match (stored.task.status, &stored.task.lease) {
            (Status::Started, Some(lease)) => {
                stored.task.cancel_requested = true;
                self.wakes.push(lease.worker.clone());
                Cancelled::Requested
            }
            (status, _) if status.is_finished() => Cancelled::AlreadyOver(status),
            _ => {
                self.go(id, Move::Cancel, Status::Cancelled, now);
                Cancelled::Done
            }
        }
    }
}

fn note_heartbeat(task: &mut Task, heartbeat: Heartbeat, now: Timestamp) {
    task.heartbeat_at = Some(now);
    task.progress = heartbeat.progress.or(task.progress.take());
    task.checkpoint = heartbeat.checkpoint.or(task.checkpoint.take());
}
