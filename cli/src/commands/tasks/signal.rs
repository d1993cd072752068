//! `jobbers signal`: a signal to a task that waits for it.

use std::{process::ExitCode, time::Duration};

use jobbers_api::task::signal::{SendSignal, SignalledView};
use jobbers_common::{
    name::{SignalName, TaskId},
    values::duration,
};
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::{output, when},
};

/// Flags of `jobbers signal`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The signals of a task are named at its submission: `jobbers submit --signal`. One that comes twice counts once. Exit code 1 \
when the task does not exist, waits for no signal of this name, or does not wait for it any more.")]
pub struct Args {
    /// The task's id
    id: TaskId,
    /// The signal's name
    name: SignalName,
    /// Keep the signal this long, at most a day, if the task does not exist yet
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    keep_for: Option<Duration>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Sends the signal.
///
/// # Errors
/// When the manager can't be asked, and its refusal.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let path = format!("{}/signal", client::task_path(&args.id));
    let answer = client.post(&path, Some(&SendSignal { name: args.name.clone(), keep_for: args.keep_for })).await?;
    let SignalledView { status, kept_until, .. } = answer.read()?;
    let sentence = match (status, kept_until) {
        (Some(status), _) => format!("{} is {status}", args.id),
        (None, Some(until)) => {
            format!("{} does not exist yet: the signal is kept until {}", args.id, when::full(until))
        }
        (None, None) => format!("{} had that signal before", args.id),
    };
    output::done(&answer.body, args.client.json, sentence)?;
    Ok(exit::OK)
}
