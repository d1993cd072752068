//! [`Schedules`] of the model: schedules and their slots.

use async_trait::async_trait;
use jobbers_common::{
    engine::{DueSchedules, Fire, Fired, PutSchedule, Result, Schedules, StoredSchedule, reads::validate_limit},
    name::ScheduleName,
    schedule::entry::ScheduleEntry,
};

use crate::model::ModelEngine;

#[async_trait]
impl Schedules for ModelEngine {
    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        entry.encode()?;
        self.step(|state, _| state.put_schedule(entry, put))
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        Ok(self.step(|state, _| state.schedules.get(name).cloned()))
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        validate_limit(limit)?;
        Ok(self.step(|state, _| state.list_schedules(after, limit)))
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        self.step(|state, _| state.delete_schedule(name, revision))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.due_schedules(limit, now)))
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        fire.validate()?;
        fire.entry.encode()?;
        self.step(|state, now| state.fire_schedule(fire, now))
    }
}
