//! Paths of the API.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but what RFC 3986 leaves unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path of the API, its segments percent-encoded: `path(["tasks", id])`.
pub fn path<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> String {
    segments.into_iter().map(|segment| format!("/{}", utf8_percent_encode(segment.as_ref(), SEGMENT))).collect()
}
