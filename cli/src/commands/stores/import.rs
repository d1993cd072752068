//! `jobbers import`: a journal into a store.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use indicatif::ProgressBar;
use jobbers_archive::Archive;
use jobbers_common::audit_log::{ChangeOutcome, ChangeResult};
use jobbers_engines::OpenOptions;
use jobbers_manager::CommandChange;
use jobbers_process::{
    engine_url::{EngineArgs, without_password},
    exit,
};

use super::export::{ArchiveArgs, counts_in_words};
use crate::{
    failure::Failure,
    journal::{
        Journal,
        import::{EntryTally, ImportReport, import},
    },
    scratch::cant_open,
    terminal::output,
};

const AFTER_HELP: &str = "\
The journal is read to its end and checked before anything is stored. What the store holds already stays as it is, so an \
import that was interrupted is run again. Import before managers and workers are started.

Exit codes: 0 all is stored; 1 the journal is damaged, or something in it differs from what the store holds; 64 the address \
makes no sense; 69 the store or the file can't be read.";

/// Flags of `jobbers import`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The journal; `-` is standard input
    #[arg(value_name = "FILE")]
    journal: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    letters: ArchiveArgs,
}

/// Imports the journal.
///
/// # Errors
/// When the journal is damaged, and when the store can't be opened or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Some(url) = args.engine.given_or_found() else {
        return Err(Failure::Usage("name the store to import into with --engine-url".to_owned()));
    };
    let url = url.as_str();
    if args.engine.given().is_none() {
        output::note(format_args!(
            "the store is that of the `jobbers up` that runs in this folder: {}",
            without_password(url)
        ));
    }
    let journal = open(&args.journal)?;
    output::note(format!(
        "the journal of {} from a {} store is whole: {}",
        journal.header.exported_at,
        journal.header.engine,
        counts_in_words(&journal.counts)
    ));
    let engine = jobbers_engines::open(url, OpenOptions::default()).await.map_err(|error| cant_open(url, &error))?;
    let archive = open_archive(args, &journal, url)?;
    let bar = ProgressBar::new_spinner();
    let watch = |count| bar.set_message(format!("{} imported", output::thousands(count)));
    let unlogged = |error| Failure::Unavailable(format!("the import can't be logged for the audit log: {error}"));
    let by = std::env::var("USER").unwrap_or_else(|_| "unknown".to_owned());
    let change = CommandChange::begin(&*engine, &by, "import", None).await.map_err(unlogged)?;
    let imported = import(&engine, archive.as_ref(), &journal, watch).await;
    bar.finish_and_clear();
    change.end(Ok(outcome(imported.as_ref().ok()))).await.map_err(unlogged)?;
    let report = imported.map_err(|error| Failure::Unavailable(format!("{error}; run the import again")))?;
    print_report(&report)?;
    Ok(if report.count_conflicts() == 0 { exit::OK } else { exit::FAILURE.into() })
}

/// The outcome for the audit log: how many of each kind were stored.
fn outcome(report: Option<&ImportReport>) -> ChangeOutcome {
    let result = if report.is_some() { ChangeResult::Done } else { ChangeResult::Failed };
    let tallies = report.into_iter().flat_map(|report| &report.tallies);
    let counts = tallies.map(|(kind, tally)| ((*kind).to_string(), tally.stored)).collect();
    ChangeOutcome { counts, ..ChangeOutcome::of(result) }
}

fn open(path: &Path) -> Result<Journal, Failure> {
    let opened = if path == Path::new("-") { Journal::spool(io::stdin().lock()) } else { Journal::open(path) };
    opened.map_err(|error| match error {
        crate::journal::Error::Io(error) => Failure::no_input(path, &error),
        error => Failure::Negative(format!("{}: {error}; nothing was imported", path.display())),
    })
}

/// The archive for the journal's dead letters and changes, if it has some and they are wanted.
fn open_archive(args: &Args, journal: &Journal, url: &str) -> Result<Option<Archive>, Failure> {
    let of = |kind, what| journal.counts.get(kind).map(|count| output::count(*count, what));
    let counts: Vec<String> =
        [of("dead_letter", "dead letter"), of("change", "change")].into_iter().flatten().collect();
    if counts.is_empty() {
        return Ok(None);
    }
    let Some(path) = args.letters.file(url) else {
        output::note(format!("left out: {}", counts.join(", ")));
        return Ok(None);
    };
    let opened = Archive::open(&path, jobbers_archive::Options::default());
    opened.map(Some).map_err(|error| Failure::Unavailable(error.to_string()))
}

fn print_report(report: &ImportReport) -> Result<(), Failure> {
    let mut table = output::table_of(&["KIND", "STORED", "ALREADY THERE", "CONFLICTS"]);
    for (kind, EntryTally { stored, already, conflicts }) in &report.tallies {
        let numbers = [stored, already, conflicts].map(|count| output::number(output::thousands(*count)));
        table.add_row(std::iter::once(kind.replace('_', " ").into()).chain(numbers));
    }
    output::table(&table)?;
    for conflict in &report.conflicts {
        output::note(conflict);
    }
    let unnamed = report.count_conflicts() - report.conflicts.len() as u64;
    if unnamed > 0 {
        output::note(format!("and {} more", output::count(unnamed, "conflict")));
    }
    Ok(())
}
