//! `jobbers explain`: why a task does not run now.

use std::process::ExitCode;

use jobbers_api::task::explain::{ExplainView, Reason, WorkerPlace};
use jobbers_common::name::TaskId;
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::{output, when},
};

/// Flags of `jobbers explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    id: TaskId,
    #[command(flatten)]
    client: ClientArgs,
}

/// Lists everything that keeps a task from running.
///
/// # Errors
/// When the manager can't be asked or knows no such task.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let path = format!("{}/explain", client::task_path(&args.id));
    let answer = args.client.client()?.get(&path, client::NOTHING).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let ExplainView { id, queue, store, status, expires_at, reasons: why, .. } = answer.read()?;
    let expires = expires_at.map(|at| format!(", and expires at {}", when::full(at))).unwrap_or_default();
    output::line(format_args!("{id} is {status}, in queue {queue}{expires}"))?;
    if !store.is_empty() {
        output::line(format_args!("its store is {store}"))?;
    }
    reasons(&why)?;
    Ok(exit::OK)
}

/// Writes reasons, a line each, with the workers that they name.
///
/// # Errors
/// When they can't be written.
pub(crate) fn reasons(reasons: &[Reason]) -> Result<(), Failure> {
    for reason in reasons {
        let until = reason.until.map(|at| format!(", until {}", when::full(at))).unwrap_or_default();
        let since = reason.since.map(|at| format!(", since {}", when::full(at))).unwrap_or_default();
        let tasks = if reason.tasks.is_empty() { String::new() } else { format!(": {}", reason.tasks.join(", ")) };
        output::line(format_args!("- {}{until}{since}{tasks} ({})", reason.message, reason.code))?;
        for WorkerPlace { id, host } in &reason.workers {
            output::line(format_args!("  live worker {id} on {host}"))?;
        }
        if reason.further_workers > 0 {
            output::line(format_args!("  and {} more", output::thousands(reason.further_workers as u64)))?;
        }
    }
    Ok(())
}
