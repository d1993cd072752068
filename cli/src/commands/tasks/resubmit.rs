//! `jobbers resubmit`: tasks that are over, sent again.

use std::process::ExitCode;

use jobbers_api::task::resubmit::ResubmitParams;
use jobbers_common::name::{QueueName, TaskId};
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs, ManagerClient},
    failure::Failure,
    terminal::output,
};

/// Flags of `jobbers resubmit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A task keeps its id and goes to the end of its queue. One that is kept as a dead letter is sent again from there, even \
when the store has forgotten it. `jobbers dlq resubmit` sends many dead letters again, by a filter. Exit code 1 when a task \
was not sent again: it is not over, it completed, or it does not exist.")]
pub struct Args {
    /// The tasks' ids
    #[arg(required = true)]
    ids: Vec<TaskId>,
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
/// When the manager can't be asked; its refusal, when one task was named.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let order = ResubmitParams { reset_retry_count: Some(!args.keep_attempts), to_queue: args.to_queue.clone() };
    let mut are_all_sent = true;
    for id in &args.ids {
        match resubmit(&client, id, &order, args.client.json).await {
            Err(failure @ Failure::Refused { .. }) if args.ids.len() > 1 => {
                output::error(&failure);
                are_all_sent = false;
            }
            done => done?,
        }
    }
    Ok(if are_all_sent { exit::OK } else { exit::FAILURE.into() })
}

async fn resubmit(client: &ManagerClient, id: &TaskId, order: &ResubmitParams, json: bool) -> Result<(), Failure> {
    let answer = client.post(&format!("{}/resubmit", client::task_path(id)), Some(order)).await?;
    output::done(&answer.body, json, format_args!("{id} sent again"))
}
