//! `/queues`: create, look, change, pause, purge, delete.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jobbers_common::{
    engine::{Deleted, Error, PutMode},
    limits::MAX_BATCH,
    name::QueueName,
};

use crate::{
    app::App,
    extract::{Json, Path},
    problem::{Code, Result, WITH_BODY, problems},
    wire::{
        queue::{PurgedView, QueueListView, QueueRequest, QueueView},
        value::NameDoc,
    },
};

/// Most calls of the store for one purge or deletion: 100,000 tasks.
const MAX_CALLS: usize = 100;

problems!(ListProblems:);
problems!(CreateProblems: WITH_BODY, [Code::Exists]);
problems!(GetProblems: [Code::UnknownQueue]);
problems!(PutProblems: WITH_BODY);
problems!(DeleteProblems: [Code::UnknownQueue, Code::QueueNotEmpty, Code::QueueInUse]);

/// All queues, with their numbers
#[utoipa::path(
    get, path = "/queues", tag = "queues", operation_id = "list_queues",
    responses((status = 200, description = "The queues, in the order of their names", body = QueueListView),
        ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let stats = app.engine.queue_stats(None).await?;
    let config = app.live.fresh().await?;
    let now = app.now().await?;
    // A queue made or deleted between the two reads is told with the next list.
    let queues = stats.iter().filter_map(|stats| Some(QueueView::new(config.queues.get(&stats.queue)?, stats, now)));
    Ok(axum::Json(QueueListView { queues: queues.collect() }).into_response())
}

/// Create a queue
#[utoipa::path(
    post, path = "/queues", tag = "queues", operation_id = "create_queue",
    request_body = QueueRequest,
    responses((status = 201, description = "The new queue", body = QueueView), CreateProblems)
)]
pub(crate) async fn create(State(app): State<Arc<App>>, Json(request): Json<QueueRequest>) -> Result<Response> {
    let queue = request.config(None)?;
    let name = queue.name.clone();
    app.live.adopt(&app.engine.put_queue(queue, PutMode::Create).await?);
    Ok((StatusCode::CREATED, tell(&app, &name).await?).into_response())
}

/// One queue, with its numbers
#[utoipa::path(
    get, path = "/queues/{queue}", tag = "queues", operation_id = "get_queue",
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The queue", body = QueueView), GetProblems)
)]
pub(crate) async fn get(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    tell(&app, &name).await
}

/// Create a queue or replace its settings
#[utoipa::path(
    put, path = "/queues/{queue}", tag = "queues", operation_id = "put_queue",
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    request_body = QueueRequest,
    responses((status = 200, description = "The queue", body = QueueView), PutProblems)
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    Path(name): Path<QueueName>,
    Json(request): Json<QueueRequest>,
) -> Result<Response> {
    let queue = request.config(Some(name.clone()))?;
    let _editing = app.live.edit().await;
    app.live.adopt(&app.engine.put_queue(queue, PutMode::Upsert).await?);
    tell(&app, &name).await
}

/// Delete a queue and the finished tasks in it
///
/// A queue that holds live tasks, or that a role or a routing rule names, is not deleted. Very many finished tasks are
/// deleted in several calls: `more` says so.
#[utoipa::path(
    delete, path = "/queues/{queue}", tag = "queues", operation_id = "delete_queue",
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 202, description = "Finished tasks are left in it: call again"),
        DeleteProblems,
    )
)]
pub(crate) async fn delete(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<StatusCode> {
    for _ in 0..MAX_CALLS {
        if app.engine.delete_queue(&name).await? == Deleted::Done {
            app.live.fresh().await?;
            return Ok(StatusCode::NO_CONTENT);
        }
    }
    Ok(StatusCode::ACCEPTED)
}

/// Let a queue give nothing out; it still takes tasks in
#[utoipa::path(
    post, path = "/queues/{queue}/pause", tag = "queues", operation_id = "pause_queue",
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The queue", body = QueueView), GetProblems)
)]
pub(crate) async fn pause(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    set_paused(&app, &name, true).await
}

/// Let a paused queue give tasks out again
#[utoipa::path(
    post, path = "/queues/{queue}/resume", tag = "queues", operation_id = "resume_queue",
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The queue", body = QueueView), GetProblems)
)]
pub(crate) async fn resume(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    set_paused(&app, &name, false).await
}

/// Delete the tasks of a queue that wait, are scheduled or submitted
///
/// Running tasks go on, finished ones are kept.
#[utoipa::path(
    post, path = "/queues/{queue}/purge", tag = "queues", operation_id = "purge_queue",
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "What was removed", body = PurgedView), GetProblems)
)]
pub(crate) async fn purge(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    let mut purged = PurgedView { removed: 0, more: true };
    for _ in 0..MAX_CALLS {
        let removed = app.engine.purge_queue(&name, MAX_BATCH).await?;
        purged.removed += removed;
        if removed < MAX_BATCH as u64 {
            purged.more = false;
            break;
        }
    }
    Ok(axum::Json(purged).into_response())
}

async fn set_paused(app: &App, name: &QueueName, paused: bool) -> Result<Response> {
    let _editing = app.live.edit().await;
    let config = app.live.fresh().await?;
    let mut queue = config.queues.get(name).cloned().ok_or_else(|| Error::UnknownQueue(name.clone()))?;
    if queue.paused != paused {
        queue.paused = paused;
        app.live.adopt(&app.engine.put_queue(queue, PutMode::Replace).await?);
    }
    tell(app, name).await
}

async fn tell(app: &App, name: &QueueName) -> Result<Response> {
    let stats = app.engine.queue_stats(Some(name)).await?;
    let config = app.live.fresh().await?;
    let now = app.now().await?;
    match (config.queues.get(name), stats.first()) {
        (Some(queue), Some(stats)) => Ok(axum::Json(QueueView::new(queue, stats, now)).into_response()),
        _ => Err(Error::UnknownQueue(name.clone()).into()),
    }
}
