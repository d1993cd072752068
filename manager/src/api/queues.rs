//! `/queues`: create, get, change, pause, purge, delete.

pub(super) mod explain;
pub(super) mod history;
pub(super) mod roles;
pub(super) mod routing;

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    queue::{DeleteParams, PurgedView, QueueListParams, QueueListView, QueueRequest, QueueView},
    value::NameDoc,
};
use jobbers_common::{
    engine::{Deleted, Error, ListRequest, PutMode, QueueListRequest, TaskFilter, reads::validate_limit},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId},
};

use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{
        etag::{self, IfMatch},
        extract::{Json, Path, Query},
        problem::problems,
    },
};

/// Most calls of the store for one purge or deletion: 100,000 tasks.
const MAX_CALLS: usize = 100;

problems!(ListProblems: [Code::InvalidParameter]);
problems!(CreateProblems: WITH_BODY, [Code::Exists]);
problems!(GetProblems: [Code::UnknownQueue]);
problems!(PutProblems: WITH_BODY, [Code::Changed]);
problems!(DeleteProblems: [Code::Changed, Code::UnknownQueue, Code::QueueNotEmpty, Code::QueueInUse]);

/// The queues, with their numbers, in pages
#[utoipa::path(
    get, path = "/queues", tag = "queues", operation_id = "list_queues",
    security(("key" = ["queues:read"])),
    params(QueueListParams),
    responses((status = 200, description = "A page of the queues, in the order of their names", body = QueueListView),
        ListProblems)
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(QueueListParams { limit, cursor }): Query<QueueListParams>,
) -> Result<Response> {
    validate_limit(limit).map_err(|error| Problem::new(Code::InvalidParameter, error.to_string()))?;
    let page = app.engine.list_queues(QueueListRequest { after: cursor, limit }).await?;
    let config = app.live.fresh().await?;
    let now = app.now().await?;
    let settings: Vec<_> = page.queues.iter().map(|stats| config.settings_of(&stats.queue)).collect();
    let queues = settings.iter().zip(&page.queues).map(|(queue, stats)| QueueView::new(queue, stats, now)).collect();
    let next_cursor = page.next.as_ref().map(ToString::to_string);
    Ok(axum::Json(QueueListView { queues, next_cursor }).into_response())
}

/// Create a queue
#[utoipa::path(
    post, path = "/queues", tag = "queues", operation_id = "create_queue",
    security(("key" = ["queues:write"])),
    request_body = QueueRequest,
    responses((status = 201, description = "The new queue", body = QueueView), CreateProblems)
)]
pub(crate) async fn create(State(app): State<Arc<App>>, Json(request): Json<QueueRequest>) -> Result<Response> {
    let queue = request.config(None)?;
    let name = queue.name.clone();
    app.live.adopt(&app.engine.put_queue(queue, PutMode::Create).await?);
    Ok(Audited::object(&name).answer((StatusCode::CREATED, respond(&app, &name).await?)))
}

/// One queue, with its numbers
#[utoipa::path(
    get, path = "/queues/{queue}", tag = "queues", operation_id = "get_queue",
    security(("key" = ["queues:read"])),
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The queue", body = QueueView), GetProblems)
)]
pub(crate) async fn get(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    respond(&app, &name).await
}

/// Create a queue or replace its settings
///
/// With `If-Match` only if it has not changed since it was read: its `ETag` identifies its settings.
#[utoipa::path(
    put, path = "/queues/{queue}", tag = "queues", operation_id = "put_queue",
    security(("key" = ["queues:write"])),
    params(
        ("queue" = NameDoc, Path, description = "The queue's name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` it was read with, or `*`"),
    ),
    request_body = QueueRequest,
    responses((status = 200, description = "The queue", body = QueueView), PutProblems)
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    Path(name): Path<QueueName>,
    condition: IfMatch,
    Json(request): Json<QueueRequest>,
) -> Result<Response> {
    let queue = request.config(Some(name.clone()))?;
    let mode = condition.mode(app.live.find_queue(&name).await?.as_ref())?;
    app.live.adopt(&app.engine.put_queue(queue, mode).await?);
    respond(&app, &name).await
}

/// Delete a queue and the finished tasks in it
///
/// A queue that a role or a routing rule names is not deleted. One with live tasks is deleted only with `force`: tasks
/// that do not run are deleted with it, and running ones are asked to stop; or with `move_to`: tasks that do not run go
/// to that queue and keep their places, and running tasks continue to their end, or back to this queue, from where the
/// next call moves them. While tasks are left, the answer is 202. With `If-Match` only if its settings have not changed
/// since they were read: a change that comes while its tasks are deleted or moved leaves the queue and the tasks left
/// in it.
#[utoipa::path(
    delete, path = "/queues/{queue}", tag = "queues", operation_id = "delete_queue",
    security(("key" = ["queues:write"])),
    params(
        ("queue" = NameDoc, Path, description = "The queue's name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` it was read with, or `*`"),
        DeleteParams,
    ),
    responses(
        (status = 204, description = "It is gone"),
        (status = 202, description = "Tasks are left in it: call again"),
        DeleteProblems,
    )
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(name): Path<QueueName>,
    condition: IfMatch,
    Query(DeleteParams { force, move_to }): Query<DeleteParams>,
) -> Result<StatusCode> {
    let expected = condition.expected(app.live.find_queue(&name).await?.as_ref())?;
    check_target(&app, &name, force, move_to.as_ref()).await?;
    for _ in 0..MAX_CALLS {
        match app.engine.delete_queue(&name, expected.clone()).await {
            Ok(Deleted::Done) => {
                app.live.fresh().await?;
                return Ok(StatusCode::NO_CONTENT);
            }
            Ok(Deleted::More) => {}
            // No worker serves it any more, so tasks deleted here can't be claimed in between.
            Err(Error::NotEmpty { .. }) if force => {
                if app.engine.purge_queue(&name, MAX_BATCH).await? == 0 {
                    stop_running(&app, &name).await?;
                    return Ok(StatusCode::ACCEPTED);
                }
            }
            Err(error @ Error::NotEmpty { .. }) => {
                let Some(target) = &move_to else { return Err(error.into()) };
                if app.engine.move_tasks(&name, target, MAX_BATCH).await? == 0 {
                    return Ok(StatusCode::ACCEPTED);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(StatusCode::ACCEPTED)
}

/// Checks the target of a move before any task is moved.
async fn check_target(app: &App, name: &QueueName, force: bool, target: Option<&QueueName>) -> Result<()> {
    let Some(target) = target else { return Ok(()) };
    if force {
        return Err(Problem::new(Code::InvalidParameter, "force and move_to: say one of them"));
    }
    if target == name {
        return Err(Problem::new(Code::InvalidParameter, format!("move_to names queue {name} itself")));
    }
    Ok(app.live.check_queue(target).await?)
}

/// Asks the running tasks of a queue to stop.
async fn stop_running(app: &App, name: &QueueName) -> Result<()> {
    let filter = TaskFilter { statuses: vec![Status::Started], queue: Some(name.clone()), ..TaskFilter::default() };
    let mut cursor = None;
    for _ in 0..MAX_CALLS {
        let page = app.engine.list(ListRequest { filter: filter.clone(), limit: MAX_BATCH, cursor }).await?;
        let running: Vec<TaskId> = page.tasks.into_iter().map(|task| task.id).collect();
        app.engine.cancel(&running).await?;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(())
}

/// Pause a queue: it gives no tasks out, and still accepts them
#[utoipa::path(
    post, path = "/queues/{queue}/pause", tag = "queues", operation_id = "pause_queue",
    security(("key" = ["queues:control"])),
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The queue", body = QueueView), GetProblems)
)]
pub(crate) async fn pause(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    set_paused(&app, &name, true).await
}

/// Resume a paused queue
#[utoipa::path(
    post, path = "/queues/{queue}/resume", tag = "queues", operation_id = "resume_queue",
    security(("key" = ["queues:control"])),
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The queue", body = QueueView), GetProblems)
)]
pub(crate) async fn resume(State(app): State<Arc<App>>, Path(name): Path<QueueName>) -> Result<Response> {
    set_paused(&app, &name, false).await
}

/// Delete the tasks of a queue that are waiting, scheduled or submitted
///
/// Running tasks continue, finished ones are kept.
#[utoipa::path(
    post, path = "/queues/{queue}/purge", tag = "queues", operation_id = "purge_queue",
    security(("key" = ["queues:delete"])),
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
    Ok(Audited::counts([("removed", purged.removed)]).answer(axum::Json(purged)))
}

async fn set_paused(app: &App, name: &QueueName, paused: bool) -> Result<Response> {
    app.live.alter_queue(name, |queue| queue.paused = paused).await?;
    respond(app, name).await
}

async fn respond(app: &App, name: &QueueName) -> Result<Response> {
    let stats = app.engine.queue_stats(name).await?;
    let config = app.live.fresh().await?;
    let (queue, now) = (config.settings_of(name), app.now().await?);
    Ok((etag::header_of(&*queue), axum::Json(QueueView::new(&queue, &stats, now))).into_response())
}
