//! `jobbers cancel`: tasks by id, or those that match a filter after a look at them.

use std::process::ExitCode;

use jobbers_api::task::{
    cancel::{CancelOutcome, CancelReport, CancelRequest},
    selection::TaskAct,
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId};
use jobbers_process::exit;

use crate::{
    client::{ClientArgs, ManagerClient},
    commands::tasks::matching::{self, MatchWalk, MeantTasks, Question},
    failure::Failure,
    filter::FilterArgs,
    terminal::output,
};

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
    match matching::meant(args.ids, args.filter)? {
        MeantTasks::Ids(ids) => by_id(&client, &ids, args.client.json).await,
        MeantTasks::Matching(filter) => {
            by_filter(&client, filter.for_act(TaskAct::Cancel)?, args.yes, args.client.json).await
        }
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

/// Cancels by id, so that each is asked once: tasks that run go on matching the filter until their workers answer.
async fn by_filter(client: &ManagerClient, filter: FilterArgs, yes: bool, json: bool) -> Result<ExitCode, Failure> {
    let question = Question { verb: "Cancel", rest: "", nothing: "no live task matches" };
    if !yes && !matching::agreed(client, &filter, question).await? {
        output::note("nothing was cancelled");
        return Ok(exit::FAILURE.into());
    }
    let mut tally = CancelTally::default();
    let mut walk = MatchWalk::new(client, filter);
    while let Some(ids) = walk.next().await? {
        let answer = client.post("/tasks/cancel", Some(&CancelRequest::of(ids))).await?;
        if json {
            output::document(&answer.body)?;
        }
        tally.add(&answer.read()?);
    }
    if !json {
        let told = output::count(tally.requested, "running task");
        output::line(format_args!("{} cancelled, {told} told", output::count(tally.cancelled, "task")))?;
    }
    Ok(exit::OK)
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
