//! `jobbers bench`: how fast, beside what the bare store does in the same run.
//!
//! Machines are noisy and stores differ, so no rate stands alone: each is set against the limit of the same store, same
//! payload, same batch, measured minutes before. The worker runs in a process of its own, so that its processor time
//! can be told from the submitting client's. Tasks do nothing and carry 100 bytes.
//!
//! Start reading at [`run`]; `limit_redis` and `limit_sqlite` say what a bare store is.

mod cpu;
mod http;
mod latency;
mod limit;
mod limit_redis;
mod limit_sqlite;
mod phases;
mod report;
mod sink;
mod store;
mod watching;
mod worker;

use anyhow::Result;
use clap::Args;
use jobbers_process::engine_url::EngineArgs;

use self::{phases::Bench, report::Rate, store::Store};
pub use self::{report::Report, worker::BenchWorkerArgs, worker::run as run_worker};

/// Tasks per call wherever calls are batched.
const BATCH: usize = 100;
/// Callers at once wherever calls are batched.
const CALLERS: usize = 4;

/// Measure this machine: submit, drain, latency and cost per task, beside the bare store's limits
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// A tenth of the tasks: a look in seconds, with rougher figures
    #[arg(long)]
    quick: bool,
    /// How many tasks the worker runs at a time
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    concurrency: u32,
}

/// Runs every phase on a fresh store, and leaves nothing behind.
///
/// # Errors
/// When the store or the worker's process can't be had, or an answer is wrong.
pub async fn run(args: &BenchArgs) -> Result<Report> {
    let store = Store::open(args.engine.given()).await?;
    let report = measure(&store, args).await;
    store.remove().await?;
    report
}

async fn measure(store: &Store, args: &BenchArgs) -> Result<Report> {
    let engine = store.scratch.engine.health().await?.engine.to_owned();
    let tasks = match (engine.as_str(), args.quick) {
        ("redis", false) => 400_000,
        ("redis", true) => 40_000,
        (_, false) => 100_000,
        (_, true) => 10_000,
    };
    let limits = store.limits(phases::PAYLOAD, tasks).await?;
    let bench = Bench::new(store, tasks, args.concurrency).await?;

    let one = bench.submit_one(1).await?;
    let sixteen = bench.submit_one(16).await?;
    let fill = bench.fill().await?;
    let drain = bench.drain().await?;
    let both = bench.both().await?;
    let idle_latency = bench.idle_latency(limits.round_trip_ms, if args.quick { 100 } else { 400 }).await?;
    let http = bench.http().await?;
    bench.stop().await?;
    let rounds = if args.quick { 2 } else { 7 };
    let watching = watching::measure(store, args.concurrency, tasks / 4, rounds).await?;

    Ok(Report {
        engine,
        submit_one: Rate::new(one, limits.submit_one),
        submit_16: Rate::new(sixteen, limits.submit_one),
        submit_batch: Rate::new(fill.rate, limits.submit_batch),
        drain: Rate::new(drain.rate, limits.drain),
        both: Rate::new(both, limits.both),
        idle_latency,
        bytes_per_queued_task: report::rounded(fill.bytes_per_task, 0),
        cpu_us_per_task: report::CpuPerTask {
            client: report::rounded(fill.client_us, 2),
            worker: report::rounded(drain.worker_us, 2),
            store: report::rounded(fill.store_us + drain.store_us, 2),
        },
        http_one: Rate::new(http.one, http.empty),
        http_batch: Rate::new(http.batch, fill.rate),
        watching,
    })
}
