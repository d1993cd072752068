//! Promote, reclaim, prune, purge.

use jobbers_common::{
    dependency::End,
    engine::{Error, LostTask, PruneRequest, PruneScope, Pruned, Reclaimed, Rescheduled, Result, TaskDeletion},
    lifecycle::{Move, Status},
    name::{QueueName, TaskId, WorkerId},
    outcome::transition::Transition,
    task::{
        AttemptFailure, FailureKind, Start,
        suspicion::WorkerLoss,
        tombstone::{Tombstone, TombstonePolicy},
    },
    time::Timestamp,
};

use super::state::{State, Stored};

impl State {
    /// The ids of tasks at `status`, in the given queues (all, for `None`), whose `key` lies at or before `now`,
    /// smallest first.
    fn overdue(
        &self,
        queues: Option<&[QueueName]>,
        now: Timestamp,
        key: impl Fn(&jobbers_common::task::Task) -> Option<Timestamp>,
    ) -> Vec<TaskId> {
        let mut found: Vec<(Timestamp, TaskId)> = self
            .tasks
            .values()
            .map(|stored| &stored.task)
            .filter(|task| queues.is_none_or(|queues| queues.contains(&task.queue)))
            .filter_map(|task| key(task).filter(|at| *at <= now).map(|at| (at, task.id.clone())))
            .collect();
        found.sort();
        found.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn promote_due(&mut self, queues: Option<&[QueueName]>, limit: usize, now: Timestamp) -> u64 {
        let due = self.overdue(queues, now, |task| (task.status == Status::Scheduled).then_some(task.ready_at));
        let mut promoted = 0;
        for id in due.into_iter().take(limit) {
            self.promote(&id, now);
            promoted += 1;
        }
        promoted
    }

    fn promote(&mut self, id: &TaskId, now: Timestamp) {
        self.go(id, Move::Promote, Status::Submitted, now);
        if let Some(stored) = self.tasks.get_mut(id) {
            stored.position = stored.task.revision;
            if let Some(first) = stored.unknown {
                stored.task.ready_at = first.ready_at;
            }
        }
    }

    pub(super) fn reschedule(&mut self, id: &TaskId, start: Start, now: Timestamp) -> Rescheduled {
        let revision = self.next_revision();
        let Some(stored) = self.tasks.get_mut(id) else { return Rescheduled::Unknown };
        let task = &mut stored.task;
        if task.status != Status::Scheduled {
            return Rescheduled::NotScheduled(task.status);
        }
        (task.ready_at, task.revision) = (start.due(now), revision);
        if task.ready_at > now {
            return Rescheduled::Done(Status::Scheduled);
        }
        self.promote(id, now);
        Rescheduled::Done(Status::Submitted)
    }

    pub(super) fn reclaim_expired(&mut self, queues: Option<&[QueueName]>, limit: usize, now: Timestamp) -> Reclaimed {
        let mut reclaimed = Reclaimed::default();
        let expired = self.overdue(queues, now, |task| task.lease.as_ref().map(|lease| lease.expires_at));
        for id in expired.into_iter().take(limit) {
            if self.lose_lease(&id, now).is_none() {
                continue;
            }
            match self.tasks.get(&id).map(|stored| &stored.task).filter(|task| task.status.is_finished()) {
                Some(task) => reclaimed.ended.push(LostTask::from(task)),
                None => reclaimed.requeued += 1,
            }
        }
        reclaimed
    }

    fn lose_lease(&mut self, id: &TaskId, now: Timestamp) -> Option<Status> {
        let task = &self.tasks.get(id)?.task;
        let (worker, started_at) = (task.worker.clone()?, task.started_at?);
        let expires_at = task.lease.as_ref()?.expires_at;
        let loss = self.loss_of(&worker, started_at, now);
        let task = &mut self.tasks.get_mut(id)?.task;
        let is_blamed = loss.blames(task.suspicion);
        task.suspicion = task.suspicion.lost_again(started_at, expires_at);
        task.crashes += 1;
        task.blames += u32::from(is_blamed);
        let (overrides, attempt) = (&task.overrides, task.attempt);
        let is_poison = is_blamed && overrides.blames_allowed().is_some_and(|allowed| task.blames >= allowed);
        let (saves, tries) = (overrides.keeps_poison(), overrides.tries(attempt));
        let transition = Transition::of_lost_lease(task.cancel_requested, is_poison, saves, tries);
        let message = format!("the worker {worker} vanished: its lease ended");
        self.end_attempt(id, &transition, Some(AttemptFailure::new(FailureKind::Crash, message)), now);
        Some(transition.to)
    }

    /// The loss that a worker's lease belongs to; it begins now if this is the first lease of it.
    fn loss_of(&mut self, worker: &WorkerId, started_at: Timestamp, now: Timestamp) -> WorkerLoss {
        if let Some(loss) = self.losses.get(worker).filter(|loss| loss.includes(started_at)) {
            return *loss;
        }
        let suspects = self.leases_of(worker).filter(|task| task.suspicion.is_suspect()).count() as u64;
        let loss = WorkerLoss { at: now, suspects, leases: self.leases_of(worker).count() as u64 };
        self.losses.insert(worker.clone(), loss);
        loss
    }

    pub(super) fn prune(&mut self, request: &PruneRequest, now: Timestamp) -> Result<Pruned> {
        let after = match &request.cursor {
            None => 0,
            Some(text) => text.parse().map_err(|_| Error::Invalid("this cursor is not from this store".to_owned()))?,
        };
        let mut candidates: Vec<(u64, TaskId)> = self
            .tasks
            .values()
            .map(|stored| &stored.task)
            .filter(|task| task.status.is_finished() && task.revision > after)
            .filter(|task| match &request.scope {
                PruneScope::Retention => self.is_past_retention(task, now),
                PruneScope::Matching { filter, finished_before, larger_than } => {
                    filter.matches(task)
                        && larger_than.is_none_or(|bytes| kept_bytes(task) > bytes)
                        && finished_before.is_none_or(|before| task.completed_at.is_some_and(|at| at < before))
                }
            })
            .map(|task| (task.revision, task.id.clone()))
            .collect();
        candidates.sort();
        let more = candidates.len() > request.limit;
        candidates.truncate(request.limit);
        let next = candidates.last().filter(|_| more).map(|(revision, _)| revision.to_string());
        if !request.dry_run {
            self.tombstones.retain(|_, tombstone| tombstone.forget_at > now);
            for (_, id) in &candidates {
                self.bury(id, now);
                self.remove(id);
            }
        }
        Ok(Pruned { removed: candidates.len() as u64, next })
    }

    /// Remembers a task that is about to be pruned, if its client chose its id.
    pub(super) fn bury(&mut self, id: &TaskId, now: Timestamp) {
        let Some(Stored { task, fingerprint, .. }) = self.tasks.get(id).filter(|it| it.task.id_is_chosen) else {
            return;
        };
        let Some(finished_at) = task.completed_at else { return };
        let tombstone = Tombstone {
            id: id.clone(),
            queue: task.queue.clone(),
            status: task.status,
            finished_at,
            forget_at: TombstonePolicy::DEFAULT.forget_at(finished_at),
            fingerprint: *fingerprint,
        };
        if tombstone.forget_at > now {
            self.tombstones.insert(id.clone(), tombstone);
        }
    }

    /// What is remembered of a pruned task.
    pub(super) fn tombstone(&self, id: &TaskId, now: Timestamp) -> Option<&Tombstone> {
        let is_stored = self.tasks.contains_key(id);
        self.tombstones.get(id).filter(|tombstone| tombstone.forget_at > now && !is_stored)
    }

    fn is_past_retention(&self, task: &jobbers_common::task::Task, now: Timestamp) -> bool {
        let retention = &self.config.settings_of(&task.queue).retention;
        let newer = self
            .tasks
            .values()
            .filter(|other| other.task.status.is_finished() && other.task.queue == task.queue)
            .filter(|other| other.task.revision > task.revision)
            .count() as u64;
        newer >= retention.count || task.completed_at.is_some_and(|at| at.after(retention.age) <= now)
    }

    pub(super) fn purge_queue(&mut self, queue: &QueueName, limit: usize) -> Result<u64> {
        if !self.queues.contains(queue) {
            return Err(Error::UnknownQueue(queue.clone()));
        }
        let waiting: Vec<TaskId> = self
            .tasks
            .values()
            .map(|stored| &stored.task)
            .filter(|task| task.queue == *queue && !task.status.is_finished() && task.status != Status::Started)
            .map(|task| task.id.clone())
            .take(limit)
            .collect();
        for id in &waiting {
            self.withdraw(id, Status::Cancelled);
        }
        self.something_finished = !waiting.is_empty();
        Ok(waiting.len() as u64)
    }

    /// Deletes tasks, then those that go with them.
    pub(super) fn delete_tasks(&mut self, ids: &[TaskId], cascade: bool, now: Timestamp) -> Vec<TaskDeletion> {
        let delete = |id: &TaskId| match self.tasks.get(id).map(|stored| stored.task.status) {
            None => TaskDeletion::Unknown,
            Some(Status::Started) => TaskDeletion::Running,
            Some(_) => {
                self.withdraw(id, End::Deleted { cascade });
                TaskDeletion::Deleted
            }
        };
        let answers = ids.iter().map(delete).collect();
        self.signal_all(now);
        answers
    }

    pub(super) fn move_tasks(&mut self, from: &QueueName, to: &QueueName, limit: usize, now: Timestamp) -> Result<u64> {
        if let Some(unknown) = [from, to].into_iter().find(|queue| !self.queues.contains(*queue)) {
            return Err(Error::UnknownQueue(unknown.clone()));
        }
        let turn = |stored: &Stored| {
            let task = &stored.task;
            let first = match task.status {
                Status::Submitted => (0, u64::from(9 - task.priority.get()), stored.position),
                Status::Scheduled => (1, task.ready_at.as_micros().unsigned_abs(), 0),
                Status::Waiting => (2, stored.position, 0),
                _ => return None,
            };
            (task.queue == *from).then(|| (first, task.id.clone()))
        };
        let mut waiting: Vec<_> = self.tasks.values().filter_map(turn).collect();
        waiting.sort();
        waiting.truncate(limit);
        for (_, id) in &waiting {
            let revision = self.next_revision();
            let Some(task) = self.tasks.get_mut(id).map(|stored| &mut stored.task) else { continue };
            (task.queue, task.revision) = (to.clone(), revision);
            let is_ready = task.status == Status::Submitted;
            self.counters.entry(from.clone()).or_default().1 += 1;
            self.accept(to, now);
            if is_ready {
                self.wake_queue(to);
            }
        }
        Ok(waiting.len() as u64)
    }
}

/// What the parameters and the result take.
fn kept_bytes(task: &jobbers_common::task::Task) -> u64 {
    [&task.parameters, &task.result].into_iter().flatten().map(|payload| payload.len() as u64).sum()
}
