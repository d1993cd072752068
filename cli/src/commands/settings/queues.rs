//! `jobbers queues`: all queues in numbers, and what can be done with one.

mod explain;
mod limits;
mod one;
mod show;

use std::{process::ExitCode, time::Duration};

use jobbers_api::queue::{PurgedView, QueueView};
use jobbers_common::{lifecycle::Status, name::QueueName, values::duration};
use jobbers_process::exit;
use serde::Serialize;
use serde_json::Value;

use self::{
    limits::{LimitName, Limits, RetentionArgs},
    one::OneQueue,
};
use crate::{
    client::{self, Answer, ClientArgs, ManagerClient},
    failure::Failure,
    terminal::output,
};

/// Flags of `jobbers queues`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show one queue: its settings and its numbers
    Show(OneQueue),
    /// Say why a queue does not move: what keeps its next task from running
    Explain(OneQueue),
    /// Create a queue
    Create(Create),
    /// Change some settings of a queue, and leave the others as they are
    Set(Set),
    /// Give nothing out any more; submissions are still taken in
    Pause(OneQueue),
    /// Give tasks out again
    Resume(OneQueue),
    /// Delete every task of a queue that does not run and is not over
    Purge(Sure),
    /// Delete a queue that has no live task, together with its finished ones
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
struct Sure {
    #[command(flatten)]
    one: OneQueue,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct Delete {
    #[command(flatten)]
    sure: Sure,
    /// Delete the tasks in it too; what runs is asked to stop
    #[arg(long, conflicts_with = "move_to")]
    force: bool,
    /// Move the tasks that wait in it to this queue first, and wait until what runs is over
    #[arg(long, value_name = "QUEUE")]
    move_to: Option<QueueName>,
}

#[derive(Debug, clap::Args, Serialize)]
struct Create {
    /// Its name
    name: QueueName,
    /// Refuse what no live worker can run, in place of a warning
    #[arg(long)]
    strict: bool,
    /// Give nothing out until it is resumed
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    #[serde(flatten)]
    limits: Limits,
    #[command(flatten)]
    retention: RetentionArgs,
    /// Drop a task that no worker knows after this long [default: 1d]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    patience: Option<Duration>,
    /// Keep the parameters of completed tasks up to this many bytes; 0 keeps none [default: 2048]
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_parameters: Option<u64>,
    #[command(flatten)]
    #[serde(skip)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Set {
    /// The queue
    name: QueueName,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    retention: RetentionArgs,
    #[command(flatten)]
    others: Others,
    /// Take this limit away; may be said several times
    #[arg(long, value_name = "LIMIT", value_enum)]
    without: Vec<LimitName>,
    #[command(flatten)]
    client: ClientArgs,
}

impl Set {
    fn says_nothing(&self) -> bool {
        let is_empty = |said: serde_json::Result<Value>| said.is_ok_and(|said| said == serde_json::json!({}));
        self.without.is_empty()
            && is_empty(serde_json::to_value(&self.limits))
            && is_empty(serde_json::to_value(&self.retention))
            && is_empty(serde_json::to_value(&self.others))
    }
}

/// Settings that are neither limit nor retention.
#[derive(Debug, clap::Args, Serialize)]
struct Others {
    /// Refuse what no live worker can run, in place of a warning; `--strict false` warns again
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    /// Drop a task that no worker knows after this long
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    patience: Option<Duration>,
    /// Keep the parameters of completed tasks up to this many bytes; 0 keeps none
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_parameters: Option<u64>,
}

/// How often a deletion that waits for running tasks is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Lists the queues, or does what is asked with one.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        None => show::list(&args.client).await?,
        Some(Action::Show(one)) => show::show(&one).await?,
        Some(Action::Explain(one)) => explain::run(&one).await?,
        Some(Action::Create(create)) => {
            let answer = create.client.client()?.post("/queues", Some(&create)).await?;
            output::done(&answer.body, create.client.json, format_args!("queue {} created", create.name))?;
        }
        Some(Action::Set(set)) => change(&set).await?,
        Some(Action::Pause(one)) => steer(&one, "pause", "paused").await?,
        Some(Action::Resume(one)) => steer(&one, "resume", "resumed").await?,
        Some(Action::Purge(sure)) => return purge(&sure).await,
        Some(Action::Delete(sure)) => return delete(&sure).await,
    }
    Ok(exit::OK)
}

/// Reads the settings, changes the given ones, and puts them back unless another change came first.
async fn change(set: &Set) -> Result<(), Failure> {
    if set.says_nothing() {
        return Err(Failure::Usage(format!("what of queue {} is to change? See jobbers queues set --help", set.name)));
    }
    let (client, path) = (set.client.client()?, client::queue_path(set.name.as_str()));
    let read = client.get(&path, client::NOTHING).await?;
    let mut settings: serde_json::Map<String, Value> = read.read()?;
    settings.retain(|name, _| !NUMBERS.contains(&name.as_str()));
    let known_limits = settings.get("task_limits").cloned();
    merge(&mut settings, serde_json::to_value(&set.limits));
    merge_task_limits(&mut settings, known_limits);
    if let Some(Value::Object(retention)) = settings.get_mut("retention") {
        merge(retention, serde_json::to_value(&set.retention));
    }
    merge(&mut settings, serde_json::to_value(&set.others));
    for limit in &set.without {
        settings.remove(limit.field());
    }
    let answer = client.put_if(&path, &settings, read.etag.as_deref()).await?;
    output::done(&answer.body, set.client.json, format_args!("queue {} changed", set.name))
}

/// What of a queue's answer are its numbers; all else are settings, those too that this program does not know yet.
const NUMBERS: [&str; 7] =
    ["tasks", "suspects", "oldest_ready_at", "oldest_ready_age", "accepted", "removed", "waiting_bytes"];

fn merge(into: &mut serde_json::Map<String, Value>, from: serde_json::Result<Value>) {
    if let Ok(Value::Object(from)) = from {
        into.extend(from);
    }
}

/// Merges the given limits of some tasks with the stored limits of the others; removed limits go.
fn merge_task_limits(settings: &mut serde_json::Map<String, Value>, known: Option<Value>) {
    let (Some(Value::Object(known)), Some(Value::Object(said))) = (known, settings.get("task_limits")) else {
        if let Some(Value::Object(said)) = settings.get_mut("task_limits") {
            said.retain(|_, limits| !limits.is_null());
        }
        return;
    };
    let mut all = known;
    all.extend(said.clone());
    all.retain(|_, limits| !limits.is_null());
    settings.insert("task_limits".to_owned(), Value::Object(all));
}

async fn steer(one: &OneQueue, verb: &str, done_word: &str) -> Result<(), Failure> {
    let answer = act(&one.client.client()?, &one.name, verb).await?;
    output::done(&answer.body, one.client.json, format_args!("queue {} {done_word}", one.name))
}

async fn act(client: &ManagerClient, queue: &QueueName, verb: &str) -> Result<Answer, Failure> {
    client.post(&format!("{}/{verb}", client::queue_path(queue.as_str())), client::NOTHING).await
}

async fn purge(sure: &Sure) -> Result<ExitCode, Failure> {
    let OneQueue { name, client: args } = &sure.one;
    let client = args.client()?;
    if !sure.yes {
        let queue: QueueView = client.get(&client::queue_path(name.as_str()), client::NOTHING).await?.read()?;
        let count = |status: Status| queue.tasks.get(&status).copied().unwrap_or_default();
        let waiting: u64 = [Status::Waiting, Status::Scheduled, Status::Submitted].map(count).iter().sum();
        let tasks = output::count(waiting, "task");
        if !output::confirm(&format!("Delete {tasks} of queue {name}: all that do not run and are not over?"))? {
            return Ok(exit::FAILURE.into());
        }
    }
    let mut removed = 0;
    loop {
        let answer = act(&client, name, "purge").await?;
        let purged: PurgedView = answer.read()?;
        removed += purged.removed;
        if args.json {
            output::document(&answer.body)?;
        }
        if !purged.more {
            break;
        }
    }
    if !args.json {
        output::line(format_args!("{} deleted", output::count(removed, "task")))?;
    }
    Ok(exit::OK)
}

async fn delete(Delete { sure, force, move_to }: &Delete) -> Result<ExitCode, Failure> {
    let OneQueue { name, client: args } = &sure.one;
    let client = args.client()?;
    let what = match move_to {
        Some(target) => format!("its finished tasks, and move the others to {target}"),
        None if *force => "all tasks in it".to_owned(),
        None => "its finished tasks".to_owned(),
    };
    if !sure.yes && !output::confirm(&format!("Delete queue {name} with {what}?"))? {
        return Ok(exit::FAILURE.into());
    }
    let mut path = format!("{}?force={force}", client::queue_path(name.as_str()));
    if let Some(target) = move_to {
        path.push_str(&format!("&move_to={target}"));
    }
    // Very many finished tasks are deleted in several calls, and running ones take their time to stop; `202 Accepted`
    // asks for the next.
    let mut answer = client.delete(&path).await?;
    while answer.status == http::StatusCode::ACCEPTED {
        if *force || move_to.is_some() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
        answer = client.delete(&path).await?;
    }
    output::done(&answer.body, args.json, format_args!("queue {name} deleted"))?;
    Ok(exit::OK)
}
