//! `jobbers cancel`: tasks by id, or those that match a filter after a look at them.

use std::process::ExitCode;

use jobbers_api::task::{
    cancel::{CancelOutcome, CancelReport, CancelRequest},
    list::TaskPageView,
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId};
use jobbers_process::exit;

use crate::{
    client::{ClientArgs, ManagerClient},
    commands::tasks::list::{self, Purpose},
    failure::Failure,
    filter::FilterArgs,
    terminal::output,
};

/// Tasks shown before a filter's tasks are cancelled.
const PREVIEW: u64 = 10;

/// Flags of `jobbers cancel`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A task that does not run yet is cancelled at once. One that runs is marked, and its worker told: it is cancelled when its \
worker answers. Exit code 1 when a task does not exist or was over already.")]
pub struct Args {
    /// The tasks' ids
    ids: Vec<TaskId>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Do not ask before tasks that match a filter are cancelled
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Cancels.
///
/// # Errors
/// When neither ids nor a filter are given, or both; when the manager can't be asked.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    match (args.ids.is_empty(), args.filter.is_empty()) {
        (true, true) => usage("name tasks by their ids, or by a filter such as --queue or --name"),
        (false, false) => usage("name tasks by their ids or by a filter, not by both"),
        (false, true) => by_id(&client, &args.ids, args.client.json).await,
        (true, false) => by_filter(&client, args.filter.of_live_tasks()?, args.yes, args.client.json).await,
    }
}

async fn by_id(client: &ManagerClient, ids: &[TaskId], json: bool) -> Result<ExitCode, Failure> {
    let mut tally = CancelTally::default();
    for ids in ids.chunks(MAX_BATCH) {
        let answer = client.post("/tasks/cancel", Some(&CancelRequest::of(ids.to_vec()))).await?;
        let report: CancelReport = answer.read()?;
        if json {
            output::document(&answer.body)?;
        } else {
            show(&report)?;
        }
        tally.add(&report);
    }
    Ok(if tally.over + tally.unknown == 0 { exit::OK } else { exit::FAILURE.into() })
}

fn show(report: &CancelReport) -> Result<(), Failure> {
    let mut table = output::table_of(&["ID", "OUTCOME"]);
    for task in &report.tasks {
        let outcome = match (task.outcome, &task.status) {
            (CancelOutcome::Requested, _) => "runs; its worker has been notified".to_owned(),
            (CancelOutcome::AlreadyOver, Some(status)) => format!("was over already: {status}"),
            (CancelOutcome::Unknown, _) => "does not exist".to_owned(),
            (outcome, _) => outcome.to_string(),
        };
        table.add_row(vec![task.id.to_string(), outcome]);
    }
    output::table(&table)
}

/// Walks through the tasks by the API's cursor and cancels them by id, so that each is asked once: tasks that run go on
/// matching the filter until their workers answer.
async fn by_filter(client: &ManagerClient, filter: FilterArgs, yes: bool, json: bool) -> Result<ExitCode, Failure> {
    if !yes && !agreed(client, &filter).await? {
        output::note("nothing was cancelled");
        return Ok(exit::FAILURE.into());
    }
    let mut tally = CancelTally::default();
    let mut cursor = None;
    loop {
        let answer = list::page(client, &filter, MAX_BATCH as u64, cursor.as_deref(), Purpose::Act).await?;
        let page: TaskPageView = answer.read()?;
        let ids: Vec<TaskId> = page.tasks.into_iter().map(|task| task.id).collect();
        if !ids.is_empty() {
            let answer = client.post("/tasks/cancel", Some(&CancelRequest::of(ids))).await?;
            if json {
                output::document(&answer.body)?;
            }
            tally.add(&answer.read()?);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if !json {
        let told = output::count(tally.requested, "running task");
        output::line(format_args!("{} cancelled, {told} told", output::count(tally.cancelled, "task")))?;
    }
    Ok(exit::OK)
}

async fn agreed(client: &ManagerClient, filter: &FilterArgs) -> Result<bool, Failure> {
    let mut preview: TaskPageView = list::page(client, filter, PREVIEW, None, Purpose::Show).await?.read()?;
    // A search by parameters may have to go on for its first task.
    while preview.tasks.is_empty()
        && let Some(cursor) = preview.next_cursor.as_deref()
    {
        preview = list::page(client, filter, PREVIEW, Some(cursor), Purpose::Show).await?.read()?;
    }
    if preview.tasks.is_empty() {
        output::note("no live task matches");
        return Ok(false);
    }
    output::note_table(&list::table(&preview.tasks));
    let question = match (preview.next_cursor, preview.total) {
        (None, _) => format!("Cancel {}?", output::count(preview.tasks.len() as u64, "task")),
        (Some(_), Some(total)) => format!("{} match. Cancel them all?", output::count(total, "task")),
        (Some(_), None) => "These and more match. Cancel them all?".to_owned(),
    };
    output::confirm(&question)
}

/// The total result.
#[derive(Debug, Default)]
struct CancelTally {
    cancelled: u64,
    requested: u64,
    over: u64,
    unknown: u64,
}

impl CancelTally {
    const fn add(&mut self, report: &CancelReport) {
        self.cancelled += report.cancelled;
        self.requested += report.requested;
        self.over += report.already_over;
        self.unknown += report.unknown;
    }
}
