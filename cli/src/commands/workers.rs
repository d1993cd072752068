//! `jobbers workers`: who is alive, how busy, and who is to drain.

use std::process::ExitCode;

use jobbers_api::worker::{
    BlockingThreadsView, HeldThreadView, SteeredView, WorkerListView, WorkerSelection, WorkerView,
};
use jobbers_common::name::{RoleName, WorkerId};
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, when,
    },
};

/// Flags of `jobbers workers`.
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
    /// Have workers claim nothing more; they finish what they run and live on
    Drain(WorkersArgs),
    /// Have workers claim again
    Resume(WorkersArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Workers are named by their ids, or by what they have in common: then all that is said must fit."
)]
struct WorkersArgs {
    /// The workers' ids
    #[arg(conflicts_with_all = ["host", "version", "role"])]
    ids: Vec<WorkerId>,
    #[command(flatten)]
    selection: WorkerFilter,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct WorkerFilter {
    /// Those on this host
    #[arg(long)]
    host: Option<String>,
    /// Those of this version of the program
    #[arg(long = "worker-version", visible_alias = "version", id = "version")]
    version: Option<String>,
    /// Those of this role
    #[arg(long)]
    role: Option<RoleName>,
}

/// Shows the workers, or tells some to drain.
///
/// # Errors
/// When the manager can't be asked, or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(Action::Drain(args)) => steer(args, "drain").await,
        Some(Action::Resume(args)) => steer(args, "resume").await,
        None => list(&args.client).await,
    }
}

async fn steer(args: &WorkersArgs, verb: &str) -> Result<ExitCode, Failure> {
    let WorkerFilter { host, version, role } = &args.selection;
    if args.ids.is_empty() && host.is_none() && version.is_none() && role.is_none() {
        let usage = format!("which workers {verb}? Name them by their ids, or say --host, --worker-version or --role");
        return Err(Failure::Usage(usage));
    }
    let client = args.client.client()?;
    let mut told = Vec::new();
    if args.ids.is_empty() {
        let answer = client
            .post(
                &format!("/workers/{verb}"),
                Some(&WorkerSelection { host: host.clone(), version: version.clone(), role: role.clone() }),
            )
            .await?;
        told = answer.read::<SteeredView>()?.workers;
    }
    for id in &args.ids {
        let answer = client.post(&client::worker_path(id, verb), client::NOTHING).await?;
        told.extend(answer.read::<SteeredView>()?.workers);
    }
    if args.client.json {
        let body = serde_json::json!({ "workers": told }).to_string();
        output::document(body.as_bytes())?;
    } else if told.is_empty() {
        output::note("no worker that is alive fits");
    } else {
        output::line(told.join("\n"))?;
    }
    Ok(if told.is_empty() { exit::FAILURE.into() } else { exit::OK })
}

async fn list(args: &ClientArgs) -> Result<ExitCode, Failure> {
    let answer = args.client()?.get("/workers", client::NOTHING).await?;
    if args.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    let WorkerListView { workers } = answer.read()?;
    if workers.is_empty() {
        output::note("no worker is alive; start one with `jobbers up` or `worker`");
        return Ok(exit::OK);
    }
    output::table(&table(&workers))?;
    for worker in &workers {
        let waiting = worker.blocking.as_ref().filter(|blocking| blocking.waiting > 0);
        if let Some(BlockingThreadsView { threads, busy, waiting, .. }) = waiting {
            let worker = &worker.id;
            output::line(format_args!(
                "worker {worker}: {busy} of {threads} threads for blocking tasks are busy, and {waiting} such tasks wait"
            ))?;
        }
        let held = waiting.map_or(&[][..], |blocking| &blocking.held);
        for HeldThreadView { id, name, queue, attempt, since } in worker.hung_threads.iter().chain(held) {
            let (worker, since) = (&worker.id, when::full(*since));
            output::line(format_args!(
                "worker {worker}: attempt {attempt} of task {id} ({name}, queue {queue}) has held a thread since {since}"
            ))?;
        }
    }
    Ok(exit::OK)
}

/// The workers, a line each.
fn table(workers: &[WorkerView]) -> output::Table {
    let columns = [
        Column::whole("WORKER"),
        Column::cut_to("HOST", 8).giving_way(4),
        Column::number("PID").giving_way(6),
        Column::cut_to("ROLE", 6).giving_way(2),
        Column::cut_to("QUEUES", 8).giving_way(1),
        Column::cut_to("STATE", 8),
        Column::number("RUNNING"),
        Column::number("SETTLED"),
        Column::number("UP").giving_way(3),
        Column::number("SEEN").giving_way(5),
    ];
    let row = |worker: &WorkerView| {
        vec![
            (&worker.id).into(),
            (&worker.host).into(),
            output::or_dash((worker.pid > 0).then_some(worker.pid)),
            (&worker.role).into(),
            worker.queues.join(", ").into(),
            state(worker).into(),
            format_args!("{}/{}", worker.running, worker.slots).into(),
            output::thousands(worker.settled).into(),
            when::age(worker.started_at).into(),
            when::short_ago(worker.seen_at).into(),
        ]
    };
    fit::table(&columns, workers.iter().map(row).collect())
}

/// What it does; of one that drains, when it is done.
fn state(worker: &WorkerView) -> String {
    let told = worker.draining_since.is_some() && worker.state == "running";
    match (&worker.done_by, told) {
        (_, true) => "told to drain".to_owned(),
        (Some(done), _) if worker.running > 0 => format!("{}, done by {}", worker.state, when::full(*done)),
        _ => worker.state.to_string(),
    }
}
