//! Sends tasks again: those that are kept as dead letters from the archive, the others from the store.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use jobbers_api::{
    problem::{Code, Problem, Result},
    task::resubmit::ResubmitParams,
};
use jobbers_archive::{Archive, Item, ItemOutcome, NewOperation, Selection};
use jobbers_common::{
    engine::{Resubmit, Resubmitted},
    lifecycle::Status,
    name::TaskId,
    task::Task,
};

use crate::{
    api::dead_letters::begin,
    app::App,
    dead_letters::{
        calls::ask,
        finding::{NotHere, held_up_to_date},
        order::Order,
    },
};

/// How long to wait while dead letters are sent.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of tasks read concurrently.
const READERS: usize = 16;

/// Where each of some tasks is sent from.
pub(super) struct ResubmitPlan {
    letters: Option<(Arc<Archive>, Vec<TaskId>)>,
    stored: Vec<TaskId>,
}

/// What is to be done for these tasks; or where the archive is, if some may be dead letters and another manager keeps it.
pub(super) async fn plan(app: &App, ids: &[TaskId]) -> Result<std::result::Result<ResubmitPlan, NotHere>> {
    let mut seen = HashSet::new();
    let ids: Vec<TaskId> = ids.iter().filter(|id| seen.insert(*id)).cloned().collect();
    let may_be_letters = match app.dead_letters.are_kept() {
        true => find_candidates(app, &ids).await?,
        false => Vec::new(),
    };
    if may_be_letters.is_empty() {
        return Ok(Ok(ResubmitPlan { letters: None, stored: ids }));
    }
    let archive = match held_up_to_date(&app.dead_letters).await {
        Ok(archive) => archive,
        Err(elsewhere) => return Ok(Err(elsewhere)),
    };
    let letters = ask(&archive, move |archive| {
        let mut letters = Vec::new();
        for id in may_be_letters {
            if archive.letter(&id)?.is_some() {
                letters.push(id);
            }
        }
        Ok(letters)
    })
    .await?;
    let kept: HashSet<&TaskId> = letters.iter().collect();
    let stored = ids.iter().filter(|id| !kept.contains(id)).cloned().collect();
    let letters = (!letters.is_empty()).then_some((archive, letters));
    Ok(Ok(ResubmitPlan { letters, stored }))
}

/// Those of these tasks that the archive may hold: also those that the store has forgotten.
async fn find_candidates(app: &App, ids: &[TaskId]) -> Result<Vec<TaskId>> {
    let read = |id: &TaskId| {
        let (engine, id) = (Arc::clone(&app.engine), id.clone());
        async move { engine.get(&id).await.map(|task| (id, task)) }
    };
    let reads: Vec<_> = ids.iter().map(read).collect();
    let mut reads = stream::iter(reads).buffered(READERS);
    let mut candidates = Vec::new();
    while let Some(answer) = reads.next().await {
        let (id, task) = answer?;
        if task.is_none_or(|task: Task| task.dead_letter && task.status.is_finished()) {
            candidates.push(id);
        }
    }
    Ok(candidates)
}

impl ResubmitPlan {
    /// Sends them, and returns the outcome for each.
    ///
    /// # Errors
    /// Those of the store and of the archive; then some may have been sent.
    pub(super) async fn carry_out(self, app: &App, params: &ResubmitParams) -> Result<HashMap<TaskId, Result<()>>> {
        let mut outcomes = HashMap::with_capacity(self.stored.len());
        if let Some((archive, letters)) = self.letters {
            outcomes.extend(from_archive(app, &archive, letters, params).await?);
        }
        if !self.stored.is_empty() {
            let wish = |id: &TaskId| Resubmit {
                reset_attempts: params.resets(),
                queue: params.to_queue.clone(),
                ..Resubmit::of_store(id.clone())
            };
            let answers = app.engine.resubmit(self.stored.iter().map(wish).collect()).await?;
            let answered = self.stored.into_iter().zip(answers);
            outcomes.extend(answered.map(|(id, answer)| {
                let outcome = of_store(&id, answer);
                (id, outcome)
            }));
        }
        Ok(outcomes)
    }
}

fn of_store(id: &TaskId, answer: Resubmitted) -> Result<()> {
    let refused = |code, detail| Err(Problem::new(code, detail));
    match answer {
        Resubmitted::Done => Ok(()),
        Resubmitted::Already => refused(Code::AlreadyResubmitted, format!("task {id} was sent again before")),
        Resubmitted::Live(status) => refused(Code::TaskLive, format!("task {id} is {status}")),
        Resubmitted::Moved(Status::Completed) => refused(Code::TaskCompleted, format!("task {id} is completed")),
        Resubmitted::Moved(status) => {
            let why = "it has ended again since, or is spontaneous, so that no worker runs it";
            refused(Code::TaskCompleted, format!("task {id} is {status} and can't be sent again: {why}"))
        }
        Resubmitted::Unknown => refused(Code::UnknownTask, format!("task {id} does not exist")),
        Resubmitted::UnknownQueue(queue) => refused(Code::UnknownQueue, format!("queue {queue} does not exist")),
        Resubmitted::Held(holder) => {
            let detail = format!("task {holder} holds the unique key of task {id}");
            Err(Problem::new(Code::Duplicate, detail).held_by(holder))
        }
    }
}

/// Sends dead letters as one operation.
async fn from_archive(
    app: &App,
    archive: &Arc<Archive>,
    ids: Vec<TaskId>,
    params: &ResubmitParams,
) -> Result<Vec<(TaskId, Result<()>)>> {
    let order =
        Order { to_queue: params.to_queue.clone(), parameters: None, reset_retry_count: params.resets(), rate: None };
    let request = serde_json::to_string(&order).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let most = ids.len();
    let new = NewOperation { key: None, digest: 0, request, selection: Selection::Tasks(ids) };
    let operation = begin(app, archive, new, PATIENCE).await?;
    let items = ask(archive, move |archive| archive.items(&operation.id, most)).await?;
    Ok(items.into_iter().map(|item| (item.task.clone(), of_letter(&item))).collect())
}

fn of_letter(item: &Item) -> Result<()> {
    let detail = format!("task {}: {}", item.task, item.detail.as_deref().unwrap_or("see its dead letter"));
    let code = match item.outcome {
        Some(ItemOutcome::Resubmitted) => return Ok(()),
        None | Some(ItemOutcome::Cancelled) => Code::ArchiveUnavailable,
        Some(ItemOutcome::AlreadyResubmitted) => Code::AlreadyResubmitted,
        Some(ItemOutcome::Live) => Code::TaskLive,
        Some(ItemOutcome::Moved) => Code::TaskCompleted,
        Some(ItemOutcome::BadParameters) => Code::SchemaMismatch,
        Some(ItemOutcome::Unknown) => Code::UnknownTask,
        Some(ItemOutcome::UnknownQueue) => Code::UnknownQueue,
        Some(ItemOutcome::Duplicate) => Code::Duplicate,
    };
    Err(Problem::new(code, detail))
}
