//! The W3C `traceparent`, which tasks and settlements carry. Nothing here makes spans: `process::telemetry` does.

/// How long a `traceparent` is.
pub const TRACEPARENT_BYTES: usize = 55;

/// Whether a text is one: `00-<32 hex>-<16 hex>-<2 hex>`, in small letters.
#[must_use]
pub fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut parts = text.split('-');
    let lengths = [2, 32, 16, 2].iter().all(|length| parts.next().is_some_and(|it| it.len() == *length && is_hex(it)));
    lengths && parts.next().is_none() && text.starts_with("00-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_traceparent_is_one() {
        let whole = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(is_traceparent(whole));
        assert_eq!(whole.len(), TRACEPARENT_BYTES);
        for bad in [
            "",
            "00-1-1-01",
            &whole[..54],
            &format!("{whole}-"),
            &whole.replace("00-4", "ff-4"),
            &whole.replace('f', "F"),
            &whole.replace('4', "x"),
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }
}
