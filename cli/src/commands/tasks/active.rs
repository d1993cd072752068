//! `jobbers active`: what runs where, and for how long.

use std::{process::ExitCode, time::Duration};

use jobbers_api::task::list::{ActivePageView, ActiveTaskView};
use jobbers_common::name::QueueName;
use jobbers_process::exit;

use crate::{
    client::ClientArgs,
    commands::pages::{self, PageArgs},
    failure::Failure,
    terminal::{
        fit::{self, Column},
        hidden::said,
        output, when,
    },
};

/// Flags of `jobbers active`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tasks in this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<QueueName>,
    /// Only tasks that are to be cancelled and have not heeded it yet
    #[arg(long)]
    cancel_requested: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the tasks, the longest running first.
///
/// # Errors
/// When the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut query = args.page.query(args.queue.as_ref());
    query.extend(args.cancel_requested.then(|| ("cancel_requested", "true".to_owned())));
    let answer = args.client.client()?.get("/active-tasks", Some(&query)).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let page: ActivePageView = answer.read()?;
    let none = if args.cancel_requested { "nothing that runs is to be cancelled" } else { "nothing runs" };
    pages::show(&table(&page.tasks), page.tasks.len(), page.next_cursor.as_ref().map(|_| page.total), none)?;
    Ok(exit::OK)
}

/// The tasks, a line each.
fn table(tasks: &[ActiveTaskView]) -> output::Table {
    let columns = [
        Column::whole("ID"),
        Column::cut_to("TASK", 8),
        Column::cut_to("QUEUE", 7).giving_way(2),
        Column::number("FOR"),
        Column::number("ATTEMPT").giving_way(3),
        Column::cut_to("PROGRESS", 8).giving_way(1),
        Column::whole("CANCEL").giving_way(5),
        Column::cut_to("WORKER", 10).giving_way(4),
    ];
    let row = |task: &ActiveTaskView| {
        vec![
            (&task.id).into(),
            pages::task_name(&task.name, task.version).into(),
            (&task.queue).into(),
            when::short(Duration::try_from_secs_f64(task.running_for).unwrap_or_default()).into(),
            task.attempt.into(),
            output::or_dash(progress(task)),
            output::or_dash(task.cancel_requested.then_some("requested")),
            output::or_dash(task.worker.as_ref()),
        ]
    };
    fit::table(&columns, tasks.iter().map(row).collect())
}

fn progress(task: &ActiveTaskView) -> Option<String> {
    let progress = task.progress.as_ref()?;
    Some(format!("{:.0}% {}", progress.fraction * 100.0, said(&progress.message, task.sensitive)))
}
