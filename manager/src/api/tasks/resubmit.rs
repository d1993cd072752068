//! `POST /tasks/{id}/resubmit`.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::resubmit::{ResubmitParams, ResubmittedView},
    value::TaskIdDoc,
};
use jobbers_archive::{Archive, ItemOutcome, NewOperation, Selection};
use jobbers_common::{
    engine::{Resubmit, Resubmitted},
    lifecycle::Status,
    name::TaskId,
};

use crate::{
    api::dead_letters::begin,
    app::App,
    dead_letters::{calls::ask, finding::held_up_to_date, order::Order},
    handlers::{
        extract::{Path, Query, WholeRequest},
        problem::{ARCHIVE, problems},
    },
};

/// How long to wait while a dead letter is sent.
const PATIENCE: Duration = Duration::from_secs(10);

problems!(ResubmitTaskProblems: WITH_BODY, ARCHIVE, [
    Code::UnknownTask, Code::UnknownQueue, Code::TaskLive, Code::TaskCompleted, Code::AlreadyResubmitted,
    Code::Duplicate, Code::SchemaMismatch,
]);

/// Send a task again that failed, stalled, was dropped, aborted or cancelled
///
/// Under the same id, at the end of its queue's priority. A task that is kept as a dead letter is sent again from there,
/// even when the store has forgotten it.
#[utoipa::path(
    post, path = "/tasks/{id}/resubmit", tag = "tasks", operation_id = "resubmit_task",
    security(("key" = ["tasks:control"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id"), ResubmitParams),
    request_body = Option<ResubmitParams>,
    responses((status = 200, description = "It is submitted", body = ResubmittedView), ResubmitTaskProblems)
)]
pub(crate) async fn resubmit(
    State(app): State<Arc<App>>,
    Path(id): Path<TaskId>,
    Query(params): Query<ResubmitParams>,
    request: WholeRequest,
) -> Result<Response> {
    let params = params.or(request.json_if_any(&app).await?)?;
    let task = app.engine.get(&id).await?;
    let is_letter = task.as_ref().is_none_or(|task| task.dead_letter && task.status.is_finished());
    if is_letter && app.dead_letters.are_kept() {
        let archive = match held_up_to_date(&app.dead_letters).await {
            Ok(archive) => archive,
            Err(elsewhere) => return Ok(elsewhere.answer(&app.dead_letters, request).await),
        };
        let asked = id.clone();
        if ask(&archive, move |archive| archive.letter(&asked)).await?.is_some() {
            return from_archive(&app, &archive, &id, &params).await;
        }
    }
    let wish = Resubmit { reset_attempts: params.resets(), queue: params.to_queue, ..Resubmit::of_store(id.clone()) };
    let answer = app.engine.resubmit(vec![wish]).await?.pop().unwrap_or(Resubmitted::Unknown);
    let refused = |code, detail| Err(Problem::new(code, detail));
    match answer {
        Resubmitted::Done => Ok(Json(ResubmittedView::new(id.clone())).into_response()),
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

async fn from_archive(app: &App, archive: &Arc<Archive>, id: &TaskId, params: &ResubmitParams) -> Result<Response> {
    let order =
        Order { to_queue: params.to_queue.clone(), parameters: None, reset_retry_count: params.resets(), rate: None };
    let request = serde_json::to_string(&order).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let new = NewOperation { key: None, digest: 0, request, selection: Selection::Tasks(vec![id.clone()]) };
    let operation = begin(app, archive, new, PATIENCE).await?;
    let items = ask(archive, move |archive| archive.items(&operation.id, 1)).await?;
    let Some(item) = items.first() else { return Err(Problem::new(Code::Internal, "an operation without a task")) };
    let detail = format!("task {id}: {}", item.detail.as_deref().unwrap_or("see its dead letter"));
    let code = match item.outcome {
        Some(ItemOutcome::Resubmitted) => return Ok(Json(ResubmittedView::new(id.clone())).into_response()),
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
