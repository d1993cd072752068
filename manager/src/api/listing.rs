//! Walking lists of the store, which may answer short pages.

use jobbers_common::{
    engine::{Engine, Error, ListRequest, Page, TaskFilter, look::validate_limit},
    task::Task,
};

use crate::problem::{Code, Problem, Result};

/// Most calls of the store for one page; a page that is still short then is answered short.
const MAX_CALLS: usize = 20;

/// Up to `limit` tasks that match and that `wanted` keeps, and where to go on.
pub(super) async fn fill(
    engine: &dyn Engine,
    filter: TaskFilter,
    limit: usize,
    cursor: Option<String>,
    wanted: impl Fn(&Task) -> bool,
) -> Result<Page> {
    // What is wrong about a limit or a cursor came in the query.
    let refused = |error: Error| Problem::from(error).recode(Code::InvalidRequest, Code::InvalidParameter);
    validate_limit(limit).map_err(refused)?;
    let mut filled = Page { tasks: Vec::new(), next: cursor };
    for _ in 0..MAX_CALLS {
        let request =
            ListRequest { filter: filter.clone(), limit: limit - filled.tasks.len(), cursor: filled.next.take() };
        let page = engine.list(request).await.map_err(refused)?;
        filled.tasks.extend(page.tasks.into_iter().filter(|task| wanted(task)));
        filled.next = page.next;
        if filled.tasks.len() >= limit || filled.next.is_none() {
            break;
        }
    }
    Ok(filled)
}
