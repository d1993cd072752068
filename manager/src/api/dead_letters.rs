//! `/dead-letter-queue`: tasks that failed for good, why, and sending them again.
//!
//! The manager that keeps the archive answers; any other one passes the request on to it ([`crate::dead_letters`]).

pub(super) mod operations;

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    dead_letter::{
        ChangeView, DeleteRequest, HistoryView, LetterPageView, LetterParams, ResubmitRequest, StatsView,
        WholeLetterView,
        operation::{ResubmitAnswer, WholeOperationView},
    },
    problem::{Code, Problem, Result, WITH_BODY},
    task::list::WaitParams,
    value::TaskIdDoc,
};
use jobbers_archive::{Archive, Filter, LetterState, NewOperation, Operation, Selection};
use jobbers_common::name::TaskId;

use self::operations::PATIENCE;
use crate::{
    app::App,
    audit::audited::Audited,
    dead_letters::{
        calls::ask,
        order::Order,
        view::{self, filter_of, selection_of},
    },
    handlers::{
        archive::LocalArchive,
        extract::{JsonBytes, Path, Query},
        problem::{ARCHIVE, problems},
    },
    listening::idempotency::idempotency_key,
    submissions::ids,
};

problems!(LookProblems: ARCHIVE);
problems!(LetterProblems: ARCHIVE, [Code::UnknownDeadLetter]);
problems!(DeleteProblems: WITH_BODY, ARCHIVE, [Code::BatchTooLarge]);
problems!(ResubmitProblems: WITH_BODY, ARCHIVE, [
    Code::BatchTooLarge, Code::UnknownQueue, Code::IdempotencyKeyReused, Code::JsonTooDeep,
]);

/// Find dead letters
///
/// The latest first. Without a `state`, those that are not handled yet.
#[utoipa::path(
    get, path = "/dead-letter-queue", tag = "dead letters", operation_id = "list_dead_letters",
    security(("key" = ["dead_letters:read"])),
    params(LetterParams),
    responses((status = 200, description = "A page of dead letters", body = LetterPageView), LookProblems)
)]
pub(crate) async fn list(LocalArchive(archive): LocalArchive, Query(params): Query<LetterParams>) -> Result<Response> {
    let (filter, limit, cursor) = (filter_of(params.filter()?), params.limit, params.cursor);
    let page = ask(&archive, move |archive| archive.page(&filter, limit, cursor.as_deref())).await?;
    let dead_letters = page.letters.into_iter().map(view::letter).collect();
    Ok(Json(LetterPageView { dead_letters, next_cursor: page.next }).into_response())
}

/// Dead letters by queue, task, version and cause
///
/// The cause is the last error without the parts that differ each time: numbers, ids, quoted parts.
#[utoipa::path(
    get, path = "/dead-letter-queue/stats", tag = "dead letters", operation_id = "dead_letter_stats",
    security(("key" = ["dead_letters:read"])),
    params(LetterParams),
    responses((status = 200, description = "The groups, the largest first", body = StatsView), LookProblems)
)]
pub(crate) async fn stats(LocalArchive(archive): LocalArchive, Query(params): Query<LetterParams>) -> Result<Response> {
    let filter = filter_of(params.filter()?);
    let groups = ask(&archive, move |archive| archive.groups(&filter)).await?;
    Ok(Json(view::stats(groups)).into_response())
}

/// One dead letter, with its whole task
///
/// The latest of the task, if it has several.
#[utoipa::path(
    get, path = "/dead-letter-queue/{task_id}", tag = "dead letters", operation_id = "get_dead_letter",
    security(("key" = ["dead_letters:read"])),
    params(("task_id" = TaskIdDoc, Path, description = "The task's id")),
    responses((status = 200, description = "The letter", body = WholeLetterView), LetterProblems)
)]
pub(crate) async fn get(LocalArchive(archive): LocalArchive, Path(id): Path<TaskId>) -> Result<Response> {
    let asked = id.clone();
    let found = ask(&archive, move |archive| archive.letter(&asked)).await?;
    let letter = found.ok_or_else(|| unknown(&id))?;
    Ok(Json(view::whole_letter(letter)).into_response())
}

/// Show what the dead letter of a sensitive task holds
///
/// The letter as `GET /dead-letter-queue/{task_id}` shows it, with the task's parameters and checkpoint and the messages of its
/// errors. Each call is in the audit log before it is answered; one that can't be logged is refused.
#[utoipa::path(
    post, path = "/dead-letter-queue/{task_id}/reveal", tag = "dead letters", operation_id = "reveal_dead_letter",
    security(("key" = ["tasks:reveal"])),
    params(("task_id" = TaskIdDoc, Path, description = "The task's id")),
    responses((status = 200, description = "The whole letter", body = WholeLetterView), LetterProblems)
)]
pub(crate) async fn reveal(LocalArchive(archive): LocalArchive, Path(id): Path<TaskId>) -> Result<Response> {
    let asked = id.clone();
    let found = ask(&archive, move |archive| archive.letter(&asked)).await?;
    let letter = found.ok_or_else(|| unknown(&id))?;
    Ok(Json(view::revealed_letter(letter)).into_response())
}

/// Every failure of a task, the oldest first
///
/// The list grows each time the task is sent again and fails.
#[utoipa::path(
    get, path = "/dead-letter-queue/{task_id}/history", tag = "dead letters", operation_id = "dead_letter_history",
    security(("key" = ["dead_letters:read"])),
    params(("task_id" = TaskIdDoc, Path, description = "The task's id")),
    responses((status = 200, description = "Its failures", body = HistoryView), LetterProblems)
)]
pub(crate) async fn history(LocalArchive(archive): LocalArchive, Path(id): Path<TaskId>) -> Result<Response> {
    let asked = id.clone();
    let found = ask(&archive, move |archive| archive.history(&asked)).await?;
    let failures = found.ok_or_else(|| unknown(&id))?;
    Ok(Json(HistoryView::new(&id, &failures)).into_response())
}

/// Send dead letters again
///
/// By `ids`, or by a filter: then up to `limit` of them, the oldest first, or `all`. Each is sent once, however often
/// the request is repeated and whichever process dies meanwhile. With an `Idempotency-Key`, a repeated request is
/// answered with the operation it began. An operation that takes longer than `wait` (2s) is answered with its progress,
/// with 202.
#[utoipa::path(
    post, path = "/dead-letter-queue/resubmit", tag = "dead letters", operation_id = "resubmit_dead_letters",
    security(("key" = ["dead_letters:control"])),
    params(
        WaitParams,
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters, new for each request"),
    ),
    request_body = ResubmitRequest,
    responses(
        (status = 200, description = "The operation is done; or, with dry_run, what it would do", body = ResubmitAnswer),
        (status = 202, description = "It goes on; see Location", body = WholeOperationView),
        ResubmitProblems,
    )
)]
pub(crate) async fn resubmit(
    State(app): State<Arc<App>>,
    LocalArchive(archive): LocalArchive,
    Query(params): Query<WaitParams>,
    body: JsonBytes,
) -> Result<Response> {
    let wait = params.or(PATIENCE)?;
    let request: ResubmitRequest = body.decode(&app).await?;
    let (selection, dry_run) = (selection_of(request.selection()?), request.dry_run);
    let order = Order::of(request)?;
    if dry_run {
        return would_send(&archive, selection).await;
    }
    if let Some(queue) = &order.to_queue {
        app.live.check_queue(queue).await?;
    }
    let request = serde_json::to_string(&order).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let key = key_of(&body.headers)?;
    let digest = body.read(&app, ids::request_digest).await;
    let new = NewOperation { key, digest, request, selection };
    let operation = begin(&app, &archive, new, wait).await?;
    let audited = Audited { object: Some(operation.id.clone()), ..Audited::counts([("tasks", operation.total())]) };
    Ok(audited.answer(operations::respond(&archive, &operation).await?))
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>> {
    Ok(idempotency_key(headers)?.map(str::to_owned))
}

/// Delete dead letters
///
/// By `ids`, or by a filter as for a resubmission. Letters that are being sent again stay; tasks in the store are not
/// changed.
#[utoipa::path(
    delete, path = "/dead-letter-queue", tag = "dead letters", operation_id = "delete_dead_letters",
    security(("key" = ["dead_letters:delete"])),
    request_body = DeleteRequest,
    responses((status = 200, description = "What was deleted", body = ChangeView), DeleteProblems)
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    LocalArchive(archive): LocalArchive,
    body: JsonBytes,
) -> Result<Response> {
    let request: DeleteRequest = body.decode(&app).await?;
    let selection = selection_of(request.selection()?);
    if request.dry_run {
        return would_delete(&archive, selection).await;
    }
    let changed = ask(&archive, move |archive| match selection {
        Selection::Tasks(ids) => archive.delete(&ids),
        Selection::Matching(filter, limit) => archive.delete_matching(&filter, limit),
    })
    .await?;
    app.dead_letters.meters.deleted(changed);
    Ok(Audited::counts([("deleted", changed)]).answer(Json(ChangeView { dry_run: false, matched: changed, changed })))
}

fn unknown(id: &TaskId) -> Problem {
    Problem::new(Code::UnknownDeadLetter, format!("task {id} has no dead letter"))
}

/// How many letters match, and how many of them would be sent.
async fn would_send(archive: &Arc<Archive>, selection: Selection) -> Result<Response> {
    let counted = ask(archive, move |archive| match selection {
        Selection::Matching(filter, limit) => count_matching(archive, &filter, limit),
        Selection::Tasks(ids) => {
            let (mut matched, mut changed) = (0, 0);
            for id in &ids {
                let state = archive.letter(id)?.map(|letter| letter.summary.state);
                matched += u64::from(state.is_some());
                changed += u64::from(matches!(state, Some(LetterState::Dead | LetterState::Superseded)));
            }
            Ok((matched, changed))
        }
    });
    Ok(preview(counted.await?))
}

/// How many letters match, and how many of them would be deleted: with ids, all letters of a task and not only the
/// latest.
async fn would_delete(archive: &Arc<Archive>, selection: Selection) -> Result<Response> {
    let counted = ask(archive, move |archive| match selection {
        Selection::Matching(filter, limit) => count_matching(archive, &filter, limit),
        Selection::Tasks(ids) => archive.count_of(&ids),
    });
    Ok(preview(counted.await?))
}

fn count_matching(archive: &Archive, filter: &Filter, limit: usize) -> jobbers_archive::Result<(u64, u64)> {
    let matched = archive.count(&Filter { state: Some(LetterState::Dead), ..filter.clone() })?;
    Ok((matched, matched.min(limit as u64)))
}

fn preview((matched, changed): (u64, u64)) -> Response {
    Json(ChangeView { dry_run: true, matched, changed }).into_response()
}

/// Begins an operation and waits for its end, no longer than `wait`.
pub(super) async fn begin(app: &App, archive: &Arc<Archive>, new: NewOperation, wait: Duration) -> Result<Operation> {
    let now = app.now().await?;
    let begun = ask(archive, move |archive| archive.begin(&new, now)).await?;
    app.dead_letters.begin();
    operations::wait_for(app, archive, begun, wait).await
}
