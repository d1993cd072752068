//! The extractor of a path's variable part, which refuses like every other fault of a request.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use super::refusal::{Refusal, Result};

/// The variable part of a path.
pub(super) struct PathPart(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let part = Path::<String>::from_request_parts(parts, state).await;
        part.map(|Path(part)| Self(part)).map_err(|rejection| Refusal::bad_request(rejection.body_text()))
    }
}
