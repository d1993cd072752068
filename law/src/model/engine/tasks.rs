//! [`Tasks`] of the model: how tasks are submitted, read and changed.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    dependency::signal::{Signalled, validate_keep},
    engine::{
        Cancelled, Error, ListRequest, Page, Parents, ParentsRequest, QueuePlace, Rescheduled, Resubmit, Resubmitted,
        Result, Submit, Submitted, TaskDeletion, TaskTimes, Tasks,
        dependencies::{NewDependency, validate_new},
        letters::validate_resubmit,
        upkeep::validate_task_deletion,
        work::validate_reschedule,
        workflows::validate_ids,
    },
    lifecycle::Status,
    name::{SignalName, TaskId},
    task::{Start, Task, tombstone::Tombstone},
};

use crate::model::ModelEngine;

#[async_trait]
impl Tasks for ModelEngine {
    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        batch.validate()?;
        self.step(|state, now| state.submit(batch, now))
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        validate_new(edges)?;
        self.step(|state, now| state.add_dependencies(edges, now))
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        Ok(self.step(|state, _| state.task(id)))
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        Ok(self.step(|state, now| state.tombstone(id, now).cloned()))
    }

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        validate_ids(ids)?;
        Ok(self.step(|state, now| state.statuses(ids, now)))
    }

    async fn times(&self, ids: &[TaskId]) -> Result<Vec<TaskTimes>> {
        validate_ids(ids)?;
        Ok(self.step(|state, now| state.times(ids, now)))
    }

    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        request.validate()?;
        Ok(self.step(|state, now| state.parents(&request, now)))
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        request.validate()?;
        self.step(|state, _| state.list(&request))
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        Ok(self.step(|state, now| state.place(id, now)))
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        if ids.len() > jobbers_common::limits::MAX_BATCH {
            return Err(Error::Invalid("a call cancels at most 1000 tasks".to_owned()));
        }
        Ok(self.step(|state, now| ids.iter().map(|id| state.cancel(id, now)).collect()))
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        validate_resubmit(&batch)?;
        Ok(self.step(|state, now| batch.into_iter().map(|wish| state.resubmit(wish, now)).collect()))
    }

    async fn reschedule(&self, ids: &[TaskId], start: Start) -> Result<Vec<Rescheduled>> {
        validate_reschedule(ids)?;
        Ok(self.step(|state, now| ids.iter().map(|id| state.reschedule(id, start, now)).collect()))
    }

    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        validate_keep(keep).map_err(Error::Invalid)?;
        Ok(self.step(|state, now| state.signal(id, name, keep, now)))
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        validate_task_deletion(ids)?;
        Ok(self.step(|state, now| state.delete_tasks(ids, cascade, now)))
    }
}
