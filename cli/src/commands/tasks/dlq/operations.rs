//! `jobbers dlq operations`.

use std::process::ExitCode;

use jobbers_api::dead_letter::operation::{OperationPageView, OperationView};
use jobbers_process::exit;

use crate::{
    client::ClientArgs,
    commands::pages,
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, when,
    },
};

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
        pages::show(&table(&items), items.len(), more.then_some(None), "no dead letters were sent again lately")?;
    }
    Ok(exit::OK)
}

fn table(operations: &[OperationView]) -> output::Table {
    let columns = [
        Column::whole("OPERATION"),
        Column::whole("STATE"),
        Column::number("BEGAN").giving_way(1),
        Column::number("TASKS"),
        Column::number("SENT AGAIN"),
        Column::number("TO GO"),
    ];
    let row = |operation: &OperationView| {
        vec![
            (&operation.id).into(),
            operation.state.to_string().into(),
            when::short_ago(operation.created_at).into(),
            output::thousands(operation.total).into(),
            output::thousands(operation.resubmitted).into(),
            output::thousands(operation.pending).into(),
        ]
    };
    fit::table(&columns, operations.iter().map(row).collect())
}
