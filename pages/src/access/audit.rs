//! The audit log: who changed what, from where, and how it was before and after.

use jobbers_api::access::audit_log::{AuditEntryView, AuditPageView};
use jobbers_common::audit_log::ChangeResult;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    elements::{
        frame::{Answered, Screen},
        words::{Tone, line, number, state, text, to, when},
    },
    session::ask::Query,
};

/// How many changes are on a page.
const ROWS: usize = 50;

/// What is searched for; an empty field is none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    key: String,
    operation: String,
    object: String,
    outcome: String,
    cursor: String,
}

impl Params {
    /// The query of the API, and of a link to this page.
    fn pairs<'a>(&'a self, cursor: &'a str) -> Vec<(&'static str, &'a str)> {
        let fields = [
            ("key", self.key.trim()),
            ("operation", self.operation.trim()),
            ("object", self.object.trim()),
            ("outcome", self.outcome.trim()),
            ("cursor", cursor),
        ];
        fields.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// `GET /ui/audit`.
pub(crate) async fn list(screen: Screen, Query(params): Query<Params>) -> Answered {
    let (mut query, limit) = (params.pairs(&params.cursor), ROWS.to_string());
    query.push(("limit", &limit));
    let page: AuditPageView = screen.api.get(&to("/audit", &query)).await?;
    let body = html! {
        h1 { "Audit log" }
        (search(&params))
        section.card #changes data-live { (table(&screen, &page.changes)) }
        nav.pages aria-label="Parts of the list" {
            @if !params.cursor.is_empty() { a.button href=(to("audit", &params.pairs(""))) { "First page" } }
            @if let Some(next) = &page.next_cursor {
                a.button rel="next" href=(to("audit", &params.pairs(next))) { "Next page" }
            }
        }
        p.soft { "The same, with everything that is known of each: " code { "jobbers audit --json" } }
    };
    Ok(screen.page("Audit log", "Audit log", &body))
}

fn search(params: &Params) -> Markup {
    html! {
        form.filter method="get" role="search" {
            label { "Key" input name="key" value=(params.key) placeholder="id"; }
            label { "Operation" input name="operation" value=(params.operation) placeholder="pause_queue"; }
            label { "Object" input name="object" value=(params.object) placeholder="a queue, a task"; }
            label { "Outcome" select name="outcome" {
                option value="" { "any" }
                @for outcome in ChangeResult::ALL {
                    option selected[outcome.as_str() == params.outcome] { (outcome.as_str()) }
                }
            } }
            button { "Search" }
        }
    }
}

fn table(screen: &Screen, changes: &[AuditEntryView]) -> Markup {
    html! {
        @if changes.is_empty() { p.soft { "No change matches." } }
        @else {
            table {
                tr {
                    th { "When" } th { "By" } th { "Operation" } th { "Object" } th { "Outcome" }
                    th.wide { "From" } th.wide { "Way" } th { "What" }
                }
                @for change in changes {
                    tr {
                        td { (when(change.at, screen.now())) }
                        td { (by(change)) }
                        td { code { (line(&change.operation)) } }
                        td { (change.object.as_deref().map(line).unwrap_or_default()) }
                        td { (outcome(change)) }
                        td.wide { (change.address.as_deref().map(line).unwrap_or_default()) }
                        td.wide { (change.way.to_string()) }
                        td { (what(change)) }
                    }
                }
            }
        }
    }
}

fn by(change: &AuditEntryView) -> Markup {
    let name = change.by.as_deref().or(change.key.as_deref()).map_or_else(|| "–".to_owned(), line);
    html! {
        @match &change.key {
            Some(key) => { a href=(to("key", &[("id", key.as_str())])) { (name) } }
            None => (name),
        }
    }
}

fn outcome(change: &AuditEntryView) -> Markup {
    let tone = match change.outcome {
        ChangeResult::Done => Tone::Good,
        ChangeResult::Refused => Tone::Idle,
        ChangeResult::Failed => Tone::Bad,
        ChangeResult::Unknown => Tone::Warn,
    };
    html! { (state(tone, change.outcome)) @if let Some(why) = &change.problem { " " small { (line(why)) } } }
}

/// What was different before and after; of tasks, how many.
fn what(change: &AuditEntryView) -> Markup {
    html! {
        @for (outcome, count) in &change.counts { (number(*count)) " " (line(outcome)) " " }
        @if change.before.is_some() || change.after.is_some() {
            details {
                summary { "before and after" }
                @for (label, value) in [("before", &change.before), ("after", &change.after)] {
                    p.soft { (label) }
                    pre { (pretty(value.as_ref())) }
                }
            }
        }
    }
}

fn pretty(value: Option<&Value>) -> String {
    let shown = value.map(|value| serde_json::to_string_pretty(value).unwrap_or_default());
    shown.map_or_else(|| "–".to_owned(), |shown| text(&shown).into_owned())
}
