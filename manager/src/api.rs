//! The native HTTP API: one function per operation, each with its description for OpenAPI.
//!
//! A handler reads what came, calls a verb of the store, and tells the answer; it decides nothing that the store
//! decides. [`routes`] is the list of all of them, and the OpenAPI document comes from the same list.

use std::sync::Arc;

use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, problem::ProblemBody};

mod activity;
mod dead_letters;
mod health;
mod listing;
mod metrics;
mod operations;
mod queues;
mod registry;
mod roles;
mod routing;
mod tasks;
mod workers;

/// What stands at the head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Jobbers",
        description = "Submit background tasks, follow them, cancel them, send again what failed, and arrange queues, roles and routing.\n\n\
            Errors are problem documents (RFC 9457) with a stable `code`. Durations are written `500ms`, `10s`, `5m`; \
            a bare number is seconds. Times are RFC 3339. Ids may hold `/`: percent-encode them in paths.",
    ),
    components(schemas(ProblemBody)),
    tags(
        (name = "tasks", description = "Submit, look, cancel"),
        (name = "dead letters", description = "What failed for good, why, and sending it again"),
        (name = "queues", description = "Where tasks wait"),
        (name = "roles", description = "Which queues which workers serve"),
        (name = "routing", description = "Which queue a task goes to"),
        (name = "workers", description = "Who runs tasks"),
        (name = "health", description = "Whether all is well"),
    )
)]
struct Head;

/// Every operation.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Head::openapi())
        .routes(routes!(tasks::submit::submit, tasks::look::list))
        .routes(routes!(tasks::cancel::cancel_many))
        // A task may be called `cancel`; its own path is the one above.
        .route("/tasks/cancel", axum::routing::get(tasks::look::get_task_named_cancel))
        .routes(routes!(tasks::look::get_task))
        .routes(routes!(tasks::cancel::cancel_one))
        .routes(routes!(tasks::resubmit::resubmit))
        .routes(routes!(dead_letters::list, dead_letters::delete))
        .routes(routes!(dead_letters::stats))
        .routes(routes!(dead_letters::resubmit))
        .routes(routes!(operations::list))
        .routes(routes!(operations::operation, operations::cancel))
        .routes(routes!(dead_letters::get))
        .routes(routes!(dead_letters::history))
        .routes(routes!(tasks::explain::explain))
        .routes(routes!(activity::active_tasks))
        .routes(routes!(activity::scheduled_tasks))
        .routes(routes!(queues::list, queues::create))
        .routes(routes!(queues::get, queues::put, queues::delete))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(queues::purge))
        .routes(routes!(roles::list, roles::create))
        .routes(routes!(roles::get, roles::put, roles::delete))
        .routes(routes!(roles::refresh))
        .routes(routes!(routing::list, routing::put, routing::delete))
        .routes(routes!(registry::list))
        .routes(routes!(workers::list))
        .routes(routes!(workers::drain_matching))
        .routes(routes!(workers::resume_matching))
        .routes(routes!(workers::drain))
        .routes(routes!(workers::resume))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::metrics))
}
