//! The version of the API: `/v1/tasks` is `/tasks`.
//!
//! The path is rewritten before a route is chosen, so every route has both names, and the middleware, the metrics and the
//! log know one. What may change within a version is in docs/reference/compatibility.md.

use axum::http::{Uri, uri::PathAndQuery};

/// What the paths of this version begin with.
pub(crate) const PREFIX: &str = "/v1";

/// The same address without the version; `None` if it has none.
pub(crate) fn unversioned(uri: &Uri) -> Option<Uri> {
    let rest = uri.path_and_query()?.as_str().strip_prefix(PREFIX).filter(|rest| rest.starts_with('/'))?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(rest.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_version_is_taken_off_the_path_and_nothing_else() {
        for (with, without) in [
            ("/v1/tasks?limit=1", Some("/tasks?limit=1")),
            ("/v1/tasks/v1%2Fx", Some("/tasks/v1%2Fx")),
            ("http://host:1/v1/tasks", Some("http://host:1/tasks")),
            ("/v1/v1/tasks", Some("/v1/tasks")),
            ("/v1/", Some("/")),
            ("/v1", None),
            ("/v1x/tasks", None),
            ("/tasks/v1", None),
            ("/v2/tasks", None),
        ] {
            let found = unversioned(&with.parse().unwrap());
            assert_eq!(found.map(|uri| uri.to_string()).as_deref(), without, "{with}");
        }
    }
}
