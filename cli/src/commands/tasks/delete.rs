//! `jobbers delete`: tasks by id, with what waits only for them.

use std::process::ExitCode;

use jobbers_api::{
    task::delete::{DeleteOutcome, DeleteReport, DeleteRequest},
    value::Asked,
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId};
use jobbers_process::exit;

use crate::{client::ClientArgs, failure::Failure, terminal::output};

/// Flags of `jobbers delete`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tasks that depend only on deleted ones are deleted too, unless --no-cascade is given: then they run. A task that runs stays; \
cancel it first. Exit code 1 when a task runs or does not exist.")]
pub struct Args {
    /// The tasks' ids
    #[arg(required = true)]
    ids: Vec<TaskId>,
    /// Let tasks run that depend only on deleted ones
    #[arg(long)]
    no_cascade: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Deletes.
///
/// # Errors
/// When the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let mut is_whole = true;
    for ids in args.ids.chunks(MAX_BATCH) {
        let request = DeleteRequest { ids: ids.iter().cloned().map(Asked::from).collect(), cascade: !args.no_cascade };
        let answer = client.post("/tasks/delete", Some(&request)).await?;
        let report: DeleteReport = answer.read()?;
        if args.client.json {
            output::document(&answer.body)?;
        } else {
            show(&report)?;
        }
        is_whole &= report.running + report.unknown == 0;
    }
    Ok(if is_whole { exit::OK } else { exit::FAILURE.into() })
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
