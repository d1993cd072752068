//! One look at the manager.

use std::time::Instant;

use futures_util::future::join_all;
use jobbers_api::{
    overview::OverviewView,
    queue::{QueueListView, QueueView, history::HistoryView},
    task::{explain::ExplainView, list::TaskPageView, view::TaskView},
    worker::{WorkerListView, WorkerView},
};
use jobbers_common::{lifecycle::Status, limits::MAX_BATCH, name::TaskId};

use super::{navigation::TopView, sections};
use crate::{
    client::{self, ManagerClient},
    failure::Failure,
    terminal::past,
};

/// How many failures are shown at most.
const FAILURES: &str = "20";
/// How many pages of a thousand queues are read at most.
const QUEUE_PAGES: usize = 10;
/// How many tasks of a queue or of a worker are shown at most.
const TASKS: &str = "200";

/// What the manager said at one time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// When it was asked, by this process's clock.
    pub(crate) at: Instant,
    /// The first ten thousand by name.
    pub(crate) queues: Vec<QueueView>,
    pub(crate) workers: Vec<WorkerView>,
    /// The latest tasks that ended badly, the last first.
    pub(crate) failures: Vec<TaskView>,
    /// What happened in the last hour; `None` if the manager, of an earlier version, does not say.
    pub(crate) history: Option<HistoryView>,
    /// Tasks of all queues per status, where there are more queues than are listed.
    pub(crate) totals: Option<OverviewView>,
    /// Dead letters, schedules and workflows, a line each.
    pub(crate) sections: Vec<String>,
    /// What is seen inside the place where the user is.
    pub(crate) inside: Option<Inside>,
}

/// What is seen inside a place.
#[derive(Debug)]
pub(crate) enum Inside {
    /// The tasks of a queue or of a worker that are not over, those that run first; and whether there are more of them.
    Tasks(Vec<TaskView>, bool),
    /// A task, and why it does not run now.
    Task(Box<TaskView>, ExplainView),
    /// The task does not exist, or no longer.
    NoTask,
}

/// The number of tasks of `queue` with `status`.
pub(crate) fn count(queue: &QueueView, status: Status) -> u64 {
    queue.tasks.get(&status).copied().unwrap_or_default()
}

/// Asks for all of it at once; then for the errors of failures that `before` did not have.
///
/// # Errors
/// When the manager can't be asked.
pub(crate) async fn take(
    client: &ManagerClient,
    before: Option<&Snapshot>,
    view: &TopView,
) -> Result<Snapshot, Failure> {
    let at = Instant::now();
    let bad = [("status", "failed,stalled,dropped"), ("limit", FAILURES)];
    let ((queues, is_cut), workers, failures, inside, history, sections) = tokio::try_join!(
        queues(client),
        client.get("/workers", client::NOTHING),
        client.get("/tasks", Some(&bad)),
        look_inside(client, view),
        history(client),
        Box::pin(sections::take(client)),
    )?;
    let totals = if is_cut { Some(client.get("/overview", client::NOTHING).await?.read()?) } else { None };
    let WorkerListView { workers } = workers.read()?;
    let TaskPageView { tasks: mut failures, .. } = failures.read()?;
    failures.sort_by_key(|task| std::cmp::Reverse(task.finished_at));
    let known = before.map_or(&[][..], |before| &before.failures);
    let failures = join_all(failures.into_iter().map(|task| with_errors(client, task, known))).await;
    Ok(Snapshot { at, queues, workers, failures, history, totals, sections, inside })
}

/// The queues, page by page: sums over all of them are shown. And whether there are more.
async fn queues(client: &ManagerClient) -> Result<(Vec<QueueView>, bool), Failure> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..QUEUE_PAGES {
        let query = [("limit", Some(MAX_BATCH.to_string())), ("cursor", cursor)];
        let page: QueueListView = client.get("/queues", Some(&query)).await?.read()?;
        all.extend(page.queues);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok((all, cursor.is_some()))
}

/// The last hour of all queues.
async fn history(client: &ManagerClient) -> Result<Option<HistoryView>, Failure> {
    match client.get("/history", Some(&past::LAST_HOUR)).await {
        Ok(answer) => Ok(answer.read().ok()),
        Err(Failure::Refused { .. }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn look_inside(client: &ManagerClient, view: &TopView) -> Result<Option<Inside>, Failure> {
    match view {
        TopView::Overview => Ok(None),
        TopView::Queue(name) => tasks(client, ("queue", name)).await.map(Some),
        TopView::Worker(id) => tasks(client, ("worker", id)).await.map(Some),
        TopView::Task(id) => {
            let Ok(id) = id.parse::<TaskId>() else { return Ok(Some(Inside::NoTask)) };
            let path = client::task_path(&id);
            let why = format!("{path}/explain");
            match tokio::try_join!(client.get(&path, client::NOTHING), client.get(&why, client::NOTHING)) {
                Ok((task, why)) => Ok(Some(Inside::Task(Box::new(task.read()?), why.read()?))),
                Err(Failure::Refused { .. }) => Ok(Some(Inside::NoTask)),
                Err(failure) => Err(failure),
            }
        }
    }
}

/// Tasks that are not over: those that run, then the others in the order of their ids.
async fn tasks(client: &ManagerClient, of: (&str, &str)) -> Result<Inside, Failure> {
    let live = Status::ALL.iter().filter(|status| !status.is_finished() && **status != Status::Started);
    let live: Vec<&str> = live.map(|status| status.as_str()).collect();
    let query = |statuses: String| [(of.0, of.1.to_owned()), ("status", statuses), ("limit", TASKS.to_owned())];
    let (running, waiting) = (query(Status::Started.as_str().to_owned()), query(live.join(",")));
    let (running, waiting) =
        tokio::try_join!(client.get("/tasks", Some(&running)), client.get("/tasks", Some(&waiting)))?;
    let (running, waiting): (TaskPageView, TaskPageView) = (running.read()?, waiting.read()?);
    let is_cut = running.next_cursor.is_some() || waiting.next_cursor.is_some();
    Ok(Inside::Tasks([running.tasks, waiting.tasks].concat(), is_cut))
}

/// The task as a whole: lists leave the errors out. One that has gone meanwhile stays as it was listed.
async fn with_errors(client: &ManagerClient, listed: TaskView, known: &[TaskView]) -> TaskView {
    let same = |task: &&TaskView| task.id == listed.id && task.finished_at == listed.finished_at;
    if let Some(known) = known.iter().find(same) {
        return known.clone();
    }
    let whole = client.get(&client::task_path(&listed.id), client::NOTHING).await;
    whole.and_then(|answer| Ok(answer.read()?)).unwrap_or(listed)
}
