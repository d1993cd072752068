//! Tasks by what the address asks for, in pages; and what is done with those that are chosen, or with all that match.

mod again;
pub(super) mod letter;
pub(super) mod letters;
pub(super) mod submit;
pub(super) mod task;

use std::collections::BTreeMap;

use axum::http::Method;
use jobbers_api::{
    problem::{Code, Problem},
    task::{
        cancel::{CancelReport, CancelRequest},
        delete::{DeleteReport, DeleteRequest},
        list::{FilterRequest, TaskPageView},
        resubmit::ResubmittedView,
        view::TaskView,
    },
    value::{Asked, Rfc3339},
    wire::path::path,
};
use jobbers_common::{lifecycle::Status, limits::MAX_BATCH, name::TaskId};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::{
    elements::{
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing, post_form},
        words::{line, many, number, queue, shell, status, task, text, to, when, when_if},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
};

/// How many are on a page.
const ROWS: usize = 50;
/// Most requests of one cancel of all that match: 10,000 tasks.
const MOST_CALLS: usize = 10;

/// The choices of statuses, as the API takes them, and their names.
const STATUSES: [(&str, &str); 14] = [
    ("", "any"),
    ("waiting,scheduled,submitted,started", "not over"),
    ("failed,stalled,dropped", "ended badly"),
    ("waiting", "waiting"),
    ("scheduled", "scheduled"),
    ("submitted", "submitted"),
    ("started", "started"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("stalled", "stalled"),
    ("dropped", "dropped"),
    ("aborted", "aborted"),
    ("cancelled", "cancelled"),
    ("submitted,started", "ready or running"),
];

/// What the address asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Search {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Said {
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/tasks`.
pub(super) async fn show(
    screen: Screen,
    Query(search): Query<Search>,
    Query(Said { did, n }): Query<Said>,
) -> Answered {
    let page: Result<TaskPageView, ApiRefusal> = screen.api.get(&search.request()).await;
    let body = html! {
        @if let Some(did) = did { (did.note("", n)) }
        h1 { "Tasks" @if let Ok(TaskPageView { total: Some(total), .. }) = &page { " " small { (number(*total)) } } }
        (search.form())
        @match &page {
            Err(refusal) => section.card { (missing(refusal)) },
            Ok(page) => {
                (post_form(None, &html! {
                    section.card #tasks data-live { (table(&screen, page)) }
                    @if !page.tasks.is_empty() { (chosen()) }
                }))
                (search.more(page))
                (search.cancel_all(page.total))
            }
        }
    };
    Ok(screen.page("Tasks", "Tasks", &body))
}

fn table(screen: &Screen, page: &TaskPageView) -> Markup {
    html! {
        @if page.tasks.is_empty() { p.soft { "No task matches." } }
        @if page.gave_up {
            p.soft {
                "The search has looked at " (many(page.scanned.unwrap_or_default(), "task"))
                "; the next page goes on."
            }
        }
        table {
            @if !page.tasks.is_empty() {
                tr {
                    td {} th { "Task" } th { "Name" } th { "Queue" } th { "Status" }
                    th.n.wide { "Attempt" } th.wide { "Submitted" } th.wide { "Over or due" }
                }
            }
            @for one in &page.tasks {
                tr {
                    td { input type="checkbox" name="id" value=(one.id) aria-label=(format!("choose {}", one.id)); }
                    td { (task(&one.id)) }
                    td { (one.name) }
                    td { (queue(&one.queue)) }
                    td { (status(one.status)) @if one.cancel_requested { " to be cancelled" } }
                    td.n.wide { (one.attempt) }
                    td.wide { (when(one.submitted_at, screen.now())) }
                    td.wide { (when_if(one.finished_at.or_else(|| due(one)), screen.now())) }
                }
            }
        }
    }
}

/// When a task that waits for its time is due.
fn due(task: &TaskView) -> Option<Rfc3339> {
    (task.status == Status::Scheduled).then_some(task.ready_at)
}

/// What can be done with chosen tasks. Each asks first.
fn chosen() -> Markup {
    html! {
        div.actions {
            button name="act" value="cancel" { "Cancel the chosen…" }
            button name="act" value="resubmit" { "Send the chosen again…" }
            button name="act" value="delete" { "Delete the chosen…" }
        }
    }
}

impl Search {
    /// The address of the answer in the API.
    fn request(&self) -> String {
        let said = serde_html_form::to_string(self).unwrap_or_default();
        format!("/tasks?limit={ROWS}&{said}")
    }

    /// What it asks for that the API can act by, by the names of the command's flags.
    fn flags(&self) -> [(&'static str, Option<&str>); 10] {
        let Self { status, queue, name, label, worker, submitted_after, submitted_before, .. } = self;
        let Self { finished_after, finished_before, error, .. } = self;
        [
            ("status", status),
            ("queue", queue),
            ("name", name),
            ("label", label),
            ("worker", worker),
            ("submitted-after", submitted_after),
            ("submitted-before", submitted_before),
            ("finished-after", finished_after),
            ("finished-before", finished_before),
            ("error", error),
        ]
        .map(|(flag, value)| (flag, value.as_deref()))
    }

    /// Whether it asks for less than all tasks, by what the API can act by.
    fn is_restricted(&self) -> bool {
        self.flags().iter().any(|(_, value)| value.is_some())
    }

    fn form(&self) -> Markup {
        let field = |label: &str, name: &str, value: &Option<String>, hint: &str| {
            html! {
                label { (label) input type="search" name=(name) value=[value.as_deref()] placeholder=(hint) size="14"; }
            }
        };
        let chosen = self.status.as_deref().unwrap_or_default();
        html! {
            form.filter {
                label { "Status" select name="status" {
                    @for (value, label) in STATUSES { option value=(value) selected[value == chosen] { (label) } }
                } }
                (field("Queue", "queue", &self.queue, ""))
                (field("Name", "name", &self.name, ""))
                (field("Label", "label", &self.label, "team=billing"))
                (field("Parameters hold", "where", &self.condition, "customer=42"))
                (field("Worker", "worker", &self.worker, ""))
                (field("Submitted after", "submitted_after", &self.submitted_after, "2026-11-21T08:00:00Z"))
                (field("Submitted before", "submitted_before", &self.submitted_before, ""))
                (field("Finished after", "finished_after", &self.finished_after, ""))
                (field("Finished before", "finished_before", &self.finished_before, ""))
                (field("Error holds", "error", &self.error, "timeout"))
                button { "Find" }
                a.button href="tasks" { "All" }
            }
        }
    }

    fn more(&self, page: &TaskPageView) -> Markup {
        let at = |cursor: Option<String>| to("tasks", &Self { cursor, ..self.clone() });
        html! {
            nav.pages aria-label="Parts of the list" {
                @if self.cursor.is_some() { a.button href=(at(None)) { "First page" } }
                @if let Some(next) = &page.next_cursor {
                    a.button rel="next" href=(at(Some(next.clone()))) { "Next page" }
                }
            }
        }
    }

    /// The statuses it asks for, of tasks that are not over; `None` if it asks for tasks that are.
    fn live_statuses(&self) -> Option<Vec<Status>> {
        let wanted = self.status.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty());
        wanted
            .map(|word| Status::ALL.into_iter().find(|status| status.as_str() == word && !status.is_finished()))
            .collect()
    }

    fn cancel_all(&self, total: Option<u64>) -> Markup {
        let is_of_finished = self.finished_after.is_some() || self.finished_before.is_some();
        if self.condition.is_some() || !self.is_restricted() || is_of_finished || self.live_statuses().is_none() {
            return html! {};
        }
        let how_many = total.map_or_else(|| "every task".to_owned(), |total| many(total, "task"));
        let explanation = html! {
            "This cancels " (how_many)
            " that match this search and are not over. Tasks that run are asked to stop; the others "
            "never run. " code { (text(&self.command())) }
        };
        action("Cancel all that match", &explanation, &button("cancel_all", "Cancel them", true))
    }

    /// The command that does the same.
    fn command(&self) -> String {
        let flag = |(name, value): (_, Option<&str>)| value.map(|value| format!(" --{name} {}", shell(value)));
        let flags: String = self.flags().into_iter().filter_map(flag).collect();
        format!("jobbers cancel{flags}")
    }

    fn filter(&self) -> Result<FilterRequest, ApiRefusal> {
        let label = self.label.as_deref().map(|label| label.split_once('=').unwrap_or((label, "")));
        let labels: BTreeMap<&str, &str> = label.into_iter().collect();
        let statuses =
            self.live_statuses().ok_or_else(|| refused("tasks that are over can't be cancelled".to_owned()))?;
        let said = serde_json::json!({
            "status": statuses,
            "queue": self.queue,
            "name": self.name,
            "labels": labels,
            "worker": self.worker,
            "submitted_after": self.submitted_after,
            "submitted_before": self.submitted_before,
            "finished_after": self.finished_after,
            "finished_before": self.finished_before,
            "error": self.error,
        });
        serde_json::from_value(said).map_err(|error| refused(error.to_string()))
    }
}

fn refused(detail: String) -> ApiRefusal {
    Problem::new(Code::InvalidParameter, detail).into()
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Cancel,
    Resubmit,
    Delete,
    CancelAll,
}

#[derive(Debug, Deserialize)]
pub(super) struct Chosen {
    act: Act,
    #[serde(default)]
    id: Vec<String>,
    /// Whether the question was answered.
    sure: Option<String>,
}

/// `POST /ui/tasks`: what is done with chosen tasks is asked first.
pub(super) async fn change(screen: Screen, Query(search): Query<Search>, Form(chosen): Form<Chosen>) -> Answered {
    let Chosen { act, id: ids, sure } = chosen;
    let ids: Vec<Asked<TaskId>> =
        ids.into_iter().map(|id| id.parse().map_or_else(|_| Asked::Illegal(id), Asked::Legal)).collect();
    if act != Act::CancelAll && sure.is_none() {
        return Ok(question(&screen, &search, act, &ids));
    }
    let (did, n) = match act {
        Act::CancelAll => cancel_all(&screen.api, &search).await?,
        Act::Cancel => cancel(&screen.api, ids).await?,
        Act::Delete => delete(&screen.api, ids).await?,
        Act::Resubmit => resubmit(&screen.api, &ids).await?,
    };
    Ok(back(&to("tasks", &Search { cursor: None, ..search }), None, did, Some(n)))
}

/// What would be done, to which tasks.
fn question(screen: &Screen, search: &Search, act: Act, ids: &[Asked<TaskId>]) -> axum::response::Response {
    let count = many(ids.len() as u64, "task");
    let (name, title, what) = match act {
        Act::Cancel | Act::CancelAll => (
            "cancel",
            format!("Cancel {count}?"),
            "Those that run are asked to stop; the others never run. Those that are over stay as they are.",
        ),
        Act::Resubmit => (
            "resubmit",
            format!("Send {count} again?"),
            "Those that are over and did not complete run again, with their attempts counted from the start.",
        ),
        Act::Delete => (
            "delete",
            format!("Delete {count}?"),
            "They are gone with their results, and so are the tasks that depend only on them. Those that run stay.",
        ),
    };
    let body = html! {
        h1 { (title) }
        p { (what) }
        @if ids.is_empty() { p { "No task is chosen: " a href="tasks" { "go back" } " and choose some." } }
        @else {
            section.card { ul { @for id in ids { li { code { (line(&id.to_string())) } } } } }
            (post_form(Some("actions"), &html! {
                @for id in ids { input type="hidden" name="id" value=(id); }
                input type="hidden" name="sure" value="yes";
                (button(name, "Yes", act != Act::Resubmit))
                a.button href=(to("tasks", search)) { "No" }
            }))
            p.soft { code { "jobbers " (name) " ID…" } }
        }
    };
    screen.page("Tasks", &title, &body)
}

async fn cancel_all(api: &Api, search: &Search) -> Result<(Did, u64), ApiRefusal> {
    let mut n = 0;
    for _ in 0..MOST_CALLS {
        let request = CancelRequest { ids: None, filter: Some(search.filter()?), limit: Some(MAX_BATCH) };
        let report: CancelReport = api.call_with(Method::POST, "/tasks/cancel", &request).await?;
        n += report.cancelled;
        // Tasks that run go on matching until their workers answer.
        if !report.more || report.cancelled == 0 {
            return Ok((Did::Cancelled, n + report.requested));
        }
    }
    Ok((Did::CancelledInPart, n))
}

async fn cancel(api: &Api, ids: Vec<Asked<TaskId>>) -> Result<(Did, u64), ApiRefusal> {
    let request = CancelRequest { ids: Some(ids), filter: None, limit: None };
    let report: CancelReport = api.call_with(Method::POST, "/tasks/cancel", &request).await?;
    Ok((Did::Cancelled, report.cancelled + report.requested))
}

async fn delete(api: &Api, ids: Vec<Asked<TaskId>>) -> Result<(Did, u64), ApiRefusal> {
    let report: DeleteReport =
        api.call_with(Method::POST, "/tasks/delete", &DeleteRequest { ids, cascade: true }).await?;
    Ok((Did::Deleted, report.deleted))
}

/// A refusal of one does not keep the others back.
async fn resubmit(api: &Api, ids: &[Asked<TaskId>]) -> Result<(Did, u64), ApiRefusal> {
    let (mut sent, mut first) = (0, None);
    for id in ids.iter().filter_map(Asked::legal) {
        let answer: Result<ResubmittedView, ApiRefusal> =
            api.call(Method::POST, &format!("{}/resubmit", path(["tasks", id.as_str()]))).await;
        match answer {
            Ok(_) => sent += 1,
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    match first {
        Some(refusal) if sent == 0 => Err(refusal),
        _ => Ok((Did::Resubmitted, sent)),
    }
}
