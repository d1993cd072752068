//! `jobbers reschedule`: scheduled tasks get another time, or run now.

use std::{process::ExitCode, time::Duration};

use jobbers_api::{
    task::reschedule::{RescheduleOutcome, RescheduleReport, RescheduleRequest, RescheduledView},
    value::Asked,
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId, time::Timestamp, values::duration};
use jobbers_process::exit;

use crate::{client::ClientArgs, failure::Failure, terminal::output};

/// Flags of `jobbers reschedule`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --delay and --run-at the tasks run now, after those that wait in their queues already. It is for tasks that are \
delayed, and for those that wait for their next attempt; `jobbers scheduled` lists both. Exit code 1 when a task does not \
exist or is not scheduled.")]
pub struct Args {
    /// The tasks' ids
    #[arg(required = true)]
    ids: Vec<TaskId>,
    /// This long from now
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with = "run_at")]
    delay: Option<Duration>,
    /// At this point in time, e.g. 2026-11-30T08:30:00Z
    #[arg(long, value_name = "TIME", value_parser = jobbers_process::when::parse)]
    run_at: Option<jiff::Timestamp>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Gives the tasks their time.
///
/// # Errors
/// When the manager can't be asked, and its refusal.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let mut are_all_done = true;
    for ids in args.ids.chunks(MAX_BATCH) {
        let request = RescheduleRequest {
            ids: Some(ids.iter().cloned().map(Asked::from).collect()),
            filter: None,
            limit: None,
            delay: args.delay,
            run_at: args.run_at.map(|at| Timestamp::from_micros(at.as_microsecond()).into()),
        };
        let answer = client.post("/tasks/reschedule", Some(&request)).await?;
        let report: RescheduleReport = answer.read()?;
        if args.client.json {
            output::document(&answer.body)?;
        } else {
            show(&report)?;
        }
        are_all_done &= report.rescheduled == report.tasks.len() as u64;
    }
    Ok(if are_all_done { exit::OK } else { exit::FAILURE.into() })
}

fn show(report: &RescheduleReport) -> Result<(), Failure> {
    for RescheduledView { id, outcome, status } in &report.tasks {
        match (outcome, status) {
            (RescheduleOutcome::Rescheduled, Some(status)) => output::line(format_args!("{id} is {status}"))?,
            (RescheduleOutcome::NotScheduled, Some(status)) => {
                output::line(format_args!("{id} is {status}, and not scheduled"))?;
            }
            _ => output::line(format_args!("{id} does not exist"))?,
        }
    }
    Ok(())
}
