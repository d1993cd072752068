//! `jobbers depend`: a task that waits for further tasks.

use std::process::ExitCode;

use jobbers_api::task::dependency::AddedDependencies;
use jobbers_common::name::TaskId;
use jobbers_process::exit;
use serde::Serialize;

use crate::{
    client::{self, ClientArgs},
    commands::tasks::submit::Predecessor,
    failure::Failure,
    terminal::output,
};

/// Flags of `jobbers depend`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The task has not started, and the tasks to wait for are not over; else the command is refused, with exit code 1, and so it \
is when tasks would wait for each other. All dependencies are added or none. One that exists stays as it is.")]
pub struct Args {
    /// The task's id
    id: TaskId,
    /// A task to wait for, and what its end means: ID, or ID=POLICY with abort_successors (the default),
    /// run_with_failures or run_on_error; several times for several
    #[arg(long, value_name = "ID[=POLICY]", required = true)]
    on: Vec<Predecessor>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Serialize)]
struct DependRequest<'a> {
    depends_on: &'a [Predecessor],
}

/// Adds the dependencies.
///
/// # Errors
/// When the manager can't be asked, and its refusal.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let path = format!("{}/dependencies", client::task_path(&args.id));
    let answer = client.post(&path, Some(&DependRequest { depends_on: &args.on })).await?;
    let AddedDependencies { added, existing } = answer.read()?;
    let before = if existing > 0 { format!(", and for {existing} as before") } else { String::new() };
    let tasks = output::count(added as u64, "further task");
    output::done(&answer.body, args.client.json, format_args!("{} waits for {tasks}{before}", args.id))?;
    Ok(exit::OK)
}
