//! Extractors for handlers; every refusal is a [`Problem`].

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Request, rejection::PathRejection},
    http::{HeaderMap, header, request::Parts},
};
use bytes::BytesMut;
use http_body_util::BodyExt;
use jobbers_api::{
    problem::{Code, Problem},
    wire::json,
};
use jobbers_common::values::counted::{Counter, Refused};
use jobbers_process::server::memory::{Kind, MemoryShare};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    app::{App, overloaded},
    background::long::is_long,
    listening::server::Caller,
};

/// What a byte of a body counts: for itself, for the texts that are read from it, and for the call of the store. The values
/// that it holds count besides. A test of a real process measures that this is enough.
pub(crate) const BODY_FACTOR: usize = 3;
/// Up to so many bytes of a body count as the request itself does, which large bodies leave room for.
const SMALL_BODY: usize = 4 * 1024;

/// The bytes of a JSON body: within the limit, in time, and declared as JSON. With the headers, which are moved here
/// because separating them from the body would copy them.
pub(crate) struct JsonBytes {
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    share: Arc<MemoryShare>,
}

impl JsonBytes {
    /// What the body says, as a `T`.
    ///
    /// # Errors
    /// Those of [`json::decode_counted`].
    pub(crate) async fn decode<'a, T: Deserialize<'a>>(&'a self, app: &App) -> Result<T, Problem> {
        self.read_counted(app, json::decode_counted).await
    }

    /// Reads the body as [`JsonBytes::read`], with the counter of what is read from it. That counts until the request is
    /// answered.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn read_counted<'a, T>(
        &'a self,
        app: &App,
        read: impl FnOnce(&'a [u8], &Counter<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.read(app, |body| counted(&self.share, body, read)).await
    }

    /// Reads the body; a long one without delaying other requests.
    pub(crate) async fn read<'a, T>(&'a self, app: &App, read: impl FnOnce(&'a [u8]) -> T) -> T {
        app.long_work.run(is_long(self.bytes.len()), || read(&self.bytes)).await
    }
}

impl FromRequest<Arc<App>> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        check_media_type(&parts.headers)?;
        let share = share(&parts, app);
        let bytes = read_into(&share, &parts, body, app.max_body_bytes, app).await?;
        Ok(Self { headers: parts.headers, bytes, share })
    }
}

/// The bytes of a body that is JSON or a Mermaid flowchart.
pub(crate) struct JsonOrMermaid {
    pub(crate) body: JsonBytes,
    pub(crate) is_mermaid: bool,
}

impl FromRequest<Arc<App>> for JsonOrMermaid {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let is_mermaid = media_type(request.headers()).eq_ignore_ascii_case(MERMAID);
        if !is_mermaid {
            return Ok(Self { body: JsonBytes::from_request(request, app).await?, is_mermaid });
        }
        let (parts, body) = request.into_parts();
        let share = share(&parts, app);
        let bytes = read_into(&share, &parts, body, app.max_body_bytes, app).await?;
        Ok(Self { body: JsonBytes { headers: parts.headers, bytes, share }, is_mermaid })
    }
}

/// The content type of a flowchart.
pub(crate) const MERMAID: &str = "text/vnd.mermaid";

/// A whole JSON body as a `T`.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let body = JsonBytes::from_request(request, app).await?;
        body.decode(app).await.map(Self)
    }
}

/// A request with its whole body, for a handler that reads it or passes it on. What is held for it counts for as long.
pub(crate) struct WholeRequest {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
}

impl WholeRequest {
    /// Its JSON body as a `T`, or the default without a body.
    ///
    /// # Errors
    /// As for [`Json`].
    pub(crate) async fn json_if_any<T: DeserializeOwned + Default>(&self, app: &App) -> Result<T, Problem> {
        if self.body.is_empty() {
            return Ok(T::default());
        }
        check_media_type(&self.parts.headers)?;
        let share = share(&self.parts, app);
        app.long_work.run(is_long(self.body.len()), || counted(&share, &self.body, json::decode_counted)).await
    }
}

impl FromRequest<Arc<App>> for WholeRequest {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let body = read_bounded(&parts, body, app.max_body_bytes, app).await?;
        Ok(Self { parts, body })
    }
}

/// A query string as a `T`; repeated keys make a list.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let reader = serde_html_form::Deserializer::from_bytes(query.as_bytes());
        serde_path_to_error::deserialize(reader).map(Self).map_err(|error| {
            let (path, reason) = (error.path().to_string(), error.inner());
            // The reason contains an unknown name.
            let place = if path == "." || path == "?" { String::new() } else { format!("{path}: ") };
            Problem::new(Code::InvalidParameter, format!("the query: {place}{reason}"))
        })
    }
}

/// The variable part of a path, percent-decoded.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found: Result<axum::extract::Path<T>, PathRejection> =
            axum::extract::Path::from_request_parts(parts, state).await;
        found
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|rejection| Problem::new(Code::InvalidParameter, rejection.body_text()))
    }
}

/// The declared content type, without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    declared.split(';').next().unwrap_or_default().trim()
}

/// A form post can't carry this type, so a page of another site can't submit tasks through a visitor's browser.
fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let essence = media_type(headers);
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = format!("the content type is {essence:?}; send Content-Type: application/json");
    Err(Problem::new(Code::UnsupportedMediaType, detail))
}

/// Refuses by the declared length, before a byte of the body is read.
fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) { Err(too_large(limit)) } else { Ok(()) }
}

/// The bytes of any body: within the bound, and in time. They count until the request is answered, since what is read
/// from them is held as long.
pub(crate) async fn read_bounded(request: &Parts, body: Body, most: usize, app: &App) -> Result<Bytes, Problem> {
    read_into(&share(request, app), request, body, most, app).await
}

async fn read_into(share: &MemoryShare, request: &Parts, body: Body, most: usize, app: &App) -> Result<Bytes, Problem> {
    check_length(&request.headers, most)?;
    let mut reading = pin!(read_pieces(body, most, share));
    // Most bodies come with their heads: they are there at the second look, and cost no timer.
    if let Some(read) = in_two_looks(reading.as_mut()).await {
        return read;
    }
    let in_time = tokio::time::timeout(app.body_timeout, reading).await;
    in_time.unwrap_or_else(|_| Err(too_slow(app.body_timeout)))
}

/// What a future comes to at once, or after everything else that has woken its task; `None` if it needs longer.
async fn in_two_looks<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut looks = 0;
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if looks == 1 => Poll::Ready(None),
        Poll::Pending => {
            looks += 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// What the request counts until it is answered.
fn share(request: &Parts, app: &App) -> Arc<MemoryShare> {
    match request.extensions.get::<Caller>() {
        Some(caller) => Arc::clone(&caller.share),
        None => Arc::new(app.memory.share()),
    }
}

/// Reads a body with a counter that takes what its values need from `share`.
fn counted<'a, T>(
    share: &MemoryShare,
    body: &'a [u8],
    read: impl FnOnce(&'a [u8], &Counter<'_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let kind = kind_of(body.len());
    let grow = |bytes| share.grow(kind, bytes);
    let counter = Counter::new(&grow);
    let value = read(body, &counter);
    if counter.refused() == Some(Refused::NoMemory) { Err(overloaded()) } else { value }
}

/// What a body of this length counts as.
const fn kind_of(bytes: usize) -> Kind {
    if bytes <= SMALL_BODY { Kind::Request } else { Kind::Payload }
}

/// Reads a body in pieces, and counts each before it waits for the next. A body in a single piece is not copied.
async fn read_pieces(mut body: Body, limit: usize, share: &MemoryShare) -> Result<Bytes, Problem> {
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Problem::new(Code::InvalidRequest, format!("the body broke off: {error}")))?;
        let Ok(piece) = frame.into_data() else { continue };
        if first.len() + rest.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        let kind = kind_of(first.len() + rest.len() + piece.len());
        if !share.grow(kind, piece.len() * BODY_FACTOR) {
            return Err(overloaded());
        }
        if first.is_empty() && rest.is_empty() {
            first = piece;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&piece);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("a body holds at most {limit} bytes"))
}

fn too_slow(limit: Duration) -> Problem {
    let limit = jobbers_common::values::duration::format(limit);
    Problem::new(Code::RequestTimeout, format!("the body did not arrive within {limit}"))
}
