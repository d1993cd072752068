//! The pages of a program without the feature `pages`: an error that names it.

use axum::{
    Router,
    http::{HeaderName, Uri},
    routing::get,
};
use jobbers_api::problem::{Code, Problem};

/// The header that the pages read, which nothing reads here.
pub(crate) const FORM_TOKEN: HeaderName = HeaderName::from_static("jobbers-form-token");

/// What the pages are configured by, which nothing reads here.
#[expect(dead_code, reason = "no page reads it")]
pub(crate) struct PageSettings {
    pub(crate) speaks_tls: bool,
    pub(crate) trace_url: String,
}

/// Refuses each of them.
pub(crate) fn routes(_: Router, _: PageSettings) -> Router {
    let paths = ["/", "/ui", "/ui/", "/ui/{page}", "/problems", "/problems/{code}"];
    paths.into_iter().fold(Router::new(), |router, path| router.route(path, get(refuse)))
}

async fn refuse(uri: Uri) -> Problem {
    let why = "this program is built without the feature `pages`, which brings";
    Problem::new(Code::NotFound, format!("{why} {}; see /openapi.json", uri.path()))
}
