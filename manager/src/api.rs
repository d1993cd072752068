//! The native HTTP API: one function per operation, each with its description for OpenAPI.
//!
//! A handler reads the request, calls a verb of the store, and returns the answer; it decides nothing that the store
//! decides. [`routes`] is the list of all handlers, and the OpenAPI document comes from the same list.

use std::sync::Arc;

use utoipa::OpenApi;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

use crate::{
    app::App,
    handlers::{described, examples},
};
use jobbers_api::problem::ProblemBody;

mod access;
mod boards;
mod dead_letters;
mod health;
mod leases;
mod lists;
mod metrics;
mod overview;
mod queues;
mod registry;
mod schedules;
mod store;
mod tasks;
mod workers;
mod workflows;

pub(crate) use self::tasks::submit::check_templates;

/// The head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Jobbers",
        description = "Submit background tasks, follow them, cancel them, send again what failed, and arrange queues, roles, routing, schedules and workflows.\n\n\
            Errors are problem documents (RFC 9457) with a stable `code`. Durations are written `500ms`, `10s`, `5m`; \
            a bare number is seconds. Times are RFC 3339. Ids may hold `/`: percent-encode them in paths.",
    ),
    components(schemas(ProblemBody)),
    tags(
        (name = "tasks", description = "Submit, look, cancel"),
        (name = "leases", description = "Workers in any language: lease tasks, keep the leases, return the tasks"),
        (name = "dead letters", description = "What failed for good, why, and sending it again"),
        (name = "queues", description = "Where tasks wait"),
        (name = "roles", description = "Which queues which workers serve"),
        (name = "routing", description = "Which queue a task goes to"),
        (name = "schedules", description = "What is started by cron or at an interval"),
        (name = "workflows", description = "Graphs of tasks, submitted, watched and kept as one run"),
        (name = "workers", description = "Who runs tasks"),
        (name = "boards", description = "What clients of MassTasker and TaskStore keep: look, delete, end a lease"),
        (name = "store", description = "Whether everything in the store agrees, and its repair"),
        (name = "keys", description = "What clients sign in with"),
        (name = "audit log", description = "Who changed what"),
        (name = "health", description = "Whether all is well"),
    )
)]
struct Head;

/// Every operation, and the head of the document.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    let head = OpenApiRouter::with_openapi(Head::openapi())
        // A task may be called `cancel`, which is also the path of an operation.
        .route("/tasks/cancel", axum::routing::get(tasks::show::get_task_named_so))
        .route("/tasks/reschedule", axum::routing::get(tasks::show::get_task_named_so))
        .route("/tasks/delete", axum::routing::get(tasks::show::get_task_named_so))
        .route("/tasks/statuses", axum::routing::get(tasks::show::get_task_named_so));
    let mut routes = operations().into_iter().fold(head, OpenApiRouter::routes);
    examples::add_to(routes.get_openapi_mut());
    described::add_to(routes.get_openapi_mut());
    routes
}

fn operations() -> Vec<UtoipaMethodRouter<Arc<App>>> {
    [of_work(), of_arrangement()].into_iter().flatten().collect()
}

/// Tasks, their ends, and the queues in which they wait.
fn of_work() -> Vec<UtoipaMethodRouter<Arc<App>>> {
    vec![
        routes!(tasks::submit::submit, tasks::show::list),
        routes!(tasks::cancel::cancel_many),
        routes!(tasks::reschedule::reschedule_many),
        routes!(tasks::delete::delete_many),
        routes!(tasks::resubmit::resubmit_many),
        routes!(tasks::statuses::statuses),
        routes!(tasks::show::get_task),
        routes!(tasks::events::events),
        routes!(tasks::show::predecessors),
        routes!(tasks::cancel::cancel_one),
        routes!(tasks::reschedule::reschedule_one),
        routes!(tasks::resubmit::resubmit),
        routes!(tasks::signal::signal),
        routes!(tasks::reveal::reveal),
        routes!(tasks::dependencies::add_to_task),
        routes!(tasks::dependencies::add_many),
        routes!(leases::lease),
        routes!(leases::extend),
        routes!(leases::give_back),
        routes!(dead_letters::list, dead_letters::delete),
        routes!(dead_letters::stats),
        routes!(dead_letters::resubmit),
        routes!(dead_letters::operations::list),
        routes!(dead_letters::operations::operation, dead_letters::operations::cancel),
        routes!(dead_letters::get),
        routes!(dead_letters::reveal),
        routes!(dead_letters::history),
        routes!(tasks::explain::explain),
        routes!(tasks::activity::active_tasks),
        routes!(tasks::activity::scheduled_tasks),
        routes!(queues::list, queues::create),
        routes!(queues::get, queues::put, queues::delete),
        routes!(queues::history::all),
        routes!(queues::history::one),
        routes!(queues::explain::explain),
        routes!(queues::pause),
        routes!(queues::resume),
        routes!(queues::purge),
    ]
}

/// What says who does which work when, who may do what, and whether all is well.
fn of_arrangement() -> Vec<UtoipaMethodRouter<Arc<App>>> {
    vec![
        routes!(queues::roles::list, queues::roles::create),
        routes!(queues::roles::get, queues::roles::put, queues::roles::delete),
        routes!(queues::roles::refresh),
        routes!(queues::routing::list, queues::routing::put, queues::routing::delete),
        routes!(schedules::list, schedules::create),
        routes!(schedules::get, schedules::put, schedules::delete),
        routes!(schedules::pause),
        routes!(schedules::resume),
        routes!(schedules::run),
        routes!(schedules::next),
        routes!(schedules::preview),
        routes!(workflows::list, workflows::submit),
        routes!(workflows::get, workflows::delete),
        routes!(workflows::cancel),
        routes!(workflows::retry),
        routes!(boards::list),
        routes!(boards::groups),
        routes!(boards::tasks, boards::delete_group),
        routes!(boards::get, boards::delete),
        routes!(boards::release),
        routes!(store::examine),
        routes!(store::repair),
        routes!(registry::list),
        routes!(workers::list),
        routes!(workers::drain_matching),
        routes!(workers::resume_matching),
        routes!(workers::drain),
        routes!(workers::resume),
        routes!(access::keys::list, access::keys::create),
        routes!(access::keys::get, access::keys::delete),
        routes!(access::keys::rotate),
        routes!(access::keys::revoke),
        routes!(access::audit_log::list),
        routes!(access::session::begin, access::session::end),
        routes!(overview::overview),
        routes!(health::live),
        routes!(health::ready),
        routes!(metrics::metrics),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn no_two_types_have_one_name_in_the_document() {
        let mut seen = BTreeMap::from_iter(Head::openapi().components.expect("the head has some").schemas);
        assert!(!seen.is_empty());
        for (name, schema) in operations().into_iter().flat_map(|(schemas, ..)| schemas) {
            let first = seen.entry(name.clone()).or_insert_with(|| schema.clone());
            assert!(*first == schema, "two types are called {name}; the document keeps one");
        }
    }
}
