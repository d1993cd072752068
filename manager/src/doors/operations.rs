//! A table of what is known of the operations of the API, by path and method.

use std::collections::HashMap;

use axum::http::Method;
use utoipa::openapi::{
    OpenApi,
    path::{Operation, PathItem},
};

/// What is known of each operation. A path has few methods.
#[derive(Debug)]
pub(crate) struct OfOperations<T>(HashMap<String, Vec<(Method, T)>>);

impl<T> Default for OfOperations<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> OfOperations<T> {
    /// What `read` finds of each operation of a description.
    pub(crate) fn read(description: &OpenApi, mut read: impl FnMut(&Method, &str, &Operation) -> Option<T>) -> Self {
        let paths = description.paths.paths.iter().map(|(path, item)| {
            let known = methods(item).filter_map(|(method, operation)| {
                let known = read(&method, path, operation)?;
                Some((method, known))
            });
            (path.clone(), known.collect())
        });
        Self(paths.collect())
    }

    /// What is known of the operation of a route. A HEAD is answered as the GET is.
    pub(crate) fn get(&self, method: &Method, route: &str) -> Option<&T> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.0.get(route)?.iter().find_map(|(known, value)| (known == method).then_some(value))
    }
}

/// The operations of a path.
fn methods(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}
