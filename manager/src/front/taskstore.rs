//! TaskStore's clients: the front of [`jobbers_boards::taskstore`] under `/taskstore` and `/taskstore-ns`, and at the root of
//! a port of its own.
//!
//! The front's errors are those that its clients expect: a status and a line of text. So are those of a body that is too
//! large, too slow or too much for the manager. What is refused before the front is asked, such as a request of a foreign
//! page, is a problem document as everywhere.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use jobbers_boards::taskstore::{self, Unit};

use crate::{app::App, handlers::extract::read_bounded};

/// The routes beside the native API.
pub(crate) fn mounted(app: &Arc<App>) -> Router<Arc<App>> {
    Router::new()
        .nest("/taskstore", front(app, Unit::Milliseconds))
        .nest("/taskstore-ns", front(app, Unit::Nanoseconds))
}

/// The routes of one base URL.
pub(crate) fn front<S: Clone + Send + Sync + 'static>(app: &Arc<App>, unit: Unit) -> Router<S> {
    taskstore::router(Arc::clone(&app.boards), unit, app.max_payload_bytes, Arc::clone(&app.memory))
        .layer(from_fn_with_state(Arc::clone(app), bounded))
}

/// Reads a body within the manager's bounds, before the front does.
async fn bounded(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match read_bounded(&parts, body, app.max_body_bytes, &app).await {
        Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(problem) => {
            let text = format!("{}\n", problem.detail());
            let (mut parts, _) = problem.into_response().into_parts();
            parts.headers.remove(axum::http::header::CONTENT_TYPE);
            (parts, text).into_response()
        }
    }
}
