//! `/dead-letter-queue/operations`: the operations that send dead letters again: list, get, wait, cancel.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use jobbers_api::{
    dead_letter::operation::{OperationPageView, OperationParams, WholeOperationView},
    problem::{Code, Problem, Result},
    task::list::WaitParams,
};
use jobbers_archive::{Archive, Operation};

use crate::{
    app::App,
    dead_letters::{calls::ask, view},
    handlers::{
        archive::LocalArchive,
        extract::{Path, Query},
        problem::{ARCHIVE, problems},
    },
};

/// The default time to wait for an operation: most are done by then.
pub(in crate::api) const PATIENCE: Duration = Duration::from_secs(2);
/// The most tasks of an operation that are listed one by one.
const MOST_SHOWN: usize = 1_000;

problems!(ListProblems: ARCHIVE);
problems!(OperationProblems: ARCHIVE, [Code::UnknownOperation]);

/// The operations that send dead letters again
///
/// The latest first, without their tasks. They are kept for a week after they were finished. A page may hold fewer than
/// `limit`, if operations are large, and still have a next page.
#[utoipa::path(
    get, path = "/dead-letter-queue/operations", tag = "dead letters", operation_id = "list_resubmit_operations",
    security(("key" = ["dead_letters:read"])),
    params(OperationParams),
    responses((status = 200, description = "A page of operations", body = OperationPageView), ListProblems)
)]
pub(crate) async fn list(
    LocalArchive(archive): LocalArchive,
    Query(params): Query<OperationParams>,
) -> Result<Response> {
    let ((state, limit), cursor) = (params.checked()?, params.cursor);
    let page = ask(&archive, move |archive| archive.operations(state, limit, cursor.as_deref())).await?;
    let operations = page.operations.iter().map(view::operation).collect();
    Ok(Json(OperationPageView { operations, next_cursor: page.next }).into_response())
}

/// The state of an operation
#[utoipa::path(
    get, path = "/dead-letter-queue/operations/{id}", tag = "dead letters", operation_id = "get_resubmit_operation",
    security(("key" = ["dead_letters:read"])),
    params(("id" = String, Path, description = "The operation's id"), WaitParams),
    responses((status = 200, description = "The operation", body = WholeOperationView), OperationProblems)
)]
pub(crate) async fn operation(
    State(app): State<Arc<App>>,
    LocalArchive(archive): LocalArchive,
    Path(id): Path<String>,
    Query(params): Query<WaitParams>,
) -> Result<Response> {
    let (asked, wait) = (id.clone(), params.or(Duration::ZERO)?);
    let found = ask(&archive, move |archive| archive.operation(&asked)).await?;
    let found = found.ok_or_else(|| unknown_operation(&id))?;
    let operation = wait_for(&app, &archive, found, wait).await?;
    let asked = operation.id.clone();
    let items = ask(&archive, move |archive| archive.items(&asked, MOST_SHOWN)).await?;
    Ok(Json(view::whole_operation(&operation, items)).into_response())
}

/// Cancel an operation
///
/// Letters that it has not sent are dead as before, and may be sent by another operation. Sent ones stay sent. A
/// finished operation is answered with its state; cancelling twice is not an error.
#[utoipa::path(
    delete, path = "/dead-letter-queue/operations/{id}", tag = "dead letters", operation_id = "cancel_resubmit_operation",
    security(("key" = ["dead_letters:control"])),
    params(("id" = String, Path, description = "The operation's id")),
    responses(
        (status = 200, description = "It is over", body = WholeOperationView),
        (status = 202, description = "It will be, once what is on its way has arrived; see Location", body = WholeOperationView),
        OperationProblems,
    )
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    LocalArchive(archive): LocalArchive,
    Path(id): Path<String>,
) -> Result<Response> {
    let (asked, now) = (id.clone(), app.now().await?);
    let found = ask(&archive, move |archive| archive.cancel(&asked, now)).await?;
    let found = found.ok_or_else(|| unknown_operation(&id))?;
    app.dead_letters.cancel();
    let operation = wait_for(&app, &archive, found, PATIENCE).await?;
    respond(&archive, &operation).await
}

fn unknown_operation(id: &str) -> Problem {
    Problem::new(Code::UnknownOperation, format!("operation {id} does not exist"))
}

pub(in crate::api) async fn wait_for(
    app: &App,
    archive: &Arc<Archive>,
    operation: Operation,
    wait: Duration,
) -> Result<Operation> {
    let until = tokio::time::Instant::now() + wait;
    let mut found = operation;
    let mut is_over = found.finished_at.is_some();
    while !is_over {
        let ended = app.dead_letters.ended().notified();
        tokio::pin!(ended);
        ended.as_mut().enable();
        let id = found.id.clone();
        // Read once more after the wait too, so that the answer has the numbers of its own time.
        let is_late = tokio::time::Instant::now() >= until;
        if let Some(fresh) = ask(archive, move |archive| archive.operation(&id)).await? {
            found = fresh;
        }
        is_over = found.finished_at.is_some() || app.drain.is_cancelled() || is_late;
        if !is_over {
            tokio::time::timeout_at(until, ended).await.ok();
        }
    }
    Ok(found)
}

pub(in crate::api) async fn respond(archive: &Arc<Archive>, operation: &Operation) -> Result<Response> {
    let id = operation.id.clone();
    let items = ask(archive, move |archive| archive.items(&id, MOST_SHOWN)).await?;
    let view = Json(view::whole_operation(operation, items));
    if operation.finished_at.is_some() {
        return Ok(view.into_response());
    }
    let mut response = (StatusCode::ACCEPTED, view).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/dead-letter-queue/operations/{}", operation.id)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}
