//! `jobbers man`: the help of all commands as man pages.

use std::{fs, path::PathBuf, process::ExitCode};

use jobbers_process::exit;

use crate::{failure::Failure, terminal::output};

/// Flags of `jobbers man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For example, where `man` finds them without further settings:
  jobbers man ~/.local/share/man/man1")]
pub struct Args {
    /// The folder; it is created if it does not exist
    folder: PathBuf,
}

/// Writes a page for each command: `jobbers-dlq-list.1`. `root` describes the command line.
///
/// # Errors
/// When the folder can't be written to.
pub fn run(args: &Args, root: clap::Command) -> Result<ExitCode, Failure> {
    let folder = args.folder.display();
    let written = fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(root.disable_help_subcommand(true), &args.folder));
    written.map_err(|error| Failure::Unavailable(format!("can't write to {folder}: {error}")))?;
    output::line(format_args!("wrote the pages to {folder}; read them with `man {folder}/jobbers.1`"))?;
    Ok(exit::OK)
}
