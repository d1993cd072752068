//! This manager and its store: what it warns of, what the store guarantees, which queues which workers serve.

use jobbers_api::queue::role::{RoleListView, RoleView};
use jobbers_common::queue::pattern::QueuePattern;
use maud::{Markup, html};

use super::{
    elements::{
        frame::{Answered, Screen, missing},
        words::{number, prose, seconds, some_queues, text},
    },
    session::ask::ApiRefusal,
};

/// How many names and patterns of a role are shown.
const ENTRIES: usize = 50;

/// `GET /ui/manager`.
pub(super) async fn show(screen: Screen) -> Answered {
    let roles: Result<RoleListView, ApiRefusal> = screen.api.get("/roles").await;
    let ready = &screen.ready;
    let body = html! {
        h1 { "This manager and its store" }
        section.card #warnings data-live {
            h2 { "Warnings" }
            @if ready.warnings.is_empty() { p.soft { "None." } }
            ul { @for warning in &ready.warnings { li { (prose(&text(warning))) } } }
        }
        section.card #state data-live {
            h2 { "State" }
            table {
                tr { th { "Store" } td.wrap { code { (text(&ready.store)) } } }
                tr { th { "Engine" } td { (ready.engine.to_string()) } }
                @if let Some(server) = &ready.server { tr { th { "Carried by" } td.wrap { (text(server)) } } }
                tr { th { "Durability" } td.wrap { (text(&ready.durability)) } }
                tr { th { "The store's time" } td { (ready.now) } }
                tr { th { "Version" } td { (ready.version.to_string()) } }
                tr { th { "Runs for" } td { (seconds(ready.uptime)) } }
                tr { th { "Dead letters on their way to the archive" } td { (number(ready.outbox)) } }
                tr { th { "Pruned tasks that are remembered" } td { (number(ready.tombstones)) } }
            }
        }
        section.card { h2 { "Roles: which workers serve which queues" } (role_table(&roles)) }
        section.card {
            h2 { "Whether everything in the store agrees" }
            p { "The page " a href="store" { "Store" } " examines it." }
        }
    };
    Ok(screen.page("Manager", "Manager", &body))
}

/// What was written, and below it the queues that a list with patterns matches now.
fn serves(role: &RoleView) -> Markup {
    let has_pattern = role.queues.iter().any(QueuePattern::is_pattern);
    html! {
        @if has_pattern {
            @for entry in role.queues.iter().take(ENTRIES) { code { (entry) } " " }
            @if role.queues.len() > ENTRIES { span.soft { "and " (role.queues.len() - ENTRIES) " more" } }
            br;
            span.soft { @if role.serves.is_empty() { "matches no queue now" } @else { "serves now " } }
        }
        (some_queues(&role.serves))
    }
}

fn role_table(roles: &Result<RoleListView, ApiRefusal>) -> Markup {
    let roles = match roles {
        Ok(list) => &list.roles,
        Err(refusal) => return missing(refusal),
    };
    html! {
        table {
            @for role in roles {
                tr { th { (role.name) } td.wrap { (serves(role)) } }
            }
        }
        p.soft { code { "jobbers roles" } }
    }
}
