//! `jobbers doctor`: whether a store is well, told by itself and not through a manager.

use std::process::ExitCode;

use indicatif::ProgressBar;
use jobbers_common::engine::Error;
use jobbers_engines::{DEFAULT_URL, OpenOptions};
use jobbers_process::{engine_url::EngineArgs, exit, site::Site};

use super::export::ArchiveArgs;
use crate::{
    doctor::{self, Check, Diagnosis, LiveWorker, Manager, Sharers},
    failure::Failure,
    scratch::cant_open,
    terminal::output::{self, Cell},
};

const AFTER_HELP: &str = "\
It looks at every task and at all that refers to one, in small steps beside whatever else goes on, and changes nothing. \
`cleaner --repair` mends what can be mended for certain.

Exit codes: 0 all is well; 1 something is wrong; 64 the address makes no sense, or leads to no store; 69 the store \
can't be reached.";

/// Flags of `jobbers doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    letters: ArchiveArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Examines the store.
///
/// # Errors
/// When it can't be opened or stops answering.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let site = Site::here().filter(|site| args.engine.given().is_none_or(|given| given == site.store));
    let url = args.engine.given().or(site.as_ref().map(|site| site.store.as_str())).unwrap_or(DEFAULT_URL);
    let path = args.letters.file(url);
    let archive = tokio::task::spawn_blocking(move || doctor::archive(path.as_deref())).await;
    let archive = archive.map_err(|error| Failure::Negative(error.to_string()))?;
    let opened = jobbers_engines::open(url, OpenOptions::existing()).await;
    let engine = match opened {
        Ok(engine) => engine,
        Err(Error::Corrupt(why)) => return print_report(args, &Diagnosis::of_damaged(&why, archive)),
        Err(error) => return Err(cant_open(url, &error)),
    };
    let bar = ProgressBar::new_spinner();
    let watch = |looked_at| bar.set_message(format!("{} looked at", output::thousands(looked_at)));
    let here = site.as_ref().map(|site| site.manager.as_str());
    let examined = doctor::examine(&engine, here, archive, watch).await;
    bar.finish_and_clear();
    print_report(args, &examined.map_err(|error| Failure::Unavailable(error.to_string()))?)
}

fn print_report(args: &Args, report: &Diagnosis) -> Result<ExitCode, Failure> {
    if args.json {
        let text = serde_json::to_vec(report).map_err(|error| Failure::Unavailable(error.to_string()))?;
        output::document(&text)?;
    } else {
        print(report)?;
    }
    Ok(if report.healthy { exit::OK } else { exit::FAILURE.into() })
}

fn print(report: &Diagnosis) -> Result<(), Failure> {
    let mut table = output::table_of(&["CHECK", "", "SEEN"]);
    for Check { check, ok, seen, problems } in &report.checks {
        let verdict = if *ok { Cell::new("ok").green() } else { Cell::new("WRONG").red() };
        table.add_row(vec![Cell::new(check), verdict, Cell::new(seen)]);
        for problem in problems {
            table.add_row(vec![Cell::new(""), Cell::new("!").red(), Cell::new(problem)]);
        }
    }
    output::table(&table)?;
    let mut table = output::table_of(&["QUEUE", "ACCEPTED", "LIVE", "FINISHED", "REMOVED"]);
    for books in &report.queues {
        let number = |count: u64| output::number(output::thousands(count));
        let (accepted, live) = (number(books.accepted), number(books.live));
        table.add_row(vec![Cell::new(&books.queue), accepted, live, number(books.finished), number(books.removed)]);
    }
    output::line("")?;
    output::table(&table)?;
    print_sharers(&report.sharers)?;
    if !report.sharers.unchecked.is_empty() {
        output::line("\nIn schemas that workers registered:")?;
        report.sharers.unchecked.iter().try_for_each(output::line)?;
    }
    if report.findings.is_empty() {
        return Ok(());
    }
    let mut table = output::table_of(&["FLAW", "OF", "DETAIL"]);
    for finding in &report.findings {
        table.add_row(vec![finding.flaw.as_str(), &finding.subject, &finding.detail]);
    }
    output::line("")?;
    output::table(&table)?;
    let unnamed = report.found - report.findings.len() as u64;
    if unnamed > 0 {
        output::line(format_args!("and {unnamed} more"))?;
    }
    Ok(())
}

/// The processes that use the store.
fn print_sharers(sharers: &Sharers) -> Result<(), Failure> {
    if !sharers.managers.is_empty() {
        let mut table = output::table_of(&["MANAGER", "KNOWN AS"]);
        for Manager { url, known_as } in &sharers.managers {
            table.add_row(vec![url.as_str(), &known_as.join(", ")]);
        }
        output::line("")?;
        output::table(&table)?;
    }
    let mut table = output::table_of(&["WORKER", "HOST", "PROCESS", "VERSION", "ROLE"]);
    for LiveWorker { id, host, pid, version, role } in &sharers.workers {
        table.add_row(vec![id.as_str(), host, &pid.to_string(), version, role.as_str()]);
    }
    output::line("")?;
    if sharers.workers.is_empty() {
        return output::line("no worker is alive on this store");
    }
    output::table(&table)?;
    if sharers.further_workers > 0 {
        let further = output::thousands(sharers.further_workers as u64);
        output::line(format_args!("and {further} more live workers"))?;
    }
    Ok(())
}
