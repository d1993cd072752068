//! Puts the routes, their description and what stands around all of them together.

use std::{any::Any, sync::Arc};

use axum::{
    Router,
    http::{HeaderValue, Method, Uri, header},
    response::{IntoResponse, Response},
};
use tower_http::{catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer, trace::TraceLayer};
use utoipa_swagger_ui::SwaggerUi;

use crate::{
    api,
    app::App,
    guard::{self, Guard},
    known_parameters::{self, KnownParameters},
    meters,
    problem::{Code, Problem},
};

/// The whole service.
pub(crate) fn router(app: Arc<App>, guard: Guard) -> Router {
    let (routes, description) = api::routes().split_for_parts();
    let known = Arc::new(KnownParameters::of(&description));
    routes
        .route_layer(axum::middleware::from_fn_with_state(known, known_parameters::check))
        .merge(SwaggerUi::new("/docs").url("/openapi.json", description))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(SetResponseHeaderLayer::if_not_present(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(axum::middleware::from_fn_with_state(Arc::new(guard), guard::guard))
        // Failures are answered with their code and told by the chores once; a line for each would flood the log.
        .layer(TraceLayer::new_for_http().on_failure(()))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), meters::measure))
        .with_state(app)
}

async fn unknown_path(uri: Uri) -> Problem {
    Problem::new(Code::NotFound, format!("there is nothing at {}; see /openapi.json", uri.path()))
}

async fn unknown_method(method: Method, uri: Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take {method}", uri.path()))
}

#[expect(clippy::needless_pass_by_value, reason = "the layer's signature")]
fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(message, "a request handler panicked");
    Problem::new(Code::Internal, "a defect was met; the log tells more").into_response()
}
