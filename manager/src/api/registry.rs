//! `GET /tasks/registry`.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use jobbers_api::{problem::Result, worker::registry::RegistryView};

use crate::{api::lists::pieces, app::App, handlers::problem::problems};

problems!(RegistryProblems:);

/// What live workers can run
///
/// Each name and version, how many workers can run it, from which queues they claim, and the schema of its parameters.
#[utoipa::path(
    get, path = "/tasks/registry", tag = "workers", operation_id = "list_registered_tasks",
    security(("key" = ["workers:read"])),
    responses((status = 200, description = "The tasks, in the order of their names and versions", body = RegistryView),
        RegistryProblems)
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response> {
    let known = app.known.fresh().await?;
    pieces::answer("tasks", known.places().into_iter().filter_map(move |place| known.view(&place)))
}
