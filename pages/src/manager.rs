//! This manager and its store: what it warns of, what the store guarantees, which queues which workers serve.

use jobbers_api::queue::role::RoleListView;
use maud::{Markup, html};

use super::{
    elements::{
        frame::{Answered, Screen, missing},
        words::{number, prose, queue, seconds, text},
    },
    session::ask::ApiRefusal,
};

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

fn role_table(roles: &Result<RoleListView, ApiRefusal>) -> Markup {
    let roles = match roles {
        Ok(list) => &list.roles,
        Err(refusal) => return missing(refusal),
    };
    html! {
        table {
            @for role in roles {
                tr { th { (role.name) } td.wrap { @for name in &role.queues { (queue(name)) " " } } }
            }
        }
        p.soft { code { "jobbers roles" } }
    }
}
