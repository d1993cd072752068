//! [`Schedules`] of the Redis store: schedules and their slots.

use async_trait::async_trait;
use jobbers_common::{
    engine::{DueSchedules, Fire, Fired, PutSchedule, Result, Schedules, StoredSchedule},
    name::ScheduleName,
    schedule::entry::ScheduleEntry,
};

use crate::redis::{RedisEngine, schedules};

#[async_trait]
impl Schedules for RedisEngine {
    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64> {
        schedules::put(&self.store, &entry, put).await
    }

    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
        schedules::find(&self.store, name).await
    }

    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
        schedules::list(&self.store, after, limit).await
    }

    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()> {
        schedules::delete(&self.store, name, revision).await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules> {
        schedules::due(&self.store, limit).await
    }

    async fn fire_schedule(&self, fire: Fire) -> Result<Fired> {
        schedules::fire(&self.store, fire).await
    }
}
