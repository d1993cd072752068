//! `POST /tasks/statuses`: how many tasks of each queue, and which of some tasks, have which status.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::statuses::{StatusesRequest, StatusesView},
    value::Asked,
};
use jobbers_common::{
    engine::{Error, QueueStats},
    limits::{MAX_BATCH, MAX_QUEUES_PER_BATCH},
    name::QueueName,
};

use crate::{
    app::App,
    handlers::{extract::Json, problem::problems},
};

/// How many queues are read concurrently.
const AT_ONCE: usize = 8;

problems!(StatusesProblems: WITH_BODY, [Code::BatchTooLarge]);

/// Count tasks by queue, and look up the statuses of many
///
/// For monitoring: the numbers of tasks per status in up to 100 queues, and the statuses of up to 1,000 tasks by their
/// ids, in one request. With `status`, only tasks of these statuses are counted and listed. A pruned task whose id its
/// client chose still has its last status for a day. A queue that does not exist is answered so, and the others are
/// counted.
#[utoipa::path(
    post, path = "/tasks/statuses", tag = "tasks", operation_id = "task_statuses",
    security(("key" = ["tasks:read"])),
    request_body = StatusesRequest,
    responses((status = 200, description = "The numbers and statuses", body = StatusesView), StatusesProblems)
)]
pub(crate) async fn statuses(State(app): State<Arc<App>>, Json(request): Json<StatusesRequest>) -> Result<Response> {
    let StatusesRequest { queues, ids, status } = request;
    within("queues", queues.len(), MAX_QUEUES_PER_BATCH)?;
    within("ids", ids.len(), MAX_BATCH)?;
    let counted = stream::iter(queues).map(|queue| count(&app, queue)).buffered(AT_ONCE);
    let queues: Vec<_> = counted.try_collect().await?;
    let legal = Asked::all_legal(&ids);
    let found = if legal.is_empty() { Vec::new() } else { app.engine.statuses(&legal).await? };
    Ok(axum::Json(StatusesView::new(&queues, &ids, &found, &status)).into_response())
}

/// A queue with its numbers, if it exists.
async fn count(app: &App, queue: Asked<QueueName>) -> Result<(Asked<QueueName>, Option<QueueStats>)> {
    let Some(name) = queue.legal() else { return Ok((queue, None)) };
    match app.engine.queue_stats(name).await {
        Ok(stats) => Ok((queue, Some(stats))),
        Err(Error::UnknownQueue(_)) => Ok((queue, None)),
        Err(error) => Err(error.into()),
    }
}

fn within(field: &str, count: usize, most: usize) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    let detail = format!("a request names at most {most} {field}, not {count}");
    Err(Problem::new(Code::BatchTooLarge, detail).at(format!("/{field}")))
}
