//! `jobbers dlq list`, `show` and `stats`.

use std::process::ExitCode;

use comfy_table::Table;
use jobbers_api::{
    dead_letter::HistoryView, dead_letter::LetterPageView, dead_letter::LetterView, dead_letter::StatsView,
    dead_letter::WholeLetterView,
};
use jobbers_common::name::TaskId;
use jobbers_process::exit;

use super::FilterArgs;
use crate::{
    client::{self, ClientArgs, NOTHING},
    commands::pages,
    failure::Failure,
    output, when,
};

/// Flags of `jobbers dlq list`.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    filter: FilterArgs,
    /// Those of which this has become: dead, resubmitting, resubmitted, superseded or all [default: dead]
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

/// Shows the dead letters that match, a line each.
pub(super) async fn list(args: &List) -> Result<ExitCode, Failure> {
    let mut query = args.filter.query();
    query.extend(args.state.iter().map(|state| ("state", state.clone())));
    let gathered =
        pages::gather::<LetterPageView>(&args.client, "/dead-letter-queue", &query, args.limit, args.cursor.as_deref())
            .await?;
    if let Some((items, more)) = gathered {
        pages::show(&table(&items), items.len(), more, "no dead letter matches")?;
    }
    Ok(exit::OK)
}

/// Dead letters, a line each.
fn table(letters: &[LetterView]) -> Table {
    let mut table = output::table_of(&["ID", "TASK", "QUEUE", "STATUS", "ATTEMPTS", "FAILED", "STATE", "ERROR"]);
    for letter in letters {
        table.add_row(vec![
            (&letter.id).into(),
            pages::task_name(&letter.name, letter.version).into(),
            (&letter.queue).into(),
            output::status(letter.status),
            output::number(letter.attempt),
            when::ago(letter.failed_at).into(),
            letter.state.to_string().into(),
            first_line(&letter.error).into(),
        ]);
    }
    table
}

/// As much of an error as a line of a table bears.
fn first_line(error: &str) -> String {
    const MOST: usize = 60;
    let line = error.lines().next().unwrap_or_default();
    if line.chars().count() <= MOST { line.to_owned() } else { line.chars().take(MOST - 1).chain(['…']).collect() }
}

/// Flags of `jobbers dlq show`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The task's id
    id: TaskId,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows a dead letter, its task and its history.
pub(super) async fn show(args: &Show) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let path = client::dead_letter_path(&args.id);
    let answer = client.get(&path, NOTHING).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let WholeLetterView { entry, task } = answer.read()?;
    let history: HistoryView = client.get(&format!("{path}/history"), NOTHING).await?.read()?;
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "id", &entry.id);
    output::add_fact(&mut sheet, "task", pages::task_name(&entry.name, entry.version));
    output::add_fact(&mut sheet, "queue", &entry.queue);
    output::add_fact(&mut sheet, "status", output::status(entry.status));
    output::add_fact(&mut sheet, "failed", when::ago(entry.failed_at));
    output::add_fact(&mut sheet, "attempts", entry.attempt.to_string());
    if task.crashes > 0 {
        output::add_fact(&mut sheet, "lost leases", task.crashes.to_string());
    }
    output::add_fact(&mut sheet, "state", state(&entry));
    output::add_fact(&mut sheet, "error", &entry.error);
    if let Some(parameters) = &task.parameters {
        output::add_fact(&mut sheet, "parameters", parameters.get());
    }
    output::table(&sheet)?;
    output::line("")?;
    let mut table = output::table_of(&["FAILED", "ATTEMPT", "KIND", "WORKER", "MESSAGE"]);
    for failure in &history.failures {
        table.add_row(vec![
            when::ago(failure.at).into(),
            output::number(failure.attempt),
            (&failure.kind).into(),
            (&failure.worker).into(),
            first_line(&failure.message).into(),
        ]);
    }
    output::table(&table)?;
    Ok(exit::OK)
}

fn state(letter: &LetterView) -> String {
    match (letter.resubmitted_at, &letter.operation) {
        (Some(at), _) => format!("{} {}", letter.state, when::ago(at)),
        (None, Some(operation)) => format!("{} by operation {operation}", letter.state),
        (None, None) => letter.state.to_string(),
    }
}

/// Flags of `jobbers dlq stats`.
#[derive(Debug, clap::Args)]
pub(super) struct Stats {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    client: ClientArgs,
}

/// Counts dead letters by cause.
pub(super) async fn stats(args: &Stats) -> Result<ExitCode, Failure> {
    let answer = args.client.client()?.get("/dead-letter-queue/stats", Some(&args.filter.query())).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let stats: StatsView = answer.read()?;
    let mut table = output::table_of(&["COUNT", "QUEUE", "TASK", "FIRST", "LAST", "CAUSE"]);
    for group in &stats.groups {
        table.add_row(vec![
            output::number(output::thousands(group.count)),
            (&group.queue).into(),
            pages::task_name(&group.name, group.version).into(),
            when::ago(group.first_seen).into(),
            when::ago(group.last_seen).into(),
            first_line(&group.fingerprint).into(),
        ]);
    }
    pages::show(&table, stats.groups.len(), false, "no dead letter matches")?;
    Ok(exit::OK)
}
