//! `/history`: what happened, of one queue and of all.

use std::sync::Arc;

use axum::extract::State;
use jobbers_api::{
    problem::{Code, Problem, Result},
    queue::history::{By, HistoryParams, HistoryView},
    value::NameDoc,
};
use jobbers_common::{
    history::{Grain, History},
    name::QueueName,
};

use crate::{
    app::App,
    handlers::{
        extract::{Path, Query},
        problem::problems,
    },
    snapshots::total_history::Total,
};

problems!(AllProblems: [Code::InvalidParameter]);
problems!(OneProblems: [Code::InvalidParameter, Code::UnknownQueue]);

/// What happened in all queues together, by minute or by hour
///
/// Read at most every 3 seconds: `now` says as of when.
#[utoipa::path(
    get, path = "/history", tag = "queues", operation_id = "history",
    security(("key" = ["queues:read"])),
    params(HistoryParams),
    responses((status = 200, description = "What happened", body = HistoryView), AllProblems)
)]
pub(crate) async fn all(
    State(app): State<Arc<App>>,
    Query(HistoryParams { by, last }): Query<HistoryParams>,
) -> Result<axum::Json<HistoryView>> {
    check(by, last)?;
    let Total { now, slots } = app.history.read(&*app.engine, &app.live, &app.overview, by.into()).await?;
    Ok(axum::Json(HistoryView::new(None, by, now, &slots, last)))
}

/// What happened in a queue, by minute or by hour
#[utoipa::path(
    get, path = "/queues/{queue}/history", tag = "queues", operation_id = "queue_history",
    security(("key" = ["queues:read"])),
    params(("queue" = NameDoc, Path, description = "The queue's name"), HistoryParams),
    responses((status = 200, description = "What happened", body = HistoryView), OneProblems)
)]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Path(name): Path<QueueName>,
    Query(HistoryParams { by, last }): Query<HistoryParams>,
) -> Result<axum::Json<HistoryView>> {
    check(by, last)?;
    app.live.check_queue(&name).await?;
    let History { now, queues } = app.engine.history(std::slice::from_ref(&name), by.into()).await?;
    let slots = queues.first().map(Vec::as_slice).unwrap_or_default();
    Ok(axum::Json(HistoryView::new(Some(name), by, now, slots, last)))
}

fn check(by: By, last: Option<usize>) -> Result<()> {
    let kept = Grain::from(by).kept();
    if last.is_none_or(|last| (1..=kept).contains(&last)) {
        return Ok(());
    }
    Err(Problem::new(Code::InvalidParameter, format!("last is 1 to {kept}, the slots that are kept")))
}
