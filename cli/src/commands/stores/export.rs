//! `jobbers export`: all that a store and its archive of dead letters hold as a journal.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use indicatif::ProgressBar;
use jobbers_common::engine::Engine;
use jobbers_engines::{DEFAULT_URL, OpenOptions, ordinary_file::is_of_a_store};
use jobbers_manager::Config;
use jobbers_process::{engine_url::EngineArgs, exit};
use tempfile::NamedTempFile;

use crate::{
    failure::Failure,
    journal::{
        Counts, Error,
        export::{Exported, export},
    },
    scratch::cant_open,
    terminal::output,
};

const AFTER_HELP: &str = "\
It reads straight from the store, beside whatever else goes on, and changes nothing. What moves meanwhile may be in the \
journal as it was before or after; for an exact copy, stop the other processes first.

Exit codes: 0 the journal is whole; 64 the address makes no sense, or leads to no store; 69 the store can't be reached, or \
the file can't be written; 74 standard output can't be written to.";

/// Flags of `jobbers export`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// Where the journal goes; `-` is standard output. A file appears once it is whole
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    letters: ArchiveArgs,
}

/// `--archive`, of `jobbers export`, `jobbers import` and `jobbers doctor`.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ArchiveArgs {
    /// The file that dead letters are kept in, or `none` for none [default: beside the data, as for a manager]
    #[arg(long, env = "DLQ_PATH", value_name = "FILE")]
    archive: Option<String>,
}

impl ArchiveArgs {
    /// The file, as a manager of this store finds it.
    pub(in crate::commands) fn file(&self, url: &str) -> Option<PathBuf> {
        let dlq_path = self.archive.clone().unwrap_or_default();
        Config { engine_url: url.to_owned(), dlq_path, ..Config::default() }.dead_letter_file()
    }
}

/// Writes the journal.
///
/// # Errors
/// When the store can't be opened or stops answering, or the journal can't be written.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let found = args.engine.given_or_found();
    let url = found.as_deref().unwrap_or(DEFAULT_URL);
    let engine = jobbers_engines::open(url, OpenOptions::existing()).await.map_err(|error| cant_open(url, &error))?;
    let archive = args.letters.file(url);
    let (counts, unreadable) = if args.output == Path::new("-") {
        let written = write(&engine, archive.as_deref(), io::stdout()).await.map_err(|error| match error {
            Error::Io(error) => Failure::output(&error),
            error => Failure::Unavailable(error.to_string()),
        })?;
        (written.counts, written.unreadable)
    } else {
        refuse_store_files(&args.output)?;
        write_file(&engine, archive.as_deref(), &args.output).await.map_err(|error| {
            Failure::Unavailable(format!("the journal {} can't be written: {error}", args.output.display()))
        })?
    };
    output::note(format!("exported {}", counts_in_words(&counts)));
    if unreadable > 0 {
        let letters = output::count(unreadable as u64, "record");
        output::note(format!("left out: {letters} on the store's outbox that can't be read"));
    }
    let outbox = if archive.is_none() { engine.health().await.map_or(0, |health| health.outbox) } else { 0 };
    if outbox > 0 {
        output::note(format!("left out: {} on the store's outbox", output::count(outbox, "dead letter")));
    }
    Ok(exit::OK)
}

async fn write<W: Write>(
    engine: &Arc<dyn Engine>,
    archive: Option<&Path>,
    into: W,
) -> Result<Exported<BufWriter<W>>, Error> {
    let bar = ProgressBar::new_spinner();
    let watch = |count| bar.set_message(format!("{} exported", output::thousands(count)));
    let written = export(engine, archive, BufWriter::new(into), watch).await;
    bar.finish_and_clear();
    written
}

/// Refuses a path that is a file of the store or the archive: the journal would take its place.
fn refuse_store_files(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(metadata) if is_of_a_store(&metadata) => Err(Failure::Usage(format!(
            "{} belongs to the store or to its archive; name another file for the journal",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes a file beside the one that is named, and gives it this name once it is whole.
async fn write_file(engine: &Arc<dyn Engine>, archive: Option<&Path>, path: &Path) -> Result<(Counts, usize), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Exported { into, counts, unreadable } = write(engine, archive, NamedTempFile::new_in(folder)?).await?;
    let file = into.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok((counts, unreadable))
}

/// `3 tasks, 1 queue`.
pub(in crate::commands) fn counts_in_words(counts: &Counts) -> String {
    let words: Vec<String> =
        counts.iter().map(|(kind, count)| output::count(*count, &kind.replace('_', " "))).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}
