//! `jobbers scheduled`: what waits for its time, the next due first.

use std::process::ExitCode;

use jobbers_api::task_list::ScheduledPageView;
use jobbers_common::name::QueueName;
use jobbers_process::exit;

use crate::{
    client::ClientArgs,
    commands::pages::{self, PageArgs},
    failure::Failure,
    output, when,
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
    let answer = args.client.client()?.get("/scheduled-tasks", Some(&args.page.query(args.queue.as_ref()))).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let page: ScheduledPageView = answer.read()?;
    let mut table = output::table_of(&["ID", "TASK", "QUEUE", "PRIORITY", "WHY", "DUE"]);
    for task in &page.tasks {
        let why = match task.attempt {
            0 => "delayed".to_owned(),
            attempt => format!("retry {attempt}"),
        };
        table.add_row(vec![
            (&task.id).into(),
            pages::task_name(&task.name, task.version).into(),
            (&task.queue).into(),
            output::number(task.priority),
            why.into(),
            when::ahead(task.ready_at).into(),
        ]);
    }
    pages::show(&table, page.tasks.len(), page.next_cursor.is_some(), "nothing is scheduled")?;
    Ok(exit::OK)
}
