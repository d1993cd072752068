//! `jobbers audit`: who changed what.

use std::{fmt::Display, process::ExitCode};

use clap::builder::NonEmptyStringValueParser;
use jobbers_api::access::audit_log::{AuditEntryView, AuditPageView};
use jobbers_common::{audit_log::ChangeResult, name::KeyId};
use jobbers_process::{exit, when as given_time};

use crate::{
    client::ClientArgs,
    commands::pages,
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, when,
    },
};

/// Flags of `jobbers audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every change that came to a manager, from a page or from a command that writes to the store. Submissions and leases are work, \
and not in it. With --json each change comes with what was different before and after, and with its request's id.")]
pub struct Args {
    /// Only changes by the access key with this id
    #[arg(long, value_name = "ID")]
    key: Option<KeyId>,
    /// Only changes of this operation, such as pause_queue
    #[arg(long, value_name = "OPERATION", value_parser = NonEmptyStringValueParser::new())]
    operation: Option<String>,
    /// Only changes of this object: a queue, a role, a schedule, a task
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    object: Option<String>,
    /// Only changes with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = ChangeResult::ALL.map(ChangeResult::as_str))]
    outcome: Option<String>,
    /// Only changes at or after this time, e.g. 2026-01-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = given_time::parse)]
    from: Option<jiff::Timestamp>,
    /// Only changes before this time
    #[arg(long, value_name = "TIME", value_parser = given_time::parse)]
    to: Option<jiff::Timestamp>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Begin where an earlier answer's `next_cursor` says
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

impl Args {
    fn query(&self) -> Vec<(&'static str, String)> {
        fn pair(name: &'static str, value: Option<impl Display>) -> Option<(&'static str, String)> {
            value.map(|value| (name, value.to_string()))
        }
        let restricted = [
            pair("key", self.key.as_ref()),
            pair("operation", self.operation.as_ref()),
            pair("object", self.object.as_ref()),
            pair("outcome", self.outcome.as_ref()),
            pair("from", self.from),
            pair("to", self.to),
        ];
        restricted.into_iter().flatten().collect()
    }
}

/// Shows the changes that match, a line each, the latest first.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (query, cursor) = (args.query(), args.cursor.as_deref());
    let gathered = pages::gather::<AuditPageView>(&args.client, "/audit", &query, args.limit, cursor).await?;
    if let Some((items, more)) = gathered {
        pages::show(&table(&items), items.len(), more.then_some(None), "no change matches")?;
    }
    Ok(exit::OK)
}

fn table(changes: &[AuditEntryView]) -> output::Table {
    let columns = [
        Column::number("WHEN"),
        Column::cut_to("BY", 8),
        Column::cut_to("FROM", 8).giving_way(2),
        Column::whole("WAY").giving_way(3),
        Column::cut_to("OPERATION", 12),
        Column::cut_to("OBJECT", 10),
        Column::whole("OUTCOME"),
        Column::cut_to("WHY", 8).giving_way(1),
    ];
    let row = |change: &AuditEntryView| {
        vec![
            when::short_ago(change.at).into(),
            change.by.as_deref().or(change.key.as_deref()).unwrap_or("-").into(),
            change.address.as_deref().unwrap_or_default().into(),
            change.way.to_string().into(),
            change.operation.as_str().into(),
            change.object.as_deref().unwrap_or_default().into(),
            change.outcome.to_string().into(),
            change.problem.as_deref().unwrap_or_default().into(),
        ]
    };
    fit::table(&columns, changes.iter().map(row).collect())
}
