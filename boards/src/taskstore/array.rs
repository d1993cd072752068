//! A JSON list that is written as it is read: it costs the memory of a piece, whatever its length.
//!
//! Should the store fail halfway, the connection is cut, and the client can't take a part for the whole.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use jobbers_process::server::memory::ClientMemory;
use serde::Serialize;

use super::refusal::Result;

/// A way along a list.
pub(super) trait ItemSource: Sized + Send + 'static {
    /// The next items, as [`items`] writes them, and the rest of the way, if there is one.
    fn next(self) -> impl Future<Output = Result<(String, Option<Self>)>> + Send;
}

/// Items as JSON, separated by commas.
pub(super) fn items(of: &[impl Serialize]) -> String {
    // Every type that is listed can be written as JSON.
    let list = serde_json::to_string(of).unwrap_or_default();
    list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default().to_owned()
}

/// The list along the way. The first piece is read before this returns, so that its failure has a status.
pub(super) async fn answer<W: ItemSource>(memory: Arc<ClientMemory>, source: W) -> Result<Response> {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    let (first, rest) = piece(&memory, source).await?;
    if rest.is_none() {
        return Ok((kind, format!("[{first}]")).into_response());
    }
    let has_items = !first.is_empty();
    let start = stream::once(async move { std::io::Result::Ok(Bytes::from(format!("[{first}"))) });
    let others = stream::try_unfold((rest, has_items), move |(source, has_items)| {
        let memory = Arc::clone(&memory);
        async move {
            let Some(source) = source else { return Ok(None) };
            let (items, rest) =
                piece(&memory, source).await.map_err(|refused| std::io::Error::other(format!("{refused:?}")))?;
            let comma = if has_items && !items.is_empty() { "," } else { "" };
            let end = if rest.is_none() { "]" } else { "" };
            let has_items = has_items || !items.is_empty();
            Ok(Some((Bytes::from(format!("{comma}{items}{end}")), (rest, has_items))))
        }
    });
    Ok((kind, Body::from_stream(futures_util::StreamExt::chain(start, others))).into_response())
}

async fn piece<W: ItemSource>(memory: &ClientMemory, source: W) -> Result<(String, Option<W>)> {
    let _turn = memory.turn().await;
    source.next().await
}
