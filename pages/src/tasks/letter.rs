//! One dead letter with its task and every failure, and one operation that sends some again.

use axum::{http::Method, response::Response};
use jobbers_api::{
    dead_letter::{ChangeView, DeleteRequest, HistoryView, WholeLetterView, operation::WholeOperationView},
    task::{resubmit::ResubmittedView, view::AttemptView},
    value::Asked,
    wire::path::path,
};
use jobbers_common::task::dead_letter::{LetterState, OperationState};
use maud::{Markup, html};
use serde::Deserialize;

use super::task::failed;
use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing},
        payload::{self, PayloadPart, Source},
        words::{Tone, line, number, queue, shell, state, status, task, to, when},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

/// How many failures of a task, and tasks of an operation, are shown.
const FAILURES: usize = 20;
const ROWS: usize = 100;

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    id: String,
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/letter?id=`.
pub(crate) async fn show(screen: Screen, Query(Params { id, did, n }): Query<Params>) -> Answered {
    let letter: WholeLetterView = screen.api.get(&path(["dead-letter-queue", &id])).await?;
    let history: Result<HistoryView, ApiRefusal> =
        screen.api.get(&format!("{}/history", path(["dead-letter-queue", &id]))).await;
    let history = history.map(|history| history.failures);
    let note = did.map(|did| did.note(&id, n));
    Ok(page(&screen, &letter, &history, note.as_ref(), false))
}

/// The page of a letter, perhaps one that reveals what is hidden.
fn page(
    screen: &Screen,
    WholeLetterView { entry, task: whole }: &WholeLetterView,
    history: &Result<Vec<AttemptView>, ApiRefusal>,
    note: Option<&Markup>,
    reveals: bool,
) -> Response {
    let id = entry.id.as_str();
    let tone = if entry.state == LetterState::Dead { Tone::Bad } else { Tone::Warn };
    let body = html! {
        @if let Some(note) = note { (note) }
        h1 { (entry.name) " " (state(tone, entry.state.as_str())) br; small.id { (id) } }
        dl.figures {
            div { dt { "Ended as" } dd { (status(entry.status)) } }
            div { dt { "Failed" } dd { (when(entry.failed_at, screen.now())) } }
            div { dt { "Attempts" } dd { (entry.attempt) } }
            div { dt { "Queue" } dd { (queue(&entry.queue)) } }
            div { dt { "Task" } dd { a href=(to("task", &[("id", id)])) { "as it is now" } } }
        }
        @if entry.state == LetterState::Dead || entry.state == LetterState::Superseded { (actions(id)) }
        section.card { h2 { "Every failure" } (failures(screen, history, entry.sensitive)) }
        @if entry.sensitive && !reveals { (payload::hidden(id, "dlq show")) }
        (payload::card(whole, Source::Letter, PayloadPart::Parameters))
        (payload::card(whole, Source::Letter, PayloadPart::Checkpoint))
    };
    screen.page("Dead letters", id, &body)
}

fn failures(screen: &Screen, history: &Result<Vec<AttemptView>, ApiRefusal>, is_sensitive: bool) -> Markup {
    let failures = match history {
        Ok(failures) => failures,
        Err(refusal) => return missing(refusal),
    };
    let latest = &failures[failures.len().saturating_sub(FAILURES)..];
    html! {
        @if latest.len() < failures.len() { p.soft { "The latest " (FAILURES) " of " (failures.len()) "." } }
        ol.timeline { @for failure in latest { (failed(screen, failure, is_sensitive, latest.len())) } }
    }
}

fn actions(id: &str) -> Markup {
    let id = shell(id);
    let again = html! {
        "It runs again under its id, with its attempts counted from the start. " code { "jobbers dlq resubmit " (id) }
    };
    let delete = html! {
        "All dead letters of this task are deleted. It can't be undone; the task in the store is not changed. "
        code { "jobbers dlq delete " (id) }
    };
    html! {
        div.actions {
            (action("Send again", &again, &button("resubmit", "Send it again", false)))
            (action("Delete", &delete, &button("delete", "Delete it", true)))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Change {
    Resubmit,
    Delete,
    Reveal,
}

/// `POST /ui/letter?id=`.
pub(crate) async fn change(
    Query(Params { id, .. }): Query<Params>,
    screen: Screen,
    Form(change): Form<Change>,
) -> Answered {
    let api = &screen.api;
    match change {
        Change::Resubmit => {
            api.call::<ResubmittedView>(Method::POST, &format!("{}/resubmit", path(["tasks", &id]))).await?;
            Ok(back("task", Some(("id", &id)), Did::Resubmitted, Some(1)))
        }
        Change::Delete => {
            let ids = Some(vec![id.parse().map_or_else(|_| Asked::Illegal(id), Asked::Legal)]);
            let request = DeleteRequest { ids, ..DeleteRequest::default() };
            let deleted: ChangeView = api.call_with(Method::DELETE, "/dead-letter-queue", &request).await?;
            Ok(back("letters", None, Did::LettersDeleted, Some(deleted.changed)))
        }
        Change::Reveal => {
            let at = format!("{}/reveal", path(["dead-letter-queue", &id]));
            let letter: WholeLetterView = api.call(Method::POST, &at).await?;
            // The history hides what its task said; the copy of the task has it.
            let failures = Ok(letter.task.errors.clone());
            Ok(page(&screen, &letter, &failures, None, true))
        }
    }
}

/// `GET /ui/operation?id=`.
pub(crate) async fn operation(screen: Screen, Query(Params { id, did, n }): Query<Params>) -> Answered {
    let WholeOperationView { entry, tasks } = screen.api.get(&path(["dead-letter-queue", "operations", &id])).await?;
    let is_over = entry.finished_at.is_some();
    let sent = entry.total.saturating_sub(entry.pending);
    let tone = match entry.state {
        OperationState::Done => Tone::Good,
        _ => Tone::Warn,
    };
    let body = html! {
        @if let Some(did) = did.filter(|did| is_over || *did != Did::LettersSent) { (did.note(&id, n)) }
        h1 #head data-live {
            "Dead letters sent again " (state(tone, entry.state.as_str())) br; small.id { (line(&id)) }
        }
        section.card #progress data-live {
            h2 { (number(sent)) " of " (number(entry.total)) " are handled, " (number(entry.resubmitted)) " were sent" }
            progress max=(entry.total.max(1)) value=(sent) { (sent) }
            table {
                @for (outcome, count) in &entry.outcomes {
                    tr { td { (outcome.to_string().replace('_', " ")) } td.n { (number(*count)) } }
                }
            }
        }
        @if !is_over {
            div.actions {
                (action("Stop", &stop_words(&id), &button("cancel", "Stop it", true)))
            }
        }
        section.card #tasks data-live {
            h2 { "Tasks" @if tasks.len() > ROWS { " " small { "the first " (ROWS) } } }
            table {
                @for item in tasks.iter().take(ROWS) {
                    tr {
                        td { (task(&item.id)) } td { (item.outcome.to_string().replace('_', " ")) }
                        td.wrap { (item.detail.as_deref().map(line).unwrap_or_default()) }
                    }
                }
            }
        }
    };
    Ok(screen.page("Dead letters", "Dead letters sent again", &body))
}

fn stop_words(id: &str) -> Markup {
    html! { "What is not sent yet stays dead. What was sent goes on. " code { "jobbers dlq cancel " (shell(id)) } }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Stop {
    Cancel,
}

/// `POST /ui/operation?id=`.
pub(crate) async fn stop(
    Query(Params { id, .. }): Query<Params>,
    api: Api,
    Form(Stop::Cancel): Form<Stop>,
) -> Answered {
    let path = path(["dead-letter-queue", "operations", &id]);
    api.call::<WholeOperationView>(Method::DELETE, &path).await?;
    Ok(back("operation", Some(("id", &id)), Did::OperationCancelled, None))
}
