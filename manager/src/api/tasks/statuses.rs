//! `POST /tasks/statuses`: how many tasks of each queue, and which of some tasks, have which status.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    statuses::{StatusesRequest, StatusesView},
};
use jobbers_common::limits::{MAX_BATCH, MAX_QUEUES_PER_BATCH};

use crate::{app::App, extract::Json, problem::problems};

/// How many queues are read concurrently.
const AT_ONCE: usize = 8;

problems!(StatusesProblems: WITH_BODY, [Code::BatchTooLarge, Code::UnknownQueue]);

/// Count tasks by queue, and look up the statuses of many
///
/// For monitoring: the numbers of tasks per status in up to 100 queues, and the statuses of up to 1,000 tasks by their
/// ids, in one request. With `status`, only tasks of these statuses are counted and listed. A pruned task whose id its
/// client chose still has its last status for a day.
#[utoipa::path(
    post, path = "/tasks/statuses", tag = "tasks", operation_id = "task_statuses",
    request_body = StatusesRequest,
    responses((status = 200, description = "The numbers and statuses", body = StatusesView), StatusesProblems)
)]
pub(crate) async fn statuses(State(app): State<Arc<App>>, Json(request): Json<StatusesRequest>) -> Result<Response> {
    let StatusesRequest { queues, ids, status } = request;
    within("queues", queues.len(), MAX_QUEUES_PER_BATCH)?;
    within("ids", ids.len(), MAX_BATCH)?;
    let engine = &app.engine;
    let stats = stream::iter(queues).map(|queue| async move { engine.queue_stats(&queue).await });
    let stats: Vec<_> = stats.buffered(AT_ONCE).try_collect().await?;
    let found = if ids.is_empty() { Vec::new() } else { app.engine.statuses(&ids).await? };
    Ok(axum::Json(StatusesView::new(&stats, &ids, &found, &status)).into_response())
}

fn within(field: &str, count: usize, most: usize) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    let detail = format!("a request names at most {most} {field}, not {count}");
    Err(Problem::new(Code::BatchTooLarge, detail).at(format!("/{field}")))
}
