//! Schedules: when each fires next, how its last runs ended; create, pause, resume, run now, edit, delete.

pub(super) mod create;
mod edit;

use axum::http::{HeaderValue, Method};
use jobbers_api::{
    schedule::view::{NextSlotsView, RunView, ScheduleListView, ScheduleView, StartedView},
    task::view::TaskView,
    wire::path::path,
    workflow::WorkflowGraphView,
};
use maud::{Markup, html};
use serde::Deserialize;

use self::{create::slot_table, edit::Edited};
use super::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing},
        words::{Tone, figure, line, number, queue, shell, state, status, task, to, when, when_if},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
    workflows::standing as run_standing,
};

/// How many are on a page.
const ROWS: usize = 50;
/// How many slots are shown.
const AHEAD: usize = 10;

#[derive(Debug, Deserialize)]
pub(super) struct ListParams {
    cursor: Option<String>,
    did: Option<Did>,
    /// The schedule that was deleted.
    name: Option<String>,
}

/// `GET /ui/schedules`.
pub(super) async fn list(screen: Screen, Query(ListParams { cursor, did, name }): Query<ListParams>) -> Answered {
    let limit = ROWS.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
    let page: ScheduleListView = screen.api.get(&to("/schedules", &query)).await?;
    let body = html! {
        @if let Some(did) = did { (did.note(&line(name.as_deref().unwrap_or_default()), None)) }
        h1 { "Schedules" }
        section.card #schedules data-live { (table(&screen, &page.schedules)) }
        nav.pages aria-label="Parts of the list" {
            @if cursor.is_some() { a.button href="schedules" { "First page" } }
            @if let Some(next) = &page.next_cursor {
                a.button rel="next" href=(to("schedules", &[("cursor", next)])) { "Next page" }
            }
        }
        p { a.button href="new-schedule" { "Create a schedule" } " "
            span.soft { code { "jobbers schedules put NAME --cron '0 3 * * *' TASK" } }
        }
    };
    Ok(screen.page("Schedules", "Schedules", &body))
}

fn table(screen: &Screen, schedules: &[ScheduleView]) -> Markup {
    let now = screen.now();
    html! {
        @if schedules.is_empty() { p.soft { "There are none." } }
        @else {
            table {
                tr {
                    th { "Schedule" } th { "When" } th { "State" } th { "Next" } th { "Last run" }
                    th.wide { "Starts" } th.n.wide { "Fired" } th.n.wide { "Missed" }
                }
                @for one in schedules {
                    tr {
                        td { a href=(to("schedule", &[("name", one.name.as_str())])) { (one.name) } }
                        td { (timing(one)) }
                        td { (standing(one)) }
                        td { (when_if(one.next_slot, now)) }
                        td {
                            @match &one.last_run {
                                Some(run) => { (run_link(run)) " " (when(run.at, now)) }
                                None => "–",
                            }
                        }
                        td.wide { p { (target(one)) } }
                        td.n.wide { (number(one.fired)) }
                        td.n.wide { (number(one.missed)) }
                    }
                }
            }
        }
    }
}

fn timing(one: &ScheduleView) -> Markup {
    html! {
        @if let Some(every) = &one.every { "every " (every) }
        @if let Some(cron) = &one.cron {
            code { (line(cron)) } @if let Some(zone) = &one.time_zone { " " (line(zone)) }
        }
    }
}

fn target(one: &ScheduleView) -> Markup {
    html! {
        @if let Some(task) = &one.task { "task " (task.name) @if let Some(to) = &task.queue { " in " (queue(to)) } }
        @if let Some(workflow) = &one.workflow { "workflow of " (workflow.nodes.len()) " nodes" }
    }
}

fn standing(one: &ScheduleView) -> Markup {
    match () {
        () if one.paused => state(Tone::Warn, "paused"),
        () if one.refusal.is_some() => state(Tone::Bad, "refused"),
        () => state(Tone::Good, "ok"),
    }
}

fn run_link(run: &RunView) -> Markup {
    html! {
        @if let Some(id) = &run.task { (task(id)) }
        @if let Some(id) = &run.workflow { a.id href=(to("workflow", &[("id", id.as_str())])) { (id) } }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Params {
    name: String,
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/schedule?name=`.
pub(super) async fn show(screen: Screen, Query(Params { name, did, n }): Query<Params>) -> Answered {
    let (one, tag) = screen.api.get_tagged::<ScheduleView>(&path(["schedules", &name])).await?;
    let next: Result<NextSlotsView, ApiRefusal> =
        screen.api.get(&format!("{}/next?count={AHEAD}", path(["schedules", &name]))).await;
    let mut runs = Vec::new();
    for run in one.last_run.iter().chain(&one.earlier_runs) {
        runs.push((run, end_of(&screen.api, run).await));
    }
    let body = html! {
        @if let Some(did) = did { (did.note(&name, n)) }
        h1 #head data-live { (name) " " (standing(&one)) br; small { (timing(&one)) " · " (target(&one)) } }
        (figures(&screen, &one))
        @if let Some(refusal) = &one.refusal {
            section.card #refusal data-live {
                h2 { "Its latest slot was refused" }
                p { (line(&refusal.reason)) " " (when(refusal.at, screen.now())) }
            }
        }
        (actions(&one, tag.as_ref()))
        div.two {
            section.card #next data-live { h2 { "Next" } (slots(&screen, &next)) }
            section.card #last data-live {
                h2 { "Last runs" }
                @if runs.is_empty() { p.soft { "It has not run yet." } }
                table {
                    @for (run, end) in &runs {
                        tr { td { (when(run.at, screen.now())) } td { (end) } td.wrap { (run_link(run)) } }
                    }
                }
            }
        }
    };
    Ok(screen.page("Schedules", &name, &body))
}

/// How a run ended, or where it is.
async fn end_of(api: &Api, run: &RunView) -> Markup {
    let found = match (&run.task, &run.workflow) {
        (Some(id), _) => {
            let found: Result<TaskView, ApiRefusal> = api.get(&path(["tasks", id.as_str()])).await;
            found.map(|task| status(task.status))
        }
        (_, Some(id)) => {
            let found: Result<WorkflowGraphView, ApiRefusal> = api.get(&path(["workflows", id.as_str()])).await;
            found.map(|graph| run_standing(graph.run.state))
        }
        (None, None) => return html! {},
    };
    found.unwrap_or_else(|refusal| match refusal.problem.end {
        Some(end) => html! { (status(end.status)) ", and deleted since" },
        None => missing(&refusal),
    })
}

fn figures(screen: &Screen, one: &ScheduleView) -> Markup {
    html! {
        dl.figures #figures data-live {
            (figure("Next", &when_if(one.next_slot, screen.now())))
            (figure("Fired", &html! { (number(one.fired)) }))
            (figure("Missed", &html! { (number(one.missed)) }))
            (figure("Skipped", &html! { (number(one.skipped)) }))
        }
    }
}

fn slots(screen: &Screen, next: &Result<NextSlotsView, ApiRefusal>) -> Markup {
    let next = match next {
        Ok(next) => next,
        Err(refusal) => return missing(refusal),
    };
    html! {
        @if let Some(note) = &next.note { p.soft { (note) } }
        (slot_table(&next.slots, screen.now()))
    }
}

fn actions(one: &ScheduleView, tag: Option<&HeaderValue>) -> Markup {
    let command = |verb: &str| html! { " " code { "jobbers schedules " (verb) " " (shell(one.name.as_str())) } };
    let run = html! { "It starts " (target(one)) " once, now. Its slots stay as they are." (command("run")) };
    let pause = html! { "It fires no slot until it is resumed. What it started goes on." (command("pause")) };
    let resume = html! { "It fires again, at its first slot from now on." (command("resume")) };
    let delete = html! {
        "It fires no more, and its counts are gone. The tasks and workflows that it started stay." (command("delete"))
    };
    // A form changes the settings that it showed, or nothing.
    let tag = html! { input type="hidden" name="tag" value=[tag.and_then(|tag| tag.to_str().ok())]; };
    html! {
        div.actions {
            (action("Run now", &run, &button("run", "Run it", false)))
            @if one.paused { (action("Resume", &resume, &button("resume", "Resume", false))) }
            @else { (action("Pause", &pause, &button("pause", "Pause", false))) }
            (edit::form(one, &tag))
            (action("Delete", &delete, &html! { (tag) (button("delete", "Delete it", true)) }))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(super) enum Change {
    Run,
    Pause,
    Resume,
    Edit(Edited),
    Delete { tag: Option<String> },
}

/// `POST /ui/schedule?name=`.
pub(super) async fn change(
    Query(Params { name, .. }): Query<Params>,
    api: Api,
    Form(change): Form<Change>,
) -> Answered {
    let verb = |verb: &str| format!("{}/{verb}", path(["schedules", &name]));
    let did = match change {
        Change::Run => api.call::<StartedView>(Method::POST, &verb("run")).await.map(|_| Did::ScheduleRun)?,
        Change::Pause => api.call::<ScheduleView>(Method::POST, &verb("pause")).await.map(|_| Did::SchedulePaused)?,
        Change::Resume => {
            api.call::<ScheduleView>(Method::POST, &verb("resume")).await.map(|_| Did::ScheduleResumed)?
        }
        Change::Edit(edited) => edit::edit(&api, &name, edited).await.map(|()| Did::ScheduleEdited)?,
        Change::Delete { tag } => {
            api.delete(&path(["schedules", &name]), edit::tag_of(tag.as_deref())).await?;
            return Ok(back("schedules", Some(("name", &name)), Did::ScheduleDeleted, None));
        }
    };
    Ok(back("schedule", Some(("name", &name)), did, None))
}
