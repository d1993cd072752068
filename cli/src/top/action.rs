//! What a user changes from the picture, once confirmed.

use jobbers_api::task::{
    cancel::{CancelOutcome, CancelReport, CancelRequest},
    resubmit::ResubmitParams,
};
use jobbers_common::name::{TaskId, WorkerId};

use crate::{
    client::{self, ManagerClient},
    failure::Failure,
};

/// A change of one queue, worker or task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowAction {
    PauseQueue(String),
    ResumeQueue(String),
    DrainWorker(String),
    ResumeWorker(String),
    Resubmit(String),
    Cancel(String),
}

impl RowAction {
    /// What the user is asked before it is made.
    pub(crate) fn question(&self) -> String {
        match self {
            Self::PauseQueue(name) => format!("pause queue {name}: nothing is claimed from it until it is resumed?"),
            Self::ResumeQueue(name) => format!("resume queue {name}?"),
            Self::DrainWorker(id) => format!("drain worker {id}: it finishes what it runs, and claims nothing more?"),
            Self::ResumeWorker(id) => format!("resume worker {id}?"),
            Self::Resubmit(id) => format!("send task {id} again?"),
            Self::Cancel(id) => format!("cancel task {id}?"),
        }
    }

    /// Makes the change. Returns what happened, in words.
    ///
    /// # Errors
    /// When the manager can't be asked, or refuses.
    pub(crate) async fn make(&self, client: &ManagerClient) -> Result<String, Failure> {
        match self {
            Self::PauseQueue(name) => {
                client.post(&format!("{}/pause", client::queue_path(name)), client::NOTHING).await?;
                Ok(format!("queue {name} is paused"))
            }
            Self::ResumeQueue(name) => {
                client.post(&format!("{}/resume", client::queue_path(name)), client::NOTHING).await?;
                Ok(format!("queue {name} goes on"))
            }
            Self::DrainWorker(id) => {
                client.post(&client::worker_path(&worker_id(id)?, "drain"), client::NOTHING).await?;
                Ok(format!("worker {id} drains"))
            }
            Self::ResumeWorker(id) => {
                client.post(&client::worker_path(&worker_id(id)?, "resume"), client::NOTHING).await?;
                Ok(format!("worker {id} goes on"))
            }
            Self::Resubmit(id) => {
                let path = format!("{}/resubmit", client::task_path(&task_id(id)?));
                client.post(&path, Some(&ResubmitParams { reset_retry_count: Some(true), to_queue: None })).await?;
                Ok(format!("task {id} was sent again"))
            }
            Self::Cancel(id) => {
                let answer = client.post("/tasks/cancel", Some(&CancelRequest::of(vec![task_id(id)?]))).await?;
                let report: CancelReport = answer.read()?;
                let outcome = report.tasks.first().map_or(CancelOutcome::Unknown, |task| task.outcome);
                Ok(match outcome {
                    CancelOutcome::Cancelled => format!("task {id} is cancelled"),
                    CancelOutcome::Requested => format!("task {id} runs; its worker has been notified"),
                    CancelOutcome::AlreadyOver => format!("task {id} was over already"),
                    CancelOutcome::Unknown => format!("task {id} does not exist"),
                })
            }
        }
    }
}

fn task_id(id: &str) -> Result<TaskId, Failure> {
    id.parse().map_err(|error| Failure::Usage(format!("{error}")))
}

fn worker_id(id: &str) -> Result<WorkerId, Failure> {
    id.parse().map_err(|error| Failure::Usage(format!("{error}")))
}
