//! A list that is written as its client reads it: a piece of it is text at a time, never the whole.

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use jobbers_api::problem::{Code, Problem, Result};
use serde::Serialize;

/// From how many bytes on a piece is written.
const PIECE_BYTES: usize = 64 * 1024;

/// An object with all entries in one field. They are made one by one, and a list of one piece is answered whole.
///
/// # Errors
/// [`Code::Internal`] for an entry of the first piece that can't be written. A later one breaks the answer off.
pub(in crate::api) fn answer<V: Serialize>(
    field: &str,
    entries: impl Iterator<Item = V> + Send + 'static,
) -> Result<Response> {
    let mut list = List { entries, has_entries: false, is_over: false };
    let first = list.piece(format!("{{\"{field}\":[").into_bytes());
    let first = first.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let kind = [(header::CONTENT_TYPE, "application/json")];
    if list.is_over {
        return Ok((kind, first).into_response());
    }
    let pieces = stream::unfold((Some(first), list), |(first, mut list)| async move {
        let piece = match first {
            Some(first) => Ok(first),
            None if list.is_over => return None,
            None => list.piece(Vec::new()),
        };
        Some((piece.map(Bytes::from), (None, list)))
    });
    Ok((kind, Body::from_stream(pieces)).into_response())
}

struct List<I> {
    entries: I,
    has_entries: bool,
    is_over: bool,
}

impl<V: Serialize, I: Iterator<Item = V>> List<I> {
    /// Some text, with the next entries after it, and the end of the list if it ends with them.
    fn piece(&mut self, mut text: Vec<u8>) -> serde_json::Result<Vec<u8>> {
        for entry in self.entries.by_ref() {
            if std::mem::replace(&mut self.has_entries, true) {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, &entry)?;
            if text.len() >= PIECE_BYTES {
                return Ok(text);
            }
        }
        self.is_over = true;
        text.extend_from_slice(b"]}");
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn a_list_is_whole_and_is_made_no_faster_than_it_is_read() {
        for count in [0, 1, 2, 5_000] {
            let made = Arc::new(AtomicUsize::new(0));
            let entries = (0..count).map({
                let made = Arc::clone(&made);
                move |n| {
                    made.fetch_add(1, Ordering::Relaxed);
                    json!({"n": n, "text": "x".repeat(100)})
                }
            });
            let mut body = answer("entries", entries).unwrap().into_body();
            let mut text = Vec::new();
            while let Some(piece) = body.frame().await {
                text.extend_from_slice(&piece.unwrap().into_data().unwrap());
                assert!(made.load(Ordering::Relaxed) <= text.len() / 100 + 1, "no more than is read");
            }
            let read: Value = serde_json::from_slice(&text).unwrap();
            let numbers: Vec<u64> =
                read["entries"].as_array().unwrap().iter().map(|entry| entry["n"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }
}
