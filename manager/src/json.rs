//! Reading JSON from requests, with errors that say where and what.

use serde::Deserialize;

use crate::problem::{Code, Problem};

/// Reads one JSON document.
///
/// The plain parser is tried first; only what it refuses is read again with a trail, to say which field is meant.
///
/// # Errors
/// [`Code::MalformedJson`] for what is no JSON, with its place; [`Code::InvalidRequest`] for JSON of another shape,
/// with a pointer to the field.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| explain::<T>(bytes, &error))
}

#[cold]
fn explain<'a, T: Deserialize<'a>>(bytes: &'a [u8], error: &serde_json::Error) -> Problem {
    if bytes.is_empty() {
        return Problem::new(Code::MalformedJson, "the body is empty; it must be a JSON object");
    }
    if !error.is_data() {
        return Problem::new(Code::MalformedJson, format!("the body is not JSON: {error}"));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut reader) else {
        return Problem::new(Code::InvalidRequest, error.to_string());
    };
    let pointer = pointer(error.path());
    Problem::new(Code::InvalidRequest, error.inner().to_string()).at(pointer)
}

/// The path as a JSON pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(format!("/{index}")),
            Segment::Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Whether arrays and objects stand more than `limit` deep in each other. `json` is a valid JSON document: a parser
/// that keeps raw text does not descend, so it never counted.
pub(crate) fn is_deeper_than(json: &str, limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings_only() {
        let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        assert!(!is_deeper_than(&nested(64), 64));
        assert!(is_deeper_than(&nested(65), 64));
        assert!(!is_deeper_than(r#"{"a":"[[[[","b\"[[":"\\","c":["{"]}"#, 2));
        assert!(is_deeper_than(r#"{"a":"\\","b":[[]]}"#, 2));
        assert!(!is_deeper_than("[[],[],[],{}]", 2), "neighbours do not add up");
    }

    #[test]
    fn an_error_says_where() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            #[serde(rename = "tasks")]
            _tasks: Vec<u8>,
        }
        let problem = decode::<Body>(br#"{"tasks":[1,"x"]}"#).unwrap_err();
        assert_eq!((problem.code(), problem.pointer()), (Code::InvalidRequest, Some("/tasks/1")));
        let problem = decode::<Body>(br#"{"task":[]}"#).unwrap_err();
        assert!(problem.detail().contains("unknown field `task`"), "{problem:?}");
        let problem = decode::<Body>(b"{\"tasks\":\n[1,").unwrap_err();
        assert!(problem.code() == Code::MalformedJson && problem.detail().contains("line 2"), "{problem:?}");
    }
}
