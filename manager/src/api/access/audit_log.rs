//! `/audit`: who changed what.
//!
//! The manager that keeps the archive answers, as for dead letters.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use axum::{Json, extract::State};
use jobbers_api::{
    access::audit_log::{AuditPageView, AuditParams},
    problem::Result,
};
use jobbers_archive::{ChangeFilter, ChangePlace};
use jobbers_common::{audit_log::AuditEntry, limits::MAX_BATCH};

use crate::{
    app::App,
    dead_letters::{calls::ask, view},
    handlers::{
        archive::LocalArchive,
        extract::Query,
        problem::{ARCHIVE, problems},
    },
};

problems!(AuditProblems: ARCHIVE);

/// Changes, the latest first
///
/// Every change that came over HTTP, by a page or by a command that writes to the store: who made it, from where, what it
/// changed, and its outcome. Submissions and leases are work, and not in it. A change that is under way is listed too.
#[utoipa::path(
    get, path = "/audit", tag = "audit log", operation_id = "list_changes",
    security(("key" = ["audit:read"])),
    params(AuditParams),
    responses((status = 200, description = "A page of changes", body = AuditPageView), AuditProblems)
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    LocalArchive(archive): LocalArchive,
    Query(params): Query<AuditParams>,
) -> Result<Json<AuditPageView>> {
    let (result, limit) = params.checked()?;
    let AuditParams { key, operation, object, from, to, cursor, .. } = params;
    let filter = ChangeFilter { key, operation, object, result, from: from.map(|at| at.0), to: to.map(|at| at.0) };
    let before: Option<ChangePlace> =
        cursor.map(|cursor| cursor.parse()).transpose().map_err(|error| view::problem_of(&error))?;
    // Before the archive is read: what is moved meanwhile is then in both, and in neither otherwise.
    let mut entries = waiting(&app, &filter, before.as_ref()).await?;
    let page = ask(&archive, move |archive| archive.changes(&filter, limit, before.as_ref())).await?;
    let archived: HashSet<_> = page.entries.iter().map(|entry| entry.id.clone()).collect();
    entries.retain(|entry| !archived.contains(&entry.id));
    entries.extend(page.entries);
    entries.sort_by_cached_key(|entry| Reverse(ChangePlace::of(entry)));
    let has_more = page.has_more || entries.len() > limit;
    entries.truncate(limit);
    let next_cursor = entries.last().filter(|_| has_more).map(|last| ChangePlace::of(last).to_string());
    Ok(Json(AuditPageView { changes: entries.into_iter().map(Into::into).collect(), next_cursor }))
}

/// Changes that match and are still in the store.
async fn waiting(app: &App, filter: &ChangeFilter, before: Option<&ChangePlace>) -> Result<Vec<AuditEntry>> {
    let (mut after, mut entries) = (0, Vec::new());
    loop {
        let page = app.engine.logged_changes(after, MAX_BATCH).await?;
        let Some(last) = page.changes.last() else { return Ok(entries) };
        after = last.number;
        let read = page.changes.iter().filter_map(|change| AuditEntry::of(change).ok());
        let is_asked_for =
            |entry: &AuditEntry| filter.matches(entry) && before.is_none_or(|before| ChangePlace::of(entry) < *before);
        entries.extend(read.filter(is_asked_for));
    }
}
