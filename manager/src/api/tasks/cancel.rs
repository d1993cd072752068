//! `POST /tasks/{id}/cancel` and `POST /tasks/cancel`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::cancel::{CancelOutcome, CancelReport, CancelRequest, CancelledView},
    value::{Asked, TaskIdDoc},
};
use jobbers_common::{engine::Cancelled, lifecycle::Status, name::TaskId};

use super::selected;
use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{
        extract::{Json, Path},
        problem::problems,
    },
};

problems!(CancelOneProblems: [Code::UnknownTask, Code::TaskOver]);
problems!(CancelManyProblems: WITH_BODY, [Code::BatchTooLarge]);

/// Cancel one task
///
/// A task that does not run is cancelled at once. A running one is marked, durably, and its worker notified: whatever
/// the worker returns afterwards, it ends as cancelled. Cancelling twice is not an error.
#[utoipa::path(
    post, path = "/tasks/{id}/cancel", tag = "tasks", operation_id = "cancel_task",
    security(("key" = ["tasks:control"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id")),
    responses(
        (status = 200, description = "It is cancelled", body = CancelledView),
        (status = 202, description = "It runs; its worker has been notified", body = CancelledView),
        CancelOneProblems,
    )
)]
pub(crate) async fn cancel_one(State(app): State<Arc<App>>, Path(id): Path<TaskId>) -> Result<Response> {
    let answers = app.engine.cancel(std::slice::from_ref(&id)).await?;
    let answer = answers.first().copied().unwrap_or(Cancelled::Unknown);
    let status = match answer {
        Cancelled::Done | Cancelled::AlreadyOver(Status::Cancelled) => StatusCode::OK,
        Cancelled::Requested => StatusCode::ACCEPTED,
        Cancelled::AlreadyOver(status) => {
            return Err(Problem::new(Code::TaskOver, format!("task {id} is over: {status}")));
        }
        Cancelled::Unknown => return Err(Problem::new(Code::UnknownTask, format!("task {id} does not exist"))),
    };
    Ok((status, axum::Json(CancelledView::new(id.into(), answer))).into_response())
}

/// Cancel several tasks, by id or by filter
///
/// With a filter, tasks that are over and running ones with a cancel request are skipped; `more` says whether to
/// call again, with `next_cursor` as the `cursor`.
#[utoipa::path(
    post, path = "/tasks/cancel", tag = "tasks", operation_id = "cancel_tasks",
    security(("key" = ["tasks:control"])),
    request_body = CancelRequest,
    responses((status = 200, description = "The result for them", body = CancelReport), CancelManyProblems)
)]
pub(crate) async fn cancel_many(State(app): State<Arc<App>>, Json(request): Json<CancelRequest>) -> Result<Response> {
    let (ids, next) = selected::find(&app, request.selection()?, |task| !task.cancel_requested).await?;
    let legal = Asked::all_legal(&ids);
    let answers = if legal.is_empty() { Vec::new() } else { app.engine.cancel(&legal).await? };
    let report = CancelReport::new(&ids, &answers, next);
    let counts = [("cancelled", report.cancelled), ("requested", report.requested)];
    let is_changed =
        |task: &&CancelledView| matches!(task.outcome, CancelOutcome::Cancelled | CancelOutcome::Requested);
    let changed = report.tasks.iter().filter(is_changed).filter_map(|task| task.id.legal());
    Ok(Audited::counts(counts).with_ids(changed).answer(axum::Json(report)))
}
