//! The first page: what needs an operator, then figures, queues, why tasks failed, workers and the latest failures.
//!
//! In place of a part that can't be read, the reason is shown.

use std::collections::BTreeMap;

use jobbers_api::{
    board::BoardListView,
    dead_letter::StatsView,
    overview::{BusyQueueView, OverviewView},
    queue::{QueueListView, history::HistoryView},
    task::list::TaskPageView,
    worker::{WorkerListView, WorkerView},
};
use jobbers_common::lifecycle::Status;
use maud::{Markup, html};

use super::{
    elements::{
        chart,
        frame::{Answered, Screen, missing},
        words::{self, figure_of, line, many, number, queue, said, status, task, to, when_if},
    },
    queues::{self, LATER, needs},
    session::ask::{Api, ApiRefusal},
    tasks::letters::cause_of,
};

/// From how many queues the figures are made for a reader who may not read the overview: one page of the API.
const READ: usize = 1_000;
/// How many causes, workers, failures and boards are listed.
const ROWS: usize = 8;

/// `GET /ui/`.
pub(super) async fn show(screen: Screen) -> Answered {
    let api = &screen.api;
    let bad = format!("/tasks?status=failed,stalled,dropped&include=errors&limit={ROWS}");
    let on_boards = format!("/boards?limit={ROWS}");
    // Together: the store may be a way off.
    let (overview, workers, letters, failures, history, boards) = tokio::join!(
        api.get::<OverviewView>("/overview"),
        api.get::<WorkerListView>("/workers"),
        api.get::<StatsView>("/dead-letter-queue/stats"),
        api.get::<TaskPageView>(&bad),
        api.get::<HistoryView>("/history?last=60"),
        api.get::<BoardListView>(&on_boards),
    );
    let queues = match &overview {
        Ok(overview) => Queues::of(overview),
        Err(_) => Queues::read(api).await?,
    };
    let alive = workers.as_ref().map_or(&[][..], |list| list.workers.as_slice());
    let body = html! {
        div #needs data-live { (needs::list(&screen.ready.warnings, &overview, letters.as_ref().ok())) }
        (figures(&queues, alive))
        (chart::card("history", "The last hour", "hour", &history))
        (queue_card(&screen, &queues))
        div.two {
            section.card #causes data-live { h2 { "Why tasks failed for good" } (causes(&letters)) }
            section.card #workers data-live { h2 { "Workers" } (worker_table(&workers)) }
        }
        section.card #failures data-live { h2 { "Latest failures" } (failure_table(&screen, &failures)) }
        @if let Ok(boards) = &boards { @if !boards.boards.is_empty() { (board_card(boards)) } }
    };
    Ok(screen.page("Overview", "Overview", &body))
}

/// The queues in numbers.
struct Queues {
    count: u64,
    /// Whether there are more than were counted.
    is_cut: bool,
    tasks: BTreeMap<Status, u64>,
    busiest: Vec<BusyQueueView>,
}

impl Queues {
    fn of(overview: &OverviewView) -> Self {
        let OverviewView { queues, tasks, busiest, .. } = overview;
        Self { count: *queues, is_cut: false, tasks: tasks.clone(), busiest: busiest.clone() }
    }

    /// The numbers of the first queues by name.
    async fn read(api: &Api) -> Result<Self, ApiRefusal> {
        let list: QueueListView = api.get(&format!("/queues?limit={READ}")).await?;
        let mut tasks = BTreeMap::new();
        for (status, count) in list.queues.iter().flat_map(|queue| &queue.tasks) {
            *tasks.entry(*status).or_default() += count;
        }
        let mut busiest: Vec<BusyQueueView> = list.queues.iter().map(BusyQueueView::from).collect();
        BusyQueueView::keep_busiest(&mut busiest);
        Ok(Self { count: list.queues.len() as u64, is_cut: list.next_cursor.is_some(), tasks, busiest })
    }
}

fn figures(queues: &Queues, workers: &[WorkerView]) -> Markup {
    let total = |statuses: &[Status]| statuses.iter().filter_map(|status| queues.tasks.get(status)).sum();
    let slots = workers.iter().map(|worker| u64::from(worker.slots)).sum();
    html! {
        dl.figures #figures data-live {
            (figure_of("Running", total(&[Status::Started]), &format!("of {}", many(slots, "slot"))))
            (figure_of("Ready, not running", total(&[Status::Submitted]), ""))
            (figure_of("For later", total(&LATER), ""))
            (figure_of("Workers", workers.len() as u64, ""))
            (figure_of("Queues", queues.count, if queues.is_cut { "and more" } else { "" }))
        }
    }
}

fn queue_card(screen: &Screen, queues: &Queues) -> Markup {
    let shown = &queues.busiest;
    html! {
        section.card #queues data-live {
            h2 {
                "Queues "
                @if queues.count > shown.len() as u64 {
                    small { "the " (shown.len()) " that wait longest; " a href="queues" { "all" } }
                }
            }
            (queues::table(shown, screen.now()))
        }
    }
}

fn causes(letters: &Result<StatsView, ApiRefusal>) -> Markup {
    let letters = match letters {
        Ok(letters) => letters,
        Err(refusal) => return missing(refusal),
    };
    html! {
        @if letters.groups.is_empty() { p.soft { "No task has failed for good." } }
        table {
            @for group in letters.groups.iter().take(ROWS) {
                @let cause = [("queue", group.queue.as_str()), ("fingerprint", &group.fingerprint)];
                tr {
                    td.n { (number(group.count)) }
                    td.wrap { a href=(to("letters", &cause)) { code { (line(cause_of(group))) } } }
                    td { (queue(&group.queue)) }
                }
            }
        }
    }
}

fn worker_table(workers: &Result<WorkerListView, ApiRefusal>) -> Markup {
    let workers = match workers {
        Ok(list) => &list.workers,
        Err(refusal) => return missing(refusal),
    };
    html! {
        @if workers.is_empty() { p.soft { "No worker is alive: tasks wait until one starts." } }
        table {
            @for worker in workers.iter().take(ROWS) {
                tr {
                    td { (words::worker(worker)) }
                    td { (worker.role) }
                    td.n { (worker.running) " of " (worker.slots) }
                    td { (worker.state.to_string()) }
                }
            }
        }
        @if workers.len() > ROWS {
            p.soft { "And " (workers.len() - ROWS) " more: " a href="workers" { "all workers" } "." }
        }
    }
}

pub(super) fn failure_table(screen: &Screen, failures: &Result<TaskPageView, ApiRefusal>) -> Markup {
    let failures = match failures {
        Ok(page) => &page.tasks,
        Err(refusal) => return missing(refusal),
    };
    let mut latest: Vec<_> = failures.iter().collect();
    latest.sort_by_key(|task| std::cmp::Reverse(task.finished_at));
    html! {
        @if latest.is_empty() { p.soft { "None." } }
        table {
            @for one in latest {
                tr {
                    td { (when_if(one.finished_at, screen.now())) }
                    td { (task(&one.id)) }
                    td.wide { (one.name) }
                    td.wide { (queue(&one.queue)) }
                    td.wide { (status(one.status)) }
                    td.wrap { @if let Some(error) = one.errors.last() { code { (line(said(&error.message, one.sensitive))) } } }
                }
            }
        }
    }
}

/// What clients of MassTasker and TaskStore keep.
fn board_card(list: &BoardListView) -> Markup {
    html! {
        section.card #boards data-live {
            h2 { "Boards" }
            table {
                tr { th { "Board" } th.n { "Tasks" } th.n { "Revision" } }
                @for board in &list.boards {
                    tr {
                        td { a href=(to("board", &[("name", board.name.as_str())])) { (board.name) } }
                        td.n { (number(board.tasks)) } td.n { (number(board.revision)) }
                    }
                }
            }
            @if list.next_cursor.is_some() { p.soft { "And more: " a href="boards" { "all boards" } "." } }
        }
    }
}
