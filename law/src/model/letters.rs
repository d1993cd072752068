//! The outbox, tasks sent again, and duties.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{DeadKey, DeadTask, Duty, DutyClaim, Outbox, Resubmit, ResubmitFrom, Resubmitted},
    lifecycle::{Move, Status},
    limits::DEAD_LETTERS_BYTES,
    name::{DutyName, HolderId, QueueName},
    task::Task,
    time::Timestamp,
};

use super::state::{State, Stored};

impl State {
    pub(super) fn dead_letters(&self, after: u64, limit: usize) -> Outbox {
        let (mut bytes, mut outbox) = (0, Outbox::default());
        for (revision, dead) in self.outbox.range(after.saturating_add(1)..).take(limit) {
            bytes += dead.task.parameters.as_ref().map_or(0, jobbers_common::payload::Payload::len);
            if !outbox.copies.is_empty() && bytes > DEAD_LETTERS_BYTES {
                break;
            }
            outbox.copies.push(dead.clone());
            outbox.last = Some(*revision);
        }
        outbox
    }

    pub(super) fn forget_dead_letters(&mut self, keys: &[DeadKey]) {
        for key in keys {
            if self.outbox.get(&key.revision).is_some_and(|dead| dead.task.id == key.id) {
                self.outbox.remove(&key.revision);
            }
        }
    }

    pub(super) fn forget_receipts(&mut self, keys: &[DeadKey]) {
        for key in keys {
            self.receipts.remove(key);
        }
    }

    pub(super) fn resubmit(&mut self, wish: Resubmit, now: Timestamp) -> Resubmitted {
        let receipt = wish.archived().map(DeadTask::key);
        if receipt.as_ref().is_some_and(|key| self.receipts.contains(key)) {
            return Resubmitted::Already;
        }
        let task = match self.tasks.get(&wish.id).map(|stored| &stored.task) {
            Some(task) if !task.status.is_finished() => return Resubmitted::Live(task.status),
            Some(task) if !may_go(task, wish.expected_revision()) => return Resubmitted::Moved(task.status),
            Some(task) => task,
            None => match wish.archived() {
                Some(dead) => &dead.task,
                None => return Resubmitted::Unknown,
            },
        };
        let queue = wish.queue.clone().unwrap_or_else(|| task.queue.clone());
        if !self.queues.contains(&queue) {
            return Resubmitted::UnknownQueue(queue);
        }
        if let Some(holder) = self.held_by_another(task, now) {
            return Resubmitted::Held(holder);
        }
        self.receipts.extend(receipt);
        let id = wish.id.clone();
        self.send_again(wish, queue, now);
        self.touch_run(&id, now);
        Resubmitted::Done
    }

    fn send_again(&mut self, wish: Resubmit, queue: QueueName, now: Timestamp) {
        let Resubmit { id, from, parameters, reset_attempts, .. } = wish;
        if !self.tasks.contains_key(&id)
            && let ResubmitFrom::Archive(dead) = from
        {
            self.accept(&queue, now);
            let DeadTask { mut task, fingerprint } = *dead;
            task.queue.clone_from(&queue);
            if task.id_is_chosen {
                self.tombstones.remove(&id);
            }
            let stored =
                Stored { task, fingerprint, position: 0, settled_by: None, unknown: None, waits_for: BTreeMap::new() };
            self.tasks.insert(id.clone(), stored);
        }
        let Some(stored) = self.tasks.get_mut(&id) else { return };
        let task = &mut stored.task;
        if task.queue != queue {
            self.counters.entry(task.queue.clone()).or_default().1 += 1;
            self.accept(&queue, now);
        }
        let Some(stored) = self.tasks.get_mut(&id) else { return };
        let task = &mut stored.task;
        task.queue = queue;
        // An operator wants it to run, however late.
        task.overrides.expires_in = None;
        (task.ready_at, task.completed_at, task.result, task.dead_letter) = (now, None, None, false);
        if reset_attempts {
            (task.attempt, task.crashes, task.blames, task.submitted_at) = (0, 0, 0, now);
        }
        if parameters.is_some() {
            task.parameters = parameters;
        }
        (stored.settled_by, stored.unknown) = (None, None);
        self.go(&id, Move::Resubmit, Status::Submitted, now);
        self.take_key(&id, now);
        if let Some(stored) = self.tasks.get_mut(&id) {
            stored.position = stored.task.revision;
        }
    }

    pub(super) fn claim_duty(&mut self, claim: DutyClaim, now: Timestamp) -> Duty {
        let DutyClaim { duty, holder, note, ttl } = claim;
        let before = self.duties.get(&duty);
        if let Some(other) = before.filter(|before| before.holder != holder && before.expires_at > now) {
            return other.clone();
        }
        let term = match before {
            Some(before) if before.holder == holder => before.term,
            Some(before) => before.term + 1,
            None => 1,
        };
        let taken_from = before.filter(|before| before.holder != holder).map(|before| before.note.clone());
        let had = Duty { holder, note, term, expires_at: now.after(ttl), taken_from: None };
        self.duties.insert(duty, had.clone());
        Duty { taken_from, ..had }
    }

    pub(super) fn duty(&self, duty: &DutyName, now: Timestamp) -> Option<Duty> {
        self.duties.get(duty).filter(|duty| duty.expires_at > now).cloned()
    }

    pub(super) fn release_duty(&mut self, duty: &DutyName, holder: &HolderId, now: Timestamp) {
        // It stays known, so that terms go on growing.
        if let Some(had) = self.duties.get_mut(duty).filter(|had| had.holder == *holder && had.expires_at > now) {
            had.expires_at = now;
        }
    }
}

fn may_go(task: &Task, expected: Option<u64>) -> bool {
    let is_spontaneous = task.dependencies.as_ref().is_some_and(|it| it.is_spontaneous);
    task.status != Status::Completed && !is_spontaneous && expected.is_none_or(|expected| expected == task.revision)
}
