//! `jobbers bench`: how fast, beside what the bare store does in the same run.

use std::process::ExitCode;

use comfy_table::Cell;
use jobbers_process::exit;

use crate::{
    bench::{self, BenchArgs, BenchWorkerArgs},
    failure::Failure,
    output,
};

/// Flags of `jobbers bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    bench: BenchArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Measures, and shows what came of it.
///
/// # Errors
/// When the store or the worker's process can't be had.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    if cfg!(debug_assertions) {
        output::note("this is a debug build: its figures say nothing; measure with cargo run --release -- bench");
    }
    let report = bench::run(&args.bench).await.map_err(|error| Failure::Unavailable(format!("{error:#}")))?;
    if args.json {
        let text = serde_json::to_string(&report).map_err(|error| Failure::Unavailable(error.to_string()))?;
        output::line(text)?;
        return Ok(exit::OK);
    }
    output::line(format_args!("{} (no-op tasks, 100 bytes each; limit: the bare store in this run)", report.engine))?;
    let mut table = output::table_of(&["MEASURED", "TASKS", "LIMIT", "RATIO"]);
    for [name, tasks, limit, ratio] in report.rows() {
        table.add_row(vec![Cell::new(name), output::number(tasks), output::number(limit), output::number(ratio)]);
    }
    output::table(&table)?;
    Ok(exit::OK)
}

/// Runs the worker that a bench in another process measures.
///
/// # Errors
/// When the store can't be opened.
pub async fn run_worker(args: BenchWorkerArgs) -> Result<ExitCode, Failure> {
    bench::run_worker(args).await.map_err(|error| Failure::Unavailable(format!("{error:#}")))?;
    Ok(exit::OK)
}
