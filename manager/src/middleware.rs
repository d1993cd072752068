//! The middleware of every route. It counts, times and logs each request, refuses requests for a foreign host name or from a
//! foreign page ([`crate::guard`]), refuses query parameters that the operation does not have
//! ([`crate::known_parameters`]), and answers a panic in a handler.
//!
//! All of it is one layer, because a router boxes each of its layers and clones them all for each request.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::panic::words_of;
use tracing::Instrument;

use crate::{app::App, guard::Guard, known_parameters::KnownParameters};

/// State of the middleware.
#[derive(Debug)]
pub(crate) struct Middleware {
    pub(crate) app: Arc<App>,
    pub(crate) guard: Guard,
    pub(crate) known: KnownParameters,
}

impl Middleware {
    fn check(&self, request: &Request, route: Option<&MatchedPath>) -> Result<()> {
        self.guard.check(request)?;
        match route {
            Some(route) => self.known.check(request.method(), route.as_str(), request.uri()),
            None => Ok(()),
        }
    }
}

/// Handles one request.
pub(crate) async fn handle(State(middleware): State<Arc<Middleware>>, request: Request, next: Next) -> Response {
    let span = tracing::debug_span!("request", method = %request.method(), uri = %request.uri());
    let answer = async {
        tracing::debug!("received");
        let route = request.extensions().get::<MatchedPath>().cloned();
        let underway = middleware.app.meters.request(request.method(), route.clone());
        let mut response = even_if_it_panics(async {
            match middleware.check(&request, route.as_ref()) {
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        })
        .await;
        response.headers_mut().entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        let took = underway.answered(&response);
        tracing::debug!(status = response.status().as_u16(), ?took, "answered");
        response
    };
    answer.instrument(span).await
}

async fn even_if_it_panics(answer: impl Future<Output = Response>) -> Response {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|panic| panicked(&*panic))
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let message = words_of(panic).unwrap_or("no message");
    tracing::error!(message, "a request handler panicked");
    Problem::new(Code::Internal, "a defect was met; the log tells more").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_as_a_defect() {
        let response = even_if_it_panics(async { panic!("of {}", 1) }).await;
        assert_eq!(response.status(), axum::http::StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.extensions().get::<Code>(), Some(&Code::Internal));
    }
}
