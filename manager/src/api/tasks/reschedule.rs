//! `POST /tasks/{id}/reschedule` and `POST /tasks/reschedule`.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::reschedule::{RescheduleOutcome, RescheduleParams, RescheduleReport, RescheduleRequest, RescheduledView},
    value::{Asked, TaskIdDoc},
};
use jobbers_common::{engine::Rescheduled, name::TaskId};

use super::{selected, submit::present};
use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{
        extract::{Json, Path, Query, WholeRequest},
        problem::problems,
    },
};

problems!(RescheduleOneProblems: WITH_BODY, [Code::UnknownTask, Code::TaskNotScheduled]);
problems!(RescheduleManyProblems: WITH_BODY, [Code::BatchTooLarge]);

/// Give a scheduled task another time, or run it now
///
/// A delayed task, or one that waits for its next attempt, may start at `run_at` or after `delay`; without either, at once:
/// it is then submitted, at the end of its queue's priority.
#[utoipa::path(
    post, path = "/tasks/{id}/reschedule", tag = "tasks", operation_id = "reschedule_task",
    security(("key" = ["tasks:control"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id"), RescheduleParams),
    request_body = Option<RescheduleParams>,
    responses((status = 200, description = "It may start then", body = RescheduledView), RescheduleOneProblems)
)]
pub(crate) async fn reschedule_one(
    State(app): State<Arc<App>>,
    Path(id): Path<TaskId>,
    Query(params): Query<RescheduleParams>,
    request: WholeRequest,
) -> Result<Response> {
    let start = params.start(request.json_if_any(&app).await?, present)?;
    let answers = app.engine.reschedule(std::slice::from_ref(&id), start).await?;
    let answer = answers.first().copied().unwrap_or(Rescheduled::Unknown);
    match answer {
        Rescheduled::Done(_) => Ok(axum::Json(RescheduledView::new(id.into(), answer)).into_response()),
        Rescheduled::NotScheduled(status) => {
            Err(Problem::new(Code::TaskNotScheduled, format!("task {id} is {status}, and not scheduled")))
        }
        Rescheduled::Unknown => Err(Problem::new(Code::UnknownTask, format!("task {id} does not exist"))),
    }
}

/// Give several scheduled tasks another time, by id or by filter
///
/// With a filter, tasks that are not scheduled are skipped.
#[utoipa::path(
    post, path = "/tasks/reschedule", tag = "tasks", operation_id = "reschedule_tasks",
    security(("key" = ["tasks:control"])),
    request_body = RescheduleRequest,
    responses((status = 200, description = "The result for them", body = RescheduleReport), RescheduleManyProblems)
)]
pub(crate) async fn reschedule_many(
    State(app): State<Arc<App>>,
    Json(request): Json<RescheduleRequest>,
) -> Result<Response> {
    let start = request.start(present)?;
    let (ids, next) = selected::find(&app, request.selection()?, |_| true).await?;
    let legal = Asked::all_legal(&ids);
    let answers = if legal.is_empty() { Vec::new() } else { app.engine.reschedule(&legal, start).await? };
    let report = RescheduleReport::new(&ids, &answers, next);
    let is_changed = |task: &&RescheduledView| task.outcome == RescheduleOutcome::Rescheduled;
    let changed = report.tasks.iter().filter(is_changed).filter_map(|task| task.id.legal());
    Ok(Audited::counts([("rescheduled", report.rescheduled)]).with_ids(changed).answer(axum::Json(report)))
}
