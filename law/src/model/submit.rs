//! Taking tasks in.

use jobbers_common::{
    dependency::Dependency,
    engine::{Error, OnConflict, Result, Submit, Submitted, SubmittedHow},
    lifecycle::{Move, Status},
    name::{QueueName, TaskId},
    payload::Payload,
    task::{NewTask, Task, suspicion::Suspicion},
    time::Timestamp,
};

use super::{
    dependency::{AtOnce, counted},
    records::OpenEdge,
    state::{State, Stored},
    unique::Met,
};

/// The result for one task: its id, what the submission did, and whether its queue must have room for it.
type Taken = (TaskId, SubmittedHow, bool);
/// The results for a batch, and the moves of those of its tasks whose predecessors are over.
type TakenIn = (Vec<(TaskId, SubmittedHow)>, Vec<AtOnce>);

impl State {
    /// Accepts a batch as if its tasks came one after the other. The refusal of one refuses all.
    pub(super) fn submit(&mut self, batch: Submit, now: Timestamp) -> Result<Vec<Submitted>> {
        if let Some(task) = batch.tasks.iter().find(|task| !self.queues.contains(&task.queue)) {
            return Err(Error::UnknownQueue(task.queue.clone()));
        }
        let before = self.clone();
        self.taken_from = Some(self.revision);
        let taken_in = self.take_all(batch, now);
        self.taken_from = None;
        let taken = match taken_in {
            Ok((taken, at_once)) => {
                self.move_at_once(at_once, now);
                taken
            }
            Err(error) => {
                *self = before;
                return Err(error);
            }
        };
        let told = |(id, how): (TaskId, SubmittedHow)| {
            let (queue, status) = match self.tasks.get(&id) {
                Some(stored) => (stored.task.queue.clone(), stored.task.status),
                None => self.tombstone(&id, now).map(|tombstone| (tombstone.queue.clone(), tombstone.status))?,
            };
            Some(Submitted { id, queue, status, how })
        };
        Ok(taken.into_iter().filter_map(told).collect())
    }

    fn take_all(&mut self, batch: Submit, now: Timestamp) -> Result<TakenIn> {
        let mut new_edges = Vec::<(TaskId, Vec<Dependency>)>::new();
        let (mut full, mut taken, mut entered) = (None, Vec::new(), Vec::<(QueueName, usize)>::new());
        let mut in_need = Vec::<QueueName>::new();
        for new in batch.tasks {
            let (queue, depends_on, is_linked) = (new.queue.clone(), new.depends_on.clone(), new.is_linked());
            let bytes_before = self.waiting_bytes(&queue);
            let (id, how, needs_room) = self.take(new, batch.on_conflict, now)?;
            if needs_room {
                full = full.or_else(|| self.overfull(&queue));
                in_need.push(queue.clone());
            }
            if full.is_none() {
                full = self.overweight(&queue, bytes_before);
            }
            if how != SubmittedHow::Existing && is_linked {
                new_edges.push((id.clone(), depends_on));
            }
            if how != SubmittedHow::Existing {
                match entered.iter_mut().find(|(known, _)| *known == queue) {
                    Some((_, count)) => *count += 1,
                    None => entered.push((queue, 1)),
                }
            }
            taken.push((id, how));
        }
        let at_once = self.link(&new_edges, now)?;
        match full {
            Some(Error::QueueFull { queue, max_length }) => {
                let count = in_need.iter().filter(|one| **one == queue).count();
                let is_never_to_fit = count as u64 > max_length;
                return Err(match is_never_to_fit {
                    true => Error::over_length(&queue, count, max_length),
                    false => Error::QueueFull { queue, max_length },
                });
            }
            Some(heavy) => return Err(heavy),
            None => {}
        }
        entered.into_iter().try_for_each(|(queue, count)| self.note_entered(queue, count, now))?;
        Ok((taken, at_once))
    }

    /// Holds to the rate at which a queue accepts tasks.
    fn note_entered(&mut self, queue: QueueName, count: usize, now: Timestamp) -> Result<()> {
        let Some(rate) = self.config.queues.get(&queue).and_then(|config| config.submit_rate_limit) else {
            return Ok(());
        };
        let mark = self.intake_marks.get(&queue).copied().unwrap_or_default();
        if count > rate.burst() as usize {
            return Err(Error::over_burst(&queue, count, rate.burst()));
        }
        if count > rate.allowed(mark, now) {
            return Err(Error::RateLimited { queue, retry_after: rate.wait_for_all(mark, now, count) });
        }
        self.intake_marks.insert(queue, rate.mark_after(mark, now, count));
        Ok(())
    }

    /// Whether more tasks wait in a queue than may.
    fn overfull(&self, queue: &QueueName) -> Option<Error> {
        let max_length = self.config.queues.get(queue)?.max_length?;
        let length = self.tasks.values().filter(|stored| waits_in(&stored.task, queue)).count() as u64;
        (length > max_length).then(|| Error::QueueFull { queue: queue.clone(), max_length })
    }

    /// Bytes of the parameters of the tasks that wait in a queue.
    pub(super) fn waiting_bytes(&self, queue: &QueueName) -> u64 {
        let waiting = self.tasks.values().map(|stored| &stored.task).filter(|task| waits_in(task, queue));
        waiting.map(|task| task.parameters.as_ref().map_or(0, Payload::len) as u64).sum()
    }

    /// Whether more bytes wait in a queue than may, and more than before.
    fn overweight(&self, queue: &QueueName, before: u64) -> Option<Error> {
        let max_bytes = self.config.queues.get(queue)?.max_bytes?;
        let bytes = self.waiting_bytes(queue);
        (bytes > max_bytes.max(before)).then(|| Error::QueueBytesFull { queue: queue.clone(), max_bytes })
    }

    /// What takes the place of a task that waits in the same queue needs no room there.
    fn take(&mut self, new: NewTask, on_conflict: OnConflict, now: Timestamp) -> Result<Taken> {
        if let Some(tombstone) = self.tombstone(&new.id, now).filter(|_| new.id_is_chosen)
            && on_conflict.keeps_stored(tombstone.status, tombstone.fingerprint, &new)?
        {
            return Ok((new.id, SubmittedHow::Existing, false));
        }
        let stored = self.tasks.get(&new.id);
        if let Some(stored) = stored
            && on_conflict.keeps_stored(stored.task.status, stored.fingerprint, &new)?
        {
            return Ok((new.id, SubmittedHow::Existing, false));
        }
        let waits = |stored: Option<&Stored>| stored.is_some_and(|stored| waits_in(&stored.task, &new.queue));
        let (is_known, in_place) = (stored.is_some(), waits(stored));
        match self.meet(&new, now)? {
            Met::Answer(holder) => Ok((holder, SubmittedHow::Existing, false)),
            Met::Free => {
                let how = if is_known { SubmittedHow::Replaced } else { SubmittedHow::Created };
                Ok((self.enter(new, now), how, !in_place))
            }
            Met::Replace(holder) => {
                let in_place = in_place || waits(self.tasks.get(&holder));
                self.go(&holder, Move::Cancel, Status::Cancelled, now);
                Ok((self.enter(new, now), SubmittedHow::Replaced, !in_place))
            }
            Met::Update(holder) => {
                let in_place = waits(self.tasks.get(&holder));
                self.update(&holder, new, now);
                Ok((holder, SubmittedHow::Updated, !in_place))
            }
        }
    }

    /// Stores a task, in the place of one of its id, and gives it its key.
    fn enter(&mut self, new: NewTask, now: Timestamp) -> TaskId {
        let id = new.id.clone();
        let is_taken = self.tasks.contains_key(&id) || self.tombstones.contains_key(&id);
        self.withdraw(&id, Status::Aborted);
        self.insert(Self::fresh(new, now), now);
        if is_taken {
            self.touch_run(&id, now);
        }
        self.take_key(&id, now);
        id
    }

    /// Counts a task in, and wakes workers if it is ready.
    pub(super) fn insert(&mut self, mut stored: Stored, now: Timestamp) {
        let (queue, revision) = (stored.task.queue.clone(), self.next_revision());
        (stored.task.revision, stored.position) = (revision, revision);
        stored.waits_for.values_mut().for_each(|edge| edge.since = revision);
        if stored.task.id_is_chosen {
            self.tombstones.remove(&stored.task.id);
        }
        self.accept(&queue, now);
        if stored.task.status == Status::Submitted {
            self.wake_queue(&queue);
        }
        self.tasks.insert(stored.task.id.clone(), stored);
    }

    pub(super) fn fresh(new: NewTask, now: Timestamp) -> Stored {
        let due = new.start.due(now);
        let fingerprint = new.fingerprint();
        let dependencies = counted(&new);
        let status = match dependencies {
            Some(_) => Status::Waiting,
            None if due > now => Status::Scheduled,
            None => Status::Submitted,
        };
        let task = Task {
            id: new.id,
            id_is_chosen: new.id_is_chosen,
            name: new.name,
            version: new.version,
            queue: new.queue,
            priority: new.priority,
            status,
            revision: 0,
            parameters: Some(new.parameters),
            overrides: new.overrides,
            attempt: 0,
            crashes: 0,
            blames: 0,
            suspicion: Suspicion::NONE,
            submitted_at: now,
            ready_at: due,
            started_at: None,
            heartbeat_at: None,
            completed_at: None,
            lease: None,
            worker: None,
            cancel_requested: false,
            progress: None,
            checkpoint: None,
            result: None,
            errors: Vec::new(),
            dead_letter: false,
            unique: new.unique,
            concurrency_key: new.concurrency_key,
            metadata: new.metadata,
            dependencies,
            trace: new.trace,
            last_span: None,
        };
        let waits_for =
            new.depends_on.into_iter().map(|edge| (edge.on, OpenEdge { policy: edge.policy, since: 0 })).collect();
        Stored { task, fingerprint, position: 0, settled_by: None, unknown: None, waits_for }
    }
}

fn waits_in(task: &Task, queue: &QueueName) -> bool {
    task.queue == *queue && matches!(task.status, Status::Waiting | Status::Scheduled | Status::Submitted)
}
