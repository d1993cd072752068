//! `jobbers registry`: what live workers can run, and how its parameters look.

use std::{collections::BTreeSet, process::ExitCode};

use jobbers_api::worker::registry::{RegisteredTaskView, RegistryView};
use jobbers_common::name::TaskName;
use jobbers_process::exit;
use serde_json::Value;

use crate::{
    client::{self, ClientArgs},
    commands::{pages, shell::near},
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output,
    },
};

/// Flags of `jobbers registry`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show this task in full: its parameters and its author's settings for failures
    name: Option<TaskName>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Lists the tasks, or shows the versions of one.
///
/// # Errors
/// When the manager can't be asked, or no live worker can run the named task.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let answer = args.client.client()?.get("/tasks/registry", client::NOTHING).await?;
    if args.client.json && args.name.is_none() {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let RegistryView { tasks } = answer.read()?;
    match &args.name {
        None => list(&tasks)?,
        Some(name) if !tasks.iter().any(|task| task.name == *name) => return Err(unknown(name, &tasks)),
        Some(name) if args.client.json => output::document(&only(&answer.read()?, name))?,
        Some(name) => show(&tasks, name)?,
    }
    Ok(exit::OK)
}

fn unknown(name: &TaskName, tasks: &[RegisteredTaskView]) -> Failure {
    let known: Vec<String> = tasks.iter().map(|task| task.name.to_string()).collect();
    let hint = match near::nearest(&known, [name.as_str()]) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`jobbers registry` lists what can be run".to_owned(),
    };
    Failure::Negative(format!("no live worker can run {name}; {hint}"))
}

/// The manager's answer, with the versions of one task.
fn only(answer: &Value, name: &TaskName) -> Vec<u8> {
    let tasks = answer["tasks"].as_array().into_iter().flatten();
    let named: Vec<&Value> = tasks.filter(|task| task["name"] == name.as_str()).collect();
    serde_json::json!({ "tasks": named }).to_string().into()
}

fn list(tasks: &[RegisteredTaskView]) -> Result<(), Failure> {
    if tasks.is_empty() {
        output::note("no worker is alive, so nothing can be run; start one with `jobbers up` or `worker`");
        return Ok(());
    }
    let columns = [
        Column::whole("TASK"),
        Column::number("WORKERS"),
        Column::cut_to("QUEUES", 8),
        Column::cut_to("ROLES", 8).giving_way(2),
        Column::cut_to("PARAMETERS", 12),
        Column::cut_to("DESCRIPTION", 16).giving_way(1),
    ];
    let row = |task: &RegisteredTaskView| {
        vec![
            pages::task_name(&task.name, task.version).into(),
            task.workers.into(),
            output::or_dash(joined(&task.queues)),
            output::or_dash(joined(&task.roles)),
            output::or_dash(brief(task.parameters.as_ref())),
            output::or_dash(task.description.lines().next()),
        ]
    };
    output::table(&fit::table(&columns, tasks.iter().map(row).collect()))
}

fn joined<N: AsRef<str>>(names: &[N]) -> Option<String> {
    (!names.is_empty()).then(|| names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "))
}

fn show(tasks: &[RegisteredTaskView], name: &TaskName) -> Result<(), Failure> {
    for task in tasks.iter().filter(|task| task.name == *name) {
        let mut sheet = output::sheet();
        output::add_fact(&mut sheet, "task", format!("{} v{}", task.name, task.version));
        if !task.description.is_empty() {
            output::add_fact(&mut sheet, "description", &task.description);
        }
        output::add_fact(&mut sheet, "workers", task.workers.to_string());
        output::add_fact(&mut sheet, "queues", output::or_dash(joined(&task.queues)));
        output::add_fact(&mut sheet, "roles", output::or_dash(joined(&task.roles)));
        if let Some(crashes) = task.max_crashes {
            output::add_fact(&mut sheet, "max_crashes", crashes.to_string());
        }
        if let Some(dead_letter) = &task.dead_letter {
            output::add_fact(&mut sheet, "dead_letter", dead_letter);
        }
        if let Some(schema) = &task.parameters {
            let pretty = serde_json::to_string_pretty(schema).unwrap_or_else(|_| schema.to_string());
            output::add_fact(&mut sheet, "parameters", pretty);
        }
        output::table(&sheet)?;
    }
    Ok(())
}

/// The fields of the parameters in a few words, those in brackets being optional: `path [unit]`.
fn brief(schema: Option<&Value>) -> Option<String> {
    let fields = schema?.get("properties")?.as_object()?;
    let required: BTreeSet<&str> =
        schema?.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let (needed, others): (Vec<&String>, Vec<&String>) =
        fields.keys().partition(|name| required.contains(name.as_str()));
    let words = needed.into_iter().cloned().chain(others.into_iter().map(|name| format!("[{name}]")));
    Some(words.collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_told_in_a_few_words() {
        let schema = json!({"properties": {"path": {}, "unit": {}, "all": {}}, "required": ["path"]});
        assert_eq!(brief(Some(&schema)).as_deref(), Some("path [all] [unit]"));
        for nothing in [json!({}), json!(true), json!({"properties": {}})] {
            assert_eq!(brief(Some(&nothing)), None);
        }
        assert_eq!(brief(None), None);
    }
}
