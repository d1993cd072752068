//! `jobbers queues`: all queues in numbers, and what can be done with one.

use std::{process::ExitCode, time::Duration};

use jobbers_common::{
    duration,
    gate::GateLimits,
    name::{QueueName, TaskName},
    rate::RateLimit,
};
use jobbers_process::exit;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    client::{
        self, Answer, Client, ClientArgs,
        wire::{Purged, Queue, Queues, Rate},
    },
    failure::Failure,
    output, when,
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
    Show(One),
    /// Create a queue
    Create(Create),
    /// Change some settings of a queue, and leave the others as they are
    Set(Set),
    /// Give nothing out any more; submissions are still taken in
    Pause(One),
    /// Give tasks out again
    Resume(One),
    /// Delete every task of a queue that does not run and is not over
    Purge(Sure),
    /// Delete a queue that has no live task, together with its finished ones
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
struct One {
    /// The queue
    name: QueueName,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Sure {
    #[command(flatten)]
    one: One,
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
    retention: Retention,
    /// Drop a task that no worker knows after this long [default: 1d]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    patience: Option<Duration>,
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
    retention: Retention,
    #[command(flatten)]
    others: Others,
    /// Take this limit away; may be said several times
    #[arg(long, value_name = "LIMIT", value_enum)]
    without: Vec<LimitName>,
    #[command(flatten)]
    client: ClientArgs,
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
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum LimitName {
    MaxPerWorker,
    MaxConcurrent,
    Rate,
    SubmitRate,
    MaxLength,
    MaxConcurrentPerKey,
    RatePerKey,
    KeyParameter,
    MaxBytes,
}

impl LimitName {
    const fn field(self) -> &'static str {
        match self {
            Self::MaxPerWorker => "max_per_worker",
            Self::MaxConcurrent => "max_concurrent",
            Self::Rate => "rate_limit",
            Self::SubmitRate => "submit_rate_limit",
            Self::MaxLength => "max_length",
            Self::MaxConcurrentPerKey => "max_concurrent_per_key",
            Self::RatePerKey => "rate_limit_per_key",
            Self::KeyParameter => "key_parameter",
            Self::MaxBytes => "max_bytes",
        }
    }
}

#[derive(Debug, clap::Args, Serialize)]
struct Limits {
    /// At most this many of its tasks run in one worker at a time
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time, in all workers together
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent: Option<u32>,
    /// At most so many of its tasks start in so much time, e.g. 50/1s, or 50/1s/100 with bursts of 100
    #[arg(long = "rate", value_name = "TASKS/PERIOD[/BURST]", value_parser = parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit: Option<RateLimit>,
    /// At most so many tasks are taken in in so much time; more are refused
    #[arg(long = "submit-rate", value_name = "TASKS/PERIOD[/BURST]", value_parser = parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    submit_rate_limit: Option<RateLimit>,
    /// At most this many of its tasks wait, are scheduled or submitted; more are refused
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<u64>,
    /// At most so many bytes of parameters wait in it; more are refused
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    /// Which parameter gives a task its concurrency key: a field's name, or a JSON pointer (/order/customer)
    #[arg(long, value_name = "PARAMETER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    key_parameter: Option<String>,
    /// At most this many of its tasks of one concurrency key run at a time
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent_per_key: Option<u32>,
    /// At most so many of its tasks of one concurrency key start in so much time
    #[arg(long = "rate-per-key", value_name = "TASKS/PERIOD[/BURST]", value_parser = parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit_per_key: Option<RateLimit>,
    /// At most so many tasks of this name run, or start in so much time: email.send=3, email.send=50/1s, or both as
    /// email.send=3,50/1s; email.send=none takes its limits away. May be said several times
    #[arg(long = "task-limit", value_name = "TASK=LIMIT", value_parser = parse_task_limit)]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    task_limits: Vec<(TaskName, Option<GateLimits>)>,
}

/// Limits by the tasks' names; nothing stands for none.
fn by_name<S: Serializer>(limits: &[(TaskName, Option<GateLimits>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(limits.iter().map(|(name, limits)| (name, limits)))
}

/// `TASK=N`, `TASK=RATE`, `TASK=N,RATE` or `TASK=none`.
fn parse_task_limit(text: &str) -> Result<(TaskName, Option<GateLimits>), String> {
    let (name, said) = text.split_once('=').ok_or("a task's limit is written TASK=LIMIT, e.g. email.send=3,50/1s")?;
    let name = TaskName::new(name).map_err(|error| error.to_string())?;
    if said == "none" {
        return Ok((name, None));
    }
    let mut limits = GateLimits::default();
    for part in said.split(',') {
        if part.contains('/') {
            limits.rate_limit = Some(parse_rate(part)?);
        } else {
            let most = part.parse().map_err(|_| format!("{part:?} is no whole number and no rate"))?;
            limits.max_concurrent = Some(most);
        }
    }
    limits.validate().map(|()| (name, Some(limits)))
}

/// `TASKS/PERIOD` or `TASKS/PERIOD/BURST`.
fn parse_rate(text: &str) -> Result<RateLimit, String> {
    let mut parts = text.split('/');
    let (Some(tasks), Some(per)) = (parts.next(), parts.next()) else {
        return Err("a rate is written TASKS/PERIOD, e.g. 50/1s".to_owned());
    };
    let whole = |number: &str| number.parse::<u32>().map_err(|_| format!("{number:?} is no whole number"));
    let rate = RateLimit {
        tasks: whole(tasks)?,
        per: duration::parse(per).map_err(|error| error.to_string())?,
        burst: parts.next().map(whole).transpose()?,
    };
    if parts.next().is_some() {
        return Err("a rate is written TASKS/PERIOD/BURST".to_owned());
    }
    rate.validate().map(|()| rate)
}

#[derive(Debug, clap::Args, Serialize)]
struct Retention {
    /// Keep finished tasks this long [default: 1d]
    #[arg(long = "keep-for", value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    age: Option<Duration>,
    /// Keep at most this many finished tasks [default: 100000]
    #[arg(long = "keep-at-most", value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// How often a deletion that waits for running tasks is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// Lists the queues, or does what is asked with one.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        None => list(&args.client).await?,
        Some(Action::Show(one)) => show(&one).await?,
        Some(Action::Create(create)) => {
            let answer = create.client.client()?.post("/queues", Some(&create)).await?;
            done(&answer, create.client.json, format_args!("queue {} created", create.name))?;
        }
        Some(Action::Set(set)) => change(&set).await?,
        Some(Action::Pause(one)) => steer(&one, "pause", "paused").await?,
        Some(Action::Resume(one)) => steer(&one, "resume", "resumed").await?,
        Some(Action::Purge(sure)) => return purge(&sure).await,
        Some(Action::Delete(sure)) => return delete(&sure).await,
    }
    Ok(exit::OK)
}

async fn list(args: &ClientArgs) -> Result<(), Failure> {
    let answer = args.client()?.get("/queues", client::NOTHING).await?;
    if args.json {
        return output::document(&answer.body);
    }
    let Queues { queues } = answer.read()?;
    let mut table = output::table_of(&[
        "QUEUE",
        "READY",
        "OLDEST",
        "SCHEDULED",
        "RUNNING",
        "COMPLETED",
        "FAILED",
        "OTHER",
        "STATE",
    ]);
    for queue in &queues {
        let shown = ["submitted", "scheduled", "started", "completed", "failed"];
        let count = |status: &str| queue.tasks.get(status).copied().unwrap_or_default();
        let other: u64 =
            queue.tasks.iter().filter(|(status, _)| !shown.contains(&status.as_str())).map(|(_, n)| n).sum();
        let number = |count: u64| output::number(output::thousands(count));
        table.add_row(vec![
            (&queue.name).into(),
            number(count("submitted")),
            output::or_dash(oldest(queue)),
            number(count("scheduled")),
            number(count("started")),
            number(count("completed")),
            number(count("failed")),
            number(other),
            if queue.paused { "paused" } else { "open" }.into(),
        ]);
    }
    output::table(&table)
}

fn oldest(queue: &Queue) -> Option<String> {
    queue.oldest_ready_age.map(|seconds| when::span(Duration::try_from_secs_f64(seconds).unwrap_or_default()))
}

async fn show(one: &One) -> Result<(), Failure> {
    let answer = one.client.client()?.get(&client::queue_path(one.name.as_str()), client::NOTHING).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    let queue: Queue = answer.read()?;
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "queue", &queue.name);
    output::add_fact(&mut sheet, "state", if queue.paused { "paused" } else { "open" });
    let at_most = |limit: Option<u64>| limit.map(|limit| format!("at most {}", output::thousands(limit)));
    let bytes = |queue: &Queue| {
        let waiting = output::thousands(queue.waiting_bytes.unwrap_or(0));
        at_most(queue.max_bytes).map(|most| format!("{most}, now {waiting}"))
    };
    for (name, limit) in [
        ("runs in one worker", at_most(queue.max_per_worker.map(u64::from))),
        ("runs in all", at_most(queue.max_concurrent.map(u64::from))),
        ("starts", rate(&queue.rate_limit)),
        ("takes in", rate(&queue.submit_rate_limit)),
        ("waits", at_most(queue.max_length)),
        ("bytes that wait", bytes(&queue)),
    ] {
        output::add_fact(&mut sheet, name, limit.unwrap_or_else(|| "no limit".to_owned()));
    }
    let (age, count) = (&queue.retention.age, output::thousands(queue.retention.count));
    show_limits_within(&queue, &mut sheet);
    output::add_fact(&mut sheet, "keeps finished tasks", format!("for {age}, at most {count}"));
    output::add_fact(&mut sheet, "drops unknown tasks", format!("after {}", queue.patience));
    if queue.strict {
        output::add_fact(&mut sheet, "is strict", "refuses what no live worker can run");
    }
    for (status, count) in &queue.tasks {
        output::add_fact(&mut sheet, status, output::thousands(*count));
    }
    if let Some(oldest) = oldest(&queue) {
        output::add_fact(&mut sheet, "longest ready for", oldest);
    }
    output::add_fact(&mut sheet, "taken in so far", output::thousands(queue.accepted));
    output::add_fact(&mut sheet, "deleted since", output::thousands(queue.removed));
    output::table(&sheet)
}

fn rate(rate: &Option<Rate>) -> Option<String> {
    rate.as_ref().map(|rate| format!("{} in {}", output::thousands(rate.tasks.into()), rate.per))
}

/// Limits by key and by task, if there are any.
fn show_limits_within(queue: &Queue, sheet: &mut comfy_table::Table) {
    if let Some(parameter) = &queue.key_parameter {
        output::add_fact(sheet, "key", format!("parameter {parameter}"));
    }
    let mut show = |of: &str, most: Option<u32>, starts: &Option<Rate>| {
        let most = most.map(|most| format!("at most {} run", output::thousands(most.into())));
        let starts = rate(starts).map(|rate| format!("{rate} start"));
        let limits: Vec<String> = most.into_iter().chain(starts).collect();
        if !limits.is_empty() {
            output::add_fact(sheet, of, limits.join(", "));
        }
    };
    show("of each key", queue.max_concurrent_per_key, &queue.rate_limit_per_key);
    for (name, limits) in &queue.task_limits {
        show(&format!("of {name}"), limits.max_concurrent, &limits.rate_limit);
    }
}

/// Reads the settings, changes what was said, and puts them back unless somebody else came first.
async fn change(set: &Set) -> Result<(), Failure> {
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
    done(&answer, set.client.json, format_args!("queue {} changed", set.name))
}

/// What of a queue's answer are its numbers; all else are settings, those too that this program does not know yet.
const NUMBERS: [&str; 6] = ["tasks", "oldest_ready_at", "oldest_ready_age", "accepted", "removed", "waiting_bytes"];

fn merge(into: &mut serde_json::Map<String, Value>, from: serde_json::Result<Value>) {
    if let Ok(Value::Object(from)) = from {
        into.extend(from);
    }
}

/// Puts what was said of some tasks beside what is known of the others; what was taken away goes.
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

async fn steer(one: &One, verb: &str, done_word: &str) -> Result<(), Failure> {
    let answer = act(&one.client.client()?, &one.name, verb).await?;
    done(&answer, one.client.json, format_args!("queue {} {done_word}", one.name))
}

async fn act(client: &Client, queue: &QueueName, verb: &str) -> Result<Answer, Failure> {
    client.post(&format!("{}/{verb}", client::queue_path(queue.as_str())), client::NOTHING).await
}

fn done(answer: &Answer, json: bool, word: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    if json { output::document(&answer.body) } else { output::line(word) }
}

async fn purge(sure: &Sure) -> Result<ExitCode, Failure> {
    let One { name, client: args } = &sure.one;
    let client = args.client()?;
    if !sure.yes && !output::confirm(&format!("Delete every task of queue {name} that does not run and is not over?"))?
    {
        return Ok(exit::FAILURE.into());
    }
    let mut removed = 0;
    loop {
        let answer = act(&client, name, "purge").await?;
        let purged: Purged = answer.read()?;
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
    let One { name, client: args } = &sure.one;
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
    while answer.status == reqwest::StatusCode::ACCEPTED {
        if *force || move_to.is_some() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
        answer = client.delete(&path).await?;
    }
    done(&answer, args.json, format_args!("queue {name} deleted"))?;
    Ok(exit::OK)
}
