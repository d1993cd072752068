//! `jobbers bench`: how fast, beside what the bare store does in the same run.
//!
//! Machines are noisy and stores differ, so no rate is given by itself: each is set against a limit measured in the same
//! round, and each ratio is the middle one of several rounds. Everything runs with the settings a user gets: the worker, and
//! the manager with the cleaner, in processes of their own, with their telemetry. Tasks do nothing and carry 100 bytes.
//!
//! Start reading at [`run`]; `phases` and `steady` say what is measured, `limit_redis` and `limit_sqlite` what a bare store
//! is. `boards` and `workflows` are benchmarks of their own, for the fronts of boards and for graphs of tasks.

mod boards;
mod cpu;
mod figures;
mod http;
mod latency;
mod limits;
mod load;
mod phases;
mod process;
mod profile;
mod report;
mod services;
mod sink;
mod steady;
mod store;
mod turns;
mod watching;
mod worker;
mod workflows;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use jobbers_common::queue::Retention;
use jobbers_process::{engine_url::EngineArgs, shutdown::Shutdown};

pub use self::{
    boards::BoardsReport,
    profile::BuildProfile,
    report::{BenchReport, Row},
    services::{BenchServicesArgs, run as run_services},
    worker::{BenchWorkerArgs, run as run_worker},
    workflows::WorkflowsReport,
};
use self::{phases::Bench, steady::SteadyPlan, store::BenchStore};
use crate::terminal::progress::steps::Steps;

/// Measure this machine: submit, drain, latency and cost per task, beside the bare store's limits
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What is measured
    #[arg(value_enum, default_value_t)]
    pub subject: BenchSubject,
    #[command(flatten)]
    engine: EngineArgs,
    /// One round with few tasks: a look in seconds, with rougher figures
    #[arg(long)]
    quick: bool,
    /// How many tasks the worker runs at a time [default: the worker's own default]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    concurrency: Option<u32>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum BenchSubject {
    /// Tasks through a manager, a worker and the store
    #[default]
    Tasks,
    /// MassTasker over gRPC and TaskStore over HTTP
    Boards,
    /// Graphs of tasks: chords, chains, fan-outs
    Workflows,
}

/// How much is measured.
struct Size {
    rounds: usize,
    tasks: usize,
    latencies: usize,
    watching_rounds: usize,
    retention: u64,
    kept: u64,
}

impl Size {
    fn of(engine: &str, quick: bool) -> Self {
        let retention = Retention::default().count;
        let tasks = if engine == "redis" { 200_000 } else { 100_000 };
        match quick {
            false => Self { rounds: 3, tasks, latencies: 200, watching_rounds: 5, retention, kept: 300_000 },
            true => {
                Self { rounds: 1, tasks: tasks / 20, latencies: 50, watching_rounds: 1, retention: 2_000, kept: 1_000 }
            }
        }
    }
}

/// Runs every phase on a fresh store, and leaves nothing behind.
///
/// # Errors
/// When the store or one of the processes can't be had, or an answer is wrong.
pub async fn run(args: &BenchArgs) -> Result<BenchReport> {
    let store = BenchStore::open(args.engine.given()).await?;
    let report = until_interrupted(measure(&store, args)).await;
    store.remove().await?;
    report
}

/// Gives up at a signal, so that the caller still removes its store. The processes under measurement end with the future.
async fn until_interrupted<T>(measured: impl Future<Output = Result<T>>) -> Result<T> {
    let shutdown = Shutdown::on_signals()?;
    tokio::select! {
        measured = measured => measured,
        () = shutdown.drain.cancelled() => Err(anyhow!("interrupted; its stores are removed")),
    }
}

/// Measures the fronts of boards on a fresh store, and leaves nothing behind.
///
/// # Errors
/// When the store or the manager's process can't be had, or an answer is wrong.
pub async fn run_boards(args: &BenchArgs) -> Result<BoardsReport> {
    let store = BenchStore::open(args.engine.given()).await?;
    let steps = Steps::new();
    steps.say("boards: MassTasker and TaskStore");
    let report = until_interrupted(boards::measure(&store, args.quick)).await;
    store.remove().await?;
    report
}

/// Measures graphs of tasks on a fresh store, and leaves nothing behind.
///
/// # Errors
/// When the store or one of the processes can't be had, or a graph does not run as it should.
pub async fn run_workflows(args: &BenchArgs) -> Result<WorkflowsReport> {
    let store = BenchStore::open(args.engine.given()).await?;
    let steps = Steps::new();
    steps.say("workflows: chords, chains, fan-outs");
    let report = until_interrupted(workflows::measure(&store, args.quick)).await;
    store.remove().await?;
    report
}

async fn measure(store: &BenchStore, args: &BenchArgs) -> Result<BenchReport> {
    let engine = store.scratch.engine.health().await?.engine.to_owned();
    let size = Size::of(&engine, args.quick);
    let concurrency = args.concurrency.unwrap_or_else(|| jobbers_worker::Config::default().concurrency);
    let mut bench = Bench::start(store, size.tasks, concurrency).await?;
    let steps = Steps::new();
    let mut rounds = Vec::with_capacity(size.rounds);
    for round in 1..=size.rounds {
        steps.say(format!("round {round} of {}: submit, drain, latency, the bare store", size.rounds));
        rounds.push(bench.round(size.latencies).await?);
    }
    bench.stop().await?;
    steps.say("with finished tasks kept");
    let plan =
        SteadyPlan { concurrency, tasks: size.tasks, rounds: size.rounds, retention: size.retention, kept: size.kept };
    let steady = steady::measure(store, plan).await?;
    steps.say("with telemetry");
    let watching = watching::measure(store, concurrency, size.tasks / 4, size.watching_rounds).await?;
    Ok(BenchReport::new(engine, concurrency, &rounds, steady, watching))
}
