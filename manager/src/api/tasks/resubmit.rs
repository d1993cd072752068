//! `POST /tasks/{id}/resubmit` and `POST /tasks/resubmit`.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::resubmit::{ResubmitParams, ResubmitReport, ResubmitRequest, ResubmittedView},
    value::{Asked, TaskIdDoc},
};
use jobbers_common::name::TaskId;

use super::{selected, send_again};
use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{
        extract::{Path, Query, WholeRequest},
        problem::{ARCHIVE, problems},
    },
};

problems!(ResubmitTaskProblems: WITH_BODY, ARCHIVE, [
    Code::UnknownTask, Code::UnknownQueue, Code::TaskLive, Code::TaskCompleted, Code::AlreadyResubmitted,
    Code::Duplicate, Code::SchemaMismatch,
]);
problems!(ResubmitTasksProblems: WITH_BODY, ARCHIVE, [Code::BatchTooLarge, Code::UnknownQueue]);

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
    let plan = match send_again::plan(&app, std::slice::from_ref(&id)).await? {
        Ok(plan) => plan,
        Err(elsewhere) => return Ok(elsewhere.answer(&app.dead_letters, request).await),
    };
    let mut outcomes = plan.carry_out(&app, &params).await?;
    outcomes.remove(&id).unwrap_or_else(|| Err(Problem::new(Code::Internal, "a resubmission without an outcome")))?;
    Ok(Json(ResubmittedView::new(id)).into_response())
}

/// Send several tasks again, by id or by filter
///
/// Each as `POST /tasks/{id}/resubmit` does; the refusal of one does not keep the others back. With a filter, those are
/// meant that are stored, are over and did not complete, the latest first. Go on with `next_cursor` as the `cursor` of
/// the next call: without it, tasks that failed again meanwhile are found again.
#[utoipa::path(
    post, path = "/tasks/resubmit", tag = "tasks", operation_id = "resubmit_tasks",
    security(("key" = ["tasks:control"])),
    request_body = ResubmitRequest,
    responses((status = 200, description = "The result for them", body = ResubmitReport), ResubmitTasksProblems)
)]
pub(crate) async fn resubmit_many(State(app): State<Arc<App>>, request: WholeRequest) -> Result<Response> {
    let asked: ResubmitRequest = request.json_if_any(&app).await?;
    let (selection, params) = asked.selection()?;
    if let Some(queue) = &params.to_queue {
        app.live.check_queue(queue).await?;
    }
    let (ids, next) = selected::find(&app, selection, |_| true).await?;
    let plan = match send_again::plan(&app, &Asked::all_legal(&ids)).await? {
        Ok(plan) => plan,
        Err(elsewhere) => return Ok(elsewhere.answer(&app.dead_letters, request).await),
    };
    let mut outcomes = plan.carry_out(&app, &params).await?;
    let outcomes = ids.into_iter().map(|id| {
        let outcome = match id.legal() {
            None => Err(Problem::new(Code::UnknownTask, format!("task {id} does not exist"))),
            Some(legal) => outcomes.remove(legal).unwrap_or_else(|| {
                Err(Problem::new(Code::AlreadyResubmitted, format!("task {id} is named before in this request")))
            }),
        };
        (id, outcome)
    });
    let report = ResubmitReport::new(outcomes.collect(), next);
    let sent = report.tasks.iter().filter(|task| task.resubmitted).filter_map(|task| task.id.legal());
    let counts = [("resubmitted", report.resubmitted), ("refused", report.refused)];
    Ok(Audited::counts(counts).with_ids(sent).answer(Json(report)))
}
