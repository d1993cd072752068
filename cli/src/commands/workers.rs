//! `jobbers workers`: who is alive, and how busy.

use std::process::ExitCode;

use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs, wire::Workers},
    failure::Failure,
    output, when,
};

/// Flags of `jobbers workers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the workers.
///
/// # Errors
/// When the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let answer = args.client.client()?.get("/workers", client::NOTHING).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let Workers { workers } = answer.read()?;
    if workers.is_empty() {
        output::note("no worker is alive; start one with `jobbers up` or `worker`");
        return Ok(exit::OK);
    }
    let mut table =
        output::table_of(&["WORKER", "HOST", "PID", "ROLE", "QUEUES", "STATE", "RUNNING", "SETTLED", "UP", "SEEN"]);
    for worker in &workers {
        table.add_row(vec![
            (&worker.id).into(),
            (&worker.host).into(),
            output::number(worker.pid),
            (&worker.role).into(),
            worker.queues.join(", ").into(),
            (&worker.state).into(),
            output::number(format_args!("{}/{}", worker.running, worker.slots)),
            output::number(output::thousands(worker.settled)),
            when::span(when::between(worker.started_at, worker.seen_at)).into(),
            when::ago(worker.seen_at).into(),
        ]);
    }
    output::table(&table)?;
    Ok(exit::OK)
}
