//! `POST /tasks/delete`.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use jobbers_api::{
    problem::{Code, Result, WITH_BODY},
    task::delete::{DeleteOutcome, DeleteReport, DeleteRequest},
    value::Asked,
};

use super::selected;
use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{extract::Json, problem::problems},
};

problems!(DeleteProblems: WITH_BODY, [Code::BatchTooLarge]);

/// Delete tasks
///
/// By their ids or by a filter, with all that is stored of them; the ids are free again. A running task stays: cancel it
/// first. With `next_cursor` as the `cursor` of the next call, a filter goes on where this one ended. A task that depends on a deleted one no longer does, unless that one had ended before: then the end
/// counts. If it depends on nothing else, it is deleted too, and so on; with `cascade` set to `false` it runs instead.
/// Tasks that go so are not listed in the answer. Sending this again is safe.
#[utoipa::path(
    post, path = "/tasks/delete", tag = "tasks", operation_id = "delete_tasks",
    security(("key" = ["tasks:delete"])),
    request_body = DeleteRequest,
    responses((status = 200, description = "The result for each", body = DeleteReport), DeleteProblems)
)]
pub(crate) async fn delete_many(State(app): State<Arc<App>>, Json(request): Json<DeleteRequest>) -> Result<Response> {
    let cascade = request.cascade;
    let (ids, next) = selected::find(&app, request.selection()?, |_| true).await?;
    let legal = Asked::all_legal(&ids);
    let answers = if legal.is_empty() { Vec::new() } else { app.engine.delete_tasks(&legal, cascade).await? };
    let report = DeleteReport::new(&ids, &answers, next);
    let deleted = report.tasks.iter().filter(|task| task.outcome == DeleteOutcome::Deleted);
    let audited = Audited::counts([("deleted", report.deleted)]).with_ids(deleted.filter_map(|task| task.id.legal()));
    Ok(audited.answer(axum::Json(report)))
}
