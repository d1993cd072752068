//! Schedules, and the step that fires one.

use async_trait::async_trait;

use crate::{
    engine::{DueSchedules, Fire, Fired, PutSchedule, Result, StoredSchedule},
    name::ScheduleName,
    schedule::entry::ScheduleEntry,
};

/// The schedules of a store.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Creates or replaces a schedule. Returns its new revision.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::engine::Error::Exists), [`Error::UnknownSchedule`](crate::engine::Error::UnknownSchedule) or [`Error::Changed`](crate::engine::Error::Changed) by [`PutSchedule`]; [`Error::Invalid`](crate::engine::Error::Invalid) by
    /// [`ScheduleEntry::encode`], and beyond the number of schedules that a store holds. After a transient error, read
    /// it again.
    async fn put_schedule(&self, entry: ScheduleEntry, put: PutSchedule) -> Result<u64>;

    /// A schedule.
    ///
    /// # Errors
    /// Only those of the store.
    async fn schedule(&self, name: &ScheduleName) -> Result<Option<StoredSchedule>>;

    /// Up to `limit` schedules after a name, in the order of names. One that exists during a whole walk is listed exactly
    /// once.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn list_schedules(&self, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>>;

    /// Deletes a schedule, if given only at this revision. The tasks and workflows that it started stay.
    ///
    /// # Errors
    /// [`Error::UnknownSchedule`](crate::engine::Error::UnknownSchedule); [`Error::Changed`](crate::engine::Error::Changed).
    async fn delete_schedule(&self, name: &ScheduleName, revision: Option<u64>) -> Result<()>;

    /// Up to `limit` due schedules, the longest due first, and when the next one is due. Costs by the number of due
    /// ones.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules>;

    /// Carries out one step of a schedule, if it still has the revision for which the step was made: checks whether its
    /// latest run is over, submits the task as [`Tasks::submit`](crate::engine::Tasks::submit) does or creates the run of the workflow as
    /// [`Workflows::put_workflow`](crate::engine::Workflows::put_workflow) does, then cancels the latest run if requested, and stores the schedule's new state. All of
    /// it or nothing.
    ///
    /// # Errors
    /// Those of [`Tasks::submit`](crate::engine::Tasks::submit) and [`Workflows::put_workflow`](crate::engine::Workflows::put_workflow); [`Error::Invalid`](crate::engine::Error::Invalid) by [`Fire::validate`] and [`ScheduleEntry::encode`]. Safe to
    /// repeat: a step that was carried out is then [`Fired::Changed`].
    async fn fire_schedule(&self, fire: Fire) -> Result<Fired>;
}
