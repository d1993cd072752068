//! The workers that are alive, what each runs, and having some drain.

use axum::http::Method;
use jobbers_api::{
    problem::{Code, Problem},
    task::list::{ActivePageView, ActiveTaskView, TaskPageView},
    value::Rfc3339,
    wire::path::path,
    worker::{HeldThreadView, SteeredView, WorkerListView, WorkerSelection, WorkerView},
};
use jobbers_common::name::TaskId;
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing},
        words::{Tone, figure, line, number, queue, shell, some_queues, state, task, to, when, when_if},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

/// How many workers a page lists, and how many tasks of one.
const ROWS: usize = 200;
const TASKS: usize = 50;
/// Among how many running tasks the one is looked for that each worker has run longest.
const ACTIVE: usize = 1_000;

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/workers`.
pub(super) async fn list(screen: Screen, Query(Params { did, n }): Query<Params>) -> Answered {
    let WorkerListView { workers } = screen.api.get("/workers").await?;
    let active: Result<ActivePageView, ApiRefusal> = screen.api.get(&format!("/active-tasks?limit={ACTIVE}")).await;
    let active = active.map(|page| page.tasks).unwrap_or_default();
    let body = html! {
        @if let Some(did) = did { (did.note("", n)) }
        h1 { "Workers " small { (number(workers.len() as u64)) } }
        section.card #workers data-live { (table(&screen, &workers, &active)) }
        @if !workers.is_empty() { (steer(&workers)) }
    };
    Ok(screen.page("Workers", "Workers", &body))
}

fn table(screen: &Screen, workers: &[WorkerView], active: &[ActiveTaskView]) -> Markup {
    html! {
        @if workers.is_empty() {
            p.soft { "No worker is alive: tasks wait until one starts, for example by " code { "jobbers worker" } "." }
        }
        @else {
            table {
                tr {
                    th { "Worker" } th { "Host" } th.wide { "Role" } th.n { "Running" } th { "State" } th { "Longest since" }
                    th.n.wide { "Settled" } th.n.wide { "A minute" } th.wide { "Started" } th.wide { "Seen" }
                    th.wide { "Version" }
                }
                @for worker in workers.iter().take(ROWS) {
                    tr {
                        td { a.id href=(to("worker", &[("id", worker.id.as_str())])) { (worker.id) } }
                        td { (line(&worker.host)) ":" (worker.pid) }
                        td.wide { (worker.role) }
                        td.n { (worker.running) " of " (worker.slots) }
                        td { (standing(worker)) }
                        td {
                            @if let Some((id, since)) = longest(active, worker) {
                                a href=(to("task", &[("id", id.as_str())])) { (when(since, screen.now())) }
                            } @else { "–" }
                        }
                        td.n.wide { (number(worker.settled)) }
                        td.n.wide { (number(a_minute(worker))) }
                        td.wide { (when(worker.started_at, screen.now())) }
                        td.wide { (when(worker.seen_at, screen.now())) }
                        td.wide { (line(&worker.version)) }
                    }
                }
            }
            @if workers.len() > ROWS { p.soft { "And " (workers.len() - ROWS) " more: " code { "jobbers workers" } } }
        }
    }
}

/// Of what a worker runs, the task that it has run longest, and since when.
fn longest<'a>(active: &'a [ActiveTaskView], worker: &WorkerView) -> Option<(&'a TaskId, Rfc3339)> {
    let of_worker = active.iter().filter(|task| task.worker.as_ref() == Some(&worker.id));
    of_worker.filter_map(|task| Some((&task.id, task.started_at?))).min_by_key(|(_, since)| since.0)
}

/// How many tasks a worker has settled in each minute since it started.
fn a_minute(worker: &WorkerView) -> u64 {
    let alive = worker.seen_at.0.since(worker.started_at.0).as_secs();
    worker.settled.saturating_mul(60).checked_div(alive).unwrap_or(worker.settled)
}

fn standing(worker: &WorkerView) -> Markup {
    match () {
        () if !worker.hung_threads.is_empty() => state(Tone::Bad, "threads held"),
        () if worker.draining_since.is_some() => state(Tone::Warn, "draining"),
        () => state(Tone::Good, worker.state.to_string()),
    }
}

/// Drain or resume by host, version or role, after a word on how many that are.
fn steer(workers: &[WorkerView]) -> Markup {
    let choice = |label: &str, name: &str, of: fn(&WorkerView) -> String| {
        let mut values: Vec<String> = workers.iter().map(of).collect();
        values.sort_unstable();
        let counts = values.chunk_by(|a, b| a == b).map(|same| (same[0].clone(), same.len())).collect::<Vec<_>>();
        html! {
            label { (label) select name=(name) {
                option value="" { "any" }
                @for (value, count) in counts { option value=(value) { (line(&value)) " (" (count) ")" } }
            } }
        }
    };
    let fields = html! {
        div.fields {
            (choice("Host", "host", |worker| worker.host.clone()))
            (choice("Version", "version", |worker| worker.version.clone()))
            (choice("Role", "role", |worker| worker.role.to_string()))
        }
    };
    let drain = html! {
        "Workers for which all of this holds claim nothing more; they finish what they run and stay alive. "
        code { "jobbers workers drain --host HOST" }
    };
    let resume = html! {
        "Workers for which all of this holds claim tasks again. " code { "jobbers workers resume --host HOST" }
    };
    html! {
        div.actions {
            (action("Drain some", &drain, &html! { (fields) (button("drain", "Drain", true)) }))
            (action("Let some claim again", &resume, &html! { (fields) (button("resume", "Resume", false)) }))
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Steer {
    act: Act,
    host: Option<String>,
    version: Option<String>,
    role: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Drain,
    Resume,
}

impl Act {
    const fn verb(self) -> (&'static str, Did) {
        match self {
            Self::Drain => ("drain", Did::Drained),
            Self::Resume => ("resume", Did::Undrained),
        }
    }
}

/// `POST /ui/workers`.
pub(super) async fn change(api: Api, Form(Steer { act, host, version, role }): Form<Steer>) -> Answered {
    let refused =
        |error: &dyn std::fmt::Display| ApiRefusal::from(Problem::new(Code::InvalidRequest, error.to_string()));
    let role = role.map(|role| role.parse()).transpose().map_err(|error| refused(&error))?;
    let (verb, did) = act.verb();
    let steered: SteeredView =
        api.call_with(Method::POST, &format!("/workers/{verb}"), &WorkerSelection { host, version, role }).await?;
    Ok(back("workers", None, did, Some(steered.workers.len() as u64)))
}

#[derive(Debug, Deserialize)]
pub(super) struct OneParams {
    id: String,
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/worker?id=`.
pub(super) async fn show(screen: Screen, Query(OneParams { id, did, n }): Query<OneParams>) -> Answered {
    let WorkerListView { workers } = screen.api.get("/workers").await?;
    let worker = workers.into_iter().find(|worker| worker.id.as_str() == id);
    let worker = worker.ok_or_else(|| Problem::new(Code::UnknownWorker, format!("no live worker has the id {id}")))?;
    let limit = TASKS.to_string();
    let query = [("worker", id.as_str()), ("status", "started"), ("limit", &limit)];
    let running: Result<TaskPageView, ApiRefusal> = screen.api.get(&to("/tasks", &query)).await;
    let body = html! {
        @if let Some(did) = did { (did.note(&id, n)) }
        h1 #head data-live { (line(&worker.host)) ":" (worker.pid) " " (standing(&worker)) br; small.id { (id) } }
        (figures(&screen, &worker))
        (actions(&worker))
        section.card #running data-live { h2 { "What it runs" } (tasks(&screen, &running)) }
        @if let Some(blocking) = &worker.blocking {
            section.card #threads data-live {
                h2 {
                    "Threads for blocking tasks "
                    small { (blocking.busy) " of " (blocking.threads) " busy, " (blocking.waiting) " tasks wait" }
                }
                (threads(&screen, &blocking.held))
            }
        }
        @if !worker.hung_threads.is_empty() {
            section.card #hung data-live {
                h2 { "Threads held by attempts that are over" } (threads(&screen, &worker.hung_threads))
            }
        }
        section.card { h2 { "Serves" } p { (some_queues(&worker.queues)) } }
        section.card {
            h2 { "Can run" } p { @for name in worker.tasks.iter().take(ROWS) { code { (line(name)) } " " } }
        }
    };
    Ok(screen.page("Workers", &id, &body))
}

fn figures(screen: &Screen, worker: &WorkerView) -> Markup {
    html! {
        dl.figures #figures data-live {
            (figure("Running", &html! { (worker.running) small { " of " (worker.slots) } }))
            (figure("Settled", &html! { (number(worker.settled)) }))
            (figure("Started", &when(worker.started_at, screen.now())))
            (figure("Seen", &when(worker.seen_at, screen.now())))
            (figure("Version", &html! { (line(&worker.version)) }))
            @if worker.draining_since.is_some() { (figure("Done by", &when_if(worker.done_by, screen.now()))) }
        }
    }
}

fn actions(worker: &WorkerView) -> Markup {
    let id = shell(worker.id.as_str());
    let drain = html! {
        "It claims nothing more, finishes what it runs (" (worker.running) ") and stays alive. "
        code { "jobbers workers drain " (id) }
    };
    let resume = html! { "It claims tasks again. " code { "jobbers workers resume " (id) } };
    html! {
        div.actions {
            @if worker.draining_since.is_some() { (action("Resume", &resume, &button("resume", "Resume", false))) }
            @else { (action("Drain", &drain, &button("drain", "Drain", true))) }
        }
    }
}

fn tasks(screen: &Screen, page: &Result<TaskPageView, ApiRefusal>) -> Markup {
    let page = match page {
        Ok(page) => page,
        Err(refusal) => return missing(refusal),
    };
    html! {
        @if page.tasks.is_empty() { p.soft { "Nothing." } }
        table {
            @for one in &page.tasks {
                tr {
                    td { (task(&one.id)) } td { (one.name) } td { (queue(&one.queue)) }
                    td { (when_if(one.started_at, screen.now())) }
                }
            }
        }
        @if page.next_cursor.is_some() { p.soft { "And more." } }
    }
}

fn threads(screen: &Screen, held: &[HeldThreadView]) -> Markup {
    html! {
        table {
            @for thread in held {
                tr {
                    td { (task(&thread.id)) } td { (thread.name) } td { "attempt " (thread.attempt) }
                    td { (when(thread.since, screen.now())) }
                }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct SteerOne {
    act: Act,
}

/// `POST /ui/worker?id=`.
pub(super) async fn change_one(
    Query(OneParams { id, .. }): Query<OneParams>,
    api: Api,
    Form(SteerOne { act }): Form<SteerOne>,
) -> Answered {
    let (verb, did) = act.verb();
    let steered: SteeredView = api.call(Method::POST, &format!("{}/{verb}", path(["workers", &id]))).await?;
    Ok(back("worker", Some(("id", &id)), did, Some(steered.workers.len() as u64)))
}
