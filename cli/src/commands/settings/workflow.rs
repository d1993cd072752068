//! `jobbers workflow`: graphs of tasks, submitted, watched and run again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use jobbers_api::workflow::{WorkflowGraphView, WorkflowListView, WorkflowView};
use jobbers_common::{
    name::{WorkflowId, WorkflowName},
    workflow::RunState,
};
use jobbers_process::exit;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    client::{self, ClientArgs},
    commands::pages,
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, when,
    },
};

mod draw;

/// How often a workflow that is waited for is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Flags of `jobbers workflow`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Submit a workflow: a Mermaid flowchart (FILE.mmd), or JSON as for POST /workflows
    Submit(Submit),
    /// Show one workflow with its graph
    Show(Show),
    /// List the workflows, the latest first
    List(List),
    /// Cancel a workflow with all its tasks
    Cancel(OneRun),
    /// Run again what did not complete of a workflow that is over
    Retry(OneRun),
    /// Delete a workflow that is over; its tasks stay
    Delete(OneRun),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "jobbers workflow submit nightly.mmd --id nightly-2026-11-23 --wait")]
struct Submit {
    /// The file; - is standard input, as JSON
    file: PathBuf,
    /// The run's id: the same id with the same file again changes nothing [default: a new one]
    #[arg(long, value_name = "ID")]
    id: Option<WorkflowId>,
    /// What it is a run of
    #[arg(long, value_name = "NAME")]
    name: Option<WorkflowName>,
    /// Wait until it is over; exit code 0 if it completed, else 1
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct OneRun {
    /// The workflow
    id: WorkflowId,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Show {
    #[command(flatten)]
    one: OneRun,
    /// Print it as a Mermaid flowchart
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
}

#[derive(Debug, clap::Args)]
struct List {
    /// In this state: submitting, running, completed, failed or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Of this name
    #[arg(long, value_name = "NAME")]
    name: Option<WorkflowName>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    #[command(flatten)]
    client: ClientArgs,
}

/// Does what is asked.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        Action::Submit(args) => return submit(args).await,
        Action::Show(args) => show(args).await?,
        Action::List(args) => list(args).await?,
        Action::Cancel(one) => steer(one, "cancel").await?,
        Action::Retry(one) => steer(one, "retry").await?,
        Action::Delete(one) => {
            let answer = one.client.client()?.delete(&client::workflow_path(&one.id, "")).await?;
            output::done(&answer.body, one.client.json, format_args!("workflow {} deleted", one.id))?;
        }
    }
    Ok(exit::OK)
}

/// The workflow of a file: a Mermaid flowchart, by the end of its name, or the body of `POST /workflows`.
///
/// # Errors
/// When the file can't be read, or holds no JSON object.
pub(in crate::commands) fn read(file: &Path) -> Result<BTreeMap<String, Box<RawValue>>, Failure> {
    let shown = file.display();
    let text = match file.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| Failure::no_input(file, &error))?;
    let is_mermaid = file.extension().is_some_and(|end| end == "mmd" || end == "mermaid");
    match is_mermaid {
        true => Ok(BTreeMap::from([("mermaid".to_owned(), raw(&text)?)])),
        false => serde_json::from_str(&text)
            .map_err(|error| Failure::Usage(format!("{shown} is not a JSON object: {error}"))),
    }
}

fn raw<T: Serialize>(value: &T) -> Result<Box<RawValue>, Failure> {
    to_raw_value(value).map_err(|error| Failure::Usage(error.to_string()))
}

/// The body of a submission: that of the file, with what the command line says.
fn body(args: &Submit) -> Result<BTreeMap<String, Box<RawValue>>, Failure> {
    let mut body = read(&args.file)?;
    if let Some(id) = &args.id {
        body.insert("id".to_owned(), raw(id)?);
    }
    if let Some(name) = &args.name {
        body.insert("name".to_owned(), raw(name)?);
    }
    Ok(body)
}

async fn submit(args: &Submit) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let answer = client.post("/workflows", Some(&body(args)?)).await?;
    let run: WorkflowView = answer.read()?;
    if !args.wait {
        output::done(&answer.body, args.client.json, &run.id)?;
        return Ok(exit::OK);
    }
    let id = WorkflowId::new(&run.id).map_err(|error| Failure::Unavailable(error.to_string()))?;
    let path = client::workflow_path(&id, "");
    let plain: [(&str, &str); 0] = [];
    loop {
        let answer = client.get_patiently(&path, &plain, Duration::ZERO, client::AWAY).await?;
        let graph: WorkflowGraphView = answer.read()?;
        if graph.run.state.is_over() {
            if args.client.json {
                output::document(&answer.body)?;
            } else {
                output::write(&draw::draw(&graph))?;
            }
            return Ok(if graph.run.state == RunState::Completed { exit::OK } else { exit::FAILURE.into() });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn show(Show { one, mermaid }: &Show) -> Result<(), Failure> {
    let path = client::workflow_path(&one.id, "");
    let client = one.client.client()?;
    if *mermaid {
        let answer = client.get(&path, Some(&[("format", "mermaid")])).await?;
        return output::write(&String::from_utf8_lossy(&answer.body));
    }
    let answer = client.get(&path, client::NOTHING).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    output::write(&draw::draw(&answer.read()?))
}

async fn list(args: &List) -> Result<(), Failure> {
    let mut query = Vec::new();
    query.extend(args.state.clone().map(|state| ("state", state)));
    query.extend(args.name.as_ref().map(|name| ("name", name.to_string())));
    let found = pages::gather::<WorkflowListView>(&args.client, "/workflows", &query, args.limit, None).await?;
    let Some((workflows, has_more)) = found else { return Ok(()) };
    if workflows.is_empty() {
        output::note("there are no such workflows");
        return Ok(());
    }
    let columns = [
        Column::whole("WORKFLOW"),
        Column::cut_to("NAME", 8),
        Column::whole("STATE"),
        Column::number("OVER"),
        Column::number("NODES"),
        Column::number("ATTEMPT").giving_way(1),
        Column::number("AGE"),
    ];
    let rows = workflows.into_iter().map(|run| {
        vec![
            run.id.into(),
            output::or_dash(run.name),
            run.state.into(),
            run.over.into(),
            run.nodes.into(),
            run.attempt.into(),
            when::age(run.created_at).into(),
        ]
    });
    output::table(&fit::table(&columns, rows.collect()))?;
    if has_more {
        output::note("there are more: say --limit");
    }
    Ok(())
}

async fn steer(one: &OneRun, verb: &str) -> Result<(), Failure> {
    let path = client::workflow_path(&one.id, &format!("/{verb}"));
    let answer = one.client.client()?.post(&path, client::NOTHING).await?;
    let state = answer.read::<WorkflowView>()?.state;
    output::done(&answer.body, one.client.json, format_args!("workflow {}: {state}", one.id))
}
