//! `GET /tasks/{id}` and `GET /tasks`.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    extract::{MatchedPath, State},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt as _, stream};
use jobbers_api::{
    problem::{Code, Problem, Result},
    task::{
        list::{Included, ListParams, TaskPageView, WaitParams},
        parents::{ParentView, ParentsParams, ParentsView},
        view::TaskView,
    },
    value::TaskIdDoc,
};
use jobbers_common::{access::Scope, engine::ParentsRequest, name::TaskId, task::Task};

use crate::{
    api::{
        lists::{listing, search::Search},
        tasks::page,
    },
    app::App,
    doors::Signer,
    handlers::{
        extract::{Path, Query},
        problem::problems,
    },
};

problems!(GetProblems: [Code::UnknownTask, Code::Gone]);
problems!(ParentsProblems: [Code::UnknownTask, Code::Gone]);
problems!(ListProblems:);

/// From how many bytes of results on a page of predecessors ends.
const PARENT_BYTES: usize = 4 * 1024 * 1024;
/// How many predecessors are read concurrently.
const READERS: usize = 16;

/// One task, with its result and history
///
/// With `wait` the answer comes when the task is over, or with its present state when the wait ends first. A task that
/// was pruned, and whose id its client chose, is `410 gone` for a day: with its end, without its result. Of a sensitive task
/// its parameters, result, checkpoint and messages are hidden.
#[utoipa::path(
    get, path = "/tasks/{id}", tag = "tasks", operation_id = "get_task",
    security(("key" = ["tasks:read"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id"), WaitParams),
    responses((status = 200, description = "The task", body = TaskView), GetProblems)
)]
pub(crate) async fn get_task(
    State(app): State<Arc<App>>,
    Path(id): Path<TaskId>,
    Query(params): Query<WaitParams>,
) -> Result<Response> {
    let task = find(&app, &id, params.or(Duration::ZERO)?).await?;
    match task {
        Some(task) => {
            let policy_in_force = app.known.policy_of(&task).await;
            Ok(Json(TaskView { policy_in_force, ..TaskView::from(&task) }).into_response())
        }
        None => Err(missing(&app, &id).await?),
    }
}

/// The tasks that a task waited for, with their results
///
/// In the order in which its submission named them; results of sensitive tasks are left out. They are kept until the task is over, whatever the retention of their
/// queues. A page ends when its results are 4 MiB; it has at least one task.
#[utoipa::path(
    get, path = "/tasks/{id}/predecessors", tag = "tasks", operation_id = "list_predecessors",
    security(("key" = ["tasks:read"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id"), ParentsParams),
    responses((status = 200, description = "A page of its predecessors", body = ParentsView), ParentsProblems)
)]
pub(crate) async fn predecessors(
    State(app): State<Arc<App>>,
    Path(id): Path<TaskId>,
    Query(params): Query<ParentsParams>,
    by: Option<Extension<Signer>>,
) -> Result<Response> {
    let from = params.start()?;
    let request = ParentsRequest { from, ..ParentsRequest::all(id.clone(), params.limit, PARENT_BYTES) };
    request.validate().map_err(|error| Problem::new(Code::InvalidParameter, error.to_string()))?;
    let parents = app.engine.parents(request).await?;
    if parents.total == 0 && app.engine.get(&id).await?.is_none() {
        return Err(missing(&app, &id).await?);
    }
    let mut view = ParentsView::new(&parents, from.min(parents.total));
    let may_lease = by.is_none_or(|by| by.0.0.grants(Scope::TasksLease));
    hide_sensitive(&app, &mut view.predecessors, may_lease).await?;
    Ok(Json(view).into_response())
}

/// Leaves out the results of sensitive tasks. Workers get them with the lease of the task that waited for them. Whether a task was
/// sensitive that is deleted by now, nothing tells: its result is shown to callers who `may_lease` tasks, and so get it anyway.
async fn hide_sensitive(app: &App, parents: &mut [ParentView], may_lease: bool) -> Result<()> {
    let read = |(place, id): (usize, TaskId)| {
        let engine = Arc::clone(&app.engine);
        async move { engine.get(&id).await.map(|task| (place, task)) }
    };
    let with_result = parents.iter().enumerate().filter(|(_, parent)| parent.result.is_some());
    let with_result: Vec<_> = with_result.map(|(place, parent)| (place, parent.id.clone())).collect();
    let reads: Vec<_> = with_result.into_iter().map(read).collect();
    let mut reads = stream::iter(reads).buffer_unordered(READERS);
    while let Some(answer) = reads.next().await {
        let (place, task) = answer?;
        if task.map_or(!may_lease, |task| task.metadata.is_sensitive()) {
            parents[place] = parents[place].clone().hidden();
        }
    }
    Ok(())
}

/// The problem of a task that is not stored.
pub(super) async fn missing(app: &App, id: &TaskId) -> Result<Problem> {
    Ok(match app.engine.tombstone(id).await? {
        Some(tombstone) => Problem::gone(&tombstone),
        None => Problem::new(Code::UnknownTask, format!("task {id} does not exist")),
    })
}

/// The task whose id equals the operation's name, the last word of its path.
pub(crate) async fn get_task_named_so(
    state: State<Arc<App>>,
    path: MatchedPath,
    query: Query<WaitParams>,
) -> Result<Response> {
    let word = path.as_str().rsplit('/').next().unwrap_or_default();
    let id = TaskId::new(word).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    get_task(state, Path(id), query).await
}

/// The store watches for the end; a manager that stops ends the wait.
async fn find(app: &App, id: &TaskId, wait: Duration) -> Result<Option<Task>> {
    if wait.is_zero() {
        return Ok(app.engine.get(id).await?);
    }
    let _waiting = app.wait_share()?;
    match app.drain.run_until_cancelled(app.engine.await_finished(id, wait)).await {
        Some(task) => Ok(task?),
        None => Ok(app.engine.get(id).await?),
    }
}

/// Find tasks
///
/// Running tasks come first, then submitted ones in the order in which they will be claimed, scheduled ones by their
/// time, waiting ones, and last finished ones, the latest first. A page may hold fewer tasks than `limit` and still
/// have a `next_cursor`.
#[utoipa::path(
    get, path = "/tasks", tag = "tasks", operation_id = "list_tasks",
    security(("key" = ["tasks:read"])),
    params(ListParams),
    responses((status = 200, description = "A page of tasks", body = TaskPageView), ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>, Query(params): Query<ListParams>) -> Result<Response> {
    let (is_search, included) = (!params.conditions.is_empty(), params.included());
    let total = match is_search {
        true => None,
        false => listing::total(&*app.engine, &params.filter(), params.cursor.as_deref()).await?,
    };
    if is_search || included != Included::default() {
        let (filter, cursor) = (params.filter(), params.cursor);
        let search = Search { filter, conditions: params.conditions, included, limit: params.limit };
        return page::answer(app, search.walk(cursor)?, total, is_search).await;
    }
    let _turn = app.memory.turn().await;
    let page = listing::fill(&*app.engine, params.filter(), params.limit, params.cursor, |_| true).await?;
    let tasks = page.tasks.iter().map(TaskView::from).collect();
    let end = TaskPageView { tasks, total, next_cursor: page.next, scanned: None, gave_up: false };
    Ok(Json(end).into_response())
}
