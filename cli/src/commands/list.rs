//! `jobbers list`: the tasks that match, a line each.

use std::process::ExitCode;

use comfy_table::Table;
use jobbers_process::exit;

use crate::{
    client::{
        Answer, Client, ClientArgs,
        wire::{Task, TaskPage},
    },
    commands::pages,
    failure::Failure,
    filter::FilterArgs,
    output, when,
};

/// Flags of `jobbers list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Order: what runs (longest first), what is next in its queue, what is scheduled (next due first), what waits; then what is \
over, the latest first.

With --json, each page of the API's answer is printed on a line as it came.")]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Begin where an earlier answer's `next` says
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the tasks, page by page as they come.
///
/// # Errors
/// When the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let limit = if args.all { u64::MAX } else { args.limit };
    let cursor = args.cursor.as_deref();
    let gathered = pages::gather::<TaskPage>(&args.client, "/tasks", &args.filter.query(), limit, cursor).await?;
    if let Some((tasks, more)) = gathered {
        show(&tasks, more)?;
    }
    Ok(exit::OK)
}

fn show(tasks: &[Task], more: bool) -> Result<(), Failure> {
    if tasks.is_empty() {
        output::note("no task matches");
        return Ok(());
    }
    output::table(&table(tasks))?;
    if more {
        output::note(format_args!("the first {}; more may follow: --limit N or --all", tasks.len()));
    }
    Ok(())
}

/// The tasks, a line each.
#[must_use]
pub(crate) fn table(tasks: &[Task]) -> Table {
    let mut table = output::table_of(&["ID", "TASK", "QUEUE", "STATUS", "ATTEMPT", "SUBMITTED", "TOOK"]);
    for task in tasks {
        table.add_row(vec![
            (&task.id).into(),
            task_name(task).into(),
            (&task.queue).into(),
            output::status(&task.status),
            output::number(task.attempt),
            when::ago(task.submitted_at).into(),
            output::or_dash(took(task)),
        ]);
    }
    table
}

/// The name, with the version unless it is the first.
pub(super) fn task_name(task: &Task) -> String {
    if task.version == 1 { task.name.clone() } else { format!("{} v{}", task.name, task.version) }
}

fn took(task: &Task) -> Option<String> {
    let (started, completed) = (task.started_at?, task.finished_at?);
    Some(when::span(when::between(started, completed)))
}

/// One page of the tasks that match.
///
/// # Errors
/// When the manager can't be asked.
pub(crate) async fn page(
    client: &Client,
    filter: &FilterArgs,
    limit: u64,
    cursor: Option<&str>,
) -> Result<Answer, Failure> {
    let mut query = filter.query();
    query.push(("limit", limit.to_string()));
    query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
    client.get("/tasks", Some(&query)).await
}
