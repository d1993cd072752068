//! `jobbers bench`: how fast, beside what the bare store does in the same run.

use std::process::ExitCode;

use comfy_table::Cell;
use jobbers_process::exit;

use crate::{
    bench::{self, BenchArgs, BenchServicesArgs, BenchWorkerArgs, Profile},
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
    if Profile::own().debug_assertions {
        output::note("this is a debug build: its figures say nothing; measure with cargo run --release -- bench");
    }
    let report = bench::run(&args.bench).await.map_err(|error| Failure::Unavailable(format!("{error:#}")))?;
    if args.json {
        let text = serde_json::to_string(&report).map_err(|error| Failure::Unavailable(error.to_string()))?;
        output::line(text)?;
        return Ok(exit::OK);
    }
    output::line(report.heading())?;
    let mut table = output::table_of(&["MEASURED", "FIGURE", "LIMIT", "RATIO"]);
    for row in report.rows() {
        let [figure, limit] = [row.figure, row.limit].map(output::number);
        let name = match row.limit_is {
            "" => row.name,
            limit_is => format!("{}\n  / {limit_is}", row.name),
        };
        table.add_row(vec![Cell::new(name), figure, limit, Cell::new(row.ratio)]);
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

/// Runs the manager and the cleaner that a bench in another process measures.
///
/// # Errors
/// When the store can't be opened.
pub async fn run_services(args: BenchServicesArgs) -> Result<ExitCode, Failure> {
    bench::run_services(args).await.map_err(|error| Failure::Unavailable(format!("{error:#}")))?;
    Ok(exit::OK)
}
