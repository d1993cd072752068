//! JSON merge patch (RFC 7396) over bytes: fields that the patch does not name stay as they were written, including
//! numbers.

use std::collections::BTreeMap;

use serde_json::{Result, value::RawValue};

use jobbers_api::wire::json::is_object;

type Members = BTreeMap<String, Box<RawValue>>;

/// The document merged with the patch.
///
/// # Errors
/// If the document is not JSON.
pub(super) fn merge(document: &[u8], patch: &RawValue) -> Result<Vec<u8>> {
    let document: &RawValue = serde_json::from_slice(document)?;
    Ok(merged(Some(document), patch)?.get().as_bytes().to_vec())
}

fn members(value: &RawValue) -> Option<Members> {
    if is_object(value) { serde_json::from_str(value.get()).ok() } else { None }
}

fn merged(target: Option<&RawValue>, patch: &RawValue) -> Result<Box<RawValue>> {
    let Some(patches) = members(patch) else { return Ok(patch.to_owned()) };
    let mut result = target.and_then(members).unwrap_or_default();
    for (name, patch) in patches {
        if patch.get() == "null" {
            result.remove(&name);
        } else {
            let value = merged(result.get(&name).map(AsRef::as_ref), &patch)?;
            result.insert(name, value);
        }
    }
    serde_json::value::to_raw_value(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(document: &str, patch: &str) -> String {
        let patch: Box<RawValue> = serde_json::from_str(patch).unwrap();
        String::from_utf8(merge(document.as_bytes(), &patch).unwrap()).unwrap()
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (document, patch, expected) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            assert_eq!(patched(document, patch), expected, "{document} with {patch}");
        }
    }

    #[test]
    fn what_is_not_named_stays_to_the_digit() {
        let document = r#"{"big":12345678901234567890123,"exact":0.1000,"a":1}"#;
        assert_eq!(patched(document, r#"{"a":2}"#), r#"{"a":2,"big":12345678901234567890123,"exact":0.1000}"#);
    }
}
