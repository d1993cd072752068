//! `jobbers delete`: tasks by id, or those that match a filter after a look at them; with what waits only for them.

use std::process::ExitCode;

use jobbers_api::task::{
    delete::{DeleteOutcome, DeleteReport, DeleteRequest},
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

/// Flags of `jobbers delete`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tasks that depend only on deleted ones are deleted too, unless --no-cascade is given: then they run. A task that runs stays; \
cancel it first. Exit code 1 when a task that was named runs or does not exist.")]
pub struct Args {
    /// The tasks' ids
    ids: Vec<TaskId>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Do not ask before tasks that match a filter are deleted
    #[arg(long, short)]
    yes: bool,
    /// Let tasks run that depend only on deleted ones
    #[arg(long)]
    no_cascade: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Deletes.
///
/// # Errors
/// When neither ids nor a filter are given, or both; when the manager can't be asked.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let (cascade, json) = (!args.no_cascade, args.client.json);
    match matching::meant(args.ids, args.filter)? {
        MeantTasks::Ids(ids) => by_id(&client, &ids, cascade, json).await,
        MeantTasks::Matching(filter) => {
            let filter = filter.for_act(TaskAct::Delete)?;
            let question = Question { verb: "Delete", rest: "", nothing: "no task that does not run matches" };
            if !args.yes && !matching::agreed(&client, &filter, question).await? {
                output::note("nothing was deleted");
                return Ok(exit::FAILURE.into());
            }
            by_filter(&client, filter, cascade, json).await
        }
    }
}

async fn by_id(client: &ManagerClient, ids: &[TaskId], cascade: bool, json: bool) -> Result<ExitCode, Failure> {
    let mut is_whole = true;
    for ids in ids.chunks(MAX_BATCH) {
        let report = delete(client, ids.to_vec(), cascade, json).await?;
        if !json {
            show(&report)?;
        }
        is_whole &= report.running + report.unknown == 0;
    }
    Ok(if is_whole { exit::OK } else { exit::FAILURE.into() })
}

async fn by_filter(client: &ManagerClient, filter: FilterArgs, cascade: bool, json: bool) -> Result<ExitCode, Failure> {
    let mut deleted = 0;
    let mut walk = MatchWalk::new(client, filter);
    while let Some(ids) = walk.next().await? {
        deleted += delete(client, ids, cascade, json).await?.deleted;
    }
    if !json {
        output::line(format_args!("{} deleted", output::count(deleted, "task")))?;
    }
    Ok(exit::OK)
}

async fn delete(client: &ManagerClient, ids: Vec<TaskId>, cascade: bool, json: bool) -> Result<DeleteReport, Failure> {
    let answer = client.post("/tasks/delete", Some(&DeleteRequest::of(ids, cascade))).await?;
    if json {
        output::document(&answer.body)?;
    }
    Ok(answer.read()?)
}

fn show(report: &DeleteReport) -> Result<(), Failure> {
    for task in &report.tasks {
        let outcome = match task.outcome {
            DeleteOutcome::Running => "runs: cancel it first",
            DeleteOutcome::Unknown => "does not exist",
            DeleteOutcome::Deleted => "deleted",
        };
        output::line(format_args!("{} {outcome}", task.id))?;
    }
    Ok(())
}
