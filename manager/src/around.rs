//! What stands around every route. A request is counted, timed and told at `debug`; it is refused when it asks for a
//! foreign name or comes from a foreign page ([`crate::guard`]), or has query parameters that its operation lacks
//! ([`crate::known_parameters`]); and a panic in its handler is answered too.
//!
//! All of it is one layer: a router boxes each of its layers, and clones them all for each request.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use tracing::Instrument;

use crate::{
    app::App,
    guard::Guard,
    known_parameters::KnownParameters,
    problem::{Code, Problem, Result},
};

/// What the layer needs.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) app: Arc<App>,
    pub(crate) guard: Guard,
    pub(crate) known: KnownParameters,
}

impl Around {
    fn check(&self, request: &Request, route: Option<&MatchedPath>) -> Result<()> {
        self.guard.check(request)?;
        match route {
            Some(route) => self.known.check(request.method(), route.as_str(), request.uri()),
            None => Ok(()),
        }
    }
}

/// The layer.
pub(crate) async fn around(State(around): State<Arc<Around>>, request: Request, next: Next) -> Response {
    let span = tracing::debug_span!("request", method = %request.method(), uri = %request.uri());
    let answer = async {
        tracing::debug!("came");
        let route = request.extensions().get::<MatchedPath>().cloned();
        let underway = around.app.meters.request(request.method(), route.clone());
        let mut response = match around.check(&request, route.as_ref()) {
            Ok(()) => AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|it| panicked(&*it)),
            Err(problem) => problem.into_response(),
        };
        response.headers_mut().entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        let took = underway.answered(&response);
        tracing::debug!(status = response.status().as_u16(), ?took, "answered");
        response
    };
    answer.instrument(span).await
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(message, "a request handler panicked");
    Problem::new(Code::Internal, "a defect was met; the log tells more").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_answered_as_a_defect() {
        let thrown = std::panic::catch_unwind(|| panic!("of {}", 1)).unwrap_err();
        let response = panicked(&*thrown);
        assert_eq!(response.status(), axum::http::StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.extensions().get::<Code>(), Some(&Code::Internal));
    }
}
