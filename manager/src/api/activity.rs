//! `GET /active-tasks` and `GET /scheduled-tasks`: what runs, and what waits for its time.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_common::{
    engine::{Page, TaskFilter},
    lifecycle::Status,
    task::Task,
};

use super::listing;
use crate::{
    app::App,
    extract::Query,
    problem::{Code, Result, problems},
    wire::task_list::{ActivePageView, ActiveParams, ActiveTaskView, PageParams, ScheduledPageView, ScheduledTaskView},
};

problems!(ActivityProblems: [Code::UnknownQueue]);

/// What runs, where and for how long
#[utoipa::path(
    get, path = "/active-tasks", tag = "tasks", operation_id = "list_active_tasks",
    params(ActiveParams),
    responses((status = 200, description = "Running tasks, longest first", body = ActivePageView), ActivityProblems)
)]
pub(crate) async fn active_tasks(State(app): State<Arc<App>>, Query(params): Query<ActiveParams>) -> Result<Response> {
    let ActiveParams { queue, cancel_requested, limit, cursor } = params;
    let wanted = |task: &Task| cancel_requested.is_none_or(|requested| task.cancel_requested == requested);
    let page = page(&app, Status::Started, PageParams { queue, limit, cursor }, wanted).await?;
    let now = app.now().await?;
    let tasks = page.tasks.iter().map(|task| ActiveTaskView::new(task, now)).collect();
    Ok(Json(ActivePageView { tasks, next: page.next.as_deref() }).into_response())
}

/// What waits for its time: delayed submissions, and retries
#[utoipa::path(
    get, path = "/scheduled-tasks", tag = "tasks", operation_id = "list_scheduled_tasks",
    params(PageParams),
    responses(
        (status = 200, description = "Scheduled tasks, in each queue the next due first", body = ScheduledPageView),
        ActivityProblems,
    )
)]
pub(crate) async fn scheduled_tasks(State(app): State<Arc<App>>, Query(params): Query<PageParams>) -> Result<Response> {
    let page = page(&app, Status::Scheduled, params, |_| true).await?;
    let now = app.now().await?;
    let tasks = page.tasks.iter().map(|task| ScheduledTaskView::new(task, now)).collect();
    Ok(Json(ScheduledPageView { tasks, next: page.next.as_deref() }).into_response())
}

async fn page(app: &App, status: Status, params: PageParams, wanted: impl Fn(&Task) -> bool) -> Result<Page> {
    if let Some(queue) = &params.queue {
        app.live.check_queue(queue).await?;
    }
    let filter = TaskFilter { statuses: vec![status], queue: params.queue, ..TaskFilter::default() };
    listing::fill(&*app.engine, filter, params.limit, params.cursor, wanted).await
}
