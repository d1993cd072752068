//! `jobbers dlq resubmit` and `delete`: first how many they are, then the change.

use std::{process::ExitCode, time::Duration};

use jobbers_api::dead_letter::{ChangeView, operation::WholeOperationView};
use jobbers_common::{name::QueueName, task::dead_letter::OperationState, values::duration};
use jobbers_process::exit;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};

use super::selection::{SelectionArgs, SelectionBody};
use crate::{
    client::{self, AWAY, Answer, ClientArgs, ManagerClient},
    failure::Failure,
    terminal::{output, progress::ProgressLine},
};

/// How often an operation that is waited for is looked at. Its end is seen at once.
const WAIT: Duration = Duration::from_secs(1);

/// Flags of `jobbers dlq resubmit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each dead letter is sent again once, however often this is repeated. A task keeps its id; its attempts are counted from the \
start, and its history grows. Exit code 1 when some were not sent again.")]
pub(super) struct Resubmit {
    #[command(flatten)]
    which: SelectionArgs,
    /// Into this queue instead of the one they were in
    #[arg(long, value_name = "QUEUE")]
    to_queue: Option<QueueName>,
    /// What to change in their parameters, a JSON object (merge patch), e.g. '{"timeout": 30}'
    #[arg(long, value_name = "JSON", value_parser = patch)]
    parameters: Option<Box<RawValue>>,
    /// At most this many tasks per second
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// Let attempts go on from where they were: what had used up its retries fails for good at its next failure
    #[arg(long)]
    keep_attempts: bool,
    /// Do not wait until all are sent
    #[arg(long)]
    no_wait: bool,
}

fn patch(text: &str) -> Result<Box<RawValue>, String> {
    let patch: Box<RawValue> = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    if patch.get().trim_start().starts_with('{') {
        Ok(patch)
    } else {
        Err("it is no JSON object: name what is to change, e.g. {\"timeout\": 30}".to_owned())
    }
}

#[derive(Debug, Serialize)]
struct ResubmitBody<'a> {
    #[serde(flatten)]
    which: SelectionBody<'a>,
    reset_retry_count: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_queue: Option<&'a QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
}

const RESUBMIT: &str = "/dead-letter-queue/resubmit";
const QUEUE: &str = "/dead-letter-queue";

/// Sends dead letters again.
pub(super) async fn resubmit(args: &Resubmit) -> Result<ExitCode, Failure> {
    let (client, which) = (args.which.client.client()?, args.which.checked()?);
    let without_patch = |dry_run| ResubmitBody {
        which: SelectionBody { dry_run, ..which },
        reset_retry_count: !args.keep_attempts,
        to_queue: args.to_queue.as_ref(),
        rate: args.rate,
    };
    let body = |dry_run| with_parameters(&without_patch(dry_run), args.parameters.as_deref());
    let preview = client.post(RESUBMIT, Some(&*body(true)?)).await?;
    if !may_go_on(&args.which, &preview, "Send", "again")? {
        return Ok(exit::OK);
    }
    let answer = client.post(RESUBMIT, Some(&*body(false)?)).await?;
    let answer = if args.no_wait { answer } else { finished(&client, answer).await? };
    if args.which.client.json {
        output::document(&answer.body)?;
    }
    let operation: WholeOperationView = answer.read()?;
    if !args.which.client.json {
        print_outcome(&operation)?;
    }
    let all_sent = operation.entry.resubmitted + operation.entry.pending == operation.entry.total;
    Ok(if all_sent { exit::OK } else { exit::FAILURE.into() })
}

/// The body with the patch as it was written, so that no number loses a digit.
fn with_parameters(body: &ResubmitBody<'_>, parameters: Option<&RawValue>) -> Result<Box<RawValue>, Failure> {
    let usage = |error: serde_json::Error| Failure::Usage(error.to_string());
    let mut text = serde_json::to_string(body).map_err(usage)?;
    if let Some(parameters) = parameters {
        text.pop();
        text = format!("{text},\"parameters\":{}}}", parameters.get());
    }
    RawValue::from_string(text).map_err(usage)
}

/// Waits for an operation's end and shows how far it is. Ctrl-C ends the wait and not the operation.
async fn finished(client: &ManagerClient, mut answer: Answer) -> Result<Answer, Failure> {
    let operation: WholeOperationView = answer.read()?;
    let entry = operation.entry;
    let is_over = |state: OperationState| !matches!(state, OperationState::Running | OperationState::Cancelling);
    if is_over(entry.state) {
        return Ok(answer);
    }
    // Before the operation is named: its reader may interrupt at once.
    let refused = |error| Failure::Unavailable(format!("signals can't be received: {error}"));
    let mut interrupts = signal(SignalKind::interrupt()).map_err(refused)?;
    output::note(format_args!("operation {}: {}", entry.id, output::count(entry.total, "task")));
    let (path, query) = (client::operation_path(&entry.id), [("wait", duration::format(WAIT))]);
    let progress = ProgressLine::new(entry.total);
    loop {
        let entry = answer.read::<WholeOperationView>()?.entry;
        if is_over(entry.state) {
            return Ok(answer);
        }
        progress.show(entry.total.saturating_sub(entry.pending), || {
            let failed = entry.total.saturating_sub(entry.pending + entry.resubmitted);
            format!("{} sent again, {} not", output::thousands(entry.resubmitted), output::thousands(failed))
        });
        answer = tokio::select! {
            answer = client.get_patiently(&path, &query, WAIT, AWAY) => answer?,
            _ = interrupts.recv() => {
                drop(progress);
                let id = &entry.id;
                output::note(format_args!(
                    "operation {id} goes on; see how far it is: jobbers dlq operations; stop it: jobbers dlq cancel {id}"
                ));
                return Ok(answer);
            }
        };
    }
}

fn print_outcome(operation: &WholeOperationView) -> Result<(), Failure> {
    let mut table = output::table_of(&["ID", "OUTCOME"]);
    let mut others = 0;
    for task in operation.tasks.iter().filter(|task| !matches!(&*task.outcome, "resubmitted" | "pending")) {
        let detail = task.detail.as_deref().unwrap_or_default();
        table.add_row(vec![task.id.to_string(), format!("{}: {detail}", task.outcome.replace('_', " "))]);
        others += 1;
    }
    if others > 0 {
        output::table(&table)?;
    }
    let unknown: Vec<&str> =
        operation.tasks.iter().filter(|task| task.outcome == "unknown").map(|task| task.id.as_str()).collect();
    if !unknown.is_empty() {
        output::note(format_args!(
            "not kept as dead letters; if the store still has them: jobbers resubmit {}",
            unknown.join(" ")
        ));
    }
    let rest = match operation.entry.pending {
        0 => String::new(),
        pending => format!(", {} to go", output::thousands(pending)),
    };
    let sent = output::count(operation.entry.resubmitted, "task");
    output::line(format_args!("{sent} sent again{rest} (operation {})", operation.entry.id))
}

/// Flags of `jobbers dlq cancel`.
#[derive(Debug, clap::Args)]
pub(super) struct Cancel {
    /// The operation's id, as `resubmit` told it
    operation: String,
    #[command(flatten)]
    client: ClientArgs,
}

/// Stops an operation, and waits until it has stopped.
pub(super) async fn cancel(args: &Cancel) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let answer = client.delete(&client::operation_path(&args.operation)).await?;
    let answer = finished(&client, answer).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let operation: WholeOperationView = answer.read()?;
    let sent = output::count(operation.entry.resubmitted, "task");
    output::line(format_args!("operation {} is {}: {sent} sent again", operation.entry.id, operation.entry.state))?;
    Ok(exit::OK)
}

/// Flags of `jobbers dlq delete`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Their tasks in the store, if it still has them, are not touched. What is being sent again stays. Exit code 1 when fewer \
were deleted than ids were given."
)]
pub(super) struct Delete {
    #[command(flatten)]
    which: SelectionArgs,
}

/// Deletes dead letters.
pub(super) async fn delete(args: &Delete) -> Result<ExitCode, Failure> {
    let (client, which) = (args.which.client.client()?, args.which.checked()?);
    let preview = client.delete_with(QUEUE, &SelectionBody { dry_run: true, ..which }).await?;
    if !may_go_on(&args.which, &preview, "Delete", "for good")? {
        return Ok(exit::OK);
    }
    let answer = client.delete_with(QUEUE, &which).await?;
    let change: ChangeView = answer.read()?;
    if args.which.client.json {
        output::document(&answer.body)?;
    } else {
        output::line(format_args!("{} deleted", output::count(change.changed, "dead letter")))?;
    }
    let are_all = change.changed >= args.which.ids.len() as u64;
    Ok(if are_all { exit::OK } else { exit::FAILURE.into() })
}

/// Shows how many are meant; answers whether to go on.
fn may_go_on(which: &SelectionArgs, preview: &Answer, verb: &str, how: &str) -> Result<bool, Failure> {
    let change: ChangeView = preview.read()?;
    if which.dry_run && which.client.json {
        output::document(&preview.body)?;
        return Ok(false);
    }
    let verb_of_matched = if change.matched == 1 { "matches" } else { "match" };
    let matched = format!("{} {verb_of_matched}", output::count(change.matched, "dead letter"));
    let changed = output::thousands(change.changed);
    if which.dry_run {
        output::line(format_args!("{matched}; {changed} would be changed"))?;
        return Ok(false);
    }
    // The change itself reports letters that can't be changed, one by one.
    if !which.ids.is_empty() || (which.yes && which.client.json) {
        return Ok(true);
    }
    if change.changed > 0 && which.yes {
        return Ok(true);
    }
    if change.changed == 0 {
        output::note("no dead letter matches");
        return Ok(false);
    }
    output::confirm(&format!("{matched}. {verb} {changed} {how}?"))
}
