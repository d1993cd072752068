//! `POST /tasks/{id}/reveal`: what a sensitive task holds. It changes nothing, and is in the audit log as a change is.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Result},
    task::view::TaskView,
    value::TaskIdDoc,
};
use jobbers_common::name::TaskId;

use super::show::missing;
use crate::{
    app::App,
    handlers::{extract::Path, problem::problems},
};

problems!(RevealProblems: [Code::UnknownTask, Code::Gone]);

/// Show what a sensitive task holds
///
/// The task as `GET /tasks/{id}` shows it, with its parameters, result and checkpoint, and the messages of its progress and
/// errors. Each call is in the audit log before it is answered; one that can't be logged is refused. A task that is not
/// sensitive is answered alike.
#[utoipa::path(
    post, path = "/tasks/{id}/reveal", tag = "tasks", operation_id = "reveal_task",
    security(("key" = ["tasks:reveal"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id")),
    responses((status = 200, description = "The whole task", body = TaskView), RevealProblems)
)]
pub(crate) async fn reveal(State(app): State<Arc<App>>, Path(id): Path<TaskId>) -> Result<Response> {
    let Some(task) = app.engine.get(&id).await? else { return Err(missing(&app, &id).await?) };
    let policy_in_force = app.known.policy_of(&task).await;
    Ok(Json(TaskView { policy_in_force, ..TaskView::revealed(&task) }).into_response())
}
