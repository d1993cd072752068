//! Schedules: compare-and-set on a revision, and the step that fires.

use std::ops::Bound;

use jobbers_common::{
    engine::{DueSchedules, Error, Fire, Fired, IfBusy, Launch, Previous, PutRun, PutSchedule, Result, StoredSchedule},
    limits::MAX_SCHEDULES,
    name::{ScheduleName, TaskId},
    schedule::entry::ScheduleEntry,
    time::Timestamp,
};

use super::state::State;

impl State {
    pub(super) fn put_schedule(&mut self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        let name = entry.schedule.name.clone();
        match (put, self.schedules.get(&name)) {
            (PutSchedule::Create, Some(_)) => return Err(Error::Exists(format!("schedule {name}"))),
            (PutSchedule::Create, None) if self.schedules.len() >= MAX_SCHEDULES => {
                return Err(Error::Invalid(format!("a store holds at most {MAX_SCHEDULES} schedules")));
            }
            (PutSchedule::Replace(_), None) => return Err(Error::UnknownSchedule(name)),
            (PutSchedule::Replace(revision), Some(stored)) if stored.revision != revision => {
                return Err(Error::Changed(format!("schedule {name}")));
            }
            _ => {}
        }
        Ok(self.store_schedule(entry))
    }

    fn store_schedule(&mut self, entry: ScheduleEntry) -> u64 {
        let revision = self.next_revision();
        self.schedules.insert(entry.schedule.name.clone(), StoredSchedule { entry, revision });
        revision
    }

    pub(super) fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Vec<StoredSchedule> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.schedules
            .range::<ScheduleName, _>((from, Bound::Unbounded))
            .take(limit)
            .map(|(_, stored)| stored.clone())
            .collect()
    }

    pub(super) fn delete_schedule(&mut self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        let stored = self.schedules.get(name).ok_or_else(|| Error::UnknownSchedule(name.clone()))?;
        if revision.is_some_and(|revision| revision != stored.revision) {
            return Err(Error::Changed(format!("schedule {name}")));
        }
        self.schedules.remove(name);
        Ok(())
    }

    pub(super) fn due_schedules(&self, limit: usize, now: Timestamp) -> DueSchedules {
        let mut by_time: Vec<(Timestamp, &StoredSchedule)> =
            self.schedules.values().filter_map(|stored| Some((stored.entry.next_at?, stored))).collect();
        by_time.sort_by_key(|(at, stored)| (*at, stored.entry.schedule.name.clone()));
        let due = by_time.iter().take_while(|(at, _)| *at <= now).take(limit).count();
        DueSchedules {
            now,
            due: by_time[..due].iter().map(|(_, stored)| (*stored).clone()).collect(),
            next_at: by_time.get(due).map(|(at, _)| *at),
        }
    }

    pub(super) fn fire_schedule(&mut self, fire: Fire, now: Timestamp) -> Result<Fired> {
        if self.schedules.get(fire.name()).is_none_or(|stored| stored.revision != fire.revision) {
            return Ok(Fired::Changed);
        }
        let is_busy = match &fire.previous {
            None => false,
            Some(Previous::Task(id)) => self.is_live(id),
            Some(Previous::Workflow { cancelled, revision }) => {
                if self.workflows.get(&cancelled.id).is_none_or(|(stored, _)| stored.revision != *revision) {
                    return Ok(Fired::Changed);
                }
                true
            }
        };
        if let (true, IfBusy::Hold(entry)) = (is_busy, &fire.if_busy) {
            entry.encode()?;
            return Ok(Fired::Held { revision: self.store_schedule((**entry).clone()) });
        }
        let submitted = match fire.batch() {
            Some(batch) => self.submit(batch, now)?.pop(),
            None => None,
        };
        if let Some(Launch::Workflow(run, definition)) = fire.launch {
            self.put_workflow(*run, PutRun::Create(definition))?;
        }
        if is_busy && fire.if_busy == IfBusy::Cancel {
            match fire.previous {
                Some(Previous::Task(id)) => {
                    self.cancel(&id, now);
                }
                Some(Previous::Workflow { cancelled, revision }) => {
                    self.put_workflow(*cancelled, PutRun::Replace(revision))?;
                }
                None => {}
            }
        }
        Ok(Fired::Done { revision: self.store_schedule(fire.entry), submitted })
    }

    fn is_live(&self, id: &TaskId) -> bool {
        self.tasks.get(id).is_some_and(|stored| !stored.task.status.is_finished())
    }
}
