//! The name of a request, by which its log lines, its answer and a proxy's log are found.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use jobbers_common::limits::MAX_NAME_BYTES;

/// The header with it.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The one that a proxy gave a request, or a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_legal = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
        (1..=MAX_NAME_BYTES).contains(&bytes.len()) && bytes.iter().all(is_word)
    };
    let given = headers.get(REQUEST_ID).filter(is_legal).cloned();
    given.unwrap_or_else(|| {
        let random = rand::random::<u64>();
        let made: [u8; 16] = std::array::from_fn(|place| b"0123456789abcdef"[(random >> (4 * place)) as usize % 16]);
        HeaderValue::from_bytes(&made).unwrap_or(HeaderValue::from_static("-"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_the_id_of_a_proxy_and_gets_one_without() {
        let with = |id: &str| HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_str(id).unwrap())]);
        assert_eq!(request_id(&with("7f:9-a_B.c")), "7f:9-a_B.c");
        let long = "x".repeat(129);
        for wrong in ["", "a b", "a\"b", "<script>", &long] {
            assert_eq!(request_id(&with(wrong)).len(), 16, "{wrong}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
