//! `jobbers status`: all that is known of a task.

mod attempts;
mod watch;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use jobbers_api::task::{signal::SignalView, view::TaskView};
use jobbers_common::{lifecycle::Status, limits::MAX_WAIT, name::TaskId, values::duration};
use jobbers_process::exit;

use crate::{
    client::{self, AWAY, Answer, ClientArgs, ManagerClient},
    failure::Failure,
    terminal::{
        hidden::{HIDDEN, said},
        output, when,
    },
};

/// Flags of `jobbers status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id
    id: TaskId,
    /// Wait until the task is over, at most this long [default: for ever]; then exit code 0 if it completed, 124 if the
    /// wait ended first, else 1
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, value_parser = duration::parse)]
    wait: Option<Option<Duration>>,
    /// Print a line whenever it changes, until it is over, then all that is known; exit code as with --wait
    #[arg(long, conflicts_with = "wait")]
    watch: bool,
    /// Show what a sensitive task holds, which the audit log records; after --wait, as it is then
    #[arg(long, conflicts_with = "watch")]
    reveal: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the task.
///
/// # Errors
/// When the manager can't be asked or knows no such task.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let answer = match args.wait {
        Some(limit) => wait(&client, &args.id, limit).await?,
        None if args.watch => watch::until_over(&client, &args.id, args.client.json).await?,
        None => client.get(&client::task_path(&args.id), client::NOTHING).await?,
    };
    let answer = match args.reveal {
        true => client.post(&format!("{}/reveal", client::task_path(&args.id)), client::NOTHING).await?,
        false => answer,
    };
    let task: TaskView = answer.read()?;
    match (args.client.json, args.watch) {
        // It was printed when it changed last.
        (true, true) => {}
        (true, false) => output::document(&answer.body)?,
        (false, _) => show(&task)?,
    }
    Ok(if args.wait.is_some() || args.watch { verdict(&[task]) } else { exit::OK })
}

/// The exit code for tasks that were waited for: 0 if all completed, 1 if one ended otherwise, else [`exit::WAIT_ENDED`].
pub fn verdict(tasks: &[TaskView]) -> ExitCode {
    if tasks.iter().all(|task| task.status == Status::Completed) {
        return exit::OK;
    }
    let unfinished = tasks.iter().filter(|task| !task.is_over()).count() as u64;
    if unfinished > 0 {
        output::note(format_args!("the wait ended; not over yet: {}", output::count(unfinished, "task")));
    }
    let has_failed = tasks.iter().any(|task| task.is_over() && task.status != Status::Completed);
    if has_failed { exit::FAILURE.into() } else { exit::WAIT_ENDED.into() }
}

/// Waits until the task is over, at most `limit`, and returns its state then.
///
/// # Errors
/// When the manager can't be asked or knows no such task.
pub async fn wait(client: &ManagerClient, id: &TaskId, limit: Option<Duration>) -> Result<Answer, Failure> {
    let (began, path) = (Instant::now(), client::task_path(id));
    // If the manager can't be asked at all, fail at once.
    let mut answer = client.get(&path, client::NOTHING).await?;
    loop {
        let task: TaskView = answer.read()?;
        let left = limit.map_or(Duration::MAX, |limit| limit.saturating_sub(began.elapsed()));
        if task.is_over() || left.is_zero() {
            return Ok(answer);
        }
        let wait = left.min(MAX_WAIT);
        let query = [("wait", duration::format(Duration::from_millis(millis(wait))))];
        answer = client.get_patiently(&path, &query, wait, left.min(AWAY)).await?;
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Shows a task to people.
///
/// # Errors
/// When standard output can't be written to.
pub fn show(task: &TaskView) -> Result<(), Failure> {
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "id", &task.id);
    output::add_fact(&mut sheet, "task", format!("{} v{}", task.name, task.version));
    output::add_fact(&mut sheet, "status", standing(task));
    output::add_fact(&mut sheet, "queue", format!("{}, priority {}", task.queue, task.priority));
    let policy = task.policy_in_force.as_ref().unwrap_or(&task.policy);
    if let Ok(serde_json::Value::Object(policy)) = serde_json::to_value(policy)
        && !policy.is_empty()
    {
        let words: Vec<String> = policy.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect();
        output::add_fact(&mut sheet, "policy", words.join(", "));
    }
    if let Some(unique) = &task.unique {
        output::add_fact(&mut sheet, "unique key", &unique.key);
    }
    if let Some(key) = &task.concurrency_key {
        output::add_fact(&mut sheet, "concurrency key", key);
    }
    if !task.labels.is_empty() {
        let labels: Vec<String> = task.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        output::add_fact(&mut sheet, "labels", labels.join(", "));
    }
    output::add_fact(&mut sheet, "attempt", attempts::all(task));
    output::add_fact(&mut sheet, "submitted", when::full(task.submitted_at));
    if task.status == Status::Scheduled {
        output::add_fact(&mut sheet, "due", when::full(task.ready_at));
    }
    if let Some(until) = task.expires_at {
        output::add_fact(&mut sheet, "expires", when::full(until));
    }
    for signal in task.dependencies.iter().flat_map(|dependencies| &dependencies.external) {
        output::add_fact(&mut sheet, &format!("signal {}", signal.name), standing_of_signal(signal));
    }
    if let Some(started) = task.started_at {
        output::add_fact(&mut sheet, "started", when::full(started));
    }
    if let Some(completed) = task.finished_at {
        let took = task.started_at.map(|started| format!(", ran {}", when::span(when::between(started, completed))));
        output::add_fact(&mut sheet, "over", format!("{}{}", when::full(completed), took.unwrap_or_default()));
    }
    if let Some(worker) = &task.worker {
        output::add_fact(&mut sheet, "worker", worker);
    }
    if let Some(progress) = &task.progress {
        output::add_fact(
            &mut sheet,
            "progress",
            format!("{:.0}% {}", progress.fraction * 100.0, said(&progress.message, task.sensitive)),
        );
    }
    if task.sensitive && task.parameters.is_none() && task.result.is_none() {
        output::add_fact(&mut sheet, "parameters", HIDDEN);
        output::add_fact(&mut sheet, "result", HIDDEN);
    }
    if let Some(parameters) = &task.parameters {
        output::add_fact(&mut sheet, "parameters", parameters.get());
    }
    if let Some(result) = task.result.as_ref().filter(|result| result.get() != "null") {
        output::add_fact(&mut sheet, "result", result.get());
    }
    for error in &task.errors {
        let kind =
            error.error_kind.as_ref().map_or_else(|| error.kind.to_string(), |kind| format!("{}, {kind}", error.kind));
        let what =
            format!("{kind}: {}  ({}, on {})", said(&error.message, task.sensitive), when::ago(error.at), error.worker);
        output::add_fact(&mut sheet, &format!("error, attempt {}", error.attempt), what);
    }
    output::table(&sheet)
}

fn standing_of_signal(signal: &SignalView) -> String {
    let SignalView { state, timeout, due, at, .. } = signal;
    match (at, due, timeout) {
        (Some(at), ..) => format!("{state}, {}", when::full(*at)),
        (None, Some(due), _) => format!("{state} until {}", when::full(*due)),
        (None, None, Some(timeout)) => {
            format!("{state}, for {} once no other task is waited for", duration::format(*timeout))
        }
        (None, None, None) => state.to_string(),
    }
}

fn standing(task: &TaskView) -> output::Cell {
    if task.cancel_requested {
        return output::Cell::new(format!("{}, to be cancelled", task.status));
    }
    output::status(task.status)
}

/// A JSON value without the quotes of a text.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
