//! Requests for the archive of dead letters and of the audit log: answered here if this manager keeps it, otherwise passed on to
//! the manager that does.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{FromRequest, FromRequestParts, MatchedPath, Request},
    http::{HeaderMap, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use jobbers_api::problem::{Code, Problem};
use jobbers_archive::Archive;

use crate::{
    app::App,
    audit::audited::PassedOn,
    dead_letters::{
        finding::{NotHere, held_up_to_date},
        holding::DeadLetters,
        view::unavailable,
    },
    handlers::extract::WholeRequest,
    listening::passed_on::PASSED_ON,
};

/// How the paths of the operations on dead letters begin: a manager that does not keep the archive passes them on.
const OPERATIONS: &str = "/dead-letter-queue";

/// The path of the audit log, which is in the same archive.
const AUDIT_LOG: &str = "/audit";

/// Whether the operations of a route are carried out where the archive is.
pub(crate) fn need_archive(route: &str) -> bool {
    route.starts_with(OPERATIONS) || route == AUDIT_LOG
}

/// The operation that may need a dead letter.
const RESUBMIT: &str = "/tasks/{id}/resubmit";

/// Whether another manager passed a request on, as one does only for dead letters. A page of another site can't send the header.
pub(crate) fn is_passed_on(headers: &HeaderMap, route: Option<&MatchedPath>) -> bool {
    route.is_some_and(|route| may_be_passed_on(route.as_str())) && headers.contains_key(PASSED_ON)
}

/// Whether a manager may pass requests to a route on.
pub(crate) fn may_be_passed_on(route: &str) -> bool {
    need_archive(route) || route == RESUBMIT
}

/// The archive, for a handler of an operation on dead letters.
#[derive(Debug, Clone)]
pub(crate) struct LocalArchive(pub(crate) Arc<Archive>);

impl<S: Sync> FromRequestParts<S> for LocalArchive {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = parts.extensions.get().cloned();
        found.ok_or_else(|| Problem::new(Code::Internal, "the archive was not looked for"))
    }
}

/// Answers a request for one of [`OPERATIONS`] where the dead letters are kept: it goes on to its handler with the archive, or to
/// another manager.
pub(crate) async fn answer(app: &Arc<App>, mut request: Request, next: Next) -> Response {
    match held_up_to_date(&app.dead_letters).await {
        Ok(archive) => {
            request.extensions_mut().insert(LocalArchive(archive));
            next.run(request).await
        }
        Err(elsewhere) => match WholeRequest::from_request(request, app).await {
            Ok(request) => elsewhere.answer(&app.dead_letters, request).await,
            Err(problem) => problem.into_response(),
        },
    }
}

impl NotHere {
    /// The answer to a request for it.
    pub(crate) async fn answer(self, letters: &DeadLetters, request: WholeRequest) -> Response {
        match self {
            Self::Nowhere(problem) => problem.into_response(),
            Self::At(_) if request.parts.headers.contains_key(PASSED_ON) => unavailable(
                "another manager passed this request on, and the archive has just changed hands; send it again",
            )
            .into_response(),
            Self::At(url) => {
                let WholeRequest { parts, body } = request;
                let passed_on = Box::pin(letters.client.pass_on(&url, parts, body)).await;
                match passed_on {
                    Ok(answer) => (Extension(PassedOn), answer).into_response(),
                    Err(problem) => problem.into_response(),
                }
            }
        }
    }
}
