//! `GET /workers`.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};

use crate::{
    app::App,
    problem::{Result, problems},
    wire::worker::{WorkerListView, WorkerView},
};

problems!(ListProblems:);

/// The workers heard of lately
#[utoipa::path(
    get, path = "/workers", tag = "workers", operation_id = "list_workers",
    responses((status = 200, description = "The workers, in the order of their ids", body = WorkerListView),
        ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let workers = app.engine.workers().await?;
    Ok(Json(WorkerListView { workers: workers.iter().map(WorkerView::from).collect() }).into_response())
}
