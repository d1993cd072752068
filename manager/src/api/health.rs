//! `GET /health/live` and `GET /health/ready`.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result},
    worker::{LiveView, ReadyView},
};
use jobbers_common::engine::Error;

use crate::{
    app::App,
    dead_letters::changes,
    doors::{KeysNeeded, Visitor, sessions::OfPage},
    handlers::problem::problems,
    listening::identity::Identity,
};

/// A probe needs an answer now; a store that is slower than this is as good as down.
const PATIENCE: Duration = Duration::from_secs(2);

problems!(ReadyProblems: [Code::ShuttingDown]);

/// Whether the process is alive
///
/// Calls no other process, so it also shows what an empty request costs.
#[utoipa::path(
    get, path = "/health/live", tag = "health", operation_id = "live",
    security(()),
    responses((status = 200, description = "It is", body = LiveView))
)]
pub(crate) async fn live() -> Response {
    Json(LiveView { status: "live".into() }).into_response()
}

/// A manager is not ready whatever keeps its store from answering, also damage: it is no defect of the manager.
fn not_ready(error: Error) -> Problem {
    match error {
        Error::Corrupt(_) => Problem::new(Code::StoreUnavailable, error.to_string()),
        error => error.into(),
    }
}

/// Whether the manager can do its work, and what its store guarantees
///
/// It needs no key. Without one the answer has `status` alone, if the store has keys.
#[utoipa::path(
    get, path = "/health/ready", tag = "health", operation_id = "ready",
    security(()),
    responses((status = 200, description = "It can", body = ReadyView), ReadyProblems)
)]
pub(crate) async fn ready(
    State(app): State<Arc<App>>,
    needed: Option<Extension<KeysNeeded>>,
    page: Option<Extension<OfPage>>,
    identity: Option<Extension<Identity>>,
    headers: HeaderMap,
) -> Result<Response> {
    if app.leaving.is_cancelled() {
        return Err(Problem::new(Code::ShuttingDown, "this manager is about to stop"));
    }
    let mut health = tokio::time::timeout(PATIENCE, app.engine.health())
        .await
        .unwrap_or_else(|_| Err(Error::unavailable("it did not answer within 2s")))
        .map_err(not_ready)?;
    health.warnings.extend(app.dead_letters.warnings(health.outbox));
    health.warnings.extend(health.tombstones.warning(health.now));
    health.warnings.extend(app.listener_warnings());
    health.warnings.extend(changes::warning(&*app.engine).await);
    let (needed, page) = (needed.map(|Extension(needed)| needed), page.map(|Extension(page)| page));
    let identity = identity.as_ref().map(|Extension(identity)| identity);
    let signed_in_as = match Visitor::of(&app, &headers, identity, needed, page).await? {
        Visitor::Anonymous => return Ok(Json(ReadyView::without_details()).into_response()),
        Visitor::Any => None,
        Visitor::Key(key) => Some(key.name.clone()),
    };
    let view = ReadyView::new(health, app.started.elapsed().as_secs_f64());
    Ok(Json(ReadyView { insecure: app.insecure(), signed_in_as, ..view }).into_response())
}
