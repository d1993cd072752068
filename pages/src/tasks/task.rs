//! One task: why it is as it is, its attempts, what it was given and found out; cancel, send again, edit and send again,
//! send a signal.

use axum::http::Method;
use jobbers_api::{
    task::{
        cancel::CancelledView,
        explain::{ExplainView, Reason},
        reschedule::RescheduledView,
        resubmit::ResubmittedView,
        signal::{SendSignal, SignalledView},
        view::{AttemptView, TaskView},
    },
    wire::path::path,
    workflow::WorkflowView,
};
use jobbers_common::{
    dependency::signal::SignalState,
    lifecycle::Status,
    name::{NodeName, SignalName, WorkflowId},
    workflow::run_of,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::again;
use crate::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing},
        payload::{self, PayloadPart, Source},
        words::{cut, figure, line, number, prose, queue, said, shell, status, task, text, to, when},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
    settings::trace_id,
};

/// How many attempts a page shows: the first and the latest.
const ATTEMPTS: usize = 20;
/// How many bytes of a page the messages of attempts take together.
const MESSAGE_BYTES: usize = 12 * 1024;

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    id: String,
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/task?id=`.
pub(crate) async fn show(screen: Screen, Query(Params { id, did, n }): Query<Params>) -> Answered {
    let found: TaskView = screen.api.get(&path(["tasks", &id])).await?;
    let note = did.map(|did| did.note(&id, n));
    page(&screen, &found, note.as_ref(), false).await
}

/// The page of a task. One that reveals what is hidden does not keep itself current: it is shown once.
async fn page(screen: &Screen, found: &TaskView, note: Option<&Markup>, reveals: bool) -> Answered {
    let id = found.id.as_str();
    let is_live = !found.status.is_finished();
    let why: Option<Result<ExplainView, ApiRefusal>> = match is_live {
        true => Some(screen.api.get(&format!("{}/explain", path(["tasks", id]))).await),
        false => None,
    };
    let run = workflow(&screen.api, found).await;
    let body = html! {
        @if let Some(note) = note { (note) }
        h1 #head data-live {
            (found.name) " " (status(found.status)) @if found.cancel_requested { " " small { "asked to stop" } } br;
            small.id { (id) }
        }
        (figures(screen, found))
        @if let Some(why) = &why {
            section.card #why data-live {
                h2 { "Why" } @match why { Ok(why) => (reasons(screen, why)), Err(refusal) => (missing(refusal)) }
            }
        }
        @if let Some(progress) = &found.progress {
            section.card #progress data-live[!reveals] {
                h2 { "Progress" }
                progress max="1" value=(progress.fraction) { (progress.fraction) }
                p {
                    (format!("{:.0} %", progress.fraction * 100.0)) " "
                    (text(said(&progress.message, found.sensitive)))
                }
            }
        }
        (actions(found))
        div.two {
            section.card #attempts data-live[!reveals] { h2 { "Attempts" } (timeline(screen, found)) }
            section.card { h2 { "Details" } (details(screen, found, run.as_ref())) }
        }
        @if found.sensitive && !reveals { (payload::hidden(id, "status")) }
        @for part in [PayloadPart::Parameters, PayloadPart::Result, PayloadPart::Checkpoint] { (payload::card(found, Source::Task, part)) }
        section.card { h2 { "The same again" } (again::commands(found, &screen.api.address())) }
    };
    Ok(screen.page("Tasks", id, &body))
}

/// The workflow and the node that a task belongs to. Its id may only look as if it had them.
async fn workflow(api: &Api, task: &TaskView) -> Option<(WorkflowId, NodeName)> {
    let (run, node) = run_of(&task.id)?;
    let found: Result<WorkflowView, ApiRefusal> = api.get(&path(["workflows", run.as_str()])).await;
    found.ok().map(|_| (run, node))
}

fn figures(screen: &Screen, task: &TaskView) -> Markup {
    let retries = task.policy_in_force.as_ref().and_then(|policy| policy.max_retries).or(task.policy.max_retries);
    let now = screen.now();
    html! {
        dl.figures #figures data-live {
            (figure("Attempt", &html! {
                (task.attempt) @if let Some(retries) = retries { small { " of at most " (u64::from(retries) + 1) } }
            }))
            (figure("Queue", &queue(&task.queue)))
            (figure("Submitted", &when(task.submitted_at, now)))
            @if let Some(at) = task.finished_at { (figure("Over", &when(at, now))) }
            @else if let Some(at) = task.started_at.filter(|_| task.status == Status::Started) {
                (figure("Runs since", &when(at, now)))
            }
            @else if task.status == Status::Scheduled { (figure("Due", &when(task.ready_at, now))) }
            @if task.crashes > 0 { (figure("Lost with workers", &html! { (number(task.crashes.into())) })) }
        }
    }
}

/// Everything that keeps a task from running, or what it does.
pub(crate) fn reasons(screen: &Screen, why: &ExplainView) -> Markup {
    html! {
        (reason_list(screen, &why.reasons))
        @if let Some(ahead) = why.ahead.filter(|ahead| *ahead > 0) { p { (number(ahead)) " tasks of its queue are claimed before it." } }
        p.soft { code { "jobbers explain " (shell(why.id.as_str())) } }
    }
}

/// Reasons, each with what holds it up and since when.
pub(crate) fn reason_list(screen: &Screen, reasons: &[Reason]) -> Markup {
    html! {
        ul {
            @for reason in reasons {
                li {
                    (prose(&line(&reason.message))) "."
                    @if let Some(since) = reason.since { " Since " (when(since, screen.now())) "." }
                    @if let Some(until) = reason.until { " Until " (when(until, screen.now())) "." }
                    @for holder in &reason.tasks { " " (task(holder)) }
                    @for worker in &reason.workers { " " code { (worker.id) } " on " (line(&worker.host)) "." }
                }
            }
        }
    }
}

fn timeline(screen: &Screen, task: &TaskView) -> Markup {
    let now = screen.now();
    let (errors, left_out) = (&task.errors, task.errors.len().saturating_sub(ATTEMPTS));
    let shown = errors.len() - left_out;
    let latest = task.started_at.filter(|at| errors.last().is_none_or(|error| *at > error.at));
    html! {
        ol.timeline {
            li { "Submitted " (when(task.submitted_at, now)) }
            @for (place, error) in errors.iter().enumerate() {
                @if place == ATTEMPTS / 2 && left_out > 0 { li { (left_out) " more attempts" } }
                @if left_out == 0 || place < ATTEMPTS / 2 || place >= ATTEMPTS / 2 + left_out {
                    (failed(screen, error, task.sensitive, shown))
                }
            }
            @if let Some(at) = latest {
                li.good[task.status == Status::Started] {
                    "Attempt " (task.attempt) " claimed " (when(at, now))
                    @if let Some(worker) = &task.worker { " by " code { (worker) } }
                    @if let Some(at) = task.heartbeat_at { "; heartbeat " (when(at, now)) }
                    @if let Some(lease) = &task.lease { "; its lease ends " (when(lease.expires_at, now)) }
                }
            }
            @if let Some(at) = task.finished_at {
                li.good[task.status == Status::Completed].bad[task.status != Status::Completed] {
                    (status(task.status)) " " (when(at, now))
                }
            } @else if task.status == Status::Scheduled {
                li { "Due " (when(task.ready_at, now)) }
            }
        }
    }
}

/// A failed attempt in a timeline of so many, perhaps of a sensitive task.
pub(crate) fn failed(screen: &Screen, error: &AttemptView, is_sensitive: bool, shown: usize) -> Markup {
    let message = text(said(&error.message, is_sensitive));
    let first = cut(&message, MESSAGE_BYTES / shown.max(1));
    html! {
        li.bad {
            "Attempt " (error.attempt) ": " (error.kind.to_string())
            @if let Some(kind) = &error.error_kind { " " code { (line(&kind.to_string())) } }
            " " (when(error.at, screen.now())) " on " code { (error.worker) }
            pre tabindex="0" { (first.unwrap_or(&message)) @if first.is_some() { "…" } }
        }
    }
}

/// The id of a trace, and the way to it if the manager has the address of a viewer.
fn traced(api: &Api, traceparent: &str) -> Markup {
    let id = trace_id(traceparent).unwrap_or(traceparent);
    match api.settings().and_then(|settings| settings.trace_address(trace_id(traceparent)?)) {
        Some(address) => html! { a rel="noreferrer" href=(address) { code { (id) } } },
        None => html! { code { (line(id)) } },
    }
}

fn details(screen: &Screen, found: &TaskView, run: Option<&(WorkflowId, NodeName)>) -> Markup {
    let now = screen.now();
    let rows: Vec<(&str, Option<Markup>)> = vec![
        (
            "Kind",
            Some(html! { a href=(to("kind", &[("name", found.name.as_str())])) { (found.name) "@" (found.version) } }),
        ),
        ("Priority", Some(html! { (found.priority) })),
        (
            "Worker",
            found
                .worker
                .as_ref()
                .map(|worker| html! { a.id href=(to("tasks", &[("worker", worker.as_str())])) { (worker) } }),
        ),
        ("Expires", found.expires_at.map(|at| when(at, now))),
        ("Concurrency key", found.concurrency_key.as_ref().map(|key| html! { (line(&key.to_string())) })),
        ("Unique by", found.unique.as_ref().map(|unique| html! { (line(&unique.key)) })),
        ("Dead letter", found.dead_letter.then(|| html! { "kept as one if it fails for good" })),
        ("Trace", found.traceparent.as_deref().map(|trace| traced(&screen.api, trace))),
    ];
    html! {
        table {
            @for (name, value) in rows { @if let Some(value) = value { tr { th { (name) } td.wrap { (value) } } } }
            @for (name, value) in found.labels.iter() {
                tr {
                    th { "Label " (name.to_string()) }
                    td.wrap { a href=(to("tasks", &[("label", format!("{name}={value}"))])) { (line(value)) } }
                }
            }
            @if let Some((run, node)) = run {
                tr {
                    th { "Workflow" }
                    td.wrap { a href=(to("workflow", &[("id", run.as_str())])) { (run) } ", node " (node) }
                }
            }
            @if let Some(waits) = &found.dependencies {
                tr { th { "Waits for" } td.wrap {
                    (waits.signals) " of " (waits.total) " have come"
                    @for other in &waits.waits_for { br; (task(&other.id)) }
                    @for signal in &waits.external { br; "signal " (signal.name.to_string()) }
                    @if let Some(ended) = &waits.aborted_by {
                        br; "aborted because " (task(&ended.id)) " is " (ended.status)
                    }
                } }
            }
        }
        @if let Some(policy) = &found.policy_in_force {
            h2 { "Policy" }
            table {
                @let spans = [
                    ("Retry delay", &policy.retry_delay),
                    ("Longest retry delay", &policy.max_retry_delay),
                    ("Retried for", &policy.retry_for),
                    ("Timeout", &policy.timeout),
                    ("Heartbeat", &policy.max_heartbeat_interval),
                ];
                @for (name, value) in spans { @if let Some(value) = value { tr { th { (name) } td { (value) } } } }
            }
        }
    }
}

fn actions(task: &TaskView) -> Markup {
    let command = |verb: &str| html! { " " code { "jobbers " (verb) " " (shell(task.id.as_str())) } };
    let cancel = match task.status {
        Status::Started => {
            html! {
                "Its worker is asked to stop it. A task that does not look for the request runs to its end."
                (command("cancel"))
            }
        }
        _ => html! { "It never runs. Tasks that wait for it go by their policies." (command("cancel")) },
    };
    let again = html! {
        "It runs again under its id, at the end of its queue, with its attempts counted from the start."
        (command("resubmit"))
    };
    let now = html! { "It joins the end of its queue, whatever it waits for." (command("reschedule")) };
    let later = html! {
        "It starts so long from now: " code { "90s" } ", " code { "10m" } ", " code { "2h" } ", " code { "1d" } "."
        (command("reschedule --delay 90m"))
    };
    html! {
        div.actions {
            @if !task.status.is_finished() { (action("Cancel", &cancel, &button("cancel", "Cancel it", true))) }
            @else if task.status != Status::Completed {
                (action("Send again", &again, &button("resubmit", "Send it again", false)))
            }
            @if task.status == Status::Scheduled {
                (action("Run now", &now, &button("run_now", "Run it now", false)))
                (action("Run later", &later, &html! {
                    label { "From now" input name="delay" required size="8" placeholder="90m"; }
                    (button("run_later", "Change its time", false))
                }))
            }
            @for signal in waiting_for(task) { (signal_action(task, signal)) }
            a.button href=(to("submit", &[("from", task.id.as_str())])) { "Edit and send again…" }
        }
    }
}

/// The signals from outside that a task waits for.
fn waiting_for(task: &TaskView) -> impl Iterator<Item = &SignalName> {
    let signals = task.dependencies.iter().flat_map(|waits| &waits.external);
    signals.filter(|signal| signal.state == SignalState::Waiting).map(|signal| &signal.name)
}

fn signal_action(task: &TaskView, signal: &SignalName) -> Markup {
    let words = html! {
        "The task then waits for this signal no more. It can't be taken back. "
        code { "jobbers signal " (shell(task.id.as_str())) " " (shell(signal.as_str())) }
    };
    action(
        &format!("Send signal {signal}"),
        &words,
        &html! {
            input type="hidden" name="signal" value=(signal);
            (button("signal", "Send it", false))
        },
    )
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Change {
    Cancel,
    Resubmit,
    RunNow,
    RunLater { delay: String },
    Signal { signal: SignalName },
    Reveal,
}

/// `POST /ui/task?id=`.
pub(crate) async fn change(
    Query(Params { id, .. }): Query<Params>,
    screen: Screen,
    Form(change): Form<Change>,
) -> Answered {
    let api = &screen.api;
    let verb = |verb: &str| format!("{}/{verb}", path(["tasks", &id]));
    let did = match change {
        Change::Cancel => api.call::<CancelledView>(Method::POST, &verb("cancel")).await.map(|_| Did::Cancelled)?,
        Change::Resubmit => {
            api.call::<ResubmittedView>(Method::POST, &verb("resubmit")).await.map(|_| Did::Resubmitted)?
        }
        Change::RunNow => api.call::<RescheduledView>(Method::POST, &verb("reschedule")).await.map(|_| Did::RunsNow)?,
        Change::RunLater { delay } => {
            let body = serde_json::json!({ "delay": delay });
            api.call_with::<RescheduledView>(Method::POST, &verb("reschedule"), &body)
                .await
                .map(|_| Did::Rescheduled)?
        }
        Change::Signal { signal } => {
            let sent = SendSignal { name: signal, keep_for: None };
            api.call_with::<SignalledView>(Method::POST, &verb("signal"), &sent).await.map(|_| Did::Signalled)?
        }
        Change::Reveal => {
            let found: TaskView = api.call(Method::POST, &verb("reveal")).await?;
            return page(&screen, &found, None, true).await;
        }
    };
    Ok(back("task", Some(("id", &id)), did, Some(1)))
}
