//! `/boards`: what clients of MassTasker and TaskStore keep, for operators.
//!
//! Clients change boards through their fronts. Here an operator looks, deletes, and ends a lease early.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    board::{
        BoardListParams, BoardListView, BoardTaskListParams, BoardTaskListView, BoardTaskView, BoardView,
        DeleteGroupParams, GroupListParams, GroupListView, GroupView, LISTED_BYTES, SHOWN_BYTES, cursor_of_group,
        cursor_of_task, group_of, place_of,
    },
    problem::{Code, Problem, Result},
    queue::PurgedView,
    value::NameDoc,
};
use jobbers_common::{
    engine::{
        boards::{
            Commit, CommitAnswer, ListTasks, Selection, Take, TakeOrder, Update,
            task::{BoardTask, When},
        },
        reads::validate_limit,
    },
    limits::MAX_BATCH,
    name::BoardName,
};

use crate::{
    app::App,
    audit::audited::Audited,
    handlers::{
        extract::{Path, Query},
        problem::problems,
    },
};

/// The owner of what an operator changes.
const OPERATOR: i64 = 0;
/// Most pages of a group that one request deletes: 100,000 small tasks.
const MAX_PAGES: usize = 100;

problems!(ListProblems: [Code::InvalidParameter]);
problems!(BoardProblems: [Code::InvalidParameter, Code::UnknownBoard]);
problems!(TaskProblems: [Code::InvalidParameter, Code::UnknownBoardTask]);

fn check_limit(limit: usize) -> Result<()> {
    validate_limit(limit).map_err(|error| Problem::new(Code::InvalidParameter, error.to_string()))
}

/// A name that is too long came from the query.
fn refused(error: jobbers_common::engine::Error) -> Problem {
    Problem::from(error).recode(Code::InvalidRequest, Code::InvalidParameter)
}

/// The boards, in pages
///
/// A board is there from its first task on, also when it holds none any more.
#[utoipa::path(
    get, path = "/boards", tag = "boards", operation_id = "list_boards",
    security(("key" = ["boards:read"])),
    params(BoardListParams),
    responses((status = 200, description = "A page of the boards, in the order of their names", body = BoardListView),
        ListProblems)
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(BoardListParams { limit, cursor }): Query<BoardListParams>,
) -> Result<Response> {
    check_limit(limit)?;
    let found = app.boards.boards(cursor.as_ref(), limit).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.board.to_string());
    Ok(axum::Json(BoardListView { boards: found.iter().map(BoardView::from).collect(), next_cursor }).into_response())
}

/// The groups of a board that hold tasks, in pages
#[utoipa::path(
    get, path = "/boards/{board}/groups", tag = "boards", operation_id = "list_board_groups",
    security(("key" = ["boards:read"])),
    params(("board" = NameDoc, Path, description = "The board's name"), GroupListParams),
    responses((status = 200, description = "A page of the groups, in the order of their names", body = GroupListView),
        BoardProblems)
)]
pub(crate) async fn groups(
    State(app): State<Arc<App>>,
    Path(board): Path<BoardName>,
    Query(GroupListParams { limit, cursor }): Query<GroupListParams>,
) -> Result<Response> {
    check_limit(limit)?;
    let after = cursor.as_deref().map(group_of).transpose()?;
    let found = app.boards.groups(&board, after, limit).await.map_err(refused)?;
    if found.is_empty() {
        check_board(&app, &board).await?;
    }
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| cursor_of_group(&last.group));
    Ok(axum::Json(GroupListView { groups: found.iter().map(GroupView::from).collect(), next_cursor }).into_response())
}

/// The tasks of a group, in the order in which they are taken
#[utoipa::path(
    get, path = "/boards/{board}/tasks", tag = "boards", operation_id = "list_board_tasks",
    security(("key" = ["boards:read"])),
    params(("board" = NameDoc, Path, description = "The board's name"), BoardTaskListParams),
    responses((status = 200, description = "A page of the group", body = BoardTaskListView), BoardProblems)
)]
pub(crate) async fn tasks(
    State(app): State<Arc<App>>,
    Path(board): Path<BoardName>,
    Query(BoardTaskListParams { group, visible, limit, cursor }): Query<BoardTaskListParams>,
) -> Result<Response> {
    check_limit(limit)?;
    let after = cursor.as_deref().map(place_of).transpose()?;
    let list = ListTasks { board, group, visible_only: visible, after, limit };
    let page = app.boards.list(list.clone()).await.map_err(refused)?;
    if page.total == 0 {
        check_board(&app, &list.board).await?;
    }
    let now = app.now().await?.into();
    let tasks = page.tasks.iter().map(|task| BoardTaskView::new(task, now, LISTED_BYTES)).collect();
    let view = BoardTaskListView { tasks, total: page.total, next_cursor: page.next.map(cursor_of_task) };
    Ok(axum::Json(view).into_response())
}

/// Delete the tasks of a group
///
/// Leased tasks too: who holds one learns at its next change that it is gone. One request deletes up to 100,000 tasks, in
/// pieces; `more` in the answer says that it has to be sent again.
#[utoipa::path(
    delete, path = "/boards/{board}/tasks", tag = "boards", operation_id = "delete_board_group",
    security(("key" = ["boards:control"])),
    params(("board" = NameDoc, Path, description = "The board's name"), DeleteGroupParams),
    responses((status = 200, description = "What was deleted", body = PurgedView), BoardProblems)
)]
pub(crate) async fn delete_group(
    State(app): State<Arc<App>>,
    Path(board): Path<BoardName>,
    Query(DeleteGroupParams { group }): Query<DeleteGroupParams>,
) -> Result<Response> {
    let purged = purge(&app, board, group).await?;
    Ok(Audited::counts([("removed", purged.removed)]).answer(axum::Json(purged)))
}

/// Deletes the tasks of a group, up to a bound.
async fn purge(app: &App, board: BoardName, group: String) -> Result<PurgedView> {
    check_board(app, &board).await?;
    let list = ListTasks { board, group, visible_only: false, after: None, limit: MAX_BATCH };
    let mut removed = 0;
    for _ in 0..MAX_PAGES {
        // Always from the front: what was taken meanwhile has another place now.
        let page = app.boards.list(list.clone()).await.map_err(refused)?;
        if page.tasks.is_empty() {
            return Ok(PurgedView { removed, more: false });
        }
        removed += delete_all(app, &list.board, page.tasks.iter().map(|task| task.revision).collect()).await?;
    }
    let left = app.boards.list(ListTasks { limit: 1, ..list }).await?.total;
    Ok(PurgedView { removed, more: left > 0 })
}

/// Deletes those of these tasks that are still there. Returns how many.
async fn delete_all(app: &App, board: &BoardName, mut revisions: Vec<u64>) -> Result<u64> {
    while !revisions.is_empty() {
        let delete = revisions.iter().copied().map(Selection::Revision).collect();
        match app.boards.commit(Commit { delete, ..Commit::new(board.clone(), OPERATOR) }).await? {
            CommitAnswer::Done(done) => return Ok(done.deleted as u64),
            CommitAnswer::Conflict(gone) => revisions.retain(|revision| !gone.deleted.contains(revision)),
            CommitAnswer::AlreadyDone => break,
        }
    }
    Ok(0)
}

/// One task of a board
#[utoipa::path(
    get, path = "/boards/{board}/tasks/{revision}", tag = "boards", operation_id = "get_board_task",
    security(("key" = ["boards:read"])),
    params(("board" = NameDoc, Path, description = "The board's name"),
        ("revision" = u64, Path, description = "The task's address")),
    responses((status = 200, description = "The task; of data and error at most the first 256 KiB", body = BoardTaskView),
        TaskProblems)
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path((board, revision)): Path<(BoardName, u64)>,
) -> Result<Response> {
    let task = find(&app, &board, revision).await?;
    show(&app, &task).await
}

/// Delete one task of a board
///
/// Also a leased one: who holds it learns at its next change that it is gone.
#[utoipa::path(
    delete, path = "/boards/{board}/tasks/{revision}", tag = "boards", operation_id = "delete_board_task",
    security(("key" = ["boards:control"])),
    params(("board" = NameDoc, Path, description = "The board's name"),
        ("revision" = u64, Path, description = "The task's address")),
    responses((status = 204, description = "It is gone"), TaskProblems)
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path((board, revision)): Path<(BoardName, u64)>,
) -> Result<StatusCode> {
    match delete_all(&app, &board, vec![revision]).await? {
        0 => Err(unknown_task(&board, revision)),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

/// Make a task of a board visible now
///
/// Ends a lease, or a delay, early. The task gets a new revision, so who held it is refused at its next change. A task that is
/// visible stays as it is.
#[utoipa::path(
    post, path = "/boards/{board}/tasks/{revision}/release", tag = "boards", operation_id = "release_board_task",
    security(("key" = ["boards:control"])),
    params(("board" = NameDoc, Path, description = "The board's name"),
        ("revision" = u64, Path, description = "The task's address")),
    responses((status = 200, description = "The task, with its new revision", body = BoardTaskView), TaskProblems)
)]
pub(crate) async fn release(
    State(app): State<Arc<App>>,
    Path((board, revision)): Path<(BoardName, u64)>,
) -> Result<Response> {
    let task = find(&app, &board, revision).await?;
    if task.at <= app.now().await?.into() {
        return show(&app, &task).await;
    }
    let update = Update { which: Selection::Revision(revision), group: None, at: Some(When::NOW), content: None };
    let commit = Commit { update: vec![update], ..Commit::new(board.clone(), OPERATOR) };
    let CommitAnswer::Done(done) = app.boards.commit(commit).await? else {
        return Err(unknown_task(&board, revision));
    };
    let placed = done.updated.into_iter().next();
    let (revision, at) = placed.map_or((revision, task.at), |placed| (placed.revision, placed.at));
    show(&app, &BoardTask { revision, at, owner: OPERATOR, ..task }).await
}

async fn show(app: &App, task: &BoardTask) -> Result<Response> {
    let now = app.now().await?.into();
    Ok(axum::Json(BoardTaskView::new(task, now, SHOWN_BYTES)).into_response())
}

async fn find(app: &App, board: &BoardName, revision: u64) -> Result<BoardTask> {
    let found = app.boards.get(board, &[revision]).await?.pop().flatten();
    found.ok_or_else(|| unknown_task(board, revision))
}

fn unknown_task(board: &BoardName, revision: u64) -> Problem {
    let detail =
        format!("board {board} has no task at revision {revision}: it was changed, taken or deleted, or never was");
    Problem::new(Code::UnknownBoardTask, detail)
}

/// Refuses a board that never gave a revision: a typing error reads as an empty board otherwise.
async fn check_board(app: &App, board: &BoardName) -> Result<()> {
    let peek = Take {
        board: board.clone(),
        group: String::new(),
        order: TakeOrder::FirstInFirstOut,
        owner: OPERATOR,
        now: None,
        lease: None,
        require: Vec::new(),
    };
    if app.boards.take(peek).await?.revision > 0 {
        return Ok(());
    }
    Err(Problem::new(
        Code::UnknownBoard,
        format!("no task was ever put on a board {board}; GET /boards lists the boards"),
    ))
}
