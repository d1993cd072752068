//! [`Tasks`] of the Redis store: how tasks are submitted, read and changed.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    dependency::signal::Signalled,
    engine::{
        Cancelled, ListRequest, Page, Parents, ParentsRequest, QueuePlace, Rescheduled, Resubmit, Resubmitted, Result,
        Submit, Submitted, TaskDeletion, TaskTimes, Tasks, dependencies::NewDependency,
    },
    lifecycle::Status,
    name::{SignalName, TaskId},
    task::{Start, Task, tombstone::Tombstone},
};

use crate::{
    pieces,
    redis::{RedisEngine, follow, read, verbs, workflows},
};

#[async_trait]
impl Tasks for RedisEngine {
    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        batch.validate()?;
        pieces::submit(
            self,
            batch,
            |batch| self.submitter.submit(batch),
            || async { Ok(follow::dependencies::link_pieces(&self.store).await? > 0) },
        )
        .await
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        follow::dependencies::add(&self.store, edges).await
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        read::tasks::get(&self.store, id).await
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        follow::tombstones::find(&self.store, id).await
    }

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        workflows::statuses(&self.store, ids).await
    }

    async fn times(&self, ids: &[TaskId]) -> Result<Vec<TaskTimes>> {
        workflows::times(&self.store, ids).await
    }

    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        follow::parents::read(&self.store, &request).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        read::list::list(&self.store, &request).await
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        read::tasks::place(&self.store, id).await
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        verbs::work::cancel(&self.store, ids).await
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        verbs::resubmit::resubmit(&self.store, batch).await
    }

    async fn reschedule(&self, ids: &[TaskId], start: Start) -> Result<Vec<Rescheduled>> {
        verbs::reschedule::reschedule(&self.store, ids, start).await
    }

    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        follow::dependencies::signal(&self.store, id, name, keep).await
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        verbs::upkeep::delete_tasks(&self.store, ids, cascade).await
    }
}
