//! The queues, in pages.

pub(super) mod needs;
pub(super) mod queue;

use jobbers_api::{overview::BusyQueueView, queue::QueueListView};
use jobbers_common::{lifecycle::Status, time::Timestamp};
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    elements::{
        frame::{Answered, Screen},
        words::{Tone, cell, number, queue, span, state, to},
    },
    queues::needs::is_at_limit,
    session::ask::Query,
};

/// How many are on a page.
const ROWS: usize = 50;
/// Tasks that are not due, or wait for others.
pub(super) const LATER: [Status; 2] = [Status::Scheduled, Status::Waiting];

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    cursor: Option<String>,
}

/// `GET /ui/queues`.
pub(super) async fn show(screen: Screen, Query(Params { cursor }): Query<Params>) -> Answered {
    let limit = ROWS.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
    let list: QueueListView = screen.api.get(&to("/queues", &query)).await?;
    let shown: Vec<BusyQueueView> = list.queues.iter().map(BusyQueueView::from).collect();
    let body = html! {
        h1 { "Queues" }
        section.card #queues data-live { (table(&shown, screen.now())) }
        (more(cursor.as_deref(), list.next_cursor.as_deref()))
        p.soft { "A queue is made by " code { "jobbers queues create NAME" } "." }
    };
    Ok(screen.page("Queues", "Queues", &body))
}

fn more(cursor: Option<&str>, next: Option<&str>) -> Markup {
    html! {
        nav.pages aria-label="Parts of the list" {
            @if cursor.is_some() { a.button href="queues" { "First page" } }
            @if let Some(next) = next { a.button rel="next" href=(to("queues", &[("cursor", next)])) { "Next page" } }
        }
    }
}

/// How a queue is, in a word.
pub(super) fn standing(queue: &BusyQueueView) -> Markup {
    let (tone, word) = match () {
        () if queue.paused => (Tone::Warn, "paused"),
        () if is_at_limit(queue) => (Tone::Warn, "at its limit"),
        () if queue.suspects > 0 => (Tone::Warn, "suspects"),
        () => (Tone::Good, "ok"),
    };
    state(tone, word)
}

/// Queues with their numbers.
pub(super) fn table(queues: &[BusyQueueView], now: Timestamp) -> Markup {
    html! {
        table {
            tr {
                th { "Queue" } th { "State" } th.n { "Running" } th.n { "Ready" } th.n { "Oldest" } th.n.wide { "Later" }
                th.n.wide { "Failed" } th.n.wide { "Completed" }
            }
            @for one in queues {
                tr {
                    td { (queue(&one.name)) }
                    td { (standing(one)) }
                    td.n {
                        (number(one.count(&[Status::Started])))
                        @if let Some(most) = one.max_concurrent { small { " of " (number(most.into())) } }
                    }
                    (cell(one.count(&[Status::Submitted])))
                    td.n { (one.oldest_ready_at.map_or_else(|| "–".to_owned(), |at| span(now.since(at.0)))) }
                    td.n.wide { (number(one.count(&LATER))) }
                    td.n.wide { (number(one.count(&[Status::Failed, Status::Stalled, Status::Dropped]))) }
                    td.n.wide { (number(one.count(&[Status::Completed]))) }
                }
            }
        }
    }
}
