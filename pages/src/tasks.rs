//! Tasks by what the address asks for, in pages.

pub(super) mod acts;
mod again;
pub(super) mod letter;
pub(super) mod letters;
mod search;
pub(super) mod submit;
pub(super) mod task;

use jobbers_api::{
    task::{list::TaskPageView, view::TaskView},
    value::Rfc3339,
};
use jobbers_common::lifecycle::Status;
use maud::{Markup, html};

use self::{acts::Done, search::Search};
use super::{
    elements::{
        frame::{Answered, Screen, missing, post_form},
        words::{abridged, many, number, queue, status, task, when, when_if},
    },
    session::ask::{ApiRefusal, Query},
};

/// How many are on a page.
const ROWS: usize = 50;

/// `GET /ui/tasks`.
pub(super) async fn show(screen: Screen, Query(search): Query<Search>, Query(done): Query<Done>) -> Answered {
    let page: Result<TaskPageView, ApiRefusal> = screen.api.get(&search.request(ROWS)).await;
    let body = html! {
        (done.note(&search))
        h1 { "Tasks" @if let Ok(TaskPageView { total: Some(total), .. }) = &page { " " small { (number(*total)) } } }
        (search.form())
        @match &page {
            Err(refusal) => section.card { (missing(refusal)) },
            Ok(page) => {
                (post_form(None, &html! {
                    section.card #tasks data-live { (table(&screen, page)) }
                    @if !page.tasks.is_empty() { (acts::of_chosen()) }
                }))
                (search.more(page))
                (acts::of_matching(&search))
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
                    td { input type="checkbox" name="id" value=(one.id) aria-label=(format!("choose {}", abridged(one.id.as_str()))); }
                    td { (task(&one.id)) }
                    td { (abridged(one.name.as_str())) }
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
