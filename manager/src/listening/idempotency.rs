//! The header `Idempotency-Key`.

use axum::http::{HeaderMap, HeaderName};
use jobbers_api::problem::{Code, Problem, Result};

/// Its name.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A client's key, if it sent one.
///
/// # Errors
/// [`Code::InvalidParameter`].
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let visible = value.to_str().ok().filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    let key = visible.filter(|key| (1..=255).contains(&key.len()));
    key.map(Some).ok_or_else(|| {
        Problem::new(Code::InvalidParameter, "Idempotency-Key must be 1 to 255 visible ASCII characters")
    })
}
