//! [`Tasks`] of the SQLite store: how tasks are submitted, read and changed.

use std::{sync::Arc, time::Duration};

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
    limits::{DEPENDENCIES_A_PIECE, MAX_BATCH},
    name::{SignalName, TaskId},
    task::{Start, Task, tombstone::Tombstone},
};

use crate::{
    pieces,
    sqlite::{
        SqliteEngine,
        follow::{
            dependency::{self, external},
            parents, tombstones,
        },
        kernel::step,
        read::{list, tasks},
        verbs::{delete, lease, reschedule, resubmit, submit},
        workflows,
    },
};

#[async_trait]
impl Tasks for SqliteEngine {
    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>> {
        batch.validate()?;
        let store = |batch: Submit| {
            let growth = submit::growth(&batch);
            self.writer.grow(batch.tasks.len(), growth, move |step| submit::submit(step, &batch))
        };
        pieces::submit(self, batch, store, || self.writer.run(DEPENDENCIES_A_PIECE, dependency::pieces::link_some))
            .await
    }

    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>> {
        validate_new(edges)?;
        let growth = dependency::add::growth(edges.len());
        let edges: Arc<[NewDependency]> = edges.into();
        loop {
            let edges = Arc::clone(&edges);
            let weight = edges.len().max(DEPENDENCIES_A_PIECE);
            let added = self.writer.grow(weight, growth, move |step| dependency::add::add(step, &edges)).await?;
            if let Some(added) = added {
                return Ok(added);
            }
        }
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Task>> {
        let id = id.clone();
        self.read(move |view| tasks::get(view, &id)).await
    }

    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>> {
        let id = id.clone();
        self.read(move |view| tombstones::find(view.conn, &id, view.now)).await
    }

    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
        validate_ids(ids)?;
        let ids = ids.to_vec();
        self.read(move |view| workflows::statuses(view, &ids)).await
    }

    async fn times(&self, ids: &[TaskId]) -> Result<Vec<TaskTimes>> {
        validate_ids(ids)?;
        let ids = ids.to_vec();
        self.read(move |view| workflows::times(view, &ids)).await
    }

    async fn parents(&self, request: ParentsRequest) -> Result<Parents> {
        request.validate()?;
        self.read(move |view| parents::read(view, &request)).await
    }

    async fn list(&self, request: ListRequest) -> Result<Page> {
        request.validate()?;
        self.read(move |view| list::list(view, &request)).await
    }

    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>> {
        let id = id.clone();
        self.read(move |view| tasks::place(view, &id)).await
    }

    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
        if ids.len() > MAX_BATCH {
            return Err(Error::Invalid(format!("a call cancels at most {MAX_BATCH} tasks")));
        }
        let mut answers = Vec::with_capacity(ids.len());
        while answers.len() < ids.len() {
            let rest = ids[answers.len()..].to_vec();
            answers.extend(self.writer.run(rest.len(), move |step| lease::cancel_some(step, &rest)).await?);
        }
        Ok(answers)
    }

    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
        validate_resubmit(&batch)?;
        let growth = resubmit::growth(&batch);
        self.writer.grow(batch.len(), growth, move |step| resubmit::resubmit(step, &batch)).await
    }

    async fn reschedule(&self, ids: &[TaskId], start: Start) -> Result<Vec<Rescheduled>> {
        validate_reschedule(ids)?;
        let ids = ids.to_vec();
        self.writer.run(ids.len(), move |step| reschedule::reschedule(step, &ids, start)).await
    }

    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled> {
        validate_keep(keep).map_err(Error::Invalid)?;
        let (id, name) = (id.clone(), name.clone());
        match keep {
            None => self.writer.run(1, move |step| external::signal(step, &id, &name)).await,
            Some(keep) => {
                let signal = move |step: &mut step::Step<'_>| external::signal_or_keep(step, &id, &name, keep);
                self.writer.grow(1, external::KEPT_BYTES, signal).await
            }
        }
    }

    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>> {
        validate_task_deletion(ids)?;
        let mut answers = Vec::with_capacity(ids.len());
        while answers.len() < ids.len() {
            let rest = ids[answers.len()..].to_vec();
            answers.extend(self.writer.run(rest.len(), move |step| delete::tasks(step, &rest, cascade)).await?);
        }
        Ok(answers)
    }
}
