//! The header `Idempotency-Key`.

use axum::http::HeaderValue;
use jobbers_api::problem::{Code, Problem, Result};

/// A client's key, if it is one.
pub(crate) fn idempotency_key(value: &HeaderValue) -> Result<&str> {
    let visible = value.to_str().ok().filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    visible.filter(|key| (1..=255).contains(&key.len())).ok_or_else(|| {
        Problem::new(Code::InvalidParameter, "Idempotency-Key must be 1 to 255 visible ASCII characters")
    })
}
