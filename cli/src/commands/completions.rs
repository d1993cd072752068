//! `jobbers completions`: what a shell offers when the Tab key is pressed.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;
use jobbers_process::exit;

use crate::{args::Cli, failure::Failure, output};

/// Flags of `jobbers completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "For example: jobbers completions bash > ~/.local/share/bash-completion/completions/jobbers")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the shell's script.
///
/// # Errors
/// When standard output can't be written to.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "jobbers", &mut script);
    output::document(&script)?;
    Ok(exit::OK)
}
