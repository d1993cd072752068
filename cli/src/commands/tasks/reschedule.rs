//! `jobbers reschedule`: scheduled tasks run now, or get another time; by id, or by a filter after a look at them.

use std::{process::ExitCode, time::Duration};

use jobbers_api::{
    task::{
        reschedule::{RescheduleOutcome, RescheduleReport, RescheduleRequest, RescheduledView},
        selection::TaskAct,
    },
    value::Asked,
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId, time::Timestamp, values::duration};
use jobbers_process::exit;

use crate::{
    client::{ClientArgs, ManagerClient},
    commands::tasks::matching::{self, MatchWalk, MeantTasks, Question},
    failure::Failure,
    filter::FilterArgs,
    terminal::output,
};

/// Flags of `jobbers reschedule`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --delay and --run-at the tasks run now, after those that wait in their queues already. It is for tasks that are \
delayed, and for those that wait for their next attempt; `jobbers scheduled` lists both. Exit code 1 when a task that was \
named does not exist or is not scheduled.")]
pub struct Args {
    /// The tasks' ids
    ids: Vec<TaskId>,
    #[command(flatten)]
    filter: FilterArgs,
    /// This long from now
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with = "run_at")]
    delay: Option<Duration>,
    /// At this point in time, e.g. 2026-11-30T08:30:00Z
    #[arg(long, value_name = "TIME", value_parser = jobbers_process::when::parse)]
    run_at: Option<jiff::Timestamp>,
    /// Do not ask before tasks that match a filter get another time
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Gives the tasks their time.
///
/// # Errors
/// When neither ids nor a filter are given, or both; when the manager can't be asked, and its refusal.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let micros = |at: jiff::Timestamp| Timestamp::from_micros(at.as_microsecond());
    let (mut delay, mut run_at, json) = (args.delay, args.run_at.map(micros), args.client.json);
    let is_now = delay.is_none() && run_at.is_none();
    match matching::meant(args.ids, args.filter)? {
        MeantTasks::Ids(ids) => by_id(&client, &ids, (delay, run_at), json).await,
        MeantTasks::Matching(filter) => {
            let filter = filter.for_act(TaskAct::Reschedule)?;
            let (verb, rest) = if is_now { ("Run", " now") } else { ("Give", " that time") };
            let question = Question { verb, rest, nothing: "no scheduled task matches" };
            if !args.yes && !matching::agreed(&client, &filter, question).await? {
                output::note("nothing was changed");
                return Ok(exit::FAILURE.into());
            }
            // One time for all: tasks that get a later one are met again by the walk, and then stay where they are.
            if let Some(delay) = delay.take() {
                run_at = Some(micros(jiff::Timestamp::now()).after(delay));
            }
            by_filter(&client, filter, run_at, json).await
        }
    }
}

async fn by_id(
    client: &ManagerClient,
    ids: &[TaskId],
    (delay, run_at): (Option<Duration>, Option<Timestamp>),
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut are_all_done = true;
    for ids in ids.chunks(MAX_BATCH) {
        let report = reschedule(client, ids.to_vec(), (delay, run_at), json).await?;
        if !json {
            show(&report)?;
        }
        are_all_done &= report.rescheduled == report.tasks.len() as u64;
    }
    Ok(if are_all_done { exit::OK } else { exit::FAILURE.into() })
}

async fn by_filter(
    client: &ManagerClient,
    filter: FilterArgs,
    run_at: Option<Timestamp>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut done = 0;
    let mut walk = MatchWalk::new(client, filter);
    while let Some(ids) = walk.next().await? {
        done += reschedule(client, ids, (None, run_at), json).await?.rescheduled;
    }
    if !json {
        output::line(format_args!("{} rescheduled", output::count(done, "task")))?;
    }
    Ok(exit::OK)
}

async fn reschedule(
    client: &ManagerClient,
    ids: Vec<TaskId>,
    (delay, run_at): (Option<Duration>, Option<Timestamp>),
    json: bool,
) -> Result<RescheduleReport, Failure> {
    let request = RescheduleRequest {
        ids: Some(ids.into_iter().map(Asked::from).collect()),
        delay,
        run_at: run_at.map(Into::into),
        ..RescheduleRequest::default()
    };
    let answer = client.post("/tasks/reschedule", Some(&request)).await?;
    if json {
        output::document(&answer.body)?;
    }
    Ok(answer.read()?)
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
