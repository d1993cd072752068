//! Taking tasks in.

use super::state::{State, Stored};
use crate::{
    engine::{ConflictReason, Error, OnConflict, Result, Submit, Submitted, SubmittedHow},
    lifecycle::Status,
    name::QueueName,
    task::{NewTask, Start, Task},
    time::Timestamp,
};

impl State {
    pub(super) fn submit(&mut self, batch: Submit, now: Timestamp) -> Result<Vec<Submitted>> {
        if let Some(task) = batch.tasks.iter().find(|task| !self.config.queues.contains_key(&task.queue)) {
            return Err(Error::UnknownQueue(task.queue.clone()));
        }
        let plans =
            batch.tasks.iter().map(|task| self.plan(task, batch.on_conflict)).collect::<Result<Vec<SubmittedHow>>>()?;
        self.check_room(&batch.tasks, &plans)?;
        Ok(batch.tasks.into_iter().zip(plans).map(|(task, how)| self.take(task, how, now)).collect())
    }

    /// Whether the queues that have a `max_length` have room for what is new in a batch. What takes the place of a task
    /// that waits in the same queue needs none.
    fn check_room(&self, tasks: &[NewTask], plans: &[SubmittedHow]) -> Result<()> {
        let waits = |task: &Task, queue: &QueueName| {
            task.queue == *queue && matches!(task.status, Status::Waiting | Status::Scheduled | Status::Submitted)
        };
        let limited = |queue: &QueueName| self.config.queues.get(queue).and_then(|config| config.max_length);
        for (place, (task, how)) in tasks.iter().zip(plans).enumerate() {
            let in_place = self.tasks.get(&task.id).is_some_and(|stored| waits(&stored.task, &task.queue));
            let needs_room = *how != SubmittedHow::Existing && !in_place;
            let Some(max_length) = limited(&task.queue).filter(|_| needs_room) else { continue };
            let here = self.tasks.values().filter(|stored| waits(&stored.task, &task.queue)).count();
            let news = tasks[..=place]
                .iter()
                .zip(plans)
                .filter(|(new, how)| new.queue == task.queue && **how != SubmittedHow::Existing);
            let gone = tasks[..=place].iter().zip(plans).filter(|(new, how)| {
                **how == SubmittedHow::Replaced
                    && self.tasks.get(&new.id).is_some_and(|stored| waits(&stored.task, &task.queue))
            });
            if (here + news.count() - gone.count()) as u64 > max_length {
                return Err(Error::QueueFull { queue: task.queue.clone(), max_length });
            }
        }
        Ok(())
    }

    fn plan(&self, task: &NewTask, on_conflict: OnConflict) -> Result<SubmittedHow> {
        let Some(stored) = self.tasks.get(&task.id) else { return Ok(SubmittedHow::Created) };
        let conflict = |reason| Error::Conflict { id: task.id.clone(), status: stored.task.status, reason };
        match on_conflict {
            _ if stored.fingerprint == task.fingerprint() => Ok(SubmittedHow::Existing),
            OnConflict::Skip => Ok(SubmittedHow::Existing),
            OnConflict::Fail => Err(conflict(ConflictReason::BodyDiffers)),
            OnConflict::Replace if stored.task.status == Status::Started => Err(conflict(ConflictReason::Started)),
            OnConflict::Replace => Ok(SubmittedHow::Replaced),
        }
    }

    fn take(&mut self, new: NewTask, how: SubmittedHow, now: Timestamp) -> Submitted {
        if how == SubmittedHow::Replaced {
            self.remove(&new.id);
        }
        if how != SubmittedHow::Existing {
            self.counters.entry(new.queue.clone()).or_default().0 += 1;
            let stored = self.store(new.clone(), now);
            if stored.task.status == Status::Submitted {
                self.wake_queue(&new.queue);
            }
            self.tasks.insert(new.id.clone(), stored);
        }
        let (queue, status) = self
            .tasks
            .get(&new.id)
            .map_or((new.queue, Status::Submitted), |stored| (stored.task.queue.clone(), stored.task.status));
        Submitted { id: new.id, queue, status, how }
    }

    fn store(&mut self, new: NewTask, now: Timestamp) -> Stored {
        let due = match new.start {
            Start::Now => now,
            Start::After(delay) => now.after(delay),
            Start::At(at) => at.max(now),
        };
        let revision = self.next_revision();
        let fingerprint = new.fingerprint();
        let task = Task {
            id: new.id,
            name: new.name,
            version: new.version,
            queue: new.queue,
            priority: new.priority,
            status: if due > now { Status::Scheduled } else { Status::Submitted },
            revision,
            parameters: Some(new.parameters),
            overrides: new.overrides,
            attempt: 0,
            crashes: 0,
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
            trace: new.trace,
        };
        Stored { task, fingerprint, position: revision, settled_by: None, unknown_since: None }
    }
}
