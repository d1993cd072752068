//! `GET /`: what runs, as a page for people. The API, to which it links, has all of it and more.

use std::{cmp::Reverse, sync::Arc};

use axum::{extract::State, response::Response};
use jobbers_api::problem::Result;
use jobbers_common::{
    engine::{Health, QueueStats, TaskFilter, boards::BoardCount, look::first_queues},
    lifecycle::Status,
    task::Task,
    worker::RegisteredWorker,
};
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;

use crate::{
    api::{listing, page, tasks::submit::IN_A_PATH},
    app::App,
};

/// How many of the latest failures it shows.
const FAILURES: usize = 10;
/// How many queues and workers it shows. The API lists all.
const ROWS: usize = 100;
/// The statuses of tasks that ended badly, and not by a request.
const BAD: [Status; 3] = [Status::Failed, Status::Stalled, Status::Dropped];

/// The page.
pub(crate) async fn front(State(app): State<Arc<App>>) -> Result<Response> {
    let mut health = app.engine.health().await?;
    health.warnings.extend(app.listener_warnings());
    let queues = first_queues(&*app.engine, ROWS + 1).await?;
    let workers = app.engine.workers().await?;
    let bad = TaskFilter { statuses: BAD.to_vec(), ..TaskFilter::default() };
    let mut failures = listing::fill(&*app.engine, bad, FAILURES, None, |_| true).await?.tasks;
    failures.sort_by_key(|task| Reverse(task.completed_at));
    let failures = with_errors(&app, failures).await?;
    let boards = app.boards.boards(None, ROWS).await?;
    Ok(page::answer("Jobbers", &body(&health, &queues, &boards, &workers, &failures)))
}

/// The same tasks with their errors, which lists leave out. A task that was deleted since is left out.
async fn with_errors(app: &App, tasks: Vec<Task>) -> Result<Vec<Task>> {
    let mut whole = Vec::with_capacity(tasks.len());
    for task in tasks {
        whole.extend(app.engine.get(&task.id).await?);
    }
    Ok(whole)
}

fn body(
    health: &Health,
    queues: &[QueueStats],
    boards: &[BoardCount],
    workers: &[RegisteredWorker],
    failures: &[Task],
) -> Markup {
    html! {
        h1 { "Jobbers" }
        p.note {
            "Version " (env!("CARGO_PKG_VERSION")) ". Tasks are kept in " code { (health.store) } " (" (health.durability) ")."
        }
        @for warning in &health.warnings { p.warning { (warning) } }
        nav {
            a href="docs/" { "API" }
            a href="queues" { "Queues" }
            a href="tasks" { "Tasks" }
            a href="dead-letter-queue" { "Dead letters" }
            a href="workers" { "Workers" }
            a href="metrics" { "Metrics" }
            a href="problems" { "Errors" }
        }
        (queue_table(queues))
        @if !boards.is_empty() { (board_table(boards)) }
        (worker_table(workers))
        (failure_table(failures))
    }
}

fn queue_table(queues: &[QueueStats]) -> Markup {
    html! {
        h2 { "Queues" }
        @if queues.len() > ROWS { p.note { "The first " (ROWS) " by name; " a href="queues" { "/queues" } " lists all." } }
        table {
            tr {
                th { "queue" }
                @for status in Status::ALL { th.number { (status.as_str()) } }
            }
            @for queue in queues.iter().take(ROWS) {
                tr {
                    td { a href=(link("queues", queue.queue.as_str())) { (queue.queue) } }
                    @for status in Status::ALL { td.number { (queue.tasks.get(&status).copied().unwrap_or_default()) } }
                }
            }
        }
    }
}

/// What clients of MassTasker and TaskStore keep.
fn board_table(boards: &[BoardCount]) -> Markup {
    html! {
        h2 { "Boards" }
        table {
            tr { th { "board" } th.number { "tasks" } th.number { "revision" } }
            @for BoardCount { board, revision, tasks } in boards {
                tr {
                    td { a href=(format!("{}/groups", link("boards", board.as_str()))) { (board) } }
                    td.number { (tasks) }
                    td.number { (revision) }
                }
            }
        }
    }
}

fn worker_table(workers: &[RegisteredWorker]) -> Markup {
    html! {
        h2 { "Workers (" (workers.len()) ")" }
        @if workers.is_empty() {
            p.note { "No worker is alive: tasks wait until one starts." }
        } @else {
            table {
                tr { th { "worker" } th { "host" } th { "version" } th { "role" } th.number { "running" } th.number { "slots" } }
                @for RegisteredWorker { report, .. } in workers.iter().take(ROWS) {
                    tr {
                        td { (report.id) }
                        td { (report.host) }
                        td { (report.version) }
                        td { (report.role) }
                        td.number { (report.running) }
                        td.number { (report.slots) }
                    }
                }
            }
        }
    }
}

fn failure_table(failures: &[Task]) -> Markup {
    html! {
        h2 { "Latest failures" }
        @if failures.is_empty() {
            p.note { "None." }
        } @else {
            table {
                tr { th { "task" } th { "name" } th { "queue" } th { "status" } th { "error" } }
                @for task in failures {
                    tr {
                        td { a href=(link("tasks", task.id.as_str())) { (task.id) } }
                        td { (task.name) }
                        td { (task.queue) }
                        td { (task.status.as_str()) }
                        td { @if let Some(error) = task.errors.last() { (error.message) } }
                    }
                }
            }
        }
    }
}

/// The path of a document of the API, from here: the page may be served below a path.
fn link(collection: &str, name: &str) -> String {
    format!("{collection}/{}", utf8_percent_encode(name, IN_A_PATH))
}
