//! What a client does with stored tasks, by their ids: make them wait for others, signal, cancel, delete and look them up.

use std::time::Duration;

use jobbers_common::{
    dependency::added::NewDependency,
    duration,
    engine::{Cancelled, TaskDeletion},
    lifecycle::Status,
    name::{SignalName, TaskId},
    signal::Signalled,
};
use serde::{Deserialize, Serialize};

use super::{Client, SubmitError, Way};

#[derive(Serialize)]
struct Edges<'a> {
    dependencies: &'a [NewDependency],
}

#[derive(Deserialize)]
struct AddedEdges {
    added: usize,
}

#[derive(Serialize)]
struct SentSignal<'a> {
    name: &'a SignalName,
    #[serde(with = "duration::text::option", skip_serializing_if = "Option::is_none")]
    keep_for: Option<Duration>,
}

#[derive(Deserialize)]
struct SignalAnswer {
    is_new: bool,
}

#[derive(Serialize)]
struct Ids<'a> {
    ids: &'a [TaskId],
}

#[derive(Serialize)]
struct Deletion<'a> {
    ids: &'a [TaskId],
    cascade: bool,
}

/// The answer for each of several tasks, in the order asked.
#[derive(Deserialize)]
struct PerTask<T> {
    tasks: Vec<T>,
}

#[derive(Deserialize)]
struct DeletedTask {
    outcome: DeleteOutcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum DeleteOutcome {
    Deleted,
    Running,
    Unknown,
}

#[derive(Deserialize)]
struct CancelledTask {
    outcome: CancelOutcome,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum CancelOutcome {
    Cancelled,
    Requested,
    AlreadyOver,
    Unknown,
}

#[derive(Deserialize)]
struct TaskStatus {
    status: Option<Status>,
}

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
    /// [`SubmitError`], with the code of [`Error::DependencyRefused`](jobbers_common::engine::Error::DependencyRefused) over
    /// HTTP; then none was added.
    pub async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<usize, SubmitError> {
        match &self.0.way {
            Way::Store(store) => {
                let answers = store.engine().add_dependencies(edges).await?;
                Ok(answers.into_iter().filter(|is_new| *is_new).count())
            }
            Way::Http(http) => {
                let edges = Edges { dependencies: edges };
                let AddedEdges { added } = http.post(&["dependencies"], &edges, Duration::ZERO).await?;
                Ok(added)
            }
        }
    }

    /// Sends a signal to a task that was submitted to wait for it
    /// ([`Submission::wait_for_signal`](super::Submission::wait_for_signal)). Returns whether it came for the first time.
    ///
    /// # Errors
    /// [`SubmitError`]: over HTTP with the codes `unknown_task`, `unknown_signal` and `signal_late`, else
    /// [`SubmitError::Invalid`] for these. Safe to repeat.
    pub async fn signal(&self, id: &TaskId, name: &str) -> Result<bool, SubmitError> {
        self.send_signal(id, name, None).await
    }

    /// The same to a task that may not exist yet: the signal is then kept for it that long, at most a day.
    ///
    /// # Errors
    /// As [`Client::signal`], and if too many signals are kept: over HTTP with the code `too_many_signals_kept`.
    pub async fn signal_early(&self, id: &TaskId, name: &str, keep_for: Duration) -> Result<bool, SubmitError> {
        self.send_signal(id, name, Some(keep_for)).await
    }

    async fn send_signal(&self, id: &TaskId, name: &str, keep_for: Option<Duration>) -> Result<bool, SubmitError> {
        let name = SignalName::new(name)?;
        match &self.0.way {
            Way::Store(store) => read_signalled(store.engine().signal(id, &name, keep_for).await?, id, &name),
            Way::Http(http) => {
                let signal = SentSignal { name: &name, keep_for };
                let path = ["tasks", id.as_str(), "signal"];
                let SignalAnswer { is_new } = http.post(&path, &signal, Duration::ZERO).await?;
                Ok(is_new)
            }
        }
    }

    /// Cancels up to 1,000 tasks; the answers are in their order. A running task is asked to stop.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat.
    pub async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>, SubmitError> {
        match &self.0.way {
            Way::Store(store) => Ok(store.engine().cancel(ids).await?),
            Way::Http(http) => {
                let answer: PerTask<CancelledTask> =
                    http.post(&["tasks", "cancel"], &Ids { ids }, Duration::ZERO).await?;
                answer.tasks.into_iter().map(CancelledTask::read).collect()
            }
        }
    }

    /// Deletes up to 1,000 tasks with all that is stored of them; the answers are in their order. A running task stays. A task
    /// that depended only on deleted ones is deleted too, and so on; without `cascade` it runs instead.
    ///
    /// # Errors
    /// [`SubmitError`]. Safe to repeat.
    pub async fn delete(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>, SubmitError> {
        match &self.0.way {
            Way::Store(store) => Ok(store.engine().delete_tasks(ids, cascade).await?),
            Way::Http(http) => {
                let request = Deletion { ids, cascade };
                let answer: PerTask<DeletedTask> = http.post(&["tasks", "delete"], &request, Duration::ZERO).await?;
                Ok(answer.tasks.into_iter().map(|task| task.outcome.into()).collect())
            }
        }
    }

    /// The statuses of up to 1,000 tasks, in their order. `None` for a task that does not exist. A pruned task whose id its
    /// client chose still has its last status for a day.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>, SubmitError> {
        match &self.0.way {
            Way::Store(store) => Ok(store.engine().statuses(ids).await?),
            Way::Http(http) => {
                let answer: PerTask<TaskStatus> =
                    http.post(&["tasks", "statuses"], &Ids { ids }, Duration::ZERO).await?;
                Ok(answer.tasks.into_iter().map(|task| task.status).collect())
            }
        }
    }
}

/// Whether a signal came for the first time.
fn read_signalled(signalled: Signalled, id: &TaskId, name: &SignalName) -> Result<bool, SubmitError> {
    let rule = match signalled {
        Signalled::Done(_) | Signalled::Kept(_) => return Ok(true),
        Signalled::Already => return Ok(false),
        Signalled::Late(state) => {
            format!("task {id} does not wait for signal {name} any more: it is {}", state.as_str())
        }
        Signalled::UnknownSignal => format!("task {id} was not submitted to wait for a signal {name}"),
        Signalled::UnknownTask => format!("task {id} does not exist"),
        Signalled::TooManyKept => "too many signals are kept for tasks that do not exist yet".to_owned(),
    };
    Err(SubmitError::Invalid(rule))
}

impl CancelledTask {
    fn read(self) -> Result<Cancelled, SubmitError> {
        match (self.outcome, self.status) {
            (CancelOutcome::Cancelled, _) => Ok(Cancelled::Done),
            (CancelOutcome::Requested, _) => Ok(Cancelled::Requested),
            (CancelOutcome::Unknown, _) => Ok(Cancelled::Unknown),
            (CancelOutcome::AlreadyOver, Some(status)) => Ok(Cancelled::AlreadyOver(status)),
            (CancelOutcome::AlreadyOver, None) => {
                Err(SubmitError::Unreachable("its answer names no status of a task that is over".to_owned()))
            }
        }
    }
}

impl From<DeleteOutcome> for TaskDeletion {
    fn from(outcome: DeleteOutcome) -> Self {
        match outcome {
            DeleteOutcome::Deleted => Self::Deleted,
            DeleteOutcome::Running => Self::Running,
            DeleteOutcome::Unknown => Self::Unknown,
        }
    }
}
