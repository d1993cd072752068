//! Problems as answers of the manager.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{MEDIA_TYPE, Problem, ProblemBody};

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (code, retry_after) = (self.code, self.retry_after);
        let mut response = (code.status(), axum::Json(ProblemBody::from(self))).into_response();
        // For the metric of refusals.
        response.extensions_mut().insert(code);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if code.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = retry_after {
            // Whole seconds, rounded up: 0 would invite a storm.
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_millis().div_ceil(1_000).max(1) as u64));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::StatusCode;
    use jobbers_common::engine::Error;

    use super::*;

    #[test]
    fn a_store_that_is_down_asks_for_patience() {
        let problem = Problem::from(Error::Unavailable { reason: "x".into(), retry_after: Duration::from_millis(1) });
        let response = problem.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        assert_eq!(response.headers()[header::CONTENT_TYPE], MEDIA_TYPE);
    }
}
