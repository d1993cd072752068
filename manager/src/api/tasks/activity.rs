//! `GET /active-tasks` and `GET /scheduled-tasks`: running and scheduled tasks.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Result},
    task::list::{ActivePageView, ActiveParams, ActiveTaskView, PageParams, ScheduledPageView, ScheduledTaskView},
};
use jobbers_common::{
    engine::{Page, TaskFilter},
    lifecycle::Status,
    task::Task,
};

use crate::{
    api::lists::listing,
    app::App,
    handlers::{extract::Query, problem::problems},
};

problems!(ActivityProblems: [Code::UnknownQueue]);

/// Running tasks, their workers and running times
#[utoipa::path(
    get, path = "/active-tasks", tag = "tasks", operation_id = "list_active_tasks",
    security(("key" = ["tasks:read"])),
    params(ActiveParams),
    responses((status = 200, description = "Running tasks, longest first", body = ActivePageView), ActivityProblems)
)]
pub(crate) async fn active_tasks(State(app): State<Arc<App>>, Query(params): Query<ActiveParams>) -> Result<Response> {
    let ActiveParams { queue, cancel_requested, limit, cursor } = params;
    let wanted = |task: &Task| cancel_requested.is_none_or(|requested| task.cancel_requested == requested);
    let (page, total) = page(&app, Status::Started, PageParams { queue, limit, cursor }, wanted).await?;
    let total = total.filter(|_| cancel_requested.is_none());
    let now = app.now().await?;
    let tasks = page.tasks.iter().map(|task| ActiveTaskView::new(task, now)).collect();
    Ok(Json(ActivePageView { tasks, total, next_cursor: page.next }).into_response())
}

/// Scheduled tasks: delayed submissions, and retries
#[utoipa::path(
    get, path = "/scheduled-tasks", tag = "tasks", operation_id = "list_scheduled_tasks",
    security(("key" = ["tasks:read"])),
    params(PageParams),
    responses(
        (status = 200, description = "Scheduled tasks, in each queue the next due first", body = ScheduledPageView),
        ActivityProblems,
    )
)]
pub(crate) async fn scheduled_tasks(State(app): State<Arc<App>>, Query(params): Query<PageParams>) -> Result<Response> {
    let (page, total) = page(&app, Status::Scheduled, params, |_| true).await?;
    let now = app.now().await?;
    let tasks = page.tasks.iter().map(|task| ScheduledTaskView::new(task, now)).collect();
    Ok(Json(ScheduledPageView { tasks, total, next_cursor: page.next }).into_response())
}

/// A page of the tasks of a status, and their number if it is counted.
async fn page(
    app: &App,
    status: Status,
    params: PageParams,
    wanted: impl Fn(&Task) -> bool,
) -> Result<(Page, Option<u64>)> {
    if let Some(queue) = &params.queue {
        app.live.check_queue(queue).await?;
    }
    let filter = TaskFilter { statuses: vec![status], queue: params.queue, ..TaskFilter::default() };
    let total = listing::total(&*app.engine, &filter, params.cursor.as_deref()).await?;
    Ok((listing::fill(&*app.engine, filter, params.limit, params.cursor, wanted).await?, total))
}
