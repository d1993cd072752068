//! Query parameters that an operation does not have are refused, on every route alike.
//!
//! A mistyped `?dryrun=true` that is passed over changes what was meant to be looked at only. What an operation takes is
//! what its OpenAPI description names, so a route that is added later is held to it without a word of its own; whether a
//! value makes sense is its handler's to say.
//!
//! Not held to it is what programs ask that may add parameters of their own: the probes and `/metrics`, and the pages that
//! show the description.

use std::collections::HashMap;

use axum::http::{Method, Uri};
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{Operation, ParameterIn, PathItem},
};

use crate::problem::{Code, Problem, Result};

/// What balancers and scrapers ask, some of them with parameters against caches.
const EXEMPT: [&str; 3] = ["/health/live", "/health/ready", "/metrics"];

/// The names of each operation's query parameters, by path and method.
#[derive(Debug)]
pub(crate) struct KnownParameters(HashMap<String, HashMap<Method, Vec<String>>>);

impl KnownParameters {
    /// Those of a description.
    pub(crate) fn of(description: &OpenApi) -> Self {
        let paths = description.paths.paths.iter().filter(|(path, _)| !EXEMPT.contains(&path.as_str()));
        Self(paths.map(|(path, item)| (path.clone(), operations(item))).collect())
    }

    /// Refuses a request with a query parameter that its operation lacks, before its body is read; `path` is the route's.
    /// What the description does not know, `GET /tasks/cancel`, is its handler's to check.
    pub(crate) fn check(&self, method: &Method, path: &str, uri: &Uri) -> Result<()> {
        // A HEAD is answered as the GET is.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let known = self.0.get(path).and_then(|operations| operations.get(method));
        let (Some(known), Some(query)) = (known, uri.query()) else { return Ok(()) };
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

fn operations(item: &PathItem) -> HashMap<Method, Vec<String>> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, names(operation.as_ref()?)))).collect()
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
