//! `jobbers bench`: how fast, beside what the bare store does in the same run.

use std::process::ExitCode;

use jobbers_process::exit;
use serde::Serialize;

use crate::{
    bench::{self, BenchArgs, BenchServicesArgs, BenchSubject, BenchWorkerArgs, BuildProfile, Row},
    failure::Failure,
    terminal::output,
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
    if BuildProfile::own().debug_assertions {
        output::note("this is a debug build: its figures say nothing; measure with cargo run --release -- bench");
    }
    match args.bench.subject {
        BenchSubject::Tasks => {
            let report = bench::run(&args.bench).await.map_err(unavailable)?;
            show(args.json, &report, &report.heading(), report.rows())?;
        }
        BenchSubject::Boards => {
            let report = bench::run_boards(&args.bench).await.map_err(unavailable)?;
            show(args.json, &report, &report.heading(), report.rows())?;
        }
        BenchSubject::Workflows => {
            let report = bench::run_workflows(&args.bench).await.map_err(unavailable)?;
            show(args.json, &report, &report.heading(), report.rows())?;
        }
    }
    Ok(exit::OK)
}

fn show(json: bool, report: &impl Serialize, heading: &str, rows: Vec<Row>) -> Result<(), Failure> {
    if json {
        return output::line(serde_json::to_string(report).map_err(|error| Failure::Unavailable(error.to_string()))?);
    }
    output::line(heading)?;
    let mut table = output::table_of(&["MEASURED", "FIGURE", "LIMIT", "RATIO"]);
    for row in rows {
        let [figure, limit] = [row.figure, row.limit].map(output::number);
        let name = match row.limit_is {
            "" => row.name,
            limit_is => format!("{}\n  / {limit_is}", row.name),
        };
        table.add_row(vec![output::Cell::new(name), figure, limit, output::Cell::new(row.ratio)]);
    }
    output::table(&table)
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of map_err")]
fn unavailable(error: anyhow::Error) -> Failure {
    Failure::Unavailable(format!("{error:#}"))
}

/// Runs the worker that a bench in another process measures.
///
/// # Errors
/// When the store can't be opened.
pub async fn run_worker(args: BenchWorkerArgs) -> Result<ExitCode, Failure> {
    bench::run_worker(args).await.map_err(unavailable)?;
    Ok(exit::OK)
}

/// Runs the manager and the cleaner that a bench in another process measures.
///
/// # Errors
/// When the store can't be opened.
pub async fn run_services(args: BenchServicesArgs) -> Result<ExitCode, Failure> {
    bench::run_services(args).await.map_err(unavailable)?;
    Ok(exit::OK)
}
