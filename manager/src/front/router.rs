//! Puts the routes, their description and the middleware together.

use std::sync::Arc;

use axum::{
    Router,
    http::{Method, Uri},
    middleware::from_fn_with_state,
};
use jobbers_api::problem::{Code, Problem};
use jobbers_boards::taskstore::Unit;

use crate::{
    api,
    app::App,
    audit::AuditedOperations,
    doors::{Doors, Requirements},
    front::{
        forms,
        known_parameters::KnownParameters,
        live_pages::{self, Live},
        middleware::{Middleware, handle},
        swagger_ui, taskstore,
    },
    listening::{guard::Guard, listeners::Exposure},
    pages::{self, PageSettings},
};

/// The whole service.
pub(crate) fn router(app: Arc<App>, guard: Guard) -> Router {
    let (routes, description) = api::routes().split_for_parts();
    let known = KnownParameters::of(&description);
    let audited = AuditedOperations::of(&description);
    #[expect(clippy::expect_used, reason = "every operation of the program has a scope; a test makes the router")]
    let requirements = Requirements::of(&description).expect("every operation says what it needs");
    // The first listener is that of the native API.
    let doors = Doors::of(requirements, app.exposures.first().is_some_and(Exposure::needs_keys));
    let checked =
        from_fn_with_state(Arc::new(Middleware { app: Arc::clone(&app), guard, doors, known, audited }), handle);
    let api = routes
        .merge(swagger_ui::routes(&description))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        // Behind the line above: to the front's clients, a wrong method has no body.
        .merge(taskstore::mounted(&app))
        .layer(checked.clone())
        .with_state(Arc::clone(&app));
    let settings = PageSettings { speaks_tls: app.speaks_tls(), trace_url: app.trace_url.clone() };
    // A page's own requests to the API are checked as those of any client.
    let pages = pages::routes(api.clone(), settings).method_not_allowed_fallback(unknown_method);
    let forms = from_fn_with_state(Arc::clone(&app), forms::bounded);
    let live = from_fn_with_state(Live { app, pages: pages.clone() }, live_pages::around);
    pages.layer(live).layer(forms).layer(checked).merge(api)
}

/// What TaskStore's clients find at the root of a port of their own.
pub(crate) fn taskstore(app: &Arc<App>, guard: Guard, doors: Doors, unit: Unit) -> Router {
    let middleware = Middleware {
        app: Arc::clone(app),
        guard,
        doors,
        known: KnownParameters::default(),
        audited: AuditedOperations::default(),
    };
    taskstore::front(app, unit).layer(from_fn_with_state(Arc::new(middleware), handle))
}

async fn unknown_path(uri: Uri) -> Problem {
    Problem::new(Code::NotFound, format!("there is nothing at {}; see /openapi.json", uri.path()))
}

async fn unknown_method(method: Method, uri: Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take {method}", uri.path()))
}
