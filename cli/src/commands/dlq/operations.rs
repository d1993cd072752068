//! `jobbers dlq operations`.

use std::process::ExitCode;

use comfy_table::Table;
use jobbers_common::limits::MAX_BATCH;
use jobbers_process::exit;

use crate::{
    client::{
        ClientArgs,
        wire::{ResubmitOperation, ResubmitOperationPage},
    },
    commands::pages,
    failure::Failure,
    output, when,
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
    /// Begin where an earlier answer's `next` says
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the operations, a line each.
pub(super) async fn list(args: &Operations) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let (mut left, mut cursor, mut operations) = (args.limit, args.cursor.clone(), Vec::new());
    loop {
        let mut query = vec![("limit", left.min(MAX_BATCH as u64).to_string())];
        query.extend(args.state.iter().map(|state| ("state", state.clone())));
        query.extend(cursor.iter().map(|cursor| ("cursor", cursor.clone())));
        let answer = client.get("/dead-letter-queue/operations", Some(&query)).await?;
        let page: ResubmitOperationPage = answer.read()?;
        left = left.saturating_sub(page.operations.len() as u64);
        cursor = page.next;
        if args.client.json {
            output::document(&answer.body)?;
        } else {
            operations.extend(page.operations);
        }
        if cursor.is_none() || left == 0 {
            break;
        }
    }
    if !args.client.json {
        pages::show(&table(&operations), operations.len(), cursor.is_some(), "no dead letters were sent again lately")?;
    }
    Ok(exit::OK)
}

fn table(operations: &[ResubmitOperation]) -> Table {
    let mut table = output::table_of(&["OPERATION", "STATE", "BEGAN", "TASKS", "SENT AGAIN", "TO GO"]);
    for operation in operations {
        table.add_row(vec![
            (&operation.id).into(),
            (&operation.state).into(),
            when::ago(operation.created_at).into(),
            output::number(output::thousands(operation.total)),
            output::number(output::thousands(operation.resubmitted)),
            output::number(output::thousands(operation.pending)),
        ]);
    }
    table
}
