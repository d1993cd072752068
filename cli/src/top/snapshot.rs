//! One look at the manager.

use std::time::Instant;

use futures_util::future::join_all;
use jobbers_common::{limits::MAX_BATCH, name::TaskId};

use crate::{
    client::{
        self, Client,
        wire::{Queue, Queues, Task, TaskPage, Worker, Workers},
    },
    failure::Failure,
};

/// How many failures are shown at most.
const FAILURES: &str = "20";

/// What the manager said at one time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// When it was asked, by this process's clock.
    pub(crate) at: Instant,
    /// The first thousand by name.
    pub(crate) queues: Vec<Queue>,
    pub(crate) workers: Vec<Worker>,
    /// The latest tasks that ended badly, the last first.
    pub(crate) failures: Vec<Task>,
}

/// Asks for all of it at once; then for the errors of failures that `before` did not have.
///
/// # Errors
/// When the manager can't be asked.
pub(crate) async fn take(client: &Client, before: Option<&Snapshot>) -> Result<Snapshot, Failure> {
    let at = Instant::now();
    let bad = [("status", "failed,stalled,dropped"), ("limit", FAILURES)];
    let (queues, workers, failures) = tokio::try_join!(
        client.get("/queues", Some(&[("limit", MAX_BATCH)])),
        client.get("/workers", client::NOTHING),
        client.get("/tasks", Some(&bad)),
    )?;
    let (Queues { queues, .. }, Workers { workers }) = (queues.read()?, workers.read()?);
    let TaskPage { tasks: mut failures, .. } = failures.read()?;
    failures.sort_by_key(|task| std::cmp::Reverse(task.finished_at));
    let known = before.map_or(&[][..], |before| &before.failures);
    let failures = join_all(failures.into_iter().map(|task| with_errors(client, task, known))).await;
    Ok(Snapshot { at, queues, workers, failures })
}

/// The task as a whole: lists leave the errors out. One that has gone meanwhile stays as it was listed.
async fn with_errors(client: &Client, listed: Task, known: &[Task]) -> Task {
    let same = |task: &&Task| task.id == listed.id && task.finished_at == listed.finished_at;
    if let Some(known) = known.iter().find(same) {
        return known.clone();
    }
    let Ok(id) = listed.id.parse::<TaskId>() else { return listed };
    let whole = client.get(&client::task_path(&id), client::NOTHING).await;
    whole.and_then(|answer| answer.read()).unwrap_or(listed)
}
