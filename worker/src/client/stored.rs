//! What a client does with stored tasks, by their ids: make them wait for others, signal, cancel, delete and look them up.

use std::time::Duration;

use jobbers_api::{
    problem::Code,
    task::{
        cancel::{CancelOutcome, CancelReport, CancelRequest, CancelledView},
        delete::{DeleteOutcome, DeleteReport, DeleteRequest},
        dependency::{AddDependencies, AddedDependencies, NewDependencyRequest},
        signal::{SendSignal, SignalledView},
        statuses::{StatusesRequest, StatusesView},
    },
    value::Asked,
    wire::path::path,
};
use jobbers_common::{
    dependency::signal::Signalled,
    engine::{Cancelled, TaskDeletion, dependencies::NewDependency},
    lifecycle::Status,
    name::{SignalName, TaskId},
};

use super::{
    connection::{Client, ClientTransport},
    error::SubmitError,
    http::Http,
};

impl Client {
    /// Makes stored tasks wait for others, up to 100 dependencies: all of them are added or, on any error, none. The tasks that
    /// are to wait have not started, and those that they are to wait for are not over. Returns how many are new; one that
    /// exists stays as it is.
    ///
    /// ```no_run
    /// # use jobbers_worker::{SubmitError, policy::{DependencyPolicy, NewDependency}, prelude::*};
    /// # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let (run, after) = ("clean/7".parse()?, "export/7".parse()?);
    /// client.add_dependencies(&[NewDependency { run, after, policy: DependencyPolicy::RunWithFailures }]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SubmitError`], such as one with the code `unknown_task`, `task_over` or `circular_dependency`; then none was added.
    pub async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<usize, SubmitError> {
        match self.transport() {
            ClientTransport::Store(store) => {
                let answers = store.engine().add_dependencies(edges).await?;
                Ok(answers.into_iter().filter(|is_new| *is_new).count())
            }
            ClientTransport::Http(http) => {
                let dependencies = edges.iter().cloned().map(NewDependencyRequest::from).collect();
                let body = AddDependencies { dependencies };
                let answer: AddedDependencies = http.post("/dependencies", &body, Duration::ZERO).await?;
                Ok(answer.added)
            }
        }
    }

    /// Sends a signal to a task that was submitted to wait for it
    /// ([`Submission::wait_for_signal`](super::Submission::wait_for_signal)). Returns whether it came for the first time.
    ///
    /// # Errors
    /// [`SubmitError`], such as one with the code `unknown_task`, `unknown_signal` or `signal_late`. Safe to repeat.
    pub async fn signal(&self, id: &TaskId, name: &str) -> Result<bool, SubmitError> {
        self.send_signal(id, name, None).await
    }

    /// The same to a task that may not exist yet: the signal is then kept for it that long, at most a day.
    ///
    /// # Errors
    /// As [`Client::signal`], and `too_many_signals_kept`.
    pub async fn signal_early(&self, id: &TaskId, name: &str, keep_for: Duration) -> Result<bool, SubmitError> {
        self.send_signal(id, name, Some(keep_for)).await
    }

    async fn send_signal(&self, id: &TaskId, name: &str, keep_for: Option<Duration>) -> Result<bool, SubmitError> {
        let name = SignalName::new(name)?;
        match self.transport() {
            ClientTransport::Store(store) => {
                read_signalled(store.engine().signal(id, &name, keep_for).await?, id, &name)
            }
            ClientTransport::Http(http) => {
                let path = path(["tasks", id.as_str(), "signal"]);
                let answer: SignalledView = http.post(&path, &SendSignal { name, keep_for }, Duration::ZERO).await?;
                Ok(answer.is_new)
            }
        }
    }

    /// Cancels up to 1,000 tasks; the answers are in their order. A running task is asked to stop.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat.
    pub async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>, SubmitError> {
        match self.transport() {
            ClientTransport::Store(store) => Ok(store.engine().cancel(ids).await?),
            ClientTransport::Http(http) => {
                let body = CancelRequest::of(ids.to_vec());
                let answer: CancelReport = http.post("/tasks/cancel", &body, Duration::ZERO).await?;
                answer.tasks.iter().map(|task| read_cancelled(http, task)).collect()
            }
        }
    }

    /// Deletes up to 1,000 tasks with all that is stored of them; the answers are in their order. A running task stays. A task
    /// that depended only on deleted ones is deleted too, and so on; without `cascade` it runs instead.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat.
    pub async fn delete(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>, SubmitError> {
        match self.transport() {
            ClientTransport::Store(store) => Ok(store.engine().delete_tasks(ids, cascade).await?),
            ClientTransport::Http(http) => {
                let body = DeleteRequest::of(ids.iter().cloned(), cascade);
                let answer: DeleteReport = http.post("/tasks/delete", &body, Duration::ZERO).await?;
                Ok(answer.tasks.iter().map(|task| read_deleted(task.outcome)).collect())
            }
        }
    }

    /// The statuses of up to 1,000 tasks, in their order. `None` for a task that does not exist. A pruned task whose id its
    /// client chose still has its last status for a day.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>, SubmitError> {
        match self.transport() {
            ClientTransport::Store(store) => Ok(store.engine().statuses(ids).await?),
            ClientTransport::Http(http) => {
                let body = StatusesRequest { queues: Vec::new(), ids: asked(ids), status: Vec::new() };
                let answer: StatusesView = http.post("/tasks/statuses", &body, Duration::ZERO).await?;
                Ok(answer.tasks.into_iter().map(|task| task.status).collect())
            }
        }
    }
}

fn asked(ids: &[TaskId]) -> Vec<Asked<TaskId>> {
    ids.iter().cloned().map(Asked::from).collect()
}

/// Whether a signal came for the first time.
fn read_signalled(signalled: Signalled, id: &TaskId, name: &SignalName) -> Result<bool, SubmitError> {
    let (code, problem) = match signalled {
        Signalled::Done(_) | Signalled::Kept(_) => return Ok(true),
        Signalled::Already => return Ok(false),
        Signalled::Late(state) => {
            let problem = format!("task {id} does not wait for signal {name} any more: it is {}", state.as_str());
            (Code::SignalLate, problem)
        }
        Signalled::UnknownSignal => {
            (Code::UnknownSignal, format!("task {id} was not submitted to wait for a signal {name}"))
        }
        Signalled::UnknownTask => (Code::UnknownTask, format!("task {id} does not exist")),
        Signalled::TooManyKept => {
            (Code::TooManySignalsKept, "too many signals are kept for tasks that do not exist yet".to_owned())
        }
    };
    Err(SubmitError::refused(code, problem))
}

fn read_cancelled(http: &Http, task: &CancelledView) -> Result<Cancelled, SubmitError> {
    match (task.outcome, task.status) {
        (CancelOutcome::Cancelled, _) => Ok(Cancelled::Done),
        (CancelOutcome::Requested, _) => Ok(Cancelled::Requested),
        (CancelOutcome::Unknown, _) => Ok(Cancelled::Unknown),
        (CancelOutcome::AlreadyOver, Some(status)) => Ok(Cancelled::AlreadyOver(status)),
        (CancelOutcome::AlreadyOver, None) => Err(http.foreign("a task that is over has no status")),
    }
}

const fn read_deleted(outcome: DeleteOutcome) -> TaskDeletion {
    match outcome {
        DeleteOutcome::Deleted => TaskDeletion::Deleted,
        DeleteOutcome::Running => TaskDeletion::Running,
        DeleteOutcome::Unknown => TaskDeletion::Unknown,
    }
}
