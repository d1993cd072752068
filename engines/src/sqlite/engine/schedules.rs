//! [`Schedules`] of the SQLite store: schedules and their slots.

use async_trait::async_trait;
use jobbers_common::{
    engine::{DueSchedules, Fire, Fired, PutSchedule, Result, Schedules, StoredSchedule, reads::validate_limit},
    name::ScheduleName,
    schedule::entry::ScheduleEntry,
};

use crate::sqlite::{SqliteEngine, schedules};

#[async_trait]
impl Schedules for SqliteEngine {
    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        let text = entry.encode()?;
        let growth = text.len() as u64;
        self.writer.grow(1, growth, move |step| schedules::put(step, &entry, &text, put)).await
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        let name = name.clone();
        self.read(move |view| schedules::find(view.conn, &name)).await
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        validate_limit(limit)?;
        let after = after.cloned();
        self.read(move |view| schedules::list(view, after.as_ref(), limit)).await
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        let name = name.clone();
        self.writer.run(1, move |step| schedules::delete(step, &name, revision)).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        validate_limit(limit)?;
        self.read(move |view| schedules::due(view, limit)).await
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        let step_of_it = schedules::PreparedStep::of(fire)?;
        let growth = step_of_it.growth();
        self.writer.grow(1, growth, move |step| schedules::fire(step, &step_of_it)).await
    }
}
