//! The three ways in which clients send a request: the body is JSON, or a form with a field of JSON, or the query has
//! that field. What a body is, is read off its first letter: the Go client sends no content type, and `curl -d` sends
//! that of a form with everything.

use axum::body::Bytes;
use jobbers_common::values::counted::{Counted, Counter, MAX_VALUES, Refused};
use jobbers_process::server::memory::{Kind, MemoryShare};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task,
};

use super::refusal::{Refusal, Result};

/// From how many bytes on reading a request may take more than a millisecond.
const LONG_BYTES: usize = 64 * 1024;

/// A request from wherever it is. `field` is the name of the field; `nothing` is the answer when it is nowhere. What its values
/// take in memory is counted in `share`.
pub(super) fn decode<T: DeserializeOwned>(
    share: &MemoryShare,
    body: &Bytes,
    query: Option<&str>,
    field: &str,
    nothing: &str,
) -> Result<T> {
    let is_long = body.len() > LONG_BYTES && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    let read = || search(share, body, query, field, nothing);
    // The other connections of this thread are handed over first.
    if is_long { task::block_in_place(read) } else { read() }
}

fn search<T: DeserializeOwned>(
    share: &MemoryShare,
    body: &Bytes,
    query: Option<&str>,
    field: &str,
    nothing: &str,
) -> Result<T> {
    let grow = |bytes| share.grow(Kind::Payload, bytes);
    let counter = Counter::new(&grow);
    let found = read_any(&counter, body, query, field, nothing);
    match counter.refused() {
        None => found,
        Some(Refused::TooMany) => {
            Err(Refusal::too_large(format!("a request has at most {MAX_VALUES} texts, numbers, lists and objects")))
        }
        Some(Refused::NoMemory) => Err(Refusal::overloaded()),
    }
}

fn read_any<T: DeserializeOwned>(
    counter: &Counter<'_>,
    body: &Bytes,
    query: Option<&str>,
    field: &str,
    nothing: &str,
) -> Result<T> {
    if is_json(body) {
        return read(counter, body);
    }
    let value = find(counter, body, field).or_else(|| find(counter, query?.as_bytes(), field));
    match value {
        Some(value) => read(counter, value.as_bytes()),
        None if body.iter().all(u8::is_ascii_whitespace) => Err(Refusal::bad_request(nothing)),
        // Neither a form with the field nor an object: JSON's decoder says best what is wrong.
        None => read(counter, body),
    }
}

fn is_json(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

/// The first field of that name in a form or a query.
fn find(counter: &Counter<'_>, form: &[u8], field: &str) -> Option<String> {
    let reader = serde_html_form::Deserializer::from_bytes(form);
    let pairs = Vec::<(String, String)>::deserialize(Counted::new(reader, counter)).ok()?;
    pairs.into_iter().find(|(name, _)| name == field).map(|(_, value)| value)
}

fn read<T: DeserializeOwned>(counter: &Counter<'_>, json: &[u8]) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(Counted::new(&mut reader, counter)).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.inner());
        let place = if path == "." || path == "?" { String::new() } else { format!("{path}: ") };
        Refusal::bad_request(format!("{place}{reason}"))
    })?;
    reader.end().map_err(|error| Refusal::bad_request(error.to_string()))?;
    Ok(value)
}
