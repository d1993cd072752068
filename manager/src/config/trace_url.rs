//! The address of the trace viewer to which pages link.

use axum::http::Uri;

/// What is replaced by the id of a trace.
const TRACE_ID: &str = "{trace_id}";

/// Checks the address; empty is none.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let wrong = |why: &str| format!("trace_url {why}, such as https://tempo.example/trace/{TRACE_ID}; not {text:?}");
    if !text.contains(TRACE_ID) {
        return Err(wrong(&format!("must contain {TRACE_ID}")));
    }
    let uri: Uri = text.replace(TRACE_ID, "0").parse().map_err(|_| wrong("must be an address"))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty());
    if is_http { Ok(()) } else { Err(wrong("must begin with http:// or https://")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_trace_viewer_is_http_and_has_a_place_for_the_id() {
        for fine in ["", "https://tempo.example/trace/{trace_id}", "http://[::1]:16686/trace/{trace_id}?x=%7B#a"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (odd, says) in [
            ("https://tempo.example/trace/", "must contain {trace_id}"),
            ("javascript:alert(1)//{trace_id}", "trace_url must"),
            ("ftp://tempo.example/{trace_id}", "must begin with http"),
            ("/trace/{trace_id}", "must begin with http"),
            ("https:///{trace_id}", "must"),
            ("https://a b/{trace_id}", "must be an address"),
        ] {
            assert!(check(odd).unwrap_err().contains(says), "{odd}: {:?}", check(odd));
        }
    }
}
