//! `jobbers dlq list`, `show` and `stats`.

use std::process::ExitCode;

use jobbers_api::dead_letter::{HistoryView, LetterPageView, LetterView, StatsView, WholeLetterView};
use jobbers_common::name::TaskId;
use jobbers_process::exit;

use super::selection::FilterArgs;
use crate::{
    client::{self, ClientArgs, NOTHING},
    commands::pages,
    failure::Failure,
    terminal::{
        fit::{self, Column},
        hidden::{HIDDEN, said},
        output, when,
    },
};

/// How many causes the manager counts; with as many, there may be more.
const MOST_GROUPS: usize = 1_000;

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
        let more = if more { Some(total(args).await?) } else { None };
        pages::show(&table(&items), items.len(), more, "no dead letter matches")?;
    }
    Ok(exit::OK)
}

/// How many dead letters match in all, if that can be counted: causes are counted only of those that are still dead.
async fn total(args: &List) -> Result<Option<u64>, Failure> {
    if args.state.as_deref().is_some_and(|state| state != "dead") {
        return Ok(None);
    }
    let answer = args.client.client()?.get("/dead-letter-queue/stats", Some(&args.filter.query())).await?;
    let stats: StatsView = answer.read()?;
    Ok((stats.groups.len() < MOST_GROUPS).then_some(stats.total))
}

/// Dead letters, a line each.
fn table(letters: &[LetterView]) -> output::Table {
    let columns = [
        Column::whole("ID"),
        Column::cut_to("TASK", 8),
        Column::cut_to("QUEUE", 7).giving_way(1),
        Column::whole("STATUS").giving_way(3),
        Column::number("ATTEMPTS").giving_way(2),
        Column::number("FAILED"),
        Column::cut_to("STATE", 4).giving_way(4),
        Column::cut_to("ERROR", 12),
    ];
    let row = |letter: &LetterView| {
        vec![
            (&letter.id).into(),
            pages::task_name(&letter.name, letter.version).into(),
            (&letter.queue).into(),
            output::status(letter.status),
            letter.attempt.into(),
            when::short_ago(letter.failed_at).into(),
            letter.state.to_string().into(),
            first_line(said(&letter.error, letter.sensitive)).into(),
        ]
    };
    fit::table(&columns, letters.iter().map(row).collect())
}

/// The first line of an error; the rest is in `dlq show`.
fn first_line(error: &str) -> &str {
    error.lines().next().unwrap_or_default()
}

/// Flags of `jobbers dlq show`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The task's id
    id: TaskId,
    /// Show what the letter of a sensitive task holds, which the audit log records
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows a dead letter, its task and its history.
pub(super) async fn show(args: &Show) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let path = client::dead_letter_path(&args.id);
    let answer = match args.reveal {
        true => client.post(&format!("{path}/reveal"), NOTHING).await?,
        false => client.get(&path, NOTHING).await?,
    };
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let WholeLetterView { entry, task } = answer.read()?;
    let failures = match args.reveal {
        // The history hides what its task said; the copy of the task has it.
        true => task.errors,
        false => client.get(&format!("{path}/history"), NOTHING).await?.read::<HistoryView>()?.failures,
    };
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "id", &entry.id);
    output::add_fact(&mut sheet, "task", pages::task_name(&entry.name, entry.version));
    output::add_fact(&mut sheet, "queue", &entry.queue);
    output::add_fact(&mut sheet, "status", output::status(entry.status));
    output::add_fact(&mut sheet, "failed", when::full(entry.failed_at));
    output::add_fact(&mut sheet, "attempts", entry.attempt.to_string());
    if task.crashes > 0 {
        output::add_fact(&mut sheet, "lost leases", task.crashes.to_string());
    }
    output::add_fact(&mut sheet, "state", state(&entry));
    output::add_fact(&mut sheet, "error", said(&entry.error, entry.sensitive));
    if entry.sensitive && task.parameters.is_none() {
        output::add_fact(&mut sheet, "parameters", HIDDEN);
    }
    if let Some(parameters) = &task.parameters {
        output::add_fact(&mut sheet, "parameters", parameters.get());
    }
    output::table(&sheet)?;
    output::line("")?;
    let columns = [
        Column::number("FAILED"),
        Column::number("ATTEMPT"),
        Column::whole("KIND"),
        Column::cut_to("WORKER", 10).giving_way(1),
        Column::cut_to("MESSAGE", 20),
    ];
    let rows = failures.iter().map(|failure| {
        vec![
            when::short_ago(failure.at).into(),
            failure.attempt.into(),
            (&failure.kind).into(),
            (&failure.worker).into(),
            first_line(said(&failure.message, entry.sensitive)).into(),
        ]
    });
    output::table(&fit::table(&columns, rows.collect()))?;
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
    let columns = [
        Column::number("COUNT"),
        Column::cut_to("QUEUE", 7).giving_way(1),
        Column::cut_to("TASK", 8),
        Column::number("FIRST").giving_way(2),
        Column::number("LAST"),
        Column::cut_to("CAUSE", 16),
    ];
    let rows = stats.groups.iter().map(|group| {
        vec![
            output::thousands(group.count).into(),
            (&group.queue).into(),
            pages::task_name(&group.name, group.version).into(),
            when::short_ago(group.first_seen).into(),
            when::short_ago(group.last_seen).into(),
            first_line(&group.fingerprint).into(),
        ]
    });
    pages::show(&fit::table(&columns, rows.collect()), stats.groups.len(), None, "no dead letter matches")?;
    Ok(exit::OK)
}
