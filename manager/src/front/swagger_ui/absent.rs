//! The page of a program without the feature `docs`: an error that names it.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use jobbers_api::problem::{Code, Problem};

pub(super) fn serve(_: &str, _: fn(&'static str, Bytes) -> Response) -> Response {
    let detail = "this program is built without the feature `docs`, which brings this page; see /openapi.json";
    Problem::new(Code::NotFound, detail).into_response()
}
