//! Forms for pages: read within the manager's bounds and counted, before a page reads them. A page knows neither.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{app::App, handlers::extract::read_bounded};

/// Most bytes of a form. The parameters of a task to submit are part of one.
const MAX_FORM_BYTES: usize = 1024 * 1024;

/// Reads the body of a request to a page.
pub(super) async fn bounded(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match read_bounded(&parts, body, MAX_FORM_BYTES, &app).await {
        Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(problem) => problem.into_response(),
    }
}
