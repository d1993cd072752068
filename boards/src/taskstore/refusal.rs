//! What is refused: a status and a line of text, as Go's HTTP servers write it. A conflict is no refusal.

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use jobbers_common::{engine::Error, values::text::excerpt};

/// How long a client waits where the store does not say.
const LATER: Duration = Duration::from_secs(5);

/// A refused request.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    text: String,
    retry_after: Option<Duration>,
}

/// The answer of a handler.
pub(super) type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    /// 400.
    pub(super) fn bad_request(text: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, text: text.into(), retry_after: None }
    }

    /// 413.
    pub(super) fn too_large(text: impl Into<String>) -> Self {
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, ..Self::bad_request(text) }
    }

    /// 503, for want of memory.
    pub(super) fn overloaded() -> Self {
        let text = "what is held for all clients is over max_client_memory; nothing was changed";
        let retry_after = Some(Duration::from_secs(1));
        Self { status: StatusCode::SERVICE_UNAVAILABLE, retry_after, ..Self::bad_request(text) }
    }

    /// 404.
    pub(super) fn not_found(text: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, ..Self::bad_request(text) }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let (status, retry_after) = match &error {
            Error::Invalid(_) => (StatusCode::BAD_REQUEST, None),
            Error::Unavailable { retry_after, .. } => (StatusCode::SERVICE_UNAVAILABLE, Some(*retry_after)),
            Error::Full(_) | Error::ReadOnly(_) | Error::Config(_) => (StatusCode::SERVICE_UNAVAILABLE, Some(LATER)),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, None),
        };
        if status.is_server_error() {
            tracing::debug!(%error, "the store refused");
        }
        Self { status, text: error.to_string(), retry_after }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", excerpt(self.text))).into_response();
        if let Some(after) = self.retry_after {
            // Whole seconds, rounded up: 0 would invite a storm.
            let seconds = after.as_millis().div_ceil(1_000).max(1) as u64;
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_down_asks_for_patience() {
        let down = Error::Unavailable { reason: "x".into(), retry_after: Duration::from_millis(1) };
        let response = Refusal::from(down).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        assert_eq!(Refusal::from(Error::Invalid("x".into())).into_response().status(), StatusCode::BAD_REQUEST);
    }
}
