//! `jobbers scheduled`: what waits for its time, the next due first.

use std::{collections::HashSet, process::ExitCode};

use jobbers_api::{
    task::list::{ScheduledPageView, ScheduledTaskView},
    worker::registry::RegistryView,
};
use jobbers_common::name::{QueueName, TaskName};
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs},
    commands::pages::{self, PageArgs},
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, when,
    },
};

/// Flags of `jobbers scheduled`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tasks in this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<QueueName>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the tasks.
///
/// # Errors
/// When the manager can't be asked.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let answer = client.get("/scheduled-tasks", Some(&args.page.query(args.queue.as_ref()))).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let page: ScheduledPageView = answer.read()?;
    let registry: RegistryView = client.get("/tasks/registry", client::NOTHING).await?.read()?;
    pages::show(
        &table(&page.tasks, &registry),
        page.tasks.len(),
        page.next_cursor.as_ref().map(|_| page.total),
        "nothing is scheduled",
    )?;
    Ok(exit::OK)
}

/// The tasks, a line each.
fn table(tasks: &[ScheduledTaskView], registry: &RegistryView) -> output::Table {
    let known: HashSet<(&TaskName, u32)> = registry.tasks.iter().map(|task| (&task.name, task.version)).collect();
    let columns = [
        Column::whole("ID"),
        Column::cut_to("TASK", 8),
        Column::cut_to("QUEUE", 7).giving_way(1),
        Column::number("PRIORITY").giving_way(2),
        Column::cut_to("WHY", 9),
        Column::number("DUE"),
    ];
    let row = |task: &ScheduledTaskView| {
        let why = match task.attempt {
            // It may be delayed for that reason alone.
            0 if !known.contains(&(&task.name, task.version)) => "no worker knows it".to_owned(),
            0 => "delayed".to_owned(),
            attempt => format!("retry {attempt}"),
        };
        vec![
            (&task.id).into(),
            pages::task_name(&task.name, task.version).into(),
            (&task.queue).into(),
            task.priority.into(),
            why.into(),
            when::short_ahead(task.ready_at).into(),
        ]
    };
    fit::table(&columns, tasks.iter().map(row).collect())
}
