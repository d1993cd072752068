//! Unique keys: who holds one, and what a submission does when its key is held.

use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    name::{TaskId, TaskName},
    task::{
        NewTask, Task,
        unique::{OnDuplicate, UniqueKey},
    },
    time::Timestamp,
};

use super::{records::KeyHolder, state::State};

/// What a submission meets.
pub(super) enum Met {
    /// No holder in conflict: it is accepted.
    Free,
    /// This task, which is its answer.
    Answer(TaskId),
    /// This task, which is to be cancelled.
    Replace(TaskId),
    /// This task, which becomes what it says.
    Update(TaskId),
}

type Key = (TaskName, UniqueKey);

fn key_of(task: &Task) -> Option<Key> {
    task.unique.as_ref().map(|unique| (task.name.clone(), unique.key.clone()))
}

impl State {
    pub(super) fn meet(&self, new: &NewTask, now: Timestamp) -> Result<Met> {
        let Some(unique) = &new.unique else { return Ok(Met::Free) };
        let Some(held) = self.keys.get(&(new.name.clone(), unique.key.clone())) else { return Ok(Met::Free) };
        if held.last_word.as_ref() == Some(&(new.id.clone(), new.fingerprint())) {
            return Ok(Met::Answer(held.task.clone()));
        }
        let Some(status) = self.holds(held, now).filter(|_| held.task != new.id) else { return Ok(Met::Free) };
        let holder = held.task.clone();
        match unique.on_duplicate {
            OnDuplicate::Return => Ok(Met::Answer(holder)),
            OnDuplicate::Replace | OnDuplicate::KeepLast if status.is_finished() => Ok(Met::Free),
            OnDuplicate::Replace if status != Status::Started => Ok(Met::Replace(holder)),
            OnDuplicate::KeepLast if status != Status::Started => Ok(Met::Update(holder)),
            _ => Err(Error::Duplicate { id: new.id.clone(), key: unique.key.clone(), holder, status }),
        }
    }

    /// The status of the task that took a key, if it still holds it.
    fn holds(&self, held: &KeyHolder, now: Timestamp) -> Option<Status> {
        let task = &self.tasks.get(&held.task)?.task;
        let holds = task.unique.as_ref()?.statuses.contains(task.status) && held.until.is_none_or(|until| until > now);
        holds.then_some(task.status)
    }

    /// The other task that holds a task's key.
    pub(super) fn held_by_another(&self, task: &Task, now: Timestamp) -> Option<TaskId> {
        let held = self.keys.get(&key_of(task)?)?;
        self.holds(held, now).filter(|_| held.task != task.id).map(|_| held.task.clone())
    }

    /// Gives a task its key, for its whole span from now.
    pub(super) fn take_key(&mut self, id: &TaskId, now: Timestamp) {
        let Some(task) = self.tasks.get(id).map(|stored| &stored.task) else { return };
        if let Some(key) = key_of(task) {
            let until = task.unique.as_ref().and_then(|unique| unique.span).map(|span| now.after(span));
            self.keys.insert(key, KeyHolder { task: id.clone(), until, last_word: None });
        }
    }

    /// Takes the key from a task that goes.
    pub(super) fn release_key(&mut self, task: &Task) {
        if let Some(key) = key_of(task)
            && self.keys.get(&key).is_some_and(|held| held.task == task.id)
        {
            self.keys.remove(&key);
        }
    }

    /// Makes the holder of a key what a submission says.
    pub(super) fn update(&mut self, holder: &TaskId, new: NewTask, now: Timestamp) {
        let Some(before) = self.tasks.get(holder).cloned() else { return };
        let held = key_of(&before.task).and_then(|key| self.keys.get(&key).cloned().map(|held| (key, held)));
        let last_word = Some((new.id.clone(), new.fingerprint()));
        self.remove(holder);
        let id_is_chosen = before.task.id_is_chosen;
        let mut stored = Self::fresh(NewTask { id: holder.clone(), id_is_chosen, ..new }, now);
        (stored.fingerprint, stored.task.submitted_at) = (before.fingerprint, before.task.submitted_at);
        self.insert(stored, now);
        if let Some((key, held)) = held {
            self.keys.insert(key, KeyHolder { last_word, ..held });
        }
    }
}
