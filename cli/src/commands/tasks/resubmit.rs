//! `jobbers resubmit`: tasks that are over, sent again: by id, or those that match a filter after a look at them.

use std::process::ExitCode;

use jobbers_api::{
    task::{
        resubmit::{ResubmitParams, ResubmitReport, ResubmitRequest},
        selection::TaskAct,
    },
    value::Asked,
};
use jobbers_common::name::{QueueName, TaskId};
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs, ManagerClient},
    commands::tasks::matching::{self, MatchWalk, MeantTasks, Question},
    failure::Failure,
    filter::FilterArgs,
    terminal::output,
};

/// Flags of `jobbers resubmit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A task keeps its id and goes to the end of its queue. One that is kept as a dead letter is sent again from there, even \
when the store has forgotten it. A filter finds tasks that are stored, are over and did not complete; `jobbers dlq resubmit` \
finds dead letters. Exit code 1 when a task was not sent again: it is not over, it completed, or it does not exist.")]
pub struct Args {
    /// The tasks' ids
    ids: Vec<TaskId>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Do not ask before tasks that match a filter are sent again
    #[arg(long, short)]
    yes: bool,
    /// Into this queue instead of the one they were in
    #[arg(long, value_name = "QUEUE")]
    to_queue: Option<QueueName>,
    /// Let attempts go on from where they were: what had used up its retries fails for good at its next failure
    #[arg(long)]
    keep_attempts: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Sends each task again. A refusal of one does not keep the others back.
///
/// # Errors
/// When neither ids nor a filter are given, or both; when the manager can't be asked; its refusal, when one task was named.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let order = || ResubmitParams { reset_retry_count: Some(!args.keep_attempts), to_queue: args.to_queue.clone() };
    match matching::meant(args.ids, args.filter)? {
        MeantTasks::Ids(ids) => by_id(&client, &ids, &order(), args.client.json).await,
        MeantTasks::Matching(filter) => {
            let filter = filter.for_act(TaskAct::Resubmit)?;
            let question =
                Question { verb: "Send", rest: " again", nothing: "no task that is over and did not complete matches" };
            if !args.yes && !matching::agreed(&client, &filter, question).await? {
                output::note("nothing was sent again");
                return Ok(exit::FAILURE.into());
            }
            by_filter(&client, filter, order, args.client.json).await
        }
    }
}

async fn by_id(
    client: &ManagerClient,
    ids: &[TaskId],
    order: &ResubmitParams,
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut are_all_sent = true;
    for id in ids {
        match resubmit(client, id, order, json).await {
            Err(failure @ Failure::Refused { .. }) if ids.len() > 1 => {
                output::error(&failure);
                are_all_sent = false;
            }
            done => done?,
        }
    }
    Ok(if are_all_sent { exit::OK } else { exit::FAILURE.into() })
}

async fn by_filter(
    client: &ManagerClient,
    filter: FilterArgs,
    order: impl Fn() -> ResubmitParams,
    json: bool,
) -> Result<ExitCode, Failure> {
    let (mut sent, mut refused) = (0, 0);
    let mut walk = MatchWalk::new(client, filter);
    while let Some(ids) = walk.next().await? {
        let request = ResubmitRequest::of(ids.into_iter().map(Asked::from).collect(), order());
        let answer = client.post("/tasks/resubmit", Some(&request)).await?;
        let report: ResubmitReport = answer.read()?;
        if json {
            output::document(&answer.body)?;
        } else {
            show_refused(&report);
        }
        sent += report.resubmitted;
        refused += report.refused;
    }
    if !json {
        output::line(format_args!("{} sent again", output::count(sent, "task")))?;
    }
    Ok(if refused == 0 { exit::OK } else { exit::FAILURE.into() })
}

fn show_refused(report: &ResubmitReport) {
    for task in &report.tasks {
        if let (Some(code), Some(detail)) = (&task.code, &task.detail) {
            output::note(format_args!("{code}: {detail}"));
        }
    }
}

async fn resubmit(client: &ManagerClient, id: &TaskId, order: &ResubmitParams, json: bool) -> Result<(), Failure> {
    let answer = client.post(&format!("{}/resubmit", client::task_path(id)), Some(order)).await?;
    output::done(&answer.body, json, format_args!("{id} sent again"))
}
