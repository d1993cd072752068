//! What the manager's pages for people have in common. They need no script and load nothing from elsewhere. Their links are
//! relative, so a proxy may serve them below a path.

use axum::{
    http::header,
    response::{Html, IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, html};

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1d2733; }
h1 { margin: 0; } h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
nav a { margin-right: 1rem; } .note { color: #5b6875; } .warning { color: #a1260d; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #e2e6ea; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code { background: #f1f3f5; padding: .1rem .3rem; border-radius: 3px; }
@media (prefers-color-scheme: dark) {
  body { background: #14191f; color: #d8dee5; } a { color: #7fb3ff; } code { background: #232b34; }
  th, td { border-color: #2d3742; } .note { color: #93a1af; } .warning { color: #ff9c85; }
}";

/// The response with a whole page around `body`.
pub(super) fn answer(title: &str, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (title) }
                style { (STYLE) }
            }
            body { (body) }
        }
    };
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    (headers, Html(page.into_string())).into_response()
}
