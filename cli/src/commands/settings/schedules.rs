//! `jobbers schedules`: what is started by cron or at an interval.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use jobbers_api::{
    schedule::view::{NextSlotsView, PreviewView, RunView, ScheduleListView, ScheduleView, StartedView},
    value::Rfc3339,
};
use jobbers_common::{
    name::{QueueName, ScheduleName, TaskId, TaskName, WorkflowId},
    schedule::{Slots, Timing},
    values::duration,
};
use jobbers_process::exit;
use serde::Serialize;
use serde_json::value::RawValue;

use super::workflow;
use crate::{
    client::{self, ClientArgs},
    commands::{pages, tasks::parameters},
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, when,
    },
};

/// Flags of `jobbers schedules`.
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
    /// List the schedules
    List(List),
    /// Show one schedule: its settings and the outcome of its slots
    Show(OneSchedule),
    /// Create a schedule, or replace its settings
    Put(Box<Put>),
    /// Delete a schedule; the tasks and workflows that it started stay
    Delete(Sure),
    /// Let a schedule rest
    Pause(OneSchedule),
    /// Let a paused schedule fire again, at its first slot after now
    Resume(OneSchedule),
    /// Submit a schedule's task, or start its workflow, now
    Run(OneSchedule),
    /// Print a schedule's next slots
    Next(Next),
    /// Print the next slots of a cron expression or an interval; nothing is stored, and no manager is asked
    Preview(Preview),
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct OneSchedule {
    /// The schedule
    name: ScheduleName,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Sure {
    #[command(flatten)]
    one: OneSchedule,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct Next {
    #[command(flatten)]
    one: OneSchedule,
    /// How many, up to 1,000
    #[arg(long, value_name = "N", default_value_t = 10)]
    count: u64,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "jobbers schedules preview '0 9 * * MON-FRI' --time-zone Europe/Berlin\n\
    jobbers schedules preview '0 9 * * MON-FRI | 0 12 * * SAT' --count 3\n\
    jobbers schedules preview --every 90m")]
struct Preview {
    /// A cron expression, as `schedules put --cron` takes it
    #[arg(value_name = "EXPRESSION", required_unless_present = "every", conflicts_with = "every")]
    cron: Option<String>,
    /// The time zone of the cron expression [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "cron")]
    time_zone: Option<String>,
    /// An interval: 30s, 15m, 1d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    every: Option<Duration>,
    /// How many, up to 1,000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    count: u64,
    /// Print the slots as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
enum OverlapArg {
    #[default]
    Allow,
    Skip,
    BufferOne,
    CancelPrevious,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum CatchUpArg {
    None,
    #[default]
    Latest,
    All,
}

#[derive(Debug, clap::Args, Serialize)]
#[command(after_help = "jobbers schedules put nightly --cron '0 2 * * *' --time-zone Europe/Berlin report.build\n\
    jobbers schedules put poll --every 30s --overlap skip feed.fetch url=https://example.org/feed\n\
    jobbers schedules put import --cron '30 2 * * *' --workflow import.mmd")]
struct Put {
    /// Its name
    #[serde(skip)]
    name: ScheduleName,
    #[command(flatten)]
    #[serde(skip)]
    task: Option<Task>,
    /// Start this workflow in place of a task: a Mermaid flowchart (FILE.mmd), or JSON as for POST /workflows; - is standard
    /// input, as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "Task")]
    #[serde(skip)]
    workflow: Option<PathBuf>,
    /// Fire by this cron expression: five fields, six with seconds in front, or a name such as @daily; several are separated
    /// by |
    #[arg(long, value_name = "EXPRESSION", required_unless_present = "every", conflicts_with = "every")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    /// The time zone of the cron expression [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "cron")]
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    /// Fire at the multiples of this time: 30s, 15m, 1d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    every: Option<Duration>,
    /// What to do about a slot while the latest run, a task or a workflow, is not over
    #[arg(long, value_name = "RULE", value_enum, default_value_t)]
    overlap: OverlapArg,
    /// What to do about slots that no manager fired within 10 seconds
    #[arg(long, value_name = "RULE", value_enum, default_value_t)]
    catch_up: CatchUpArg,
    /// With --catch-up all: fire at most this many late slots
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up_limit: Option<u32>,
    /// Start each task or workflow up to this long after its slot
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    jitter: Option<Duration>,
    /// Fire nothing until it is resumed
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    #[serde(skip)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args, Serialize)]
struct Task {
    /// The task to submit
    #[arg(value_name = "TASK", required = false, required_unless_present = "workflow")]
    #[serde(rename = "name")]
    task: TaskName,
    /// What it is given: key=value pairs (a value that is JSON is taken as such, else as text), or one JSON document
    #[arg(value_name = "PARAMETERS")]
    #[serde(skip)]
    parameters: Vec<String>,
    /// Which version of it [default: 1]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// The queue it goes to [default: what the routing rules say]
    #[arg(long, value_name = "QUEUE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<QueueName>,
    /// 0 to 9; higher is claimed first [default: 5]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    /// Retries after the first attempt
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retries: Option<u32>,
    /// Longest that one attempt may run
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[serde(skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    timeout: Option<Duration>,
}

/// A schedule on the wire.
#[derive(Debug, Serialize)]
struct ScheduleBody<'a> {
    #[serde(flatten)]
    put: &'a Put,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Template<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<BTreeMap<String, Box<RawValue>>>,
}

/// The task that a schedule submits, on the wire.
#[derive(Debug, Serialize)]
struct Template<'a> {
    #[serde(flatten)]
    task: &'a Task,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Box<RawValue>>,
}

/// Lists the schedules, or does what is asked with one.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => list(&args.client).await?,
        Some(Action::List(List { client })) => list(client).await?,
        Some(Action::Show(one)) => show(one).await?,
        Some(Action::Put(put)) => {
            let answer = put.client.client()?.put(&client::schedule_path(&put.name, ""), &body(put)?).await?;
            let next =
                answer.read::<ScheduleView>()?.next_slot.map_or_else(String::new, |at| format!(", next at {at}"));
            output::done(&answer.body, put.client.json, format_args!("schedule {} put{next}", put.name))?;
        }
        Some(Action::Delete(sure)) => return delete(sure).await,
        Some(Action::Pause(one)) => steer(one, "pause", "paused").await?,
        Some(Action::Resume(one)) => steer(one, "resume", "resumed").await?,
        Some(Action::Run(one)) => {
            let path = client::schedule_path(&one.name, "/run");
            let answer = one.client.client()?.post(&path, client::NOTHING).await?;
            let id = match answer.read()? {
                StartedView::Task(task) => task.id.to_string(),
                StartedView::Workflow(run) => run.id.to_string(),
            };
            output::done(&answer.body, one.client.json, id)?;
        }
        Some(Action::Next(next)) => print_next(next).await?,
        Some(Action::Preview(wanted)) => preview(wanted)?,
    }
    Ok(exit::OK)
}

/// The body of a put: what the command line says, and the file of a workflow.
fn body(put: &Put) -> Result<ScheduleBody<'_>, Failure> {
    let template = |task| Ok::<_, Failure>(Template { task, parameters: parameters::read_one(&task.parameters)? });
    let task = put.task.as_ref().map(template).transpose()?;
    let workflow = put.workflow.as_deref().map(workflow::read).transpose()?;
    Ok(ScheduleBody { put, task, workflow })
}

async fn list(args: &ClientArgs) -> Result<(), Failure> {
    let Some((schedules, _)) = pages::gather::<ScheduleListView>(args, "/schedules", &[], u64::MAX, None).await? else {
        return Ok(());
    };
    if schedules.is_empty() {
        output::note("no schedules: create one with jobbers schedules put");
        return Ok(());
    }
    let columns = [
        Column::whole("SCHEDULE"),
        Column::cut_to("WHEN", 12),
        Column::cut_to("WHAT", 8).giving_way(1),
        Column::number("NEXT"),
        Column::number("FIRED"),
        Column::number("MISSED"),
        Column::number("SKIPPED").giving_way(2),
    ];
    let row = |schedule: &ScheduleView| {
        let next = schedule.next_slot.filter(|_| !schedule.paused).map(when::short_ahead);
        vec![
            (&schedule.name).into(),
            when_of(schedule).into(),
            what_of(schedule).into(),
            if schedule.paused { "paused".into() } else { output::or_dash(next) },
            schedule.fired.into(),
            schedule.missed.into(),
            schedule.skipped.into(),
        ]
    };
    output::table(&fit::table(&columns, schedules.iter().map(row).collect()))
}

async fn show(one: &OneSchedule) -> Result<(), Failure> {
    let answer = one.client.client()?.get(&client::schedule_path(&one.name, ""), client::NOTHING).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    let schedule: ScheduleView = answer.read()?;
    let mut table = output::table_of(&["SCHEDULE", schedule.name.as_str()]);
    let run = schedule.last_run.as_ref().map(shown);
    let refusal = schedule.refusal.as_ref().map(|refusal| format!("{}: {}", refusal.slot, refusal.reason));
    let rows = [
        ("when", Some(when_of(&schedule))),
        ("what", Some(what_of(&schedule))),
        ("paused", schedule.paused.then(|| "yes".to_owned())),
        ("overlap", Some(schedule.overlap.to_string())),
        ("catch-up", Some(schedule.catch_up.to_string())),
        ("next slot", schedule.next_slot.map(when::full)),
        ("last slot", schedule.last_slot.map(when::full)),
        ("last run", run),
        ("refused", refusal),
        ("fired", Some(schedule.fired.to_string())),
        ("missed", Some(schedule.missed.to_string())),
        ("skipped", Some(schedule.skipped.to_string())),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            table.add_row(vec![name.to_owned(), value]);
        }
    }
    output::table(&table)
}

/// When it fires, in a few words.
fn when_of(schedule: &ScheduleView) -> String {
    match (&schedule.cron, &schedule.time_zone, &schedule.every) {
        (Some(cron), Some(time_zone), _) => format!("{cron} ({time_zone})"),
        (Some(cron), None, _) => cron.clone(),
        (None, _, Some(every)) => format!("every {every}"),
        (None, _, None) => String::new(),
    }
}

/// What it starts, in a few words.
fn what_of(schedule: &ScheduleView) -> String {
    match (&schedule.task, &schedule.workflow) {
        (Some(task), _) => task.name.to_string(),
        (None, Some(workflow)) if workflow.nodes.len() == 1 => "workflow of 1 task".to_owned(),
        (None, Some(workflow)) => format!("workflow of {} tasks", workflow.nodes.len()),
        (None, None) => String::new(),
    }
}

/// What was started, and when.
fn shown(run: &RunView) -> String {
    let task = run.task.as_ref().map(TaskId::as_str);
    let id = task.or(run.workflow.as_ref().map(WorkflowId::as_str)).unwrap_or_default();
    format!("{id} at {}", when::full(run.at))
}

async fn steer(one: &OneSchedule, verb: &str, done_word: &str) -> Result<(), Failure> {
    let path = client::schedule_path(&one.name, &format!("/{verb}"));
    let answer = one.client.client()?.post(&path, client::NOTHING).await?;
    output::done(&answer.body, one.client.json, format_args!("schedule {} {done_word}", one.name))
}

async fn delete(Sure { one, yes }: &Sure) -> Result<ExitCode, Failure> {
    if !yes && !output::confirm(&format!("Delete schedule {}?", one.name))? {
        return Ok(exit::FAILURE.into());
    }
    let answer = one.client.client()?.delete(&client::schedule_path(&one.name, "")).await?;
    output::done(&answer.body, one.client.json, format_args!("schedule {} deleted", one.name))?;
    Ok(exit::OK)
}

async fn print_next(Next { one, count }: &Next) -> Result<(), Failure> {
    let path = client::schedule_path(&one.name, "/next");
    let answer = one.client.client()?.get(&path, Some(&[("count", count)])).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    let NextSlotsView { slots, note, .. } = answer.read()?;
    if let Some(note) = note {
        output::note(format_args!("{}: {note}", one.name));
    }
    slots.iter().try_for_each(output::line)
}

/// Prints the slots of a timing, each also as the clock of its zone shows it.
fn preview(Preview { cron, time_zone, every, count, json }: &Preview) -> Result<(), Failure> {
    let timing = match (cron, every) {
        (Some(expression), _) => Timing::Cron {
            expression: expression.clone(),
            time_zone: time_zone.clone().unwrap_or_else(|| "UTC".to_owned()),
        },
        (None, every) => Timing::Every(every.unwrap_or_default()),
    };
    let slots = Slots::of(&timing).map_err(|error| Failure::Usage(error.to_string()))?;
    let next = slots.preview(SystemTime::now().into(), usize::try_from(*count).unwrap_or(usize::MAX));
    if *json {
        let slots = next.map(Rfc3339).collect();
        return output::document(&serde_json::to_vec(&PreviewView { slots }).unwrap_or_default());
    }
    let mut shown = next.map(|slot| format!("{}  {}", Rfc3339(slot), slots.local_text(slot)));
    shown.try_for_each(|line| output::line(&line))
}
