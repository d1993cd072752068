//! Workflows: their states, the graph of each; cancel, retry.

use axum::http::Method;
use jobbers_api::{
    wire::path::path,
    workflow::{NodeView, WorkflowGraphView, WorkflowListView, WorkflowView},
};
use jobbers_common::{lifecycle::Status, workflow::RunState};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button},
        graph::{self, took},
        words::{Tone, figure, line, many, number, shell, short, state, status, task, to, when, when_if},
    },
    session::ask::{Api, Form, Query},
};

/// How many are on a page.
const ROWS: usize = 50;
/// Up to so many nodes are drawn. Of a larger graph, some nodes are listed.
const DRAWN: usize = 150;
/// How many nodes are listed.
const LISTED: usize = 200;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Search {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// `GET /ui/workflows`.
pub(super) async fn list(screen: Screen, Query(search): Query<Search>) -> Answered {
    let asked = serde_html_form::to_string(&search).unwrap_or_default();
    let page: WorkflowListView = screen.api.get(&format!("/workflows?limit={ROWS}&{asked}")).await?;
    let at = |cursor: Option<String>| to("workflows", &Search { cursor, ..search.clone() });
    let body = html! {
        h1 { "Workflows" }
        form.filter {
            label { "State" select name="state" {
                option value="" { "any" }
                @for one in ["submitting", "running", "completed", "failed", "cancelled"] {
                    option value=(one) selected[search.state.as_deref() == Some(one)] { (one) }
                }
            } }
            label { "Name" input type="search" name="name" value=[search.name.as_deref()]; }
            button { "Find" }
            a.button href="workflows" { "All" }
        }
        section.card #workflows data-live { (table(&screen, &page.workflows)) }
        nav.pages aria-label="Parts of the list" {
            @if search.cursor.is_some() { a.button href=(at(None)) { "First page" } }
            @if let Some(next) = &page.next_cursor { a.button rel="next" href=(at(Some(next.clone()))) { "Next page" } }
        }
    };
    Ok(screen.page("Workflows", "Workflows", &body))
}

fn table(screen: &Screen, runs: &[WorkflowView]) -> Markup {
    let now = screen.now();
    html! {
        @if runs.is_empty() { p.soft { "None. " code { "jobbers workflow submit FILE.mmd" } } }
        @else {
            table {
                tr {
                    th { "Workflow" } th { "Name" } th { "State" } th.n { "Nodes over" } th.wide { "Created" }
                    th { "Over" } th.n.wide { "Attempt" }
                }
                @for run in runs {
                    tr {
                        td { a.id href=(to("workflow", &[("id", run.id.as_str())])) { (run.id) } }
                        td { @if let Some(name) = &run.name { (name) } }
                        td { (standing(run.state)) }
                        td.n { (number(run.over as u64)) " of " (number(run.nodes.into())) }
                        td.wide { (when(run.created_at, now)) }
                        td { (when_if(run.finished_at, now)) }
                        td.n.wide { (run.attempt) }
                    }
                }
            }
        }
    }
}

/// The state of a run in its colour.
pub(super) fn standing(run: RunState) -> Markup {
    let tone = match run {
        RunState::Completed => Tone::Good,
        RunState::Failed => Tone::Bad,
        RunState::Cancelled => Tone::Warn,
        _ => Tone::Idle,
    };
    state(tone, run)
}

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    id: String,
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/workflow?id=`.
pub(super) async fn show(screen: Screen, Query(Params { id, did, n }): Query<Params>) -> Answered {
    let found: WorkflowGraphView = screen.api.get(&path(["workflows", &id])).await?;
    let run = &found.run;
    let is_drawn = found.graph.len() <= DRAWN;
    let body = html! {
        @if let Some(did) = did { (did.note(&id, n)) }
        h1 #head data-live {
            @if let Some(name) = &run.name { (name) " " } (standing(run.state))
            @if run.cancel_requested && run.finished_at.is_none() { " " small { "being cancelled" } }
            br; small.id { (id) }
        }
        (figures(&screen, &found))
        @for (title, reason) in [("It failed", &run.failure), ("The store takes no more of it now", &run.refusal)] {
            @if let Some(reason) = reason { section.card { h2 { (title) } p { (line(reason)) } } }
        }
        (actions(run))
        @if is_drawn { section.card #graph data-live { h2 { "Graph" } (graph::draw(&found.graph, screen.now())) } }
        section.card #nodes data-live { h2 { "Nodes" } (nodes(&screen, &found.graph)) }
        p.soft { code { "jobbers workflow show " (shell(&id)) } }
    };
    Ok(screen.page("Workflows", &id, &body))
}

fn figures(screen: &Screen, found: &WorkflowGraphView) -> Markup {
    let (run, now) = (&found.run, screen.now());
    html! {
        dl.figures #figures data-live {
            (figure("Nodes over", &html! { (number(run.over as u64)) small { " of " (number(run.nodes.into())) } }))
            @for (status, count) in &found.progress { (figure(status.as_str(), &html! { (number(*count as u64)) })) }
            (figure("Created", &when(run.created_at, now)))
            @if let Some(at) = run.finished_at { (figure("Over", &when(at, now))) }
            (figure(
                if run.finished_at.is_some() { "Took" } else { "Runs for" },
                &html! {
                    (short(run.finished_at.map_or(now, |at| at.0).since(run.started_at.0)))
                    @if run.attempt > 1 { small { " this attempt" } }
                },
            ))
            @if run.attempt > 1 { (figure("Attempt", &html! { (run.attempt) })) }
        }
    }
}

fn actions(run: &WorkflowView) -> Markup {
    let command = |verb: &str| html! { " " code { "jobbers workflow " (verb) " " (shell(run.id.as_str())) } };
    let left = u64::from(run.nodes).saturating_sub(run.over as u64);
    let cancel = html! {
        "Its tasks that are not over, " (many(left, "task"))
        " of them, are cancelled; those that run are asked to stop." (command("cancel"))
    };
    let retry =
        html! { "What did not complete runs again, and what waits for it. What completed stays." (command("retry")) };
    html! {
        div.actions {
            @match run.state {
                RunState::Failed | RunState::Cancelled => (action("Retry", &retry, &button("retry", "Retry", false))),
                RunState::Completed => {},
                _ => (action("Cancel", &cancel, &button("cancel", "Cancel it", true))),
            }
        }
    }
}

/// Nodes as a table, those that ended badly first.
fn nodes(screen: &Screen, graph: &[NodeView]) -> Markup {
    let weight = |node: &&NodeView| match node.status {
        Status::Failed | Status::Stalled | Status::Dropped => 0,
        Status::Started => 1,
        Status::Submitted | Status::Scheduled => 2,
        Status::Aborted | Status::Cancelled => 3,
        Status::Waiting => 4,
        Status::Completed => 5,
    };
    let mut shown: Vec<&NodeView> = graph.iter().collect();
    shown.sort_by_key(weight);
    html! {
        table {
            tr { th { "Node" } th { "Status" } th.n { "Took" } th { "Runs" } th.wide { "Waits for" } th.wide { "Task" } }
            @for node in shown.iter().take(LISTED) {
                tr {
                    td { (node.id) }
                    td { (status(node.status)) @if node.skipped { " not needed" } }
                    td.n { (took(node, screen.now()).unwrap_or_default()) }
                    td { (node.name) }
                    td.wide.wrap {
                        @for edge in node.depends_on.iter().take(5) { (edge.id) " " }
                        @if node.depends_on.len() > 5 { "and " (node.depends_on.len() - 5) " more" }
                    }
                    td.wide { (task(&node.task)) }
                }
            }
        }
        @if graph.len() > LISTED { p.soft { "And " (graph.len() - LISTED) " more." } }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(super) enum Change {
    Cancel,
    Retry,
}

/// `POST /ui/workflow?id=`.
pub(super) async fn change(Query(Params { id, .. }): Query<Params>, api: Api, Form(change): Form<Change>) -> Answered {
    let (verb, did) = match change {
        Change::Cancel => ("cancel", Did::RunCancelled),
        Change::Retry => ("retry", Did::RunRetried),
    };
    api.call::<WorkflowView>(Method::POST, &format!("{}/{verb}", path(["workflows", &id]))).await?;
    Ok(back("workflow", Some(("id", &id)), did, None))
}
