//! `jobbers list`: the tasks that match, a line each.

use std::process::ExitCode;

use jobbers_api::task::{list::TaskPageView, view::TaskView};
use jobbers_common::limits::MAX_BATCH;
use jobbers_process::exit;

use crate::{
    client::{Answer, ClientArgs, ManagerClient},
    commands::pages,
    failure::Failure,
    filter::FilterArgs,
    terminal::{
        fit::{self, Column},
        hidden::said,
        output, when,
    },
};

/// Flags of `jobbers list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Order: what runs (longest first), what is next in its queue, what is scheduled (next due first), what waits; then what is \
over, the latest first. On a terminal each task is one line, as wide as the terminal; `status ID` and a pipe show the rest.

--where looks into the parameters of the tasks that match otherwise: customer=42, address.city=Basel, items.0.sku=A7. \
A completed task \
keeps them if they are no longer than its queue's keep_parameters. The search stops after 10,000 tasks and says how to go on; with --all it goes on \
by itself.

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
    /// Begin where an earlier answer says
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// What was listed, and why no more.
#[derive(Debug, Default)]
struct ListedTasks {
    tasks: Vec<TaskView>,
    /// How many tasks match in all, if the manager counted them.
    total: Option<u64>,
    /// How many tasks a search looked at.
    scanned: u64,
    gave_up: bool,
    /// Where to continue.
    cursor: Option<String>,
}

/// Shows the tasks.
///
/// # Errors
/// When the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let listed = gather(args).await?;
    if !args.client.json && !listed.tasks.is_empty() {
        output::table(&table(&listed.tasks))?;
    }
    say_the_rest(args, &listed);
    Ok(exit::OK)
}

/// Reads page after page. For programs each is printed as it came, and its tasks are not kept.
async fn gather(args: &Args) -> Result<ListedTasks, Failure> {
    let client = args.client.client()?;
    let mut left = if args.all { u64::MAX } else { args.limit };
    let mut listed = ListedTasks { cursor: args.cursor.clone(), ..ListedTasks::default() };
    loop {
        let (limit, cursor) = (left.min(MAX_BATCH as u64), listed.cursor.as_deref());
        let answer = page(&client, &args.filter, limit, cursor, Purpose::Show).await?;
        let page: TaskPageView = answer.read()?;
        left = left.saturating_sub(page.tasks.len() as u64);
        listed.total = listed.total.or(page.total);
        listed.scanned += page.scanned.unwrap_or_default();
        listed.gave_up = page.gave_up && !args.all;
        listed.cursor = page.next_cursor;
        if args.client.json {
            output::document(&answer.body)?;
        } else {
            listed.tasks.extend(page.tasks);
        }
        if listed.cursor.is_none() || left == 0 || listed.gave_up {
            return Ok(listed);
        }
    }
}

fn say_the_rest(args: &Args, listed: &ListedTasks) {
    let number = listed.tasks.len();
    match &listed.cursor {
        Some(cursor) if listed.gave_up => {
            let looked = extent(listed.scanned);
            output::note(format_args!(
                "{looked} and stopped; go on with --cursor '{cursor}', or search all with --all"
            ));
        }
        None if number == 0 && !args.client.json => output::note("no task matches"),
        Some(_) if !args.client.json => {
            output::note(format_args!("{}: --limit N or --all", pages::first_of(number as u64, listed.total)));
        }
        _ => {}
    }
}

/// How far a search went. Tasks that the store passes over by name, status or label are not counted.
fn extent(scanned: u64) -> String {
    match scanned {
        0 => "searched for as long as one request may".to_owned(),
        scanned => format!("looked at {}", output::count(scanned, "task")),
    }
}

/// The tasks, a line each.
#[must_use]
pub(crate) fn table(tasks: &[TaskView]) -> output::Table {
    let has_errors = tasks.iter().any(|task| !task.errors.is_empty());
    let mut columns = vec![
        Column::whole("ID"),
        Column::cut_to("TASK", 8),
        Column::cut_to("QUEUE", 7).giving_way(2),
        Column::whole("STATUS"),
        Column::number("ATTEMPT").giving_way(3),
        Column::number("AGE"),
        Column::number("TOOK").giving_way(4),
        Column::cut_to("PARAMETERS", 10).giving_way(1),
    ];
    if has_errors {
        columns.push(Column::cut_to("ERROR", 12));
    }
    let row = |task: &TaskView| {
        let mut cells = vec![
            (&task.id).into(),
            task_name(task).into(),
            (&task.queue).into(),
            output::status(task.status),
            task.attempt.into(),
            when::age(task.submitted_at).into(),
            output::or_dash(took(task)),
            output::or_dash(task.parameters.as_ref().map(|parameters| fit::one_line(parameters.get()))),
        ];
        cells.extend(has_errors.then(|| output::or_dash(error(task))));
        cells
    };
    fit::table(&columns, tasks.iter().map(row).collect())
}

/// The name, with the version unless it is the first.
pub(in crate::commands) fn task_name(task: &TaskView) -> String {
    pages::task_name(&task.name, task.version)
}

fn took(task: &TaskView) -> Option<String> {
    let (started, completed) = (task.started_at?, task.finished_at?);
    Some(when::short(when::between(started, completed)))
}

/// Why its latest attempt failed.
fn error(task: &TaskView) -> Option<String> {
    let error = task.errors.last()?;
    Some(fit::one_line(&format!("{}: {}", error.kind, said(&error.message, task.sensitive))))
}

/// What a page is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To show the tasks: with their parameters and errors.
    Show,
    /// To do something with them, by their ids.
    Act,
}

/// One page of the tasks that match.
///
/// # Errors
/// When the manager can't be asked.
pub(crate) async fn page(
    client: &ManagerClient,
    filter: &FilterArgs,
    limit: u64,
    cursor: Option<&str>,
    purpose: Purpose,
) -> Result<Answer, Failure> {
    let mut query = filter.query();
    if purpose == Purpose::Show {
        query.push(("include", "parameters,errors".to_owned()));
    }
    query.push(("limit", limit.to_string()));
    query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
    client.get("/tasks", Some(&query)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_the_store_made_did_not_look_at_no_task() {
        assert_eq!(extent(0), "searched for as long as one request may");
        assert_eq!(extent(10_000), "looked at 10,000 tasks");
    }
}
