//! A nightly pipeline by cron: at two at night the sales of all shops are added up, a task per shop, and then a report is
//! written.
//!
//! `SALES=folder cargo run -p jobbers-worker --example nightly` runs its worker, on the store of `ENGINE_URL`. When the worker
//! starts, it declares the schedule `task:nightly`. From then on every manager of the store fires it, and
//! `jobbers schedules run task:nightly` starts the pipeline at once.

use jobbers_worker::{
    canvas::{ResultsOf, map},
    prelude::*,
};

/// The folder with a file per shop, `NAME.sales`, that has an amount in cents per line.
struct Sales(PathBuf);

/// What is left to do when all shops are added up.
#[derive(Serialize, Deserialize)]
struct Report {
    to: PathBuf,
    shops: ResultsOf<u64>,
}

/// The pipeline, each night at two: a task per shop, and a report of them all. Returns the id of the report's task.
#[task(cron = "0 2 * * *", time_zone = "Europe/Berlin", max_retries = 5, retry_delay = "1m")]
async fn nightly(ctx: Context) -> Result<String, TaskError> {
    let Sales(folder) = ctx.state()?;
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut shops: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    shops.retain(|file| file.extension().is_some_and(|end| end == "sales"));
    // The same order at each attempt: the ids of the tasks depend on it.
    shops.sort();
    let to = folder.join("report.txt");
    let report = map(&add_up, shops).then_with(|shops| write_report.with(Report { to, shops }));
    Ok(ctx.spawn("report", report).await?.id().to_string())
}

/// Adds up the sales of a shop.
#[task(max_retries = 5, retry_delay = "1m")]
async fn add_up(shop: PathBuf) -> Result<u64, TaskError> {
    let amounts = tokio::fs::read_to_string(&shop).await?;
    Ok(amounts.lines().map(str::parse::<u64>).sum::<Result<_, _>>()?)
}

/// Writes the report, once all shops are added up. What is half written has another name.
#[task(max_retries = 5, retry_delay = "1m")]
async fn write_report(ctx: Context, report: Report) -> Result<(), TaskError> {
    let shops = report.shops.read(&ctx).await?;
    let partial = report.to.with_extension("partial");
    let text = format!("{} shops sold for {} cents\n", shops.len(), shops.iter().sum::<u64>());
    tokio::fs::write(&partial, text).await?;
    tokio::fs::rename(&partial, &report.to).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let folder = std::env::var_os("SALES").map_or_else(|| PathBuf::from("sales"), PathBuf::from);
    Worker::from_env().state(Sales(folder)).run().await
}
