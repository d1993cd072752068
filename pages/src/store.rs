//! The store: what it is, whether everything in it agrees, and its repair.
//!
//! An examination is asked for; it looks for some seconds, and goes on by a link where more is left.

use axum::http::Method;
use jobbers_api::store::ExaminationView;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button},
        words::{Tone, line, many, number, shell, state, text, to},
    },
    session::ask::{Api, Form, Query},
};

/// How many parts of a store one press of the button repairs, of five seconds each.
const PARTS: usize = 6;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Params {
    /// Whether to examine it.
    #[serde(skip_serializing_if = "Option::is_none")]
    examine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// How much was looked at and found in the parts before.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<u64>,
    #[serde(skip_serializing)]
    did: Option<Did>,
    #[serde(skip_serializing)]
    n: Option<u64>,
}

/// `GET /ui/store`.
pub(super) async fn show(screen: Screen, Query(params): Query<Params>) -> Answered {
    let ready = &screen.ready;
    let url = text(&ready.store);
    let examination: Option<ExaminationView> = match &params.examine {
        Some(_) => Some(screen.api.get(&part("/store/examination", params.cursor.as_deref())).await?),
        None => None,
    };
    let body = html! {
        @if let Some(did) = params.did { (did.note("", params.n)) }
        h1 { "Store" }
        section.card {
            table {
                tr { th { "Address" } td.wrap { code { (url) } } }
                tr { th { "Durability" } td.wrap { (text(&ready.durability)) } }
            }
        }
        section.card {
            h2 { "Whether everything in it agrees" }
            @match &examination {
                None => p {
                    "An examination looks at every task and entry, changes nothing, and may run while the store is in use."
                },
                Some(found) => (findings(&params, found)),
            }
            form.actions {
                button name="examine" value="yes" { @if examination.is_some() { "Examine it again" } @else { "Examine it" } }
            }
            p.soft { "The same, with its queues, boards, letters and versions: "
                code { "jobbers doctor --engine-url " (shell(&url)) } }
        }
        @if let Some(found) = &examination { (repair(found)) }
    };
    Ok(screen.page("Store", "Store", &body))
}

/// The address of a part of an examination.
fn part(path: &str, cursor: Option<&str>) -> String {
    to(path, &cursor.map(|cursor| ("cursor", cursor)).into_iter().collect::<Vec<_>>())
}

fn findings(params: &Params, view: &ExaminationView) -> Markup {
    let looked_at = params.looked_at.unwrap_or_default().saturating_add(view.looked_at);
    let found = params.found.unwrap_or_default().saturating_add(view.total());
    html! {
        p {
            @if found == 0 { (state(Tone::Good, "sound")) } @else { (state(Tone::Bad, many(found, "finding"))) }
            " " (number(looked_at)) " tasks and entries were looked at"
            @if view.next_cursor.is_some() { ", and more are left." } @else { ", which is all." }
        }
        @if let Some(next) = &view.next_cursor {
            @let rest = Params {
                examine: Some("yes".to_owned()),
                cursor: Some(next.clone()),
                looked_at: Some(looked_at),
                found: Some(found),
                ..Params::default()
            };
            p { a.button rel="next" href=(to("store", &rest)) { "Look at the rest" } }
        }
        @if !view.found.is_empty() {
            table {
                tr { th.n { "How many" } th { "Flaw" } th { "What it is" } th { "A repair" } }
                @for kind in &view.found {
                    tr {
                        td.n { (number(kind.count)) } td { code { (line(&kind.flaw)) } }
                        td.wrap { (line(&kind.about)) }
                        td.wrap { (kind.repair.as_deref().unwrap_or("leaves it as it is")) }
                    }
                }
            }
            table {
                tr { th { "Flaw" } th { "Of" } th { "What does not agree" } }
                @for finding in &view.findings {
                    tr {
                        td { code { (line(&finding.flaw)) } } td.wrap { (line(&finding.subject)) }
                        td.wrap { (line(&finding.detail)) }
                    }
                }
            }
            @if view.total() > view.findings.len() as u64 { p.soft { "The first " (view.findings.len()) " of this part." } }
        }
    }
}

fn repair(view: &ExaminationView) -> Markup {
    let count: u64 = view.found.iter().filter(|kind| kind.repair.is_some()).map(|kind| kind.count).sum();
    let words = html! {
        "This looks the whole store over and mends what has only one answer: at most " b { (number(count)) }
        " of these, and what more is found. It can't be undone. " code { "jobbers cleaner --repair" }
    };
    html! { @if count > 0 { div.actions { (action("Repair", &words, &button("repair", "Repair it", true))) } } }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(super) enum Change {
    Repair,
}

/// `POST /ui/store`.
pub(super) async fn change(api: Api, Form(Change::Repair): Form<Change>) -> Answered {
    let (mut cursor, mut repaired) = (None, 0);
    for _ in 0..PARTS {
        let done: ExaminationView = api.call(Method::POST, &part("/store/repair", cursor.as_deref())).await?;
        repaired += done.repaired;
        cursor = done.next_cursor;
        if cursor.is_none() {
            return Ok(back("store?examine=yes", None, Did::Repaired, Some(repaired)));
        }
    }
    Ok(back("store?examine=yes", None, Did::RepairedInPart, Some(repaired)))
}
