//! Workers: list, drain, resume.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    worker::{SteeredView, WorkerListView, WorkerSelection, WorkerView},
};
use jobbers_common::{engine::Error, name::WorkerId, queue::Config, worker::RegisteredWorker};

use crate::{
    api::lists::pieces,
    app::App,
    audit::audited::Audited,
    handlers::{
        extract::{Json, Path},
        problem::problems,
    },
};

problems!(ListProblems:);
problems!(SteerProblems: [Code::UnknownWorker]);
problems!(SteerManyProblems: WITH_BODY);

/// The workers with a recent report
///
/// A draining worker reports what it still runs and, if known, when it will be done.
#[utoipa::path(
    get, path = "/workers", tag = "workers", operation_id = "list_workers",
    security(("key" = ["workers:read"])),
    responses((status = 200, description = "The workers, in the order of their ids", body = WorkerListView),
        ListProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let (workers, config) = (app.engine.workers().await?, app.live.fresh().await?);
    let view = move |worker: RegisteredWorker| WorkerView::new(&worker, config.draining.get(&worker.report.id));
    pieces::answer("workers", workers.into_iter().map(view))
}

/// Ask a worker to drain
///
/// It claims nothing more within a second, finishes its tasks, and stays alive; `resume` makes it claim again. The
/// request is kept in the store until then, or until the worker ends. Repeating it changes nothing.
#[utoipa::path(
    post, path = "/workers/{id}/drain", tag = "workers", operation_id = "drain_worker",
    security(("key" = ["workers:control"])),
    params(("id" = String, Path, description = "The worker's id")),
    responses((status = 200, description = "Told", body = SteeredView), SteerProblems)
)]
pub(crate) async fn drain(State(app): State<Arc<App>>, Path(id): Path<WorkerId>) -> Result<Response> {
    steer_one(&app, id, true).await
}

/// Let a worker claim again
#[utoipa::path(
    post, path = "/workers/{id}/resume", tag = "workers", operation_id = "resume_worker",
    security(("key" = ["workers:control"])),
    params(("id" = String, Path, description = "The worker's id")),
    responses((status = 200, description = "Told", body = SteeredView), SteerProblems)
)]
pub(crate) async fn resume(State(app): State<Arc<App>>, Path(id): Path<WorkerId>) -> Result<Response> {
    steer_one(&app, id, false).await
}

/// Ask the workers of a host or a version to drain
///
/// Those that are alive now; at least one of `host`, `version` and `role` must be given, and a worker must match all
/// that are.
#[utoipa::path(
    post, path = "/workers/drain", tag = "workers", operation_id = "drain_workers", request_body = WorkerSelection,
    security(("key" = ["workers:control"])),
    responses((status = 200, description = "Told, perhaps none", body = SteeredView), SteerManyProblems)
)]
pub(crate) async fn drain_matching(
    State(app): State<Arc<App>>,
    Json(selection): Json<WorkerSelection>,
) -> Result<Response> {
    steer_matching(&app, &selection, true).await
}

/// Let the workers of a host or a version claim again
#[utoipa::path(
    post, path = "/workers/resume", tag = "workers", operation_id = "resume_workers", request_body = WorkerSelection,
    security(("key" = ["workers:control"])),
    responses((status = 200, description = "Told, perhaps none", body = SteeredView), SteerManyProblems)
)]
pub(crate) async fn resume_matching(
    State(app): State<Arc<App>>,
    Json(selection): Json<WorkerSelection>,
) -> Result<Response> {
    steer_matching(&app, &selection, false).await
}

async fn steer_one(app: &App, id: WorkerId, draining: bool) -> Result<Response> {
    let config = app.engine.set_draining(&id, draining).await?;
    adopt(app, &config);
    Ok(axum::Json(SteeredView { workers: vec![id] }).into_response())
}

async fn steer_matching(app: &App, selection: &WorkerSelection, draining: bool) -> Result<Response> {
    if selection.is_empty() {
        let detail = "say which workers: by host, version or role";
        return Err(Problem::new(Code::InvalidRequest, detail));
    }
    let matching = |worker: RegisteredWorker| selection.matches(&worker.report).then_some(worker.report.id);
    let mut told = Vec::new();
    for id in app.engine.workers().await?.into_iter().filter_map(matching) {
        match app.engine.set_draining(&id, draining).await {
            Ok(config) => {
                adopt(app, &config);
                told.push(id);
            }
            // It ended meanwhile.
            Err(Error::UnknownWorker(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let audited = Audited::counts([("workers", told.len() as u64)]).with_ids(told.iter());
    Ok(audited.answer(axum::Json(SteeredView { workers: told })))
}

fn adopt(app: &App, config: &Arc<Config>) {
    app.live.adopt(config);
}
