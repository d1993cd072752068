//! The three ways in which clients send a request: the body is JSON, or a form with a field of JSON, or the query has
//! that field. What a body is, is read off its first letter: the Go client sends no content type, and `curl -d` sends
//! that of a form with everything.

use axum::body::Bytes;
use serde::de::DeserializeOwned;

use super::refusal::{Refusal, Result};

/// A request from wherever it is. `field` is the name of the field; `nothing` is the answer when it is nowhere.
pub(super) fn decode<T: DeserializeOwned>(body: &Bytes, query: Option<&str>, field: &str, nothing: &str) -> Result<T> {
    let is_blank = body.iter().all(u8::is_ascii_whitespace);
    let value = match (find(body, field), query) {
        _ if is_json(body) => return read(body),
        (Some(value), _) => Some(value),
        (None, Some(query)) => find(query.as_bytes(), field),
        (None, None) => None,
    };
    match value {
        Some(value) => read(value.as_bytes()),
        None if is_blank => Err(Refusal::bad_request(nothing)),
        // Neither a form with the field nor an object: JSON's decoder says best what is wrong.
        None => read(body),
    }
}

fn is_json(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

/// The first field of that name in a form or a query.
fn find(form: &[u8], field: &str) -> Option<String> {
    let pairs: Vec<(String, String)> = serde_html_form::from_bytes(form).ok()?;
    pairs.into_iter().find(|(name, _)| name == field).map(|(_, value)| value)
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.inner());
        let place = if path == "." || path == "?" { String::new() } else { format!("{path}: ") };
        Refusal::bad_request(format!("{place}{reason}"))
    })?;
    reader.end().map_err(|error| Refusal::bad_request(error.to_string()))?;
    Ok(value)
}
