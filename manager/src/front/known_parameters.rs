//! Refuses query parameters that an operation does not have, on every route.
//!
//! A mistyped `?dryrun=true` that is ignored would change what the client only wanted to look at. The OpenAPI
//! description names the parameters of each operation, so the check covers later routes by itself; their handlers check
//! the values.
//!
//! Exempt are paths that programs request with parameters of their own: the probes and `/metrics`, and the pages that
//! show the description.

use axum::http::{Method, Uri};
use jobbers_api::problem::{Code, Problem, Result};
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, ParameterIn},
};

use crate::doors::OfOperations;

/// Paths for load balancers and scrapers, some of which add parameters against caches.
const EXEMPT: [&str; 3] = ["/health/live", "/health/ready", "/metrics"];

/// The names of each operation's query parameters.
#[derive(Debug, Default)]
pub(crate) struct KnownParameters(OfOperations<Vec<String>>);

impl KnownParameters {
    /// Those of a description.
    pub(crate) fn of(description: &OpenApi) -> Self {
        Self(OfOperations::read(description, |_, path, operation| (!EXEMPT.contains(&path)).then(|| names(operation))))
    }

    /// Whether the description has this operation; `path` is the route's.
    pub(crate) fn has(&self, method: &Method, path: &str) -> bool {
        self.0.get(method, path).is_some()
    }

    /// Refuses a request with a query parameter that its operation lacks, before its body is read; `path` is the
    /// route's. The handler of `GET /tasks/cancel`, which the description does not contain, checks its own.
    pub(crate) fn check(&self, method: &Method, path: &str, uri: &Uri) -> Result<()> {
        let Some(query) = uri.query() else { return Ok(()) };
        let Some(known) = self.0.get(method, path) else { return Ok(()) };
        let pairs: Vec<(String, String)> = serde_html_form::from_str(query)
            .map_err(|error| Problem::new(Code::InvalidParameter, format!("the query: {error}")))?;
        match pairs.iter().find(|(name, _)| !known.contains(name)) {
            Some((unknown, _)) => Err(refused(method, path, unknown, known)),
            None => Ok(()),
        }
    }
}

fn refused(method: &Method, path: &str, unknown: &str, known: &[String]) -> Problem {
    let takes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let detail = format!("the query: unknown parameter {unknown:?}; {method} {path} takes {takes}");
    Problem::new(Code::InvalidParameter, detail)
}

fn names(operation: &Operation) -> Vec<String> {
    let parameters = operation.parameters.iter().flatten();
    let of_query = parameters.filter_map(|parameter| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
        // None is described elsewhere in the document.
        RefOr::T(_) | RefOr::Ref(_) => None,
    });
    of_query.collect()
}
