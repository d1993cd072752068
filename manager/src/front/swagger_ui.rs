//! Swagger UI below `/docs`, and the description it shows, `/openapi.json`. A program without the feature `docs` has the
//! description alone.

#[cfg(not(feature = "docs"))]
mod absent;
#[cfg(feature = "docs")]
mod page;

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{HeaderValue, header},
    response::{Redirect, Response},
    routing::get,
};
use bytes::Bytes;
use utoipa::openapi::OpenApi;

#[cfg(not(feature = "docs"))]
use self::absent::serve;
#[cfg(feature = "docs")]
use self::page::serve;
use crate::front::middleware::Common;

/// Scripts, styles and requests of this site alone, and no other page around it.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// The routes.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>(description: &OpenApi) -> Router<S> {
    // Written once. Every type of a description can be written as JSON.
    let description = Bytes::from(description.to_json().unwrap_or_default());
    Router::new()
        .route("/openapi.json", get(async move || answer("application/json", description)))
        .route("/docs", get(async || Redirect::permanent("docs/")))
        .route("/docs/", get(async || serve("index.html", answer)))
        .route("/docs/{file}", get(async |Path(file): Path<String>| serve(&file, answer)))
}

fn answer(content_type: &'static str, contents: Bytes) -> Response {
    let mut response = Response::new(Body::from(contents));
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.extensions_mut().insert(Common);
    response
}
