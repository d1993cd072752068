//! What each operation needs, read from its OpenAPI description.

use std::sync::Arc;

use axum::http::Method;
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::access::{AccessKey, AccessRole, Scope};
use utoipa::openapi::{OpenApi, path::Operation};

use super::operations::OfOperations;

/// The name of the security scheme in the document.
pub(crate) const SCHEME: &str = "key";

/// What a request needs before it is handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Nothing.
    Open,
    /// A key that grants all of these.
    Scopes(Arc<[Scope]>),
}

/// What the operations need, by path and method, and what routes need that are no operations.
#[derive(Debug)]
pub(crate) struct Requirements {
    operations: OfOperations<Requirement>,
    /// A page for people shows what a viewer sees.
    page: Requirement,
    /// What no operation allows, only an administrator may do.
    other: Requirement,
    /// For clients of TaskStore.
    boards: OfBoards,
    open: Requirement,
}

/// What the clients of fronts need, who look at tasks of boards and change them.
#[derive(Debug)]
pub(crate) struct OfBoards {
    look: Requirement,
    change: Requirement,
}

/// How the paths of TaskStore's clients begin.
const TASKSTORE: &str = "/taskstore";
/// Paths that are no operations and show the same to everyone: the documentation.
const DOCUMENTATION: [&str; 6] = ["/openapi.json", "/docs", "/docs/", "/docs/{file}", "/problems", "/problems/{code}"];

impl Requirements {
    /// Those of a description.
    ///
    /// # Errors
    /// The operations without a legal `security`, so that a route that was forgotten can't be reached.
    pub(crate) fn of(description: &OpenApi) -> Result<Self, String> {
        let mut faults = Vec::new();
        let operations = OfOperations::read(description, |method, path, operation| {
            requirement(operation).map_err(|fault| faults.push(format!("{method} {path}: {fault}"))).ok()
        });
        if !faults.is_empty() {
            return Err(faults.join("; "));
        }
        let page = Requirement::Scopes(Scope::all().filter(|scope| AccessRole::Viewer.has(*scope)).collect());
        let other = Requirement::Scopes(Scope::all().collect());
        Ok(Self { operations, page, other, boards: OfBoards::new(), open: Requirement::Open })
    }

    /// What a request needs: by default, everything.
    pub(crate) fn of_request(&self, method: &Method, route: Option<&str>) -> &Requirement {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        // Without a route the answer is 404, and shows nothing.
        let Some(route) = route else { return &self.open };
        let of = |route: &str| self.operations.get(method, route);
        match of(route) {
            Some(requirement) => requirement,
            None if route.starts_with(TASKSTORE) => self.boards.of_request(method),
            None if is_read && DOCUMENTATION.contains(&route) => &self.open,
            // A task may be called as an operation is.
            None if is_read && route.starts_with("/tasks/") => of("/tasks/{id}").unwrap_or(&self.page),
            None if is_page(route) => &self.open,
            None if is_read => &self.page,
            None => &self.other,
        }
    }
}

impl OfBoards {
    pub(crate) fn new() -> Self {
        let look = Requirement::Scopes([Scope::BoardsRead].into());
        Self { look, change: Requirement::Scopes([Scope::BoardsRead, Scope::BoardsControl].into()) }
    }

    /// What a request needs: a change is answered with tasks too.
    pub(crate) fn of_request(&self, method: &Method) -> &Requirement {
        if method.is_safe() { &self.look } else { &self.change }
    }
}

/// Whether a route is a page for people. A page asks the API for all that it shows and does, with its caller's key, so it needs
/// none itself.
pub(crate) fn is_page(route: &str) -> bool {
    matches!(route, "/" | "/ui" | "/sign-in" | "/sign-out") || route.starts_with("/ui/")
}

impl Requirement {
    /// Refuses a key that lacks a scope.
    pub(crate) fn check(&self, key: &AccessKey) -> Result<()> {
        let Self::Scopes(scopes) = self else { return Ok(()) };
        match scopes.iter().find(|scope| !key.grants(**scope)) {
            None => Ok(()),
            Some(missing) => {
                let detail = format!("key {} ({}) does not have the scope {missing}", key.id, key.name);
                Err(Problem::new(Code::ScopeMissing, detail))
            }
        }
    }
}

/// What `security` says: `[{"key": ["tasks:read"]}]`, or `[{}]` for an open operation.
pub(crate) fn requirement(operation: &Operation) -> Result<Requirement, String> {
    let security = serde_json::to_value(&operation.security).map_err(|error| error.to_string())?;
    let [requirement] = security.as_array().map_or(&[][..], Vec::as_slice) else {
        return Err("it has no `security`".to_owned());
    };
    let schemes = requirement.as_object().ok_or("its `security` has another form")?;
    if schemes.is_empty() {
        return Ok(Requirement::Open);
    }
    let names = schemes.get(SCHEME).and_then(|names| names.as_array()).filter(|names| !names.is_empty());
    let names = names.ok_or_else(|| format!("its `security` names no scope of {SCHEME:?}"))?;
    let scope = |name: &serde_json::Value| {
        name.as_str().and_then(Scope::find).ok_or_else(|| format!("scope {name} does not exist"))
    };
    names.iter().map(scope).collect::<Result<Arc<[Scope]>, String>>().map(Requirement::Scopes)
}
