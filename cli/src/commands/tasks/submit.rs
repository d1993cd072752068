//! `jobbers submit`: one task, or as many as standard input has documents.

mod request;

use std::{collections::BTreeSet, process::ExitCode};

use jobbers_api::task::view::{SubmittedList, SubmittedView, TaskView};
use jobbers_common::{
    limits::MAX_BATCH,
    name::{TaskId, TaskName},
    values::duration,
};
use jobbers_process::exit;
use serde_json::value::RawValue;

pub(crate) use self::request::Predecessor;
use self::request::{SubmissionBody, TaskBody, TaskFlags, TasksBody};
use super::{
    parameters::{self, Documents, Given},
    status,
};
use crate::{
    client::{ClientArgs, ManagerClient},
    commands::shell::near,
    failure::Failure,
    terminal::{output, progress::ProgressLine},
};

/// A batch's parameters are no longer than this together, so that its request stays well below what a manager takes.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

const AFTER_HELP: &str = "\
Examples:
  jobbers submit echo hello=world count=3 --wait
  jobbers submit text.wordcount '{\"path\": \"README.md\"}' --queue default --priority 9
  jobbers submit sleep seconds=5 --delay 1m --max-retries 0
  jobbers submit sync customer=42 --unique-key customer:42 --on-duplicate keep_last --delay 5s
  generate | jobbers submit echo -          one task per JSON document, a thousand per request

Prints the id of each submitted task on a line; with --wait the task as it ended, and exit code 0 if it completed, \
124 if the wait ended first, else 1. Submitting the same --id with the same body twice changes nothing.";

/// Flags of `jobbers submit`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// What to run
    name: TaskName,
    /// Its parameters: key=value pairs (a value that is JSON is taken as such, else as text), or one JSON document, or -
    /// for documents on standard input, each a task of its own
    #[arg(value_name = "PARAMETERS")]
    parameters: Vec<String>,
    #[command(flatten)]
    task: TaskFlags,
    /// Wait until the task is over, at most this long [default: for ever]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, value_parser = duration::parse)]
    wait: Option<Option<std::time::Duration>>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Submits.
///
/// # Errors
/// When the parameters make no sense, or the manager can't be asked or refuses.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let ids = match parameters::read(&args.parameters)? {
        Given::One(parameters) => submit_one(&client, &args, parameters.as_deref()).await?,
        Given::Standard(documents) => submit_all(&client, &args, documents).await?,
    };
    match args.wait {
        Some(limit) => wait_for(&client, &ids, limit, args.client.json).await,
        None => Ok(exit::OK),
    }
}

async fn submit_one(
    client: &ManagerClient,
    args: &Args,
    parameters: Option<&RawValue>,
) -> Result<Vec<TaskId>, Failure> {
    let request = TaskBody { name: &args.name, parameters, flags: &args.task };
    let answer = client.post("/tasks", Some(&SubmissionBody::new(request, &args.task))).await?;
    let task: SubmittedView = answer.read()?;
    if args.client.json && args.wait.is_none() {
        output::document(&answer.body)?;
    } else if args.wait.is_none() {
        output::line(&task.id)?;
    }
    let how = match &task {
        SubmittedView { updated: true, .. } => "updated",
        SubmittedView { created: true, .. } => "taken in",
        _ => "was there already",
    };
    // With --wait standard output has the task as it ends, so its id is here, for as long as that takes.
    let id = args.wait.map(|_| format!(" as {}", task.id)).unwrap_or_default();
    let wait = if args.wait.is_some() { "; waiting for its end" } else { "" };
    output::note(format_args!("{how}: {}{id} in queue {}, {}{wait}", args.name, task.queue, task.status));
    warn(&args.name, &[&task]).await;
    Ok(vec![task.id])
}

async fn submit_all(client: &ManagerClient, args: &Args, mut documents: Documents) -> Result<Vec<TaskId>, Failure> {
    let mut ids = Vec::new();
    loop {
        let (batch, end) = next_batch(&mut documents).await;
        if args.task.has_id() && batch.len() > 1 {
            return Err(Failure::Usage("--id names one task, and standard input has more documents".to_owned()));
        }
        let sent = if batch.is_empty() { Ok(Vec::new()) } else { submit_batch(client, args, &batch).await };
        let so_far = |failure: Failure| {
            if !ids.is_empty() {
                output::note(format_args!("{} submitted before this:", output::count(ids.len() as u64, "task")));
            }
            failure
        };
        ids.extend(sent.map_err(so_far)?);
        match end {
            BatchEnd::Full => {}
            BatchEnd::Input => break,
            BatchEnd::Broken(failure) => {
                output::note(format_args!("{} submitted before this:", output::count(ids.len() as u64, "task")));
                return Err(failure);
            }
        }
    }
    output::note(format_args!("{} submitted", output::count(ids.len() as u64, "task")));
    Ok(ids)
}

/// Why a batch is no longer.
enum BatchEnd {
    Full,
    Input,
    Broken(Failure),
}

async fn next_batch(documents: &mut Documents) -> (Vec<Box<RawValue>>, BatchEnd) {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < MAX_BATCH && bytes < BATCH_BYTES {
        match documents.recv().await {
            Some(Ok(document)) => {
                bytes += document.get().len();
                batch.push(document);
            }
            Some(Err(failure)) => return (batch, BatchEnd::Broken(failure)),
            None => return (batch, BatchEnd::Input),
        }
    }
    (batch, BatchEnd::Full)
}

async fn submit_batch(client: &ManagerClient, args: &Args, batch: &[Box<RawValue>]) -> Result<Vec<TaskId>, Failure> {
    let tasks = batch
        .iter()
        .map(|parameters| TaskBody { name: &args.name, parameters: Some(parameters), flags: &args.task })
        .collect();
    let answer = client.post("/tasks", Some(&SubmissionBody::new(TasksBody { tasks }, &args.task))).await?;
    let batch: SubmittedList = answer.read()?;
    warn(&args.name, &batch.tasks.iter().collect::<Vec<_>>()).await;
    let ids: Vec<TaskId> = batch.tasks.into_iter().map(|task| task.id).collect();
    if args.client.json && args.wait.is_none() {
        output::document(&answer.body)?;
    } else if args.wait.is_none() {
        output::line(ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ids)
}

/// Tells what the manager warns of, the same of many tasks once.
async fn warn(name: &TaskName, tasks: &[&SubmittedView]) {
    let told: BTreeSet<&str> =
        tasks.iter().flat_map(|task| &task.warnings).map(|warning| warning.detail.as_str()).collect();
    told.iter().for_each(|warning| output::note(format_args!("warning: {warning}")));
    if tasks.iter().flat_map(|task| &task.warnings).any(|warning| &*warning.code == "no_worker") {
        near::hint_task(name.as_str()).await;
    }
}

async fn wait_for(
    client: &ManagerClient,
    ids: &[TaskId],
    limit: Option<std::time::Duration>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let began = std::time::Instant::now();
    let mut tasks: Vec<TaskView> = Vec::with_capacity(ids.len());
    let progress = ProgressLine::new(ids.len() as u64);
    for id in ids {
        progress.show(tasks.len() as u64, || format!("waiting for {id}"));
        let left = limit.map(|limit| limit.saturating_sub(began.elapsed()));
        let answer = status::wait(client, id, left).await?;
        let task: TaskView = answer.read()?;
        progress.aside(|| if json { output::document(&answer.body) } else { status::show(&task) })?;
        tasks.push(task);
    }
    drop(progress);
    Ok(status::verdict(&tasks))
}
