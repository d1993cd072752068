//! `jobbers dlq operations`.

use std::process::ExitCode;

use comfy_table::Table;
use jobbers_api::{operation::OperationPageView, operation::OperationView};
use jobbers_process::exit;

use crate::{client::ClientArgs, commands::pages, failure::Failure, output, when};

/// Flags of `jobbers dlq operations`.
#[derive(Debug, clap::Args)]
#[command(after_help = "An operation is kept for a week after it was finished.")]
pub(super) struct Operations {
    /// Only those that are running, cancelling, cancelled or done
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Begin where an earlier answer's `next_cursor` says
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the operations, a line each.
pub(super) async fn list(args: &Operations) -> Result<ExitCode, Failure> {
    let query: Vec<_> = args.state.iter().map(|state| ("state", state.clone())).collect();
    let gathered = pages::gather::<OperationPageView>(
        &args.client,
        "/dead-letter-queue/operations",
        &query,
        args.limit,
        args.cursor.as_deref(),
    )
    .await?;
    if let Some((items, more)) = gathered {
        pages::show(&table(&items), items.len(), more, "no dead letters were sent again lately")?;
    }
    Ok(exit::OK)
}

fn table(operations: &[OperationView]) -> Table {
    let mut table = output::table_of(&["OPERATION", "STATE", "BEGAN", "TASKS", "SENT AGAIN", "TO GO"]);
    for operation in operations {
        table.add_row(vec![
            (&operation.id).into(),
            operation.state.to_string().into(),
            when::ago(operation.created_at).into(),
            output::number(output::thousands(operation.total)),
            output::number(output::thousands(operation.resubmitted)),
            output::number(output::thousands(operation.pending)),
        ]);
    }
    table
}
